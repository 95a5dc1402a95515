"""Health and metrics, for operators."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from erkle.service.accounts import sessions
from erkle.service.web.dependencies import ConfigurationDep, StoreDep
from erkle.service.web.errors import Problem, problems
from erkle.service.web.metrics import Exposition
from erkle.service.web.middleware.addressing import is_local

router = APIRouter(tags=["operations"])


class Health(BaseModel):
    """The service works."""

    status: str = "ok"


@router.head("/health", include_in_schema=False)
@router.get("/health", responses=problems(503))
def health(store: StoreDep) -> Health:
    """Check that the database responds and that its file has not been replaced."""
    try:
        store.check()
    except Exception as error:
        raise Problem(503, "database", "The database does not respond; see the log.") from error
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
