"""A real application on an empty folder, people who are signed in to it, and a real server process."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from fastapi.testclient import TestClient
from listening import listening

from erkle.service import Configuration, create_app
from erkle.service.accounts import passwords
from erkle.service.accounts.sessions import COOKIE
from erkle.store import State, Store
from people import PASSWORD, THINGS, settings


@pytest.fixture(scope="session")
def empty(tmp_path_factory):
    """A database with its tables and nothing in them: to copy it takes a tenth of the time that they take."""
    file = tmp_path_factory.mktemp("empty") / "erkle.db"
    Store(file).close()
    return file


@pytest.fixture
def configuration(tmp_path, empty):
    """Where the data lie; a test that needs another configuration overrides this fixture."""
    data = tmp_path / "data"
    data.mkdir()
    shutil.copy(empty, data)
    return Configuration(data=data)


@pytest.fixture
def app(configuration):
    """The real application."""
    return create_app(configuration)


@pytest.fixture
def client(app):
    """Somebody who is not signed in; the application runs as long as this client is open."""
    with TestClient(app) as client:
        yield client


@pytest.fixture
def store(client):
    """The store of the running application."""
    return client.app.state.store


@pytest.fixture(scope="session")
def kept_password():
    """What is kept of everybody's password; to make it takes a while."""
    return passwords.hashed(PASSWORD)


@pytest.fixture
def sign_in(client, kept_password):
    """Make an account and give a client of its own that is signed in, with the CSRF header set."""

    def sign_in(name, admin=False):
        store = client.app.state.store
        account = store.accounts.create(name, kept_password, admin=admin)
        # Not by the password, which takes a tenth of a second to check.
        session = store.sessions.open(account.id, 3600.0)
        # Not entered as a context: the application runs already.
        other = TestClient(client.app)
        # The name that the jar gives a host without a dot.
        other.cookies.set(COOKIE, session.token, domain="testserver.local", path="/")
        other.headers["X-CSRF-Token"] = session.csrf
        return other

    return sign_in


@pytest.fixture
def researcher(sign_in):
    """A signed-in researcher, who is no administrator."""
    return sign_in("ann")


@pytest.fixture
def stranger(sign_in):
    """A second account, signed in."""
    return sign_in("bob")


@pytest.fixture
def admin(sign_in):
    """An administrator, signed in."""
    return sign_in("root", admin=True)


@pytest.fixture
def study(store, researcher):
    """The id of an open study of six objects that the researcher owns."""
    owner = researcher.get("/api/me").json()["account"]["id"]
    study = store.studies.create("Cities", THINGS, settings(), owner=owner).id
    store.studies.change_state(study, State.OPEN)
    return study


@pytest.fixture
def draft(researcher):
    """The id of a study of four objects that is not open yet."""
    return researcher.post("/api/studies", json={"title": "Cities", "objects": THINGS[:4]}).json()["id"]


@pytest.fixture
def make(store):
    """An open study of letters with other settings: ``make(holdout=0.2)``."""

    def make(things=("a", "b", "c", "d", "e", "f"), **changes):
        study = store.studies.create("Letters", list(things), settings(**changes)).id
        store.studies.change_state(study, State.OPEN)
        return study

    return make


class Server(NamedTuple):
    """A server process: where it is, what runs it, and how to start it again on the same data."""

    url: str
    process: subprocess.Popen
    log: Path
    data: Path

    def get(self, path):
        """The JSON at an address."""
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.load(answer)


@pytest.fixture
def serve(tmp_path):
    """Start the real server in a process of its own, on a free port: ``serve()``, ``serve(workers=2)``.

    Keywords go to the environment: ``serve(ERKLE_SERVER_PUBLIC_URL="https://example.org")``.
    """
    started = []

    def serve(data=None, port=None, workers=1, **environment):
        data = data or tmp_path / "served"
        port = port or free_port()
        log = tmp_path / f"server-{len(started)}.log"
        command = [sys.executable, "-m", "uvicorn", "--factory", "erkle.service:from_environment", "--port", str(port)]
        command += ["--no-access-log", "--no-proxy-headers", "--workers", str(workers)]
        variables = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "ERKLE_SERVER_DATA": str(data), **environment}
        with log.open("wb") as file:
            process = subprocess.Popen(command, env=variables, stdout=file, stderr=subprocess.STDOUT)
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
    """A port that nobody listens on now."""
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
    """Browsers of different people: ``visiting(url)`` gives a page; in the end nothing may have gone wrong in any."""
    contexts, complaints = [], []

    def told(message):
        if "Content Security Policy" in message.text:
            complaints.append(message.text)

    def visiting(url, **options):
        context = chromium.new_context(base_url=url, **{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", told)
        page.set_default_timeout(15_000)
        return page

    yield visiting
    for context in contexts:
        context.close()
    assert not complaints


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A real server for all tests of a file; each has studies of its own."""
    with listening(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture
def server(tmp_path):
    """A server on an empty folder, of one test alone."""
    with listening(tmp_path / "served") as site:
        yield site


@pytest.fixture
def visitor(site, visiting):
    """Another person's page: ``visitor()``."""
    return partial(visiting, site.url)


@pytest.fixture
def page(visitor):
    """The page of one person at a computer."""
    return visitor()
