"""Accounts and signing in. An account can be created only with a one-time link."""

from collections.abc import Callable
from typing import Annotated, TypeVar, TypeVarTuple

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from pydantic import AfterValidator, BaseModel, Field

from erkle.service.accounts import passwords, sessions
from erkle.service.accounts.sessions import AccountOut, Me
from erkle.service.strict import Strict
from erkle.service.web.csrf import OwnPage
from erkle.service.web.dependencies import AdminDep, ConfigurationDep, SessionDep, StoreDep
from erkle.service.web.errors import Problem, problems
from erkle.service.web.limits import LimitsDep
from erkle.service.web.middleware.addressing import base_url
from erkle.store import Account, Purpose, Store
from erkle.store import limits as sizes

router = APIRouter(prefix="/api", tags=["accounts"])

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
# Requests that may wait for a password to be hashed.
_MOST_WAITING = 50


def _is_name(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise ValueError("a name must have printable characters only")
    return name.strip()


Name = Annotated[str, Field(min_length=1, max_length=sizes.ACCOUNT_NAME), AfterValidator(_is_name)]
Password = Annotated[str, Field(max_length=passwords.MAX_LENGTH, json_schema_extra={"format": "password"})]
# The minimum length is documented here, and checked by `passwords.check_new`, which has a clearer sentence.
StrongPassword = Annotated[
    str,
    Field(max_length=passwords.MAX_LENGTH, json_schema_extra={"format": "password", "minLength": passwords.MIN_LENGTH}),
]
Token = Annotated[str, Field(min_length=1, max_length=sizes.ID)]


class Credentials(Strict):
    """The name and password of an account."""

    name: Annotated[str, Field(max_length=sizes.ACCOUNT_NAME)]
    password: Password


class NewAccount(Strict):
    """The name and password of a new account, and the token of the link that allows it."""

    token: Token
    name: Name
    password: StrongPassword


class LinkToken(Strict):
    """The token of a link that signs in."""

    token: Token


class NewPassword(Strict):
    """The old password and the new one."""

    old: Password
    new: StrongPassword


class Invitation(BaseModel):
    """A link that creates one account; it works once, within a day."""

    link: str


@router.get("/me")
async def read_me(session: SessionDep) -> Me:
    """Return the account that is signed in, and the CSRF token that changes need."""
    return Me.model_validate(session)


@router.post("/login", dependencies=[OwnPage], responses=problems(401, 403))
async def login(body: Credentials, request: Request, response: Response, store: StoreDep, limits: LimitsDep) -> Me:
    """Sign in."""
    limits.login(body.name)
    account = await _limited(request, _verified, store, body.name, body.password)
    if account is None:
        raise Problem(401, "wrong", "The name or the password is wrong; check both and try again.")
    return await run_sync(sessions.begin, account, store, request, response)


@router.post("/logout", status_code=204)
def logout(session: SessionDep, request: Request, response: Response, store: StoreDep) -> None:
    """Sign out."""
    sessions.end(store, request, response)


@router.post("/setup", dependencies=[OwnPage], responses=problems(403))
async def set_up(body: NewAccount, request: Request, response: Response, store: StoreDep) -> Me:
    """Create the first account, an administrator, with the link that the server printed when it first started."""
    return await _create_account(Purpose.SETUP, body, request, response, store)


@router.post("/invited", dependencies=[OwnPage], responses=problems(403))
async def accept(body: NewAccount, request: Request, response: Response, store: StoreDep) -> Me:
    """Create an account with an invitation."""
    return await _create_account(Purpose.INVITE, body, request, response, store)


@router.post("/enter", dependencies=[OwnPage], responses=problems(403))
def enter(body: LinkToken, request: Request, response: Response, store: StoreDep) -> Me:
    """Sign in with a one-time link that was created on the server."""
    link = store.links.use(body.token, Purpose.ENTER)
    if link is None or link.account is None:
        raise Problem(409, "link", "This link was already used or has expired; ask for another one.")
    return sessions.begin(store.accounts.get(link.account), store, request, response)


@router.post("/password")
async def change_password(
    body: NewPassword, session: SessionDep, request: Request, response: Response, store: StoreDep, limits: LimitsDep
) -> Me:
    """Change the password and end all other sessions."""
    account = session.account
    limits.login(account.name)
    passwords.check_new(body.new, account.name)
    if await _limited(request, _verified, store, account.name, body.old) is None:
        raise Problem(403, "wrong", "The old password is wrong; try again.")
    stored = await _limited(request, passwords.hashed, body.new)
    await run_sync(store.accounts.set_password, account.id, stored)
    return await run_sync(sessions.begin, account, store, request, response)


@router.post("/invitations", status_code=201)
def invite(admin: AdminDep, request: Request, store: StoreDep, configuration: ConfigurationDep) -> Invitation:
    """Create an invitation."""
    return Invitation(link=f"{base_url(request.scope, configuration)}/invited#{store.links.create(Purpose.INVITE)}")


@router.get("/accounts")
def list_accounts(admin: AdminDep, store: StoreDep) -> list[AccountOut]:
    """Return all accounts, oldest first."""
    return [AccountOut.model_validate(account) for account in store.accounts.all()]


@router.delete("/accounts/{account}", status_code=204)
def delete_account(account: str, admin: AdminDep, store: StoreDep) -> None:
    """Delete an account and end its sessions. Its studies stay, and administrators can see them."""
    store.accounts.delete(account)


async def _create_account(purpose: Purpose, body: NewAccount, request: Request, response: Response, store: Store) -> Me:
    passwords.check_new(body.password, body.name)
    stored = await _limited(request, passwords.hashed, body.password)
    account = await run_sync(store.links.use_for_account, body.token, purpose, body.name, stored)
    return await run_sync(sessions.begin, account, store, request, response)


def _verified(store: Store, name: str, password: str) -> Account | None:
    account, stored = store.accounts.named(name) or (None, None)
    if not passwords.matches(password, stored) or account is None or stored is None:
        return None
    # Do not overwrite a password that was changed during the check.
    if passwords.is_outdated(stored) and store.accounts.named(name) == (account, stored):
        store.accounts.set_password(account.id, passwords.hashed(password))
    return account


async def _limited(request: Request, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Hash a few passwords at a time, so that somebody who guesses passwords does not slow down everybody else."""
    hashing = request.app.state.hashing
    if hashing.statistics().tasks_waiting >= _MOST_WAITING:
        raise Problem(503, "busy", "Too many people are signing in; try again in a minute.")
    return await run_sync(work, *arguments, limiter=hashing)
