"""What routes ask for by type: the store, the engine, who is signed in, and the study of the path.

Whoever changes something as a researcher sends the session's CSRF token, besides the cookie: a foreign page has the
cookie sent along, but cannot read the token.
"""

import secrets
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, APIKeyHeader

from erkle.service.configuration import Configuration
from erkle.service.errors import Problem
from erkle.store import Store, Study, Unknown
from erkle.store.outside import is_id

try:
    from erkle.store import Account, Session
except ImportError:  # until the store has accounts
    Account = Session = object  # type: ignore[assignment,misc]

if TYPE_CHECKING:
    from erkle.service.learning import Engine

__all__ = ["COOKIE", "AccountDep", "AdminDep", "ConfigurationDep", "EngineDep", "SessionDep", "StoreDep", "StudyDep"]

COOKIE = "erkle_session"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="Given by /api/login.")
_header = APIKeyHeader(name="X-CSRF-Token", auto_error=False, description="For changes: the `csrf` of /api/me.")


# Coroutines, for a plain function would wait for a thread.
async def _configuration(request: Request) -> Configuration:
    configuration: Configuration = request.app.state.configuration
    return configuration


async def _store(request: Request) -> Store:
    store: Store = request.app.state.store
    return store


async def _engine(request: Request) -> "Engine":
    engine: Engine = request.app.state.engine
    return engine


ConfigurationDep = Annotated[Configuration, Depends(_configuration)]
StoreDep = Annotated[Store, Depends(_store)]
EngineDep = Annotated["Engine", Depends(_engine)]


def _session(
    request: Request,
    store: StoreDep,
    cookie: Annotated[str | None, Security(_cookie)],
    token: Annotated[str | None, Security(_header)],
) -> Session:
    session = store.session(cookie) if is_id(cookie) and cookie is not None else None
    if session is None:
        raise Problem(401, "signed-out", "You are not signed in; sign in first.")
    # As bytes, for a header may hold what is not ASCII.
    if request.method not in _SAFE and not secrets.compare_digest((token or "").encode(), session.csrf.encode()):
        raise Problem(403, "csrf", "The header X-CSRF-Token is missing or not this session's; reload the page.")
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
    found = store.study(study)
    # Whether somebody else has such a study is not said.
    if not account.admin and found.owner != account.id:
        raise Unknown(f"There is no study {study!r}.")
    return found


StudyDep = Annotated[Study, Depends(_study)]
