"""Passwords, kept as argon2id hashes; to check one takes a tenth of a second, whether or not somebody has the name."""

import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

LEAST, MOST = 10, 1000

# More than twice the memory that OWASP wants at least, in one thread: the other cores answer participants.
_HASHER = PasswordHasher(time_cost=2, memory_cost=46 * 1024, parallelism=1)
# What a name that nobody has is compared with, so that it takes as long as one that somebody has. Written down, for to
# make it takes a tenth of a second of each start.
_NOBODY = "$argon2id$v=19$m=47104,t=2,p=1$XeMyxFwciUjpasBNguYGJg$UuE1KtiYt+jbCVn3no/MYpnVYT+9U2VbV5911okK1NI"


class WeakPassword(ValueError):
    """A new password is too short, too long or easy to guess."""


def check_new(password: str, name: str) -> None:
    """Raise `WeakPassword`, with a sentence that says why, if the account cannot have this password.

    >>> check_new("short", "ann")
    Traceback (most recent call last):
    erkle.service.accounts.passwords.WeakPassword: The password has 5 characters; use 10 to 1000.
    """
    if not LEAST <= len(password) <= MOST:
        raise WeakPassword(f"The password has {len(password)} characters; use {LEAST} to {MOST}.")
    if len(set(password)) < 4 or password.casefold() in {name.casefold(), name.casefold() * 2}:
        raise WeakPassword("The password is easy to guess; use several words that do not belong together.")


def hashed(password: str) -> str:
    """The hash to keep, with its salt and settings."""
    return _HASHER.hash(_normalized(password))


def is_right(password: str, kept: str | None) -> bool:
    """Whether it is the password of the hash; without a hash it takes as long, and is not."""
    try:
        return _HASHER.verify(kept or _NOBODY, _normalized(password)) and kept is not None
    except (VerificationError, InvalidHashError):
        return False


def is_stale(kept: str) -> bool:
    """Whether the hash was made with other settings than those of today."""
    return _HASHER.check_needs_rehash(kept)


def _normalized(password: str) -> str:
    """The same bytes for the same letters, whatever the keyboard made of an accent."""
    return unicodedata.normalize("NFKC", password)
