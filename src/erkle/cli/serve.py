"""`erkle serve`: the collection service, until somebody stops it."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from erkle.cli.screen import console

if TYPE_CHECKING:
    from erkle.service import Configuration
    from erkle.store import Store

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}


def serve(
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data, by default erkle-data.", envvar="ERKLE_SERVER_DATA")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any that is free.")] = 8000,
    database: Annotated[
        str | None, typer.Option(help="URL of a PostgreSQL database, in place of a file in the folder.")
    ] = None,
    public_url: Annotated[
        str | None, typer.Option(help="Where people reach the service, such as https://study.example.org.")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None, typer.Option(help="Address of a reverse proxy whose headers are believed; may be repeated.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Number of processes.")] = 1,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show a study of cities that simulated people answer at once.")
    ] = False,
) -> None:
    """Serve studies: people answer in the browser, and the map forms while they do."""
    if workers < 1:
        raise ValueError(f"--workers is {workers}; pass at least 1.")
    with _data_folder(data, demo) as folder:
        _serve(_configuration(folder, database, public_url, trusted_proxy), host, port, workers, demo)


def _configuration(
    data: Path, database: str | None, public_url: str | None, proxies: list[str] | None
) -> Configuration:
    """What was given on the command line; the rest is from the environment."""
    from erkle.service import Configuration

    given: dict[str, Any] = {"database": database, "public_url": public_url, "trusted_proxies": proxies}
    try:
        return Configuration(data=data, **{name: value for name, value in given.items() if value})
    except ValueError as error:
        # One of pydantic, which is installed only where the service is.
        first: dict[str, Any] = error.errors()[0]  # type: ignore[attr-defined]
        name = str(first["loc"][0] if first["loc"] else "options")
        option = (
            f"--{name.replace('_', '-').replace('proxies', 'proxy')}"
            if name in given
            else f"ERKLE_SERVER_{name.upper()}"
        )
        message = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
        raise ValueError(f"{option}: {message}.") from None


def _serve(configuration: Configuration, host: str, port: int, workers: int, demo: bool) -> None:
    """Serve until Ctrl-C or SIGTERM; what is in hand is finished then."""
    from erkle.service.accounts.sessions import setup_link
    from erkle.store import Store

    with _listening(host, port) as listener, ExitStack() as stack:
        local = f"http://{_ANYWHERE.get(host, f'[{host}]' if ':' in host else host)}:{listener.getsockname()[1]}"
        place = configuration.public_url or local
        with Store(configuration.place) as store:
            console.print(f"erkle serves {place}, with its data in {_told(configuration)}.", soft_wrap=True)
            if demo:
                stack.enter_context(_demonstrated(store, place, local))
            elif link := setup_link(store, place):
                words = "There is no account yet; make the first one, within a day, at"
                console.print(f"{words} {link}", soft_wrap=True)
        console.print("Press Ctrl-C to stop.", style="dim")
        with suppress(KeyboardInterrupt):
            _run(configuration, listener, workers, quiet=demo)
        console.print("Stopped.", style="dim")


@contextmanager
def _data_folder(data: Path | None, demo: bool) -> Iterator[Path]:
    """The folder of the data; a demonstration without one gets one that is gone afterwards."""
    if data is None and demo:
        with tempfile.TemporaryDirectory(prefix="erkle-demo-", ignore_cleanup_errors=True) as temporary:
            yield Path(temporary)
        return
    folder = Path("erkle-data") if data is None else data
    # What is in it is the business of whoever runs the server, and of nobody else on the machine.
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    yield folder


def _run(configuration: Configuration, listener: socket.socket, workers: int, quiet: bool) -> None:
    import uvicorn

    from erkle.service import create_app
    from erkle.service.app import SERVER
    from erkle.service.web.logs import log_as_json

    if workers == 1:
        log_as_json()
        if quiet:
            # So that the links above stay on the screen.
            for name in ("erkle", "uvicorn", "uvicorn.error"):
                logging.getLogger(name).setLevel(logging.WARNING)
        uvicorn.Server(uvicorn.Config(create_app(configuration), log_config=None, **SERVER)).run([listener])
        return
    host, port = listener.getsockname()[:2]
    listener.close()
    with tempfile.TemporaryDirectory(prefix="erkle-metrics-", ignore_cleanup_errors=True) as counts:
        # Each worker makes the application by itself, and adds what it counts to that of the others.
        os.environ.update(configuration.environment() | {"PROMETHEUS_MULTIPROC_DIR": counts})
        app = "erkle.service:from_environment"
        uvicorn.run(app, factory=True, host=host, port=port, workers=workers, log_config=None, **SERVER)


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that others can connect to, or a sentence that says why not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except (OSError, OverflowError) as error:
            raise ValueError(_cannot_listen(host, port, error)) from None
        listener.listen(2048)
        listener.set_inheritable(True)
        yield listener


def _cannot_listen(host: str, port: int, error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return f"--host is {host!r}, which is no address of this machine; pass 127.0.0.1, or 0.0.0.0 for all."
    if isinstance(error, PermissionError):
        return f"Port {port} may not be used by you; pass a --port above 1023."
    if isinstance(error, OverflowError):
        return f"--port is {port}; pass one from 1 to 65535, or 0 for any that is free."
    if getattr(error, "errno", None) == 98 or "in use" in str(error):
        return f"Port {port} of {host} is taken by another program; end it, or pass another --port."
    return f"{host}:{port} cannot be listened on ({getattr(error, 'strerror', error)}); pass another --host or --port."


@contextmanager
def _demonstrated(store: Store, place: str, local: str) -> Iterator[None]:
    from erkle.service.demo import Crowd, prepare

    prepared = prepare(store)
    link = f"{place}/enter?next=/studies/{prepared.study}#{prepared.token}"
    console.print(f"Watch the map form (the link works once): {link}", soft_wrap=True)
    console.print(f"Take part yourself: {place}/s/{prepared.study}", soft_wrap=True)
    crowd = Crowd(local, prepared.study)
    crowd.start()
    try:
        yield
    finally:
        crowd.stop()


def _told(configuration: Configuration) -> str:
    """Where the data are, without the password that may be in a URL."""
    return "a database of its own" if configuration.database else str(configuration.data)
