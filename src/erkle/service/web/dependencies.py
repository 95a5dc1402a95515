"""What routes ask for by type: the store, the runtimes of studies, who is signed in, and the study of the path.

Dependencies are coroutines where they only pass something on, because a plain function would wait for a thread.
"""

from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie
from pydantic import BaseModel, ConfigDict

from erkle.service.accounts.sessions import COOKIE, found
from erkle.service.configuration import Configuration
from erkle.service.participation.participation import Participation
from erkle.service.runtime import Runtimes
from erkle.service.web import csrf
from erkle.service.web.errors import Problem
from erkle.store import Account, Session, Store, Study, Unknown

_cookie = APIKeyCookie(name=COOKIE, scheme_name="session", auto_error=False, description="Given by /api/login.")


class Body(BaseModel):
    """What a request sends as JSON: no key is unknown, and no value is converted to another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _kept(name: str) -> Any:
    """A dependency on what the application keeps under this name while it runs."""

    async def kept(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(kept)


ConfigurationDep = Annotated[Configuration, _kept("configuration")]
StoreDep = Annotated[Store, _kept("store")]
RuntimesDep = Annotated[Runtimes, _kept("runtimes")]
ParticipationDep = Annotated[Participation, _kept("participation")]


def _session(
    request: Request,
    store: StoreDep,
    cookie: Annotated[str | None, Security(_cookie)],
    token: Annotated[str | None, Security(csrf.HEADER)],
) -> Session:
    session = found(store, cookie)
    if session is None:
        raise Problem(401, "signed-out", "You are not signed in; sign in first.")
    csrf.check_token(request, session, token)
    return session


SessionDep = Annotated[Session, Depends(_session)]


async def _account(session: SessionDep) -> Account:
    return session.account


AccountDep = Annotated[Account, Depends(_account)]


async def _admin(account: AccountDep) -> Account:
    if not account.admin:
        raise Problem(403, "not-admin", "Only an administrator may do this; ask one.")
    return account


AdminDep = Annotated[Account, Depends(_admin)]


def _study(study: str, store: StoreDep, account: AccountDep) -> Study:
    try:
        found = store.studies.get(study)
    except Unknown:
        found = None
    # Whether somebody else has such a study is not said.
    if found is None or not (account.admin or found.owner == account.id):
        raise Problem(404, "unknown", "You have no such study; look at the list of your studies.")
    return found


StudyDep = Annotated[Study, Depends(_study)]
