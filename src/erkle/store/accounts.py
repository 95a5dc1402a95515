"""Accounts of researchers, and the sessions and one-time links that give access to them.

Whoever has the token of a session or a link has access. The database stores only a digest of each token, so a copy of
the database gives access to nobody. Tokens have 256 random bits, so the digest needs no salt and can be indexed.
Password hashes come from the service and are stored as they are.
"""

import hashlib
import secrets
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, Select, bindparam, delete, func, insert, select, text, update

from erkle.store import limits
from erkle.store.clock import duration
from erkle.store.database import schema
from erkle.store.database.enumerations import Purpose
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import NotAllowed, StoreError, Unknown
from erkle.store.names import check_name, folded
from erkle.store.sanitising import bounded_text, is_id, is_text, strict_member, strict_text

# Seconds for which a link works by default: one day.
_LINK_LIFETIME = 86_400.0

_A, _S, _L = schema.accounts.c, schema.sessions.c, schema.links.c
_BY_ID = select(schema.accounts).where(_A.id == bindparam("account"))
_LOCKED_AGAINST_DELETION = _BY_ID.with_for_update(read=True, key_share=True)
_LOCKED_FOR_UPDATE = _BY_ID.with_for_update()


class Account(NamedTuple):
    """The account of a researcher; an admin can see the studies of all accounts."""

    id: str
    name: str
    admin: bool
    created_at: int


class Session(NamedTuple):
    """A session of a signed-in researcher; pages send ``csrf`` with every request that changes something."""

    token: str
    csrf: str
    account: Account
    expires_at: int


class Link(NamedTuple):
    """A link that has been used; a sign-in link gives access to ``account``."""

    purpose: Purpose
    account: str | None


class Accounts(Topic):
    """Accounts of researchers, each with a name and a password hash."""

    @writing
    def create(self, name: str, password_hash: str, admin: bool = False) -> Account:
        """Create an account. Spellings of a name that look the same count as one name (see `erkle.store.names`)."""
        name = strict_text(name, "The name", limits.ACCOUNT_NAME)
        check_name(name)
        account = Account(secrets.token_urlsafe(12), name, bool(admin), self.clock())
        _lock_accounts(self.connection)
        if self.named(name) is not None:
            raise NotAllowed(f"An account named {name!r} already exists; choose another name.")
        kept = strict_text(password_hash, "The password hash", limits.PASSWORD_HASH)
        values = {**account._asdict(), "password_hash": kept, "folded": folded(name)}
        self.connection.execute(insert(schema.accounts), values)
        return account

    @reading
    def all(self) -> list[Account]:
        """Return all accounts, oldest first."""
        rows = self.connection.execute(select(schema.accounts).order_by(_A.created_at, _A.id))
        return [_account(row) for row in rows.mappings()]

    @reading
    def get(self, account: str) -> Account:
        """Return the account with this id."""
        return _found(self.connection, _BY_ID, account)

    @reading
    def named(self, name: str) -> tuple[Account, str] | None:
        """Return the account with this name and its password hash, or None if there is no such account."""
        if not is_text(name, limits.ACCOUNT_NAME):
            return None
        query = select(schema.accounts).where(_A.folded == folded(name))
        row = self.connection.execute(query).mappings().one_or_none()
        return None if row is None else (_account(row), row["password_hash"])

    @writing
    def set_password(self, account: str, password_hash: str) -> None:
        """Replace the password hash, and end all sessions and links of the account."""
        _lock_accounts(self.connection)
        found = _found(self.connection, _LOCKED_FOR_UPDATE, account)
        kept = strict_text(password_hash, "The password hash", limits.PASSWORD_HASH)
        self.connection.execute(update(schema.accounts).where(_A.id == found.id).values(password_hash=kept))
        self._end_sessions(found.id)

    @writing
    def delete(self, account: str) -> None:
        """Delete an account, unless it is the only admin; its studies stay, without an owner."""
        _lock_accounts(self.connection)
        found = _found(self.connection, _LOCKED_FOR_UPDATE, account)
        if found.admin and sum(each.admin for each in self.all()) == 1:
            raise NotAllowed(f"{found.name!r} is the only admin; create another admin first.")
        self._end_sessions(found.id)
        self.connection.execute(update(schema.studies).where(schema.studies.c.owner == found.id).values(owner=None))
        self.connection.execute(delete(schema.accounts).where(_A.id == found.id))

    def _end_sessions(self, account: str) -> None:
        for table in (schema.sessions, schema.links):
            self.connection.execute(delete(table).where(table.c.account_id == account))


