"""The web application: the routes, what guards them, and what lives as long as the process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio.to_thread import run_sync
from fastapi import FastAPI

from erkle.service import errors, routes
from erkle.service.configuration import Configuration
from erkle.store import Store

__all__ = ["create_app", "from_environment"]


def create_app(configuration: Configuration) -> FastAPI:
    """The application of a configuration; it opens the database when it is started."""
    app = FastAPI(title="erkle", lifespan=_lifespan, docs_url=None, redoc_url=None)
    app.state.configuration = configuration
    errors.install(app)
    for router in routes.routers():
        app.include_router(router)
    return app


def from_environment() -> FastAPI:
    """The application as a worker process makes it: ``uvicorn --factory erkle.service:from_environment``."""
    return create_app(Configuration())


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    configuration: Configuration = app.state.configuration
    configuration.data.mkdir(parents=True, exist_ok=True)
    store = await run_sync(Store, configuration.place)
    app.state.store, app.state.engine = store, None
    try:
        try:
            from erkle.service.learning import Engine

            app.state.engine = Engine(store)
        except ImportError:
            pass
        yield
    finally:
        if app.state.engine is not None:
            await run_sync(app.state.engine.close)
        await run_sync(store.close)
