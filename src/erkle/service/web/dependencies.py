"""Dependencies of routes: the store, the runtimes of studies, the signed-in account, and the study in the path.

A dependency that only passes something on is a coroutine, because a plain function would wait for a thread.
"""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie
from starlette.requests import HTTPConnection

from erkle.service.accounts.sessions import COOKIE, SECURE_COOKIE, needed, token_of
from erkle.service.configuration import Configuration
from erkle.service.participation.participation import Participation
from erkle.service.runtime import Runtimes
from erkle.service.web import csrf
from erkle.service.web.errors import Problem
from erkle.store import Account, Session, Store, Study, Unknown


class _Cookie(APIKeyCookie):
    async def __call__(self, request: HTTPConnection) -> str | None:
        return token_of(request)


_cookie = _Cookie(
    name=COOKIE,
    scheme_name="session",
    auto_error=False,
    description=f"Set by /api/login. With HTTPS its name is `{SECURE_COOKIE}`.",
)


def _state(name: str) -> Any:
    """Return a dependency on an attribute of the application's state."""

    async def attribute(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(attribute)


ConfigurationDep = Annotated[Configuration, _state("configuration")]
StoreDep = Annotated[Store, _state("store")]
RuntimesDep = Annotated[Runtimes, _state("runtimes")]
ParticipationDep = Annotated[Participation, _state("participation")]


def _session(
    request: Request,
    store: StoreDep,
    cookie: Annotated[str | None, Security(_cookie)],
    token: Annotated[str | None, Security(csrf.HEADER)],
) -> Session:
    session = needed(store, cookie or "")
    csrf.check_token(request, session, token)
    return session


SessionDep = Annotated[Session, Depends(_session)]


async def _account(session: SessionDep) -> Account:
    return session.account


AccountDep = Annotated[Account, Depends(_account)]


async def _turn(request: Request, account: AccountDep) -> AsyncIterator[None]:
    async with request.app.state.account_turns.turn(account.id):
        yield


# For routes that may take minutes: a few of one account at the same time, so that threads and memory are left for
# others. The turn ends before the response is sent, because somebody may receive it slowly.
AccountTurn = Depends(_turn, scope="function")


async def _admin(account: AccountDep) -> Account:
    if not account.admin:
        raise Problem(403, "not-admin", "Only an administrator can do this; ask an administrator.")
    return account


AdminDep = Annotated[Account, Depends(_admin)]


def _study(study: str, store: StoreDep, account: AccountDep) -> Study:
    try:
        found = store.studies.get(study)
    except Unknown:
        found = None
    # The same error for studies of others, so that nobody learns which ids exist.
    if found is None or not (account.admin or found.owner == account.id):
        raise Problem(404, "unknown", "You have no such study; see the list of your studies.")
    return found


StudyDep = Annotated[Study, Depends(_study)]
