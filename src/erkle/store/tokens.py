"""Tokens let in whoever has them. Only a digest of each is kept: a copy of the database lets nobody in.

A token has 256 random bits. That is why a digest without salt is enough, and why it can be found by an index.
"""

import hashlib
import secrets

__all__ = ["digest", "new_token"]


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(32)


def digest(token: str, purpose: str = "") -> str:
    """What is kept of a token; with a purpose, another secret that only those who have the token can work out.

    >>> digest("a") == digest("a"), digest("a") == digest("a", "csrf")
    (True, False)
    """
    return hashlib.sha256(f"{purpose}:{token}".encode()).hexdigest()
