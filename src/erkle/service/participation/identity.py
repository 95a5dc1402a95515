"""Who a participant is, and what proves it.

A study recognises a returning participant by a parameter of the link. Somebody else who knows its value can write the
same link and continue in that participant's place. A study can therefore demand a proof: a signature in the link, or
Prolific's token. What proves an identity is not stored, because whoever reads it could use it.
"""

import hmac
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from erkle.service.web.errors import Problem

SIGNATURE, EXPIRES = "signature", "expires"
# More digits than the seconds since 1970 will have in a long time.
_MOST_DIGITS = 12


class Identified(NamedTuple):
    """The identity by which a returning participant is recognised, if there is one, and the parameters to store."""

    identity: str | None
    parameters: Mapping[str, Any]


def unproven(names: Iterable[str], parameters: Mapping[str, Any]) -> Identified:
    """Believe the parameters: the identity is the name and value of the first of ``names`` that the link has.

    >>> unproven(["PROLIFIC_PID", "puid"], {"puid": "7", "x": "1"})
    Identified(identity='puid=7', parameters={'puid': '7', 'x': '1'})
    """
    found = _first(names, parameters)
    return Identified(None if found is None else "=".join(found), parameters)


def signed(names: Iterable[str], parameters: Mapping[str, Any], key: str, at: int) -> Identified:
    """Believe the first of ``names`` that the link has if its ``signature`` is right and has not expired.

    Parameters
    ----------
    names : iterable of str
        The parameters that identify participants.
    parameters : mapping
        The parameters of the link.
    key : str
        The study's signing key.
    at : int
        The time, in microseconds since 1970.

    Raises
    ------
    Problem
        If the link is not signed, or has expired.
    """
    found, expires = _first(names, parameters), str(parameters.get(EXPIRES, ""))
    right = b"" if found is None else signature(key, *found, expires).encode()
    # Compared as bytes, because the link may contain non-ASCII characters.
    given = str(parameters.get(SIGNATURE, "")).encode("utf-8", "replace")
    if found is None or not hmac.compare_digest(given, right):
        raise unsigned()
    if expires and not (expires.isdecimal() and len(expires) <= _MOST_DIGITS and int(expires) * 1_000_000 > at):
        raise Problem(403, "link-expired", "This link has expired; ask for a new one.")
    return Identified("=".join(found), without(parameters, SIGNATURE))


def signature(key: str, name: str, value: str, expires: str = "") -> str:
    """Return the signature of a parameter: HMAC-SHA256 in hexadecimal of ``name=value``, or ``expires name=value``.

    >>> signature("key", "puid", "7")[:16], signature("key", "puid", "7", "1790000000")[:16]
    ('250f45b2628544e7', 'dfe4774a9cac95ec')
    """
    message = f"{expires} {name}={value}" if expires else f"{name}={value}"
    # Replacing half a surrogate pair would make the signature of "a?" also the one of 2,048 other values.
    return hmac.new(key.encode(), message.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def unsigned() -> Problem:
    """Return the error for a link that proves nothing."""
    return Problem(
        403, "unsigned", "This link does not prove who you are; open the link that you were given, unchanged."
    )


def known_as(names: Iterable[str], parameters: Mapping[str, Any]) -> str:
    """Return the name by which researchers know a participant: the value of the first of ``names``, or nothing.

    The names of a study can change, so the value need not be that of the identity by which somebody was recognised.

    >>> known_as(["PROLIFIC_PID", "puid"], {"puid": "7", "x": "1"})
    '7'
    """
    found = _first(names, parameters)
    return "" if found is None else " ".join(found[1].splitlines())


def without(parameters: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the parameters without one of them."""
    return {key: value for key, value in parameters.items() if key != name}


def _first(names: Iterable[str], parameters: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the name and value of the first of ``names`` that the parameters have."""
    for name in names:
        value = parameters.get(name)
        if isinstance(value, str) and value.strip():
            return name, value.strip()
    return None
