"""Links that let somebody in, once and until a time: to set the service up, to accept an invitation, to sign in."""

from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert

from erkle.store import accounts, schema
from erkle.store.accounts import Account
from erkle.store.clock import seconds
from erkle.store.errors import NotAllowed, StoreError
from erkle.store.sanitising import bounded_text, is_id
from erkle.store.tokens import digest, new_token

__all__ = ["Link", "Purpose", "create", "use", "use_for_account"]

_T = schema.links.c


class Purpose(StrEnum):
    """What a link is good for."""

    SETUP = "setup"
    INVITE = "invite"
    ENTER = "enter"


class Link(NamedTuple):
    """A link that was used; to enter is to enter as ``account``."""

    purpose: Purpose
    account: str | None


def create(connection: Connection, purpose: Purpose, account: str | None, lifetime: float, at: int) -> str:
    """The token of a new link; links whose time is over are forgotten."""
    wanted = _purpose(purpose)
    if (wanted == Purpose.ENTER) != (account is not None):
        raise StoreError(f"The link is to {wanted}, and its account {account!r}; pass an account to enter as it, only.")
    known = None if account is None else accounts.kept(connection, account).id
    connection.execute(delete(schema.links).where(_T.expires_at <= at))
    token = new_token()
    values = {"digest": digest(token), "purpose": wanted, "account_id": known, "expires_at": at + seconds(lifetime)}
    connection.execute(insert(schema.links), values)
    return token


def use(connection: Connection, token: object, purpose: Purpose, at: int) -> Link | None:
    """Use a link up; None where there is none for this purpose any more."""
    wanted = _purpose(purpose)
    if not isinstance(token, str) or not is_id(token):
        return None
    used = delete(schema.links).where(_T.digest == digest(token), _T.purpose == wanted, _T.expires_at > at)
    row = connection.execute(used.returning(_T.account_id)).one_or_none()
    return None if row is None else Link(wanted, row[0])


def use_for_account(
    connection: Connection, token: object, purpose: Purpose, name: str, password_hash: str, at: int
) -> Account:
    """Use a link up and create an account; the first one is an admin, and is made by a link for it only."""
    if _purpose(purpose) == Purpose.ENTER:
        raise StoreError("A link to enter makes no account; pass one to set up or to invite.")
    accounts.lock(connection)
    if use(connection, token, purpose, at) is None:
        raise NotAllowed("This link was used already or its time is over; ask for another one.")
    if purpose == Purpose.SETUP and accounts.number_of(connection):
        raise NotAllowed("There are accounts already; sign in, or ask an admin for an invitation.")
    return accounts.create(connection, name, password_hash, purpose == Purpose.SETUP, at)


def _purpose(purpose: object) -> Purpose:
    try:
        return Purpose(purpose)  # type: ignore[arg-type]
    except ValueError:
        raise StoreError(f"The purpose is {bounded_text(purpose, 40)!r}; pass one of {', '.join(Purpose)}.") from None
