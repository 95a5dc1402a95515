"""Accounts of researchers, and what lets somebody into one: sessions, and links that work once.

A session or a link is a token, which lets in whoever has it. Only a digest of each token is kept, so a copy of the
database lets nobody in. A token has 256 random bits; that is why a digest without salt is enough, and why it can be
found by an index. What the service makes of a password is kept as it is.
"""

import hashlib
import secrets
import unicodedata
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, Select, bindparam, delete, func, insert, select, text, update

from erkle.store import limits
from erkle.store.clock import duration
from erkle.store.database import schema
from erkle.store.database.enumerations import Purpose
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import NotAllowed, StoreError, Unknown
from erkle.store.sanitising import bounded_text, is_id, strict_member, strict_text

_DAY = 86_400.0

_A, _S, _L = schema.accounts.c, schema.sessions.c, schema.links.c
_FOUND = select(schema.accounts).where(_A.id == bindparam("account"))
_KEPT = _FOUND.with_for_update(read=True, key_share=True)
_ALONE = _FOUND.with_for_update()


class Account(NamedTuple):
    """A researcher who makes studies; an admin sees the studies of all."""

    id: str
    name: str
    admin: bool
    created_at: int


class Session(NamedTuple):
    """A researcher who is signed in; ``csrf`` is what a page sends along with each change."""

    token: str
    csrf: str
    account: Account
    expires_at: int


class Link(NamedTuple):
    """A link that was used; a link to enter lets somebody in as ``account``."""

    purpose: Purpose
    account: str | None


class Accounts(Topic):
    """Accounts of researchers: a name, and what is kept of a password."""

    @writing
    def create(self, name: str, password_hash: str, admin: bool = False) -> Account:
        """Create an account; names that differ only in capital letters are the same."""
        name = strict_text(name, "The name", limits.ACCOUNT_NAME)
        account = Account(secrets.token_urlsafe(12), name, bool(admin), self.clock())
        _lock(self.connection)
        if self.named(name) is not None:
            raise NotAllowed(f"There is an account {name!r} already; choose another name.")
        kept = strict_text(password_hash, "The hash of the password", limits.PASSWORD_HASH)
        values = {**account._asdict(), "password_hash": kept, "folded": _folded(name)}
        self.connection.execute(insert(schema.accounts), values)
        return account

    @reading
    def all(self) -> list[Account]:
        """All accounts, oldest first."""
        rows = self.connection.execute(select(schema.accounts).order_by(_A.created_at, _A.id))
        return [_account(row) for row in rows.mappings()]

    @reading
    def get(self, account: str) -> Account:
        """The account with this id."""
        return _found(self.connection, _FOUND, account)

    @reading
    def named(self, name: str) -> tuple[Account, str] | None:
        """The account with this name, and the hash of its password."""
        if not isinstance(name, str) or bounded_text(name, limits.ACCOUNT_NAME) != name:
            return None
        query = select(schema.accounts).where(_A.folded == _folded(name))
        row = self.connection.execute(query).mappings().one_or_none()
        return None if row is None else (_account(row), row["password_hash"])

    @writing
    def set_password(self, account: str, password_hash: str) -> None:
        """Set another password, which ends all sessions and links of the account."""
        _lock(self.connection)
        found = _found(self.connection, _ALONE, account)
        kept = strict_text(password_hash, "The hash of the password", limits.PASSWORD_HASH)
        self.connection.execute(update(schema.accounts).where(_A.id == found.id).values(password_hash=kept))
        self._end_sessions(found.id)

    @writing
    def delete(self, account: str) -> None:
        """Delete an account that is not the only admin; its studies stay, without an owner."""
        _lock(self.connection)
        found = _found(self.connection, _ALONE, account)
        if found.admin and sum(each.admin for each in self.all()) == 1:
            raise NotAllowed(f"{found.name!r} is the only admin; make another one first.")
        self._end_sessions(found.id)
        self.connection.execute(update(schema.studies).where(schema.studies.c.owner == found.id).values(owner=None))
        self.connection.execute(delete(schema.accounts).where(_A.id == found.id))

    def _end_sessions(self, account: str) -> None:
        for table in (schema.sessions, schema.links):
            self.connection.execute(delete(table).where(table.c.account_id == account))