class Sessions(Topic):
    """Sessions: whoever has the token is signed in to the account until the session expires.

    The CSRF token is computed from the session token and is not stored.
    """

    @writing
    def open(self, account: str, lifetime: float) -> Session:
        """Start a session that lasts ``lifetime`` seconds; no other call returns its token."""
        at, token = self.clock(), secrets.token_urlsafe(32)
        until = at + duration(lifetime, "The lifetime", limits.LIFETIME_SECONDS)
        found = lock_account(self.connection, account)
        self.connection.execute(delete(schema.sessions).where(_S.expires_at <= at))
        values = {"digest": _digest(token), "account_id": found.id, "expires_at": until}
        self.connection.execute(insert(schema.sessions), values)
        return Session(token, _digest(token, "csrf"), found, until)

    @reading
    def get(self, token: str) -> Session | None:
        """Return the session with this token, or None if there is none or it has expired."""
        if not is_id(token):
            return None
        query = select(schema.accounts, _S.expires_at).join(schema.sessions)
        query = query.where(_S.digest == _digest(token), _S.expires_at > self.clock())
        row = self.connection.execute(query).mappings().one_or_none()
        return None if row is None else Session(token, _digest(token, "csrf"), _account(row), row["expires_at"])

    @writing
    def close(self, token: str) -> None:
        """End the session with this token, if there is one."""
        if is_id(token):
            self.connection.execute(delete(schema.sessions).where(_S.digest == _digest(token)))


class Links(Topic):
    """Links that work once and expire: to set up the service, to accept an invitation or to sign in."""

    @writing
    def create(self, purpose: Purpose, account: str | None = None, lifetime: float = _LINK_LIFETIME) -> str:
        """Create a link that works once within ``lifetime`` seconds, and return its token.

        A sign-in link (``Purpose.ENTER``) needs an account; other links have none.
        """
        at, token, wanted = self.clock(), secrets.token_urlsafe(32), strict_member(purpose, "The purpose", Purpose)
        if (wanted == Purpose.ENTER) != (account is not None):
            raise StoreError(
                f"The purpose is {wanted} and the account is {account!r}; pass an account if the purpose is "
                f"{Purpose.ENTER}, and None otherwise."
            )
        known = None if account is None else lock_account(self.connection, account).id
        self.connection.execute(delete(schema.links).where(_L.expires_at <= at))
        until = at + duration(lifetime, "The lifetime", limits.LIFETIME_SECONDS)
        values = {"digest": _digest(token), "purpose": wanted, "account_id": known, "expires_at": until}
        self.connection.execute(insert(schema.links), values)
        return token

    @writing
    def use(self, token: str, purpose: Purpose) -> Link | None:
        """Use a link, which then stops working; return None if it is unknown, was used before or has expired."""
        wanted = strict_member(purpose, "The purpose", Purpose)
        if not is_id(token):
            return None
        used = delete(schema.links).where(_L.digest == _digest(token), _L.purpose == wanted)
        used = used.where(_L.expires_at > self.clock())
        row = self.connection.execute(used.returning(_L.account_id)).one_or_none()
        return None if row is None else Link(wanted, row[0])

    @writing
    def use_for_account(self, token: str, purpose: Purpose, name: str, password_hash: str) -> Account:
        """Use a link and create an account, or do neither; a setup link creates the first account, an admin."""
        wanted = strict_member(purpose, "The purpose", Purpose)
        if wanted == Purpose.ENTER:
            raise StoreError(
                f"A link with the purpose {wanted} creates no account; pass {Purpose.SETUP} or {Purpose.INVITE}."
            )
        _lock_accounts(self.connection)
        if self.use(token, wanted) is None:
            raise NotAllowed("This link has been used or has expired; ask for a new one.")
        if wanted == Purpose.SETUP and self.connection.execute(select(func.count(_A.id))).scalar_one():
            raise NotAllowed("The first account already exists; sign in, or ask an admin for an invitation.")
        accounts = Accounts(self.connection, self.clock)
        return accounts.create(name, password_hash, admin=wanted == Purpose.SETUP)


def lock_account(connection: Connection, account: str) -> Account:
    """Return an account, locked against deletion until this transaction ends, so that new rows can refer to it."""
    return _found(connection, _LOCKED_AGAINST_DELETION, account)


def _lock_accounts(connection: Connection) -> None:
    """Keep other transactions from changing accounts until this one ends; SQLite locks the whole database anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE"))


def _found(connection: Connection, query: Select[Any], account: str) -> Account:
    row = connection.execute(query, {"account": account}).mappings().one_or_none() if is_id(account) else None
    if row is None:
        raise Unknown(f"There is no account {bounded_text(account, 40)!r}; check the id.")
    return _account(row)


def _account(row: RowMapping) -> Account:
    return Account(row["id"], row["name"], row["admin"], row["created_at"])


def _digest(token: str, purpose: str = "") -> str:
    """Return the digest of a token; with a purpose, return another secret that only the token's holder can compute.

    >>> _digest("a") == _digest("a"), _digest("a") == _digest("a", "csrf")
    (True, False)
    """
    return hashlib.sha256(f"{purpose}:{token}".encode()).hexdigest()
