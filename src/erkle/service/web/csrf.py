"""Protection against cross-site request forgery (CSRF): no page of another site acts for somebody who is signed in.

Whoever changes something as a researcher sends the session's token in a header, besides the cookie: a browser sends
the cookie along with the requests of a foreign page, but that page cannot read the token. Where there is no session
yet, the headers with which a browser says where a request comes from decide.
"""

import secrets

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader

from erkle.service.web.errors import Problem
from erkle.store import Session

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
HEADER = APIKeyHeader(
    name="X-CSRF-Token", scheme_name="csrf", auto_error=False, description="With changes: the `csrf` of /api/me."
)


def check_token(request: Request, session: Session, token: str | None) -> None:
    """Refuse a change without the token of the session."""
    # As bytes, because a header may hold what is not ASCII.
    if request.method not in _SAFE and not secrets.compare_digest((token or "").encode(), session.csrf.encode()):
        raise Problem(403, "csrf", "The header X-CSRF-Token is missing or not this session's; reload the page.")


async def _own_page(request: Request) -> None:
    """Refuse what a foreign page sends where there is no session yet to prove that it was ours."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    foreign = site not in (None, "same-origin", "none")
    if origin is not None and site is None:
        foreign = origin.partition("://")[2].lower() != request.headers.get("host", "").lower()
    if foreign:
        raise Problem(403, "foreign", "Another site's page sent this; open the page of this server and sign in there.")


OwnPage = Depends(_own_page)
