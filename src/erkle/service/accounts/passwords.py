"""Passwords, stored as argon2id hashes. A check takes 0.1 s, whether or not the account exists."""

import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from erkle.store.names import folded

# Characters of a password.
MIN_LENGTH, MAX_LENGTH = 10, 1000

# 46 MB is more than twice OWASP's minimum. One thread, so that the other cores serve participants.
HASHER = PasswordHasher(time_cost=2, memory_cost=46 * 1024, parallelism=1)
# The hash to check against when there is no such account, so that the check takes as long. It is a literal because
# computing it would add 0.1 s to each start.
UNKNOWN_ACCOUNT = "$argon2id$v=19$m=47104,t=2,p=1$XeMyxFwciUjpasBNguYGJg$UuE1KtiYt+jbCVn3no/MYpnVYT+9U2VbV5911okK1NI"


class WeakPassword(ValueError):
    """A new password is too short, too long or easy to guess."""


def check_new(password: str, name: str) -> None:
    """Raise `WeakPassword` if the account cannot have this password.

    >>> check_new("short", "ann")
    Traceback (most recent call last):
    erkle.service.accounts.passwords.WeakPassword: The password has 5 characters; use 10 to 1,000.
    """
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise WeakPassword(f"The password has {len(password)} characters; use {MIN_LENGTH} to {MAX_LENGTH:,}.")
    if len(set(password)) < 4 or folded(password) in {folded(name), folded(name) * 2}:
        raise WeakPassword("The password is easy to guess; use several unrelated words.")


def hashed(password: str) -> str:
    """Return the hash to store, with its salt and settings."""
    return HASHER.hash(_normalized(password))


def matches(password: str, stored: str | None) -> bool:
    """Return whether the password has this hash; without a hash the answer is False and takes as long."""
    try:
        return HASHER.verify(stored or UNKNOWN_ACCOUNT, _normalized(password)) and stored is not None
    except (VerificationError, InvalidHashError):
        return False


def is_outdated(stored: str) -> bool:
    """Return whether the hash was made with other settings than the current ones."""
    return HASHER.check_needs_rehash(stored)


def _normalized(password: str) -> str:
    """Return the same text for the same letters, however the keyboard composes accents."""
    return unicodedata.normalize("NFKC", password)
