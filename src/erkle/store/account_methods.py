"""What a store does with accounts, and with what lets people into them."""

from erkle.store import accounts, links, sessions
from erkle.store.accounts import Account
from erkle.store.links import Link, Purpose
from erkle.store.opened import Opened
from erkle.store.sessions import Session

__all__ = ["AccountMethods"]

_DAY = 86_400.0


class AccountMethods(Opened):
    """Accounts of researchers, their sessions, and links that let somebody in once."""

    def create_account(self, name: str, password_hash: str, admin: bool = False) -> Account:
        """A new account; two names that differ in their capitals only are the same."""
        return self._write(lambda connection: accounts.create(connection, name, password_hash, admin, self._clock()))

    def accounts(self) -> list[Account]:
        """All accounts, the oldest first."""
        return self._read(accounts.listed)

    def account(self, account: str) -> Account:
        """The account with this id."""
        return self._read(lambda connection: accounts.get(connection, account))

    def account_named(self, name: str) -> tuple[Account, str] | None:
        """The account with this name, and the hash of its password."""
        return self._read(lambda connection: accounts.named(connection, name))

    def set_password(self, account: str, password_hash: str) -> None:
        """Another password, which ends all sessions and links of the account."""
        self._write(lambda connection: accounts.set_password(connection, account, password_hash))

    def delete_account(self, account: str) -> None:
        """Delete an account that is not the only admin; its studies stay, without an owner."""
        self._write(lambda connection: accounts.remove(connection, account))

    def open_session(self, account: str, lifetime: float) -> Session:
        """A session of so many seconds; only here its token is told."""
        return self._write(lambda connection: sessions.start(connection, account, lifetime, self._clock()))

    def session(self, token: str) -> Session | None:
        """The session with this token, unless it has ended."""
        return self._read(lambda connection: sessions.get(connection, token, self._clock()))

    def close_session(self, token: str) -> None:
        """End a session, if there is one."""
        self._write(lambda connection: sessions.close(connection, token))

    def create_link(self, purpose: Purpose, account: str | None = None, lifetime: float = _DAY) -> str:
        """The token of a link that can be used once, within so many seconds; one to enter needs an account."""
        return self._write(lambda connection: links.create(connection, purpose, account, lifetime, self._clock()))

    def use_link(self, token: str, purpose: Purpose) -> Link | None:
        """Use a link up; None where there is none for this purpose any more."""
        return self._write(lambda connection: links.use(connection, token, purpose, self._clock()))

    def use_link_for_account(self, token: str, purpose: Purpose, name: str, password_hash: str) -> Account:
        """Use a link up and create an account, or neither; a link to set up makes an admin, and the first account."""
        return self._write(
            lambda connection: links.use_for_account(connection, token, purpose, name, password_hash, self._clock())
        )
