"""`erkle serve`: run the collection service."""

from __future__ import annotations

import errno
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
from erkle.cli.server_data import one_place

if TYPE_CHECKING:
    from erkle.service import Configuration
    from erkle.store import Store

# Bytes of memory and of address space that a server without studies uses, rounded up.
_LEAST_MEMORY, _LEAST_ADDRESSES = 300e6, 1000e6
# Addresses that mean "all addresses", and how to reach them from this machine.
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}


def serve(
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the data; by default erkle-data.", envvar="ERKLE_SERVER_DATA", callback=one_place
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for all addresses of this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free port.")] = 8000,
    database: Annotated[
        str | None,
        typer.Option(help="URL of a PostgreSQL database, instead of a file in the folder.", callback=one_place),
    ] = None,
    public_url: Annotated[
        str | None, typer.Option(help="Public address of the service, such as https://study.example.org.")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None, typer.Option(help="Address of a reverse proxy whose headers are trusted; may be repeated.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Number of processes.")] = 1,
    demo: Annotated[bool, typer.Option("--demo", help="Show a study of cities with simulated participants.")] = False,
) -> None:
    """Serve studies: participants answer in the browser, and the map is learned live."""
    if workers < 1:
        raise ValueError(f"--workers is {workers}; pass at least 1.")
    _check_memory()
    with _data_folder(data, demo) as folder:
        _serve(_configuration(folder, database, public_url, trusted_proxy), host, port, workers, demo)


def _check_memory() -> None:
    """Refuse too little memory before NumPy is imported, which may never return then."""
    from erkle.memory import address_space, machine_memory

    memory = (
        ("memory", machine_memory(), _LEAST_MEMORY),
        ("address space (ulimit -v)", address_space(), _LEAST_ADDRESSES),
    )
    for name, found, least in memory:
        if found < least:
            raise ValueError(
                f"This process may use {found / 1e6:,.0f} MB of {name}, but the server needs at least "
                f"{least / 1e6:,.0f} MB; give it more."
            )


def _configuration(
    data: Path, database: str | None, public_url: str | None, proxies: list[str] | None
) -> Configuration:
    """The configuration from the command line; what is not given comes from the environment."""
    from erkle.service import Configuration

    given: dict[str, Any] = {"database": database, "public_url": public_url, "trusted_proxies": proxies}
    try:
        return Configuration(data=data, **{name: value for name, value in given.items() if value})
    except ValueError as error:
        # This is pydantic's ValidationError, which cannot be named: pydantic is an optional dependency.
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
    """Serve until Ctrl-C or SIGTERM, then finish the requests that are running."""
    from erkle.service.accounts.sessions import setup_link
    from erkle.store import Store

    _allow_connections()
    with _listening(host, port) as listener, ExitStack() as stack:
        local = f"http://{_ANYWHERE.get(host, f'[{host}]' if ':' in host else host)}:{listener.getsockname()[1]}"
        place = configuration.public_url or local
        with Store(configuration.place) as store:
            console.print(f"erkle is running at {place}, with its data in {_location(configuration)}.", soft_wrap=True)
            if demo:
                stack.enter_context(_demo(store, place, local))
            elif link := setup_link(store, place):
                words = "There is no account yet; create the first one, within a day, at"
                console.print(f"{words} {link}", soft_wrap=True)
        console.print("Press Ctrl-C to stop.", style="dim")
        with suppress(KeyboardInterrupt):
            _run(configuration, listener, workers, quiet=demo)
        console.print("Stopped.", style="dim")


@contextmanager
def _data_folder(data: Path | None, demo: bool) -> Iterator[Path]:
    """The folder for the data; a demo without --data gets a temporary folder."""
    if data is None and demo:
        with tempfile.TemporaryDirectory(prefix="erkle-demo-", ignore_cleanup_errors=True) as temporary:
            yield Path(temporary)
        return
    folder = Path("erkle-data") if data is None else data
    # Other users of the machine must not read the data.
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    yield folder


def _run(configuration: Configuration, listener: socket.socket, workers: int, quiet: bool) -> None:
    import uvicorn

    from erkle.service.configuration import SERVER

    if workers == 1:
        # Several workers import the application themselves, so the process that starts them does not need it.
        from erkle.service import create_app
        from erkle.service.web.logs import log_as_json

        log_as_json()
        if quiet:
            # Keep the links printed above on the screen.
            for name in ("erkle", "uvicorn", "uvicorn.error"):
                logging.getLogger(name).setLevel(logging.WARNING)
        server = uvicorn.Server(uvicorn.Config(create_app(configuration, owns_process=True), log_config=None, **SERVER))
        server.run([listener])
        if not server.started:
            # The log says why.
            raise typer.Exit(1)
        return
    host, port = listener.getsockname()[:2]
    listener.close()
    with tempfile.TemporaryDirectory(prefix="erkle-metrics-", ignore_cleanup_errors=True) as counts:
        # Each worker creates its own application; their metrics are added up in this folder.
        os.environ.update(configuration.environment() | {"PROMETHEUS_MULTIPROC_DIR": counts})
        factory = "erkle.service:from_environment"
        uvicorn.run(factory, factory=True, host=host, port=port, workers=workers, log_config=None, **SERVER)


def _allow_connections() -> None:
    """Open as many connections as the system allows; by default it allows a process 1,024 open files."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # Not on Windows.

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket; the error says why it is impossible."""
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
        return f"--host is {host!r}, not an address of this machine; pass 127.0.0.1, or 0.0.0.0 for all."
    if isinstance(error, PermissionError):
        return f"You are not allowed to use port {port}; pass a --port above 1023."
    if isinstance(error, OverflowError):
        return f"--port is {port}; pass a port from 1 to 65535, or 0 for any free port."
    if getattr(error, "errno", None) == errno.EADDRINUSE:
        return f"Port {port} of {host} is used by another program; stop it, or pass another --port."
    return f"Cannot listen on {host}:{port} ({getattr(error, 'strerror', error)}); pass another --host or --port."


@contextmanager
def _demo(store: Store, place: str, local: str) -> Iterator[None]:
    from erkle.service.demo import Crowd, prepare

    prepared = prepare(store)
    link = f"{place}/enter?next=/studies/{prepared.study}#{prepared.token}"
    console.print(f"Watch the map form (this link works once): {link}", soft_wrap=True)
    console.print(f"Take part yourself: {place}/s/{prepared.study}", soft_wrap=True)
    crowd = Crowd(local, prepared.study)
    crowd.start()
    try:
        yield
    finally:
        crowd.stop()


def _location(configuration: Configuration) -> str:
    """Where the data are stored, without a database URL, which may contain a password."""
    return "a PostgreSQL database" if configuration.database else str(configuration.data)
