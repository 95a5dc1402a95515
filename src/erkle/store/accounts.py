"""Accounts of researchers: a name, and what is kept of a password, which is the business of the service."""

import secrets
import unicodedata
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, Select, bindparam, delete, func, insert, select, text, update

from erkle.store import schema
from erkle.store.errors import NotAllowed, Unknown
from erkle.store.sanitising import bounded_text, is_id, strict_text

__all__ = ["Account", "create", "get", "listed", "named", "remove", "set_password"]

_NAME, _HASH = 200, 1000

_FOUND = select(schema.accounts).where(schema.accounts.c.id == bindparam("account"))
_KEPT = _FOUND.with_for_update(read=True, key_share=True)
_ALONE = _FOUND.with_for_update()


class Account(NamedTuple):
    """Somebody who makes studies; an admin may see those of all."""

    id: str
    name: str
    admin: bool
    created_at: int


def create(connection: Connection, name: str, password_hash: str, admin: bool, at: int) -> Account:
    """A new account; two names that differ in their capitals only are the same."""
    account = Account(secrets.token_urlsafe(12), strict_text(name, "The name", _NAME), bool(admin), at)
    lock(connection)
    if named(connection, name) is not None:
        raise NotAllowed(f"There is an account {name!r} already; choose another name.")
    secret = {"password_hash": strict_text(password_hash, "The hash of the password", _HASH)}
    connection.execute(insert(schema.accounts), {**account._asdict(), **secret, "folded": _folded(name)})
    return account


def get(connection: Connection, account: str) -> Account:
    """The account with this id."""
    return _found(connection, account, _FOUND)


def kept(connection: Connection, account: str) -> Account:
    """The same, which nobody deletes until this transaction ends: rows may be added that refer to it."""
    return _found(connection, account, _KEPT)


def listed(connection: Connection) -> list[Account]:
    """All accounts, the oldest first."""
    rows = connection.execute(select(schema.accounts).order_by(schema.accounts.c.created_at, schema.accounts.c.id))
    return [account_of(row) for row in rows.mappings()]


def named(connection: Connection, name: object) -> tuple[Account, str] | None:
    """The account with this name, and the hash of its password."""
    if not isinstance(name, str) or bounded_text(name, _NAME) != name:
        return None
    query = select(schema.accounts).where(schema.accounts.c.folded == _folded(name))
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else (account_of(row), row["password_hash"])


def set_password(connection: Connection, account: str, password_hash: str) -> None:
    """Another password, which ends all sessions and links of the account."""
    lock(connection)
    found = _found(connection, account, _ALONE)
    values = {"password_hash": strict_text(password_hash, "The hash of the password", _HASH)}
    connection.execute(update(schema.accounts).where(schema.accounts.c.id == found.id).values(values))
    _shut(connection, found.id)


def remove(connection: Connection, account: str) -> None:
    """Delete an account; its studies stay, without an owner."""
    lock(connection)
    found = _found(connection, account, _ALONE)
    if found.admin and sum(each.admin for each in listed(connection)) == 1:
        raise NotAllowed(f"{found.name!r} is the only admin; make another one first.")
    _shut(connection, found.id)
    owned = schema.studies.c.owner == found.id
    connection.execute(update(schema.studies).where(owned).values(owner=None))
    connection.execute(delete(schema.accounts).where(schema.accounts.c.id == found.id))


def number_of(connection: Connection) -> int:
    """How many accounts there are."""
    return int(connection.execute(select(func.count()).select_from(schema.accounts)).scalar_one())


def lock(connection: Connection) -> None:
    """Let nobody else change an account until this transaction ends; SQLite has locked everything by now."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE"))


def account_of(row: RowMapping) -> Account:
    """The account of a row."""
    return Account(row["id"], row["name"], row["admin"], row["created_at"])


def _found(connection: Connection, account: str, query: Select[Any]) -> Account:
    row = connection.execute(query, {"account": account}).mappings().one_or_none() if is_id(account) else None
    if row is None:
        raise Unknown(f"There is no account {bounded_text(account, 40)!r}; check its id.")
    return account_of(row)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _shut(connection: Connection, account: str) -> None:
    for table in (schema.sessions, schema.links):
        connection.execute(delete(table).where(table.c.account_id == account))