class Sessions(Topic):
    """Sessions: whoever has the token is signed in to the account until a time.

    What proves that a page of ours sent a request follows from the token, and is not kept anywhere.
    """

    @writing
    def open(self, account: str, lifetime: float) -> Session:
        """Open a session of so many seconds; its token is returned only here."""
        at, token = self.clock(), secrets.token_urlsafe(32)
        until = at + duration(lifetime, "The lifetime", limits.LIFETIME_SECONDS)
        found = keep_account(self.connection, account)
        self.connection.execute(delete(schema.sessions).where(_S.expires_at <= at))
        values = {"digest": _digest(token), "account_id": found.id, "expires_at": until}
        self.connection.execute(insert(schema.sessions), values)
        return Session(token, _digest(token, "csrf"), found, until)

    @reading
    def get(self, token: str) -> Session | None:
        """The session with this token, unless it has ended."""
        if not is_id(token):
            return None
        query = select(schema.accounts, _S.expires_at).join(schema.sessions)
        query = query.where(_S.digest == _digest(token), _S.expires_at > self.clock())
        row = self.connection.execute(query).mappings().one_or_none()
        return None if row is None else Session(token, _digest(token, "csrf"), _account(row), row["expires_at"])

    @writing
    def close(self, token: str) -> None:
        """End a session, if there is one."""
        if is_id(token):
            self.connection.execute(delete(schema.sessions).where(_S.digest == _digest(token)))


class Links(Topic):
    """Links that let somebody in, once and until a time: to set up the service, to accept an invitation, to sign in."""

    @writing
    def create(self, purpose: Purpose, account: str | None = None, lifetime: float = _DAY) -> str:
        """The token of a link that can be used once, within so many seconds; a link to enter needs an account."""
        at, token, wanted = self.clock(), secrets.token_urlsafe(32), strict_member(purpose, "The purpose", Purpose)
        if (wanted == Purpose.ENTER) != (account is not None):
            raise StoreError(
                f"The link is to {wanted}, and its account {account!r}; pass one only for a link to enter."
            )
        known = None if account is None else keep_account(self.connection, account).id
        self.connection.execute(delete(schema.links).where(_L.expires_at <= at))
        until = at + duration(lifetime, "The lifetime", limits.LIFETIME_SECONDS)
        values = {"digest": _digest(token), "purpose": wanted, "account_id": known, "expires_at": until}
        self.connection.execute(insert(schema.links), values)
        return token

    @writing
    def use(self, token: str, purpose: Purpose) -> Link | None:
        """Use up a link; None if there is no such link, or it was used already or has expired."""
        wanted = strict_member(purpose, "The purpose", Purpose)
        if not is_id(token):
            return None
        used = delete(schema.links).where(_L.digest == _digest(token), _L.purpose == wanted)
        used = used.where(_L.expires_at > self.clock())
        row = self.connection.execute(used.returning(_L.account_id)).one_or_none()
        return None if row is None else Link(wanted, row[0])

    @writing
    def use_for_account(self, token: str, purpose: Purpose, name: str, password_hash: str) -> Account:
        """Use up a link and create an account, or neither; a link to set up makes the first account, an admin."""
        wanted = strict_member(purpose, "The purpose", Purpose)
        if wanted == Purpose.ENTER:
            raise StoreError("A link to enter makes no account; pass one to set up or to invite.")
        _lock(self.connection)
        if self.use(token, wanted) is None:
            raise NotAllowed("This link was used already or its time is over; ask for another one.")
        if wanted == Purpose.SETUP and self.connection.execute(select(func.count(_A.id))).scalar_one():
            raise NotAllowed("There are accounts already; sign in, or ask an admin for an invitation.")
        accounts = Accounts(self.connection, self.clock)
        return accounts.create(name, password_hash, admin=wanted == Purpose.SETUP)


def keep_account(connection: Connection, account: str) -> Account:
    """The account with this id, which nobody deletes until this transaction ends, so that rows may refer to it."""
    return _found(connection, _KEPT, account)


def _lock(connection: Connection) -> None:
    """Let nobody else change an account until this transaction ends; SQLite has locked everything by now."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE"))


def _found(connection: Connection, query: Select[Any], account: str) -> Account:
    row = connection.execute(query, {"account": account}).mappings().one_or_none() if is_id(account) else None
    if row is None:
        raise Unknown(f"There is no account {bounded_text(account, 40)!r}; check its id.")
    return _account(row)


def _account(row: RowMapping) -> Account:
    return Account(row["id"], row["name"], row["admin"], row["created_at"])


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _digest(token: str, purpose: str = "") -> str:
    """What is kept of a token; with a purpose, another secret that only those who have the token can work out.

    >>> _digest("a") == _digest("a"), _digest("a") == _digest("a", "csrf")
    (True, False)
    """
    return hashlib.sha256(f"{purpose}:{token}".encode()).hexdigest()
