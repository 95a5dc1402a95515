"""What routes ask for by type: the store, the runtimes of studies, who is signed in, and the study of the path.

Whoever changes something as a researcher sends the session's CSRF token, besides the cookie: a foreign page has the
cookie sent along, but cannot read the token.
"""

import secrets
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, APIKeyHeader

from erkle.service.accounts.sessions import COOKIE, found
from erkle.service.configuration import Configuration
from erkle.service.runtime import Runtimes
from erkle.service.web.errors import Problem
from erkle.store import Account, Session, Store, Study, Unknown

__all__ = ["AccountDep", "AdminDep", "ConfigurationDep", "OwnPage", "RuntimesDep", "SessionDep", "StoreDep", "StudyDep"]

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

_cookie = APIKeyCookie(name=COOKIE, scheme_name="session", auto_error=False, description="Given by /api/login.")
_header = APIKeyHeader(
    name="X-CSRF-Token", scheme_name="csrf", auto_error=False, description="With changes: the `csrf` of /api/me."
)


# Coroutines, for a plain function would wait for a thread.
async def _configuration(request: Request) -> Configuration:
    configuration: Configuration = request.app.state.configuration
    return configuration


async def _store(request: Request) -> Store:
    store: Store = request.app.state.store
    return store


async def _runtimes(request: Request) -> Runtimes:
    runtimes: Runtimes = request.app.state.runtimes
    return runtimes


ConfigurationDep = Annotated[Configuration, Depends(_configuration)]
StoreDep = Annotated[Store, Depends(_store)]
RuntimesDep = Annotated[Runtimes, Depends(_runtimes)]


def _session(
    request: Request,
    store: StoreDep,
    cookie: Annotated[str | None, Security(_cookie)],
    token: Annotated[str | None, Security(_header)],
) -> Session:
    session = found(store, cookie)
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
    try:
        found = store.studies.get(study)
    except Unknown:
        found = None
    # Whether somebody else has such a study is not said.
    if found is None or not (account.admin or found.owner == account.id):
        raise Problem(404, "unknown", "You have no such study; look at the list of your studies.")
    return found


StudyDep = Annotated[Study, Depends(_study)]


async def _own_page(request: Request) -> None:
    """Refuse what a foreign page sends where there is no session yet to prove that it was ours."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    foreign = site not in (None, "same-origin", "none")
    if origin is not None and site is None:
        foreign = origin.partition("://")[2].lower() != request.headers.get("host", "").lower()
    if foreign:
        raise Problem(403, "foreign", "Another site's page sent this; open the page of this server and sign in there.")


OwnPage = Depends(_own_page)
