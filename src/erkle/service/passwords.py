"""Passwords, kept as argon2id hashes."""

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

__all__ = ["hashed", "is_right", "is_stale"]

_HASHER = PasswordHasher()
# What a name that nobody has is compared with, so that it takes as long as one that somebody has.
_NOBODY = _HASHER.hash("nobody has this password")


def hashed(password: str) -> str:
    """The hash to keep."""
    return _HASHER.hash(password)


def is_right(password: str, kept: str | None) -> bool:
    """Whether it is the password of the hash; without a hash it takes as long, and is not."""
    try:
        return _HASHER.verify(kept or _NOBODY, password) and kept is not None
    except (VerificationError, InvalidHashError):
        return False


def is_stale(kept: str) -> bool:
    """Whether the hash was made with weaker settings than those of today."""
    return _HASHER.check_needs_rehash(kept)
