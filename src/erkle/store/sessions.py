"""Sessions: whoever has the token is the account, until a time.

What proves that a page of ours sent a request follows from the token, and is kept nowhere.
"""

from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from erkle.store import accounts, schema
from erkle.store.accounts import Account
from erkle.store.clock import seconds
from erkle.store.sanitising import is_id
from erkle.store.tokens import digest, new_token

__all__ = ["Session", "close", "get", "start"]

_T = schema.sessions.c


class Session(NamedTuple):
    """Somebody who has signed in; ``csrf`` is what a page sends along with each change."""

    token: str
    csrf: str
    account: Account
    expires_at: int


def start(connection: Connection, account: str, lifetime: float, at: int) -> Session:
    """A new session of an account; those that have ended are forgotten."""
    found = accounts.kept(connection, account)
    connection.execute(delete(schema.sessions).where(_T.expires_at <= at))
    token, until = new_token(), at + seconds(lifetime)
    values = {"digest": digest(token), "account_id": found.id, "expires_at": until}
    connection.execute(insert(schema.sessions), values)
    return Session(token, digest(token, "csrf"), found, until)


def get(connection: Connection, token: object, at: int) -> Session | None:
    """The session with this token, unless it has ended."""
    if not isinstance(token, str) or not is_id(token):
        return None
    query = select(schema.accounts, _T.expires_at).join(schema.sessions)
    query = query.where(_T.digest == digest(token), _T.expires_at > at)
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        return None
    return Session(token, digest(token, "csrf"), accounts.account_of(row), row["expires_at"])


def close(connection: Connection, token: object) -> None:
    """End a session, if there is one."""
    if isinstance(token, str) and is_id(token):
        connection.execute(delete(schema.sessions).where(_T.digest == digest(token)))
