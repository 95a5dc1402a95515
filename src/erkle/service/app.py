"""The web application: its routes, its middleware, and the state that lives as long as the process."""

import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import FastAPI

from erkle.service.accounts import routes as accounts
from erkle.service.configuration import Configuration
from erkle.service.dashboard import routes as dashboard
from erkle.service.dashboard.streams import Streams
from erkle.service.every import Every
from erkle.service.exchange import routes as exchange
from erkle.service.participation import routes as participation
from erkle.service.participation.participation import Participation
from erkle.service.participation.prolific import Keys, Prolific
from erkle.service.runtime import Runtimes
from erkle.service.studies import object_routes
from erkle.service.studies import routes as studies
from erkle.service.watchdog import Watchdog
from erkle.service.web import errors, openapi, operations, pages
from erkle.service.web.limits import buckets_of
from erkle.service.web.logs import log_as_json
from erkle.service.web.metrics import Exposition
from erkle.service.web.middleware.addressing import Addressing
from erkle.service.web.middleware.admission import Admission
from erkle.service.web.middleware.bodies import BodyLimit
from erkle.service.web.middleware.cors import Cors
from erkle.service.web.middleware.headers import Headers
from erkle.service.web.middleware.observing import Observing
from erkle.service.web.middleware.turns import InTurn, Turns
from erkle.service.web.pages import STATIC, Files
from erkle.service.web.shutdown import Shutdown
from erkle.store import Store

# Passwords hashed at the same time; each takes 46 MB.
_HASHING_AT_ONCE = 2
# Checks of the service's health at the same time, in threads that no other request uses.
_CHECKING_AT_ONCE = 2
# Imports, uploads and exports of one account at the same time.
_EXCHANGES_AT_ONCE = 2
# Seconds for which a thread may keep Python's interpreter lock while others, such as the event loop, wait for it. With
# the default of 5 ms, requests that compute keep everybody waiting.
_SWITCH_SECONDS = 0.0005
# Seconds between two looks for what processes have left unfinished that were killed.
_RECOVERY_SECONDS = 60.0
# Routes are matched in this order; participants' routes come first because they are used most.
ROUTERS = (
    participation.router,
    studies.media_router,
    accounts.router,
    exchange.router,
    dashboard.router,
    operations.router,
    pages.router,
    studies.router,
    object_routes.router,
)


def create_app(configuration: Configuration, owns_process: bool = False) -> FastAPI:
    """Create the application; it opens the database when it starts.

    With ``owns_process``, it ends the process soon after its shutdown, even if a learner is still busy, and threads of
    the process take turns more often.
    """
    if owns_process:
        sys.setswitchinterval(_SWITCH_SECONDS)
    app = FastAPI(
        **openapi.ABOUT,
        lifespan=_lifespan,
        redirect_slashes=False,
        # Traces could contain personal data, which the logs leave out.
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False},
    )
    app.state.configuration, app.state.owns_process = configuration, owns_process
    app.state.buckets = buckets_of(configuration)
    app.state.streams = Streams()
    errors.install(app)
    for router in ROUTERS:
        # Not `include_router`, which analyses every route again at the first request: 50 ms per application.
        app.router.routes.extend(router.routes)
    app.mount("/static", Files(directory=STATIC))
    openapi.install(app)
    # The middleware added last sees a request first.
    app.add_middleware(InTurn)
    app.add_middleware(BodyLimit, configuration=configuration)
    app.add_middleware(Admission)
    app.add_middleware(Cors, configuration=configuration)
    app.add_middleware(Addressing, configuration=configuration)
    app.add_middleware(Observing)
    app.add_middleware(Headers, configuration=configuration)
    return app


def from_environment() -> FastAPI:
    """Create the application in a worker process: ``uvicorn --factory erkle.service:from_environment``."""
    log_as_json()
    return create_app(Configuration(), owns_process=True)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    configuration: Configuration = app.state.configuration
    # Other users of the machine must not read who took part.
    configuration.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    app.state.shutdown = Shutdown(app.state.owns_process)
    app.state.hashing = CapacityLimiter(_HASHING_AT_ONCE)
    app.state.checking = CapacityLimiter(_CHECKING_AT_ONCE)
    app.state.account_turns = Turns(_EXCHANGES_AT_ONCE)
    store = app.state.store = await run_sync(Store, configuration.place)
    with ExitStack() as stack:
        stack.callback(store.close)
        runtimes = app.state.runtimes = Runtimes(store)
        stack.callback(runtimes.close)
        prolific = Prolific(Keys(configuration.prolific_keys), configuration.public_url)
        app.state.participation = Participation(store, runtimes, configuration.study_bytes, prolific)
        app.state.exposition = Exposition(store, runtimes)
        for service in (Every(_RECOVERY_SECONDS, store.recover, "recovery"), Watchdog(store)):
            stack.callback(service.close)
        try:
            yield
        finally:
            # Before anything waits for a thread.
            app.state.shutdown.end_soon()
            await run_sync(stack.close)
