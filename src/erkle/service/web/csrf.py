"""Protection against cross-site request forgery (CSRF): a page of another site cannot act for a signed-in researcher.

Every change needs the session's token in a header, in addition to the cookie. A browser may send the cookie with a
request of another site's page, but that page cannot read the token. A login has no session yet, so it is
accepted only if the browser's headers say that it comes from a page of this server.
"""

import secrets

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader

from erkle.service.web.errors import Problem
from erkle.store import Session

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
HEADER = APIKeyHeader(
    name="X-CSRF-Token", scheme_name="csrf", auto_error=False, description="Needed for changes: the `csrf` of /api/me."
)


def check_token(request: Request, session: Session, token: str | None) -> None:
    """Refuse a change that does not have the token of the session."""
    # Compared as bytes, because a header may contain non-ASCII characters.
    if request.method not in _SAFE and not secrets.compare_digest((token or "").encode(), session.csrf.encode()):
        raise Problem(403, "csrf", "The header X-CSRF-Token is missing or belongs to another session; reload the page.")


async def _own_page(request: Request) -> None:
    """Refuse requests that a page of another site sends."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    is_foreign = site not in (None, "same-origin", "none")
    if origin is not None and site is None:
        is_foreign = origin.partition("://")[2].lower() != request.headers.get("host", "").lower()
    if is_foreign:
        raise Problem(403, "foreign", "A page of another site sent this request; sign in on a page of this server.")


OwnPage = Depends(_own_page)
