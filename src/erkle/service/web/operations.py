"""Whether the service is alive and ready, and metrics, for operators.

A process that is alive but not ready, such as one whose disk is full, does not get better by a restart.
"""

import logging

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from erkle.service.accounts import sessions
from erkle.service.web.dependencies import ConfigurationDep, StoreDep
from erkle.service.web.errors import Problem, problems
from erkle.service.web.metrics import Exposition
from erkle.service.web.middleware.addressing import is_local
from erkle.store import StoreError

router = APIRouter(tags=["operations"])


_log = logging.getLogger("erkle.service")


class Health(BaseModel):
    """The service is alive, or ready."""

    status: str = "ok"


@router.head("/health", include_in_schema=False)
@router.get("/health", responses=problems(503))
async def health(request: Request, store: StoreDep) -> Health:
    """Check that the service is ready: the database responds, its files are in place, and the last write succeeded."""
    try:
        # In a thread of its own, which is free when requests use all others.
        await run_sync(store.check, limiter=request.app.state.checking)
    except Exception as error:
        trouble = str(error) if isinstance(error, StoreError) else type(error).__name__
        _log.error("the service is not ready", extra={"trouble": trouble})
        raise Problem(503, "database", "The database is not available; see the log.") from error
    return Health()


@router.head("/alive", include_in_schema=False)
@router.get("/alive")
async def alive() -> Health:
    """Check that the process responds, whatever the state of the database."""
    return Health()


@router.get("/metrics", response_class=PlainTextResponse, responses=problems(403))
def metrics(request: Request, store: StoreDep, configuration: ConfigurationDep) -> Response:
    """Metrics for Prometheus, for this machine and for administrators; the operator can open them to everybody."""
    session = sessions.found(store, sessions.token_of(request))
    if not (configuration.metrics_open or is_local(request.scope) or (session and session.account.admin)):
        raise Problem(
            403,
            "not-local",
            "Metrics are open only to the server's machine and to administrators; sign in as an administrator.",
        )
    exposition: Exposition = request.app.state.exposition
    return Response(exposition.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
