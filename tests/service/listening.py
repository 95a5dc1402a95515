"""A real server in a thread of the tests, which need not wait for it to import anything."""

import threading
import time
from contextlib import contextmanager
from typing import NamedTuple

import uvicorn

from erkle.service import Configuration, create_app
from erkle.service.app import SERVER
from erkle.store import State
from people import THINGS, settings


class Site(NamedTuple):
    """A server that listens, and its store."""

    url: str
    app: object

    @property
    def store(self):
        return self.app.state.store

    def study(self, objects=THINGS, title="Cities", media=None, owner=None, **changes):
        """A new open study without practice, with the settings that are given."""
        changes = {"checks": {"practice": 0}, **changes}
        study = self.store.studies.create(title, objects, settings(**changes), owner=owner, media=media or {}).id
        self.store.studies.change_state(study, State.OPEN)
        return study

    def answers(self, page, study, n_answers):
        """The answers that are kept, after waiting for so many; meanwhile the page goes on."""
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline and self.count(study) < n_answers:
            page.wait_for_timeout(50)
        return list(self.store.answers.log(study))

    def count(self, study):
        return self.store.studies.counts(study).answers


@contextmanager
def listening(data):
    """A server on a folder, as long as this lasts."""
    app = create_app(Configuration(data=data))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", **SERVER))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Site(f"http://127.0.0.1:{port}", app)
    finally:
        # What a signal does in a process of its own.
        app.state.shutdown.asked.set()
        server.should_exit = True
        # A learner that compiles for the first time ends only when that is done.
        thread.join(120)
        assert not thread.is_alive(), "The server did not end."
