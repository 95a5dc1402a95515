"""A real application on an empty database, signed-in clients, and real servers in a thread or a process."""

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from argon2 import PasswordHasher
from fastapi.testclient import TestClient
from forked import ErkleServe
from listening import listening

from erkle.service import Configuration, create_app
from erkle.service.accounts import passwords
from erkle.service.accounts.sessions import COOKIE
from erkle.service.learning.full_log import kernel_npz
from erkle.service.web.middleware import admission
from erkle.store import State, Store
from people import PASSWORD, THINGS, Somebody, settings

_REAL_HASHING = {"HASHER": passwords.HASHER, "UNKNOWN_ACCOUNT": passwords.UNKNOWN_ACCOUNT}


@pytest.fixture(scope="session", autouse=True)
def cheap_hashing():
    """Hash passwords in a millisecond; `real_hashing` undoes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        patch.setattr(passwords, "UNKNOWN_ACCOUNT", passwords.hashed("nobody has this password"))
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_refusals():
    """Refuse requests above the rate at once; the service waits a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admission, "PAUSE", 0.0)
        yield


@pytest.fixture
def real_hashing(monkeypatch):
    """Hash passwords as the service does."""
    for name, value in _REAL_HASHING.items():
        monkeypatch.setattr(passwords, name, value)


@pytest.fixture(scope="session")
def new_database(tmp_path_factory):
    """Create an empty database at a path: ``new_database(path)``. Copying one is ten times faster than migrating."""
    empty = tmp_path_factory.mktemp("empty") / "erkle.db"
    Store(empty).close()

    def new_database(path):
        path.parent.mkdir(exist_ok=True)
        return Path(shutil.copy(empty, path))

    return new_database


@pytest.fixture
def data_folder(tmp_path, new_database):
    """A folder with an empty database."""
    return new_database(tmp_path / "data" / "erkle.db").parent


@pytest.fixture
def configuration(data_folder):
    """The default configuration; a test that needs another one overrides this fixture."""
    return Configuration(data=data_folder)


@pytest.fixture
def app(configuration):
    """The real application."""
    return create_app(configuration)


@pytest.fixture
def client(app):
    """A client that is not signed in; the application runs as long as it is open."""
    with TestClient(app) as client:
        yield client


@pytest.fixture
def store(client):
    """The store of the running application."""
    return client.app.state.store


@pytest.fixture(scope="session")
def kept_password():
    """The hash of every account's password."""
    return passwords.hashed(PASSWORD)


@pytest.fixture
def sign_in(client, kept_password):
    """Create an account and return a client that is signed in to it, with the CSRF header set."""

    def sign_in(name, admin=False):
        store = client.app.state.store
        account = store.accounts.create(name, kept_password, admin=admin)
        session = store.sessions.open(account.id, 3600.0)
        # Not entered as a context, because the application is already running; its requests share one event loop.
        other = TestClient(client.app)
        other.portal = client.portal
        # The cookie jar adds .local to a host without a dot.
        other.cookies.set(COOKIE, session.token, domain="testserver.local", path="/")
        other.headers["X-CSRF-Token"] = session.csrf
        return other

    return sign_in


@pytest.fixture
def researcher(sign_in):
    """A signed-in researcher who is not an administrator."""
    return sign_in("ann")


@pytest.fixture
def stranger(sign_in):
    """Another signed-in researcher."""
    return sign_in("bob")


@pytest.fixture
def admin(sign_in):
    """A signed-in administrator."""
    return sign_in("root", admin=True)


@pytest.fixture
def study(store, researcher):
    """The id of an open study with six objects that belongs to the researcher."""
    owner = researcher.get("/api/me").json()["account"]["id"]
    study = store.studies.create("Cities", THINGS, settings(), owner=owner).id
    store.studies.change_state(study, State.OPEN)
    return study


@pytest.fixture
def draft(researcher):
    """The id of a study with four objects that is not open yet."""
    return researcher.post("/api/studies", json={"title": "Cities", "objects": THINGS[:4]}).json()["id"]


@pytest.fixture
def make(store):
    """Create an open study with other settings and return its id: ``make(holdout=0.2)``."""

    def make(things=("a", "b", "c", "d", "e", "f"), **changes):
        study = store.studies.create("Letters", list(things), settings(**changes)).id
        store.studies.change_state(study, State.OPEN)
        return study

    return make


@pytest.fixture(scope="session")
def compiled(tmp_path_factory, new_database):
    """Compile what a learner runs, so that no server compiles while a test kills it or waits for its end."""
    data = new_database(tmp_path_factory.mktemp("compiled") / "erkle.db").parent
    with TestClient(create_app(Configuration(data=data))) as client:
        store = client.app.state.store
        study = store.studies.create("Cities", THINGS, settings())
        store.studies.change_state(study.id, State.OPEN)
        Somebody(client, study.id).answer_all()
        kernel_npz(store, study)


class Server(NamedTuple):
    """A server process, its address, its log and its data."""

    url: str
    process: ErkleServe
    log: Path
    data: Path

    def get(self, path):
        """Return the JSON at a path."""
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.load(answer)


@pytest.fixture
def serve(tmp_path, compiled):
    """Start the real server in a process, on a free port: ``serve()``.

    Keywords are environment variables: ``serve(ERKLE_SERVER_PUBLIC_URL="https://example.org")``.
    """
    started = []

    def serve(data=None, **environment):
        data = data or tmp_path / "served"
        port = free_port()
        log = tmp_path / f"server-{len(started)}.log"
        process = ErkleServe(["--data", data, "--port", port], log, environment=environment)
        server = Server(f"http://127.0.0.1:{port}", process, log, data)
        started.append(server)
        _await(server)
        return server

    yield serve
    for server in started:
        server.process.terminate()
    for server in started:
        try:
            server.process.wait(20)
        except subprocess.TimeoutExpired:
            server.process.kill()
            server.process.wait()


def free_port():
    """A port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _await(server, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise AssertionError(f"The server ended: {server.log.read_text()[-3000:]}")
        try:
            return server.get("/health")
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise AssertionError(f"The server did not answer: {server.log.read_text()[-3000:]}")


@pytest.fixture(scope="session")
def chromium():
    """A real browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no chromium on this machine")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visiting(chromium):
    """Open a page in a new browser context: ``visiting(url)``. The test fails if a page had an error."""
    contexts, errors = [], []

    def on_message(message):
        if "Content Security Policy" in message.text:
            errors.append(message.text)

    def visiting(url, **options):
        context = chromium.new_context(base_url=url, **{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", on_message)
        page.set_default_timeout(15_000)
        return page

    yield visiting
    for context in contexts:
        context.close()
    assert not errors


@pytest.fixture(scope="module")
def site(tmp_path_factory, new_database):
    """A real server for all tests of a file; each test has its own studies."""
    with listening(new_database(tmp_path_factory.mktemp("site") / "erkle.db").parent) as site:
        yield site


@pytest.fixture
def server(data_folder):
    """A real server with an empty database, for one test."""
    with listening(data_folder) as site:
        yield site


@pytest.fixture
def visitor(site, visiting):
    """Open a page as another participant: ``visitor()``."""
    return partial(visiting, site.url)


@pytest.fixture
def page(visitor):
    """The page of a participant."""
    return visitor()
