"""Signing in and out, and who may: nobody gets an account but by a link that somebody gave them."""

from collections.abc import Callable
from typing import Annotated, TypeVar, TypeVarTuple

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from pydantic import AfterValidator, BaseModel, Field

from erkle.service.accounts import passwords, sessions
from erkle.service.accounts.sessions import AccountOut, Me
from erkle.service.web.csrf import OwnPage
from erkle.service.web.dependencies import AdminDep, Body, ConfigurationDep, SessionDep, StoreDep
from erkle.service.web.errors import Problem, problems
from erkle.service.web.limits import Limits, LimitsDep
from erkle.service.web.middleware.addressing import base_url
from erkle.store import Account, Purpose, Store
from erkle.store import limits as sizes

router = APIRouter(prefix="/api", tags=["accounts"])

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_MOST_WAITING = 50


def _is_name(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise ValueError("a name has letters that can be seen, and no others")
    return name.strip()


Name = Annotated[str, Field(min_length=1, max_length=sizes.ACCOUNT_NAME), AfterValidator(_is_name)]
Password = Annotated[str, Field(max_length=passwords.MOST, json_schema_extra={"format": "password"})]
# The least length is only told here: `passwords.check_new` says it in a sentence.
Fresh = Annotated[
    str, Field(max_length=passwords.MOST, json_schema_extra={"format": "password", "minLength": passwords.LEAST})
]
Token = Annotated[str, Field(min_length=1, max_length=sizes.ID)]


class Credentials(Body):
    """Who signs in."""

    name: Annotated[str, Field(max_length=sizes.ACCOUNT_NAME)]
    password: Password


class Newcomer(Body):
    """Who makes an account, by a link."""

    token: Token
    name: Name
    password: Fresh


class Entering(Body):
    """Who signs in by a link."""

    token: Token


class NewPassword(Body):
    """The password until now, and from now on."""

    old: Password
    new: Fresh


class Invitation(BaseModel):
    """A link by which one person makes an account, once, within a day."""

    link: str


@router.get("/me")
async def read_me(session: SessionDep) -> Me:
    """Who is signed in, and the token that changes need."""
    return Me.model_validate(session)


@router.post("/login", dependencies=[OwnPage], responses=problems(401, 403))
async def login(body: Credentials, request: Request, response: Response, store: StoreDep, limits: LimitsDep) -> Me:
    """Sign in."""
    limits.login(body.name.strip().casefold())
    account = await _apart(request, _verified, store, body.name, body.password)
    if account is None:
        raise Problem(401, "wrong", "The name or the password is not right.")
    return await run_sync(sessions.begin, account, store, request, response)


@router.post("/logout", status_code=204)
def logout(session: SessionDep, request: Request, response: Response, store: StoreDep) -> None:
    """Sign out."""
    sessions.end(store, request, response)


@router.post("/setup", dependencies=[OwnPage], responses=problems(403))
async def set_up(body: Newcomer, request: Request, response: Response, store: StoreDep, limits: LimitsDep) -> Me:
    """Make the first account, an administrator's, by the link that the server printed when it was first started."""
    return await _make_account(Purpose.SETUP, body, request, response, store, limits)


@router.post("/invited", dependencies=[OwnPage], responses=problems(403))
async def accept(body: Newcomer, request: Request, response: Response, store: StoreDep, limits: LimitsDep) -> Me:
    """Make an account by an invitation."""
    return await _make_account(Purpose.INVITE, body, request, response, store, limits)


@router.post("/enter", dependencies=[OwnPage], responses=problems(403))
def enter(body: Entering, request: Request, response: Response, store: StoreDep, limits: LimitsDep) -> Me:
    """Sign in by a link that somebody got from the machine of the server."""
    limits.link()
    link = store.links.use(body.token, Purpose.ENTER)
    if link is None or link.account is None:
        raise Problem(409, "link", "This link was used already or its time is over; ask for another one.")
    return sessions.begin(store.accounts.get(link.account), store, request, response)


@router.post("/password")
async def change_password(
    body: NewPassword, session: SessionDep, request: Request, response: Response, store: StoreDep, limits: LimitsDep
) -> Me:
    """Change the password; all other sessions end."""
    account = session.account
    limits.login(account.name.casefold())
    passwords.check_new(body.new, account.name)
    if await _apart(request, _verified, store, account.name, body.old) is None:
        raise Problem(403, "wrong", "The old password is not right.")
    kept = await _apart(request, passwords.hashed, body.new)
    await run_sync(store.accounts.set_password, account.id, kept)
    return await run_sync(sessions.begin, account, store, request, response)


@router.post("/invitations", status_code=201)
def invite(admin: AdminDep, request: Request, store: StoreDep, configuration: ConfigurationDep) -> Invitation:
    """Invite somebody."""
    return Invitation(link=f"{base_url(request.scope, configuration)}/invited#{store.links.create(Purpose.INVITE)}")


@router.get("/accounts")
def list_accounts(admin: AdminDep, store: StoreDep) -> list[AccountOut]:
    """All accounts, the oldest first."""
    return [AccountOut.model_validate(account) for account in store.accounts.all()]


@router.delete("/accounts/{account}", status_code=204)
def delete_account(account: str, admin: AdminDep, store: StoreDep) -> None:
    """Delete an account and end its sessions; its studies stay, and administrators see them."""
    store.accounts.delete(account)


async def _make_account(
    purpose: Purpose, body: Newcomer, request: Request, response: Response, store: Store, limits: Limits
) -> Me:
    limits.link()
    passwords.check_new(body.password, body.name)
    kept = await _apart(request, passwords.hashed, body.password)
    account = await run_sync(store.links.use_for_account, body.token, purpose, body.name, kept)
    return await run_sync(sessions.begin, account, store, request, response)


def _verified(store: Store, name: str, password: str) -> Account | None:
    account, kept = store.accounts.named(name) or (None, None)
    if not passwords.is_right(password, kept) or account is None or kept is None:
        return None
    # Not over a password that was set while this one was checked.
    if passwords.is_stale(kept) and store.accounts.named(name) == (account, kept):
        store.accounts.set_password(account.id, passwords.hashed(password))
    return account


async def _apart(request: Request, work: Callable[[*Ts], T], *given: *Ts) -> T:
    """Do what takes long and much memory, a few at a time, so that those who guess passwords stop nobody else."""
    hashing = request.app.state.hashing
    if hashing.statistics().tasks_waiting >= _MOST_WAITING:
        raise Problem(503, "busy", "Too many people sign in just now; try again in a while.")
    return await run_sync(work, *given, limiter=hashing)
