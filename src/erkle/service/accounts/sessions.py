"""Who is signed in: a secret in a cookie that no script can read and no foreign page sends along.

A session begins with a new secret each time somebody signs in, and the one before ends: nobody can prepare one for
somebody else.
"""

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict

from erkle.service.configuration import Configuration
from erkle.service.web.middleware.addressing import is_https
from erkle.store import Account, Purpose, Session, Store
from erkle.store.sanitising import is_id

COOKIE = "erkle_session"


class AccountOut(BaseModel):
    """An account, without its password."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    admin: bool


class Me(BaseModel):
    """Who is signed in, and the token that changes need in the header ``X-CSRF-Token``."""

    model_config = ConfigDict(from_attributes=True)

    account: AccountOut
    csrf: str


def found(store: Store, token: str | None) -> Session | None:
    """The session of a cookie, if it is one and has not ended."""
    return store.sessions.get(token) if token is not None and is_id(token) else None


def begin(account: Account, store: Store, request: Request, response: Response) -> Me:
    """Sign somebody in: end the session that the browser had, and give it a new one."""
    configuration: Configuration = request.app.state.configuration
    store.sessions.close(request.cookies.get(COOKIE, ""))
    lifetime = configuration.session_hours * 3600
    session = store.sessions.open(account.id, lifetime)
    _set(response, request, session.token, int(lifetime))
    return Me.model_validate(session)


def end(store: Store, request: Request, response: Response) -> None:
    """Sign somebody out, here and in the browser."""
    store.sessions.close(request.cookies.get(COOKIE, ""))
    _set(response, request, "", 0)


def setup_link(store: Store, base_url: str) -> str | None:
    """The link by which the first account is made; None where there is an account.

    Parameters
    ----------
    store : Store
        The store of the service.
    base_url : str
        Where the service is reached, such as ``http://127.0.0.1:8000``.
    """
    if store.accounts.all():
        return None
    return f"{base_url.rstrip('/')}/setup#{store.links.create(Purpose.SETUP)}"


def _set(response: Response, request: Request, token: str, lifetime: int) -> None:
    configuration: Configuration = request.app.state.configuration
    told = configuration.secure_cookies
    secure = is_https(request.scope, configuration) if told is None else told
    response.set_cookie(COOKIE, token, max_age=lifetime, path="/", secure=secure, httponly=True, samesite="strict")
