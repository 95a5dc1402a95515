"""Prolific's secure links: a token in the link, signed by Prolific, says who the participant is.

The token is a JSON Web Token (RFC 7519) with an RS256 signature. Prolific publishes its public keys, which the server
fetches when it needs them. Checking a signature needs no secret, so Python's integers are enough.
"""

import base64
import hashlib
import json
import threading
import time
import urllib.request
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from erkle.service.participation.identity import Identified, unproven, unsigned, without
from erkle.service.web.errors import Problem

TOKEN = "prolific_token"
# Seconds after which keys are fetched again; Prolific asks for at least once a day.
_KEEP = 12 * 3600.0
# Seconds between two attempts to fetch keys, so that invented key ids cause few requests.
_PAUSE = 60.0
_TIMEOUT = 5.0
# Bytes of the keys, and characters of a token.
_MOST_BYTES, _LONGEST = 100_000, 8000
# Says that SHA-256 follows (RFC 8017, section 9.2).
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")


class PublicKey(NamedTuple):
    """An RSA public key: the modulus and the exponent."""

    n: int
    e: int

    def has_signed(self, message: bytes, signature: bytes) -> bool:
        """Return whether a signature is right (RSASSA-PKCS1-v1_5 with SHA-256)."""
        size, number = (self.n.bit_length() + 7) // 8, int.from_bytes(signature)
        if len(signature) != size or number >= self.n:
            return False
        digest = _SHA256 + hashlib.sha256(message).digest()
        # All bytes are compared. To look for the digest only would accept forged signatures.
        wanted = b"\x00\x01" + b"\xff" * (size - 3 - len(digest)) + b"\x00" + digest
        return pow(number, self.e, self.n).to_bytes(size) == wanted


class Keys:
    """Prolific's public keys by their ids.

    Parameters
    ----------
    url : str
        The address of the keys, as a JSON Web Key Set.
    clock : function
        Returns seconds.
    """

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._url, self._clock = url, clock
        self._keys: dict[str, PublicKey] = {}
        self._fetched = self._tried = -float("inf")
        self._lock = threading.Lock()

    def get(self, key_id: object) -> PublicKey | None:
        """Return the key with this id, or None if Prolific has no such key.

        Only one request waits for Prolific. Others use the keys from before, or are told to try again.
        """
        now = self._clock()
        is_due = key_id not in self._keys or now > self._fetched + _KEEP
        if is_due and now > self._tried + _PAUSE and self._lock.acquire(blocking=False):
            try:
                self._tried = now
                self._keys, self._fetched = self._fetch(), now
            except (OSError, ValueError, KeyError, TypeError):
                # Keys from before are used until Prolific responds again.
                pass
            finally:
                self._lock.release()
        if not self._keys:
            sentence = "The server cannot reach Prolific to check this link; try again in a minute."
            raise Problem(503, "prolific-keys", sentence)
        return self._keys.get(key_id) if isinstance(key_id, str) else None

    def _fetch(self) -> dict[str, PublicKey]:
        with urllib.request.urlopen(self._url, timeout=_TIMEOUT) as reply:
            found = json.loads(reply.read(_MOST_BYTES))["keys"]
        return {key["kid"]: PublicKey(_number(key["n"]), _number(key["e"])) for key in found if key["kty"] == "RSA"}


class Prolific:
    """Checks links that come from Prolific.

    Parameters
    ----------
    keys : Keys
        Prolific's public keys.
    public_url : str
        The address of this server, for which links must be made. The Host header of a request would not do, because
        whoever runs another server could use the links of its participants here.
    """

    def __init__(self, keys: Keys, public_url: str) -> None:
        self._keys, self._host = keys, _host(public_url)

    def identified(self, names: Collection[str], parameters: Mapping[str, Any], at: int) -> Identified:
        """Believe what Prolific's token in the link says, and none of the other parameters.

        Parameters
        ----------
        names : collection of str
            The parameters that identify participants.
        parameters : mapping
            The parameters of the link.
        at : int
            The time, in microseconds since 1970.
        """
        if not self._host:
            sentence = "The server has no public address, so it cannot check links; start it with --public-url."
            raise Problem(409, "no-public-url", sentence)
        claims = self._claims(str(parameters.get(TOKEN, "")))
        said, expires, audience = claims.get("prolific"), claims.get("exp"), claims.get("aud")
        hosts = [_host(each) for each in (audience if isinstance(audience, list) else [audience])]
        if self._host not in hosts or not isinstance(said, dict) or not isinstance(expires, int | float):
            raise unsigned()
        if not expires * 1e6 > at:
            raise Problem(403, "link-expired", "This link has expired; open the study on Prolific again.")
        identity = unproven(names, said).identity
        if identity is None:
            raise unsigned()
        # Researchers know participants by these parameters, so only the token may set them.
        others = {name: value for name, value in without(parameters, TOKEN).items() if name not in names}
        return Identified(identity, others | said)

    def _claims(self, token: str) -> dict[str, Any]:
        """Return the content of a token that Prolific has signed."""
        try:
            header, content, signature = token[:_LONGEST].split(".")
            known, claims = json.loads(_bytes(header)), json.loads(_bytes(content))
            key = self._keys.get(known["kid"]) if known["alg"] == "RS256" else None
            right = key is not None and key.has_signed(f"{header}.{content}".encode(), _bytes(signature))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise unsigned() from None
        if not right or not isinstance(claims, dict):
            raise unsigned()
        return claims


def _host(audience: object) -> str | None:
    """Return the host of a URL, or of the name of a host, or None.

    >>> _host("https://study.example.org/s/1?x=2"), _host("Study.example.org"), _host("")
    ('study.example.org', 'study.example.org', None)
    """
    text = str(audience)
    try:
        return urlsplit(text if "://" in text else f"//{text}").hostname
    except ValueError:
        return None


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text))


def _bytes(text: str) -> bytes:
    """Decode Base64 for URLs, which has no padding."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
