"""Sessions: a secret token in a cookie that scripts cannot read and pages of other sites cannot send.

With HTTPS the name of the cookie starts with ``__Host-``. Browsers accept such a cookie only from this very host over
HTTPS, so a neighbouring host or a page without HTTPS cannot plant one.

Each login starts a session with a new token and ends the browser's previous session, so an attacker cannot plant a
known token in somebody's browser.
"""

import re

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict
from starlette.requests import HTTPConnection
from starlette.types import Scope

from erkle.service.configuration import Configuration
from erkle.service.web.errors import Problem
from erkle.service.web.middleware.addressing import is_https
from erkle.store import Account, Purpose, Session, Store
from erkle.store.sanitising import is_id

COOKIE = "erkle_session"
SECURE_COOKIE = f"__Host-{COOKIE}"
_SESSION = re.compile(rb"(?:^|;)[ \t]*((?:__Host-)?erkle_session=[A-Za-z0-9_-]*)[ \t]*(?=;|$)")


class AccountOut(BaseModel):
    """An account, without its password."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    admin: bool


class Me(BaseModel):
    """The account that is signed in, and the token that changes need in the header ``X-CSRF-Token``."""

    model_config = ConfigDict(from_attributes=True)

    account: AccountOut
    csrf: str


def token_of(connection: HTTPConnection) -> str:
    """Return the token in the session's cookie, or nothing."""
    return connection.cookies.get(SECURE_COOKIE if _is_secure(connection) else COOKIE, "")


def drop_other_cookies(scope: Scope) -> None:
    """Leave only the session's cookie in a request.

    Other programs on this host may have set cookies, and FastAPI parses all of them: with Python 3.11, escapes in a
    quoted cookie of 15 kB take half a second.
    """
    kept = [found for name, value in scope["headers"] if name == b"cookie" for found in _SESSION.findall(value)]
    headers = [(name, value) for name, value in scope["headers"] if name != b"cookie"]
    scope["headers"] = [*headers, (b"cookie", b"; ".join(kept))] if kept else headers


def found(store: Store, token: str | None) -> Session | None:
    """Return the session of a cookie, or None if there is none or it has expired."""
    return store.sessions.get(token) if token is not None and is_id(token) else None


def needed(store: Store, token: str) -> Session:
    """Return the session of a cookie, or raise the error for people who are not signed in."""
    if (session := found(store, token)) is None:
        raise Problem(401, "signed-out", "You are not signed in; sign in first.")
    return session


def begin(account: Account, store: Store, request: Request, response: Response) -> Me:
    """Sign in: end the browser's previous session and start a new one."""
    configuration: Configuration = request.app.state.configuration
    store.sessions.close(token_of(request))
    lifetime = configuration.session_hours * 3600
    session = store.sessions.open(account.id, lifetime)
    _set_cookie(response, request, session.token, int(lifetime))
    return Me.model_validate(session)


def end(store: Store, request: Request, response: Response) -> None:
    """Sign out: end the session and delete the cookie."""
    store.sessions.close(token_of(request))
    _set_cookie(response, request, "", 0)


def setup_link(store: Store, base_url: str) -> str | None:
    """Return the link that creates the first account, or None if there is an account already.

    Parameters
    ----------
    store : Store
        The store of the service.
    base_url : str
        The address of the service, such as ``http://127.0.0.1:8000``.
    """
    if store.accounts.all():
        return None
    return f"{base_url.rstrip('/')}/setup#{store.links.create(Purpose.SETUP)}"


def _set_cookie(response: Response, request: Request, token: str, lifetime: int) -> None:
    secure = _is_secure(request)
    name = SECURE_COOKIE if secure else COOKIE
    response.set_cookie(name, token, max_age=lifetime, path="/", secure=secure, httponly=True, samesite="strict")


def _is_secure(connection: HTTPConnection) -> bool:
    configuration: Configuration = connection.app.state.configuration
    secure = configuration.secure_cookies
    return is_https(connection.scope, configuration) if secure is None else secure
