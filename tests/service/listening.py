"""A real server in a thread of the test process, which starts at once because everything is already imported."""

import threading
import time
from contextlib import contextmanager
from typing import NamedTuple

import uvicorn

from erkle.service import Configuration, create_app
from erkle.service.configuration import SERVER
from erkle.store import State
from people import THINGS, settings
from with_media import study_with_media


class Site(NamedTuple):
    """A running server and its store."""

    url: str
    app: object

    @property
    def store(self):
        return self.app.state.store

    def study(self, objects=THINGS, title="Cities", media=None, owner=None, **changes):
        """Create an open study without practice questions, with these settings, and return its id."""
        changes = {"checks": {"practice": 0}, **changes}
        study = study_with_media(self.store, title, objects, settings(**changes), owner=owner, media=media or {}).id
        self.store.studies.change_state(study, State.OPEN)
        return study

    def answers(self, page, study, n_answers):
        """Return the stored answers once there are ``n_answers``; the page keeps running meanwhile."""
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline and self.count(study) < n_answers:
            page.wait_for_timeout(50)
        return list(self.store.answers.log(study))

    def count(self, study):
        return self.store.studies.counts(study).answers


@contextmanager
def listening(data, **options):
    """A running server, with its data in a folder and other options of its configuration."""
    app = create_app(Configuration(data=data, **options))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", **SERVER))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Site(f"http://127.0.0.1:{port}", app)
    finally:
        # In a process of its own, a signal does this.
        app.state.shutdown.asked.set()
        server.should_exit = True
        # A learner that is compiling ends only when it has compiled.
        thread.join(120)
        assert not thread.is_alive(), "The server did not end."
