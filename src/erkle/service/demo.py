"""A demonstration study about the cities of Europe, answered by simulated participants over HTTP.

The participants know the map, but a tenth of their answers are wrong.
"""

import secrets
import threading
from typing import NamedTuple

import numpy as np

from erkle.client import Client, Refused, Reply, Unreachable
from erkle.datasets import load_cities
from erkle.service.accounts.passwords import hashed
from erkle.service.studies.spec import StudySettings
from erkle.store import Purpose, State, Store

TITLE = "Cities of Europe: which is nearer?"
_ACCOUNT = "demo"
_SETTINGS = {
    "texts": {
        "question": "Which of the two cities is nearer to this one?",
        "instructions": "Think of a map of Europe. There is no need to be exact.",
    },
    "limits": {"per_participant": 60},
    # A tenth of the answers are wrong, so no map can have an error below 0.1.
    "target_error": 0.15,
    "checks": {"practice": 0, "catch": [{"anchor": "Lisbon", "near": "Porto", "far": "Moscow"}], "catch_every": 20},
}


class Prepared(NamedTuple):
    """The study, and the token of a one-time link to its dashboard."""

    study: str
    token: str


def prepare(store: Store) -> Prepared:
    """Open the study of cities, and create it first if there is none. Nobody knows the password of its account."""
    known = store.accounts.named(_ACCOUNT)
    account = known[0] if known else store.accounts.create(_ACCOUNT, hashed(secrets.token_urlsafe()), admin=True)
    studies = [each for each in store.studies.all() if each.title == TITLE and each.state != State.CLOSED]
    settings = StudySettings.model_validate(_SETTINGS).model_dump(mode="json")
    study = studies[0] if studies else store.studies.create(TITLE, load_cities().names, settings, owner=account.id)
    store.studies.change_state(study.id, State.OPEN)
    return Prepared(study.id, store.links.create(Purpose.ENTER, account.id))


class Crowd:
    """Simulated participants, each in a thread of its own.

    Parameters
    ----------
    base_url : str
        The address of the server.
    study : str
        The id of the study.
    participants : int
        Participants at the same time. A new one joins when one has finished.
    rate : float
        Answers per second, of all participants together.
    wrong : float
        Share of answers that are wrong.
    """

    def __init__(
        self, base_url: str, study: str, participants: int = 20, rate: float = 20.0, wrong: float = 0.1
    ) -> None:
        self._client = Client(base_url, retry_for=60.0)
        self._study = study
        self._pause = participants / rate
        self._wrong = wrong
        self._places = load_cities().positions
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(seed,), daemon=True) for seed in range(participants)]

    def start(self) -> None:
        """Start answering as soon as the server responds."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop answering."""
        self._stopped.set()

    def _run(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        while not self._stopped.is_set():
            try:
                self._take_part(rng)
            except (Refused, Unreachable):
                # The study is paused, or the server is down: try again later.
                self._stopped.wait(5.0)

    def _take_part(self, rng: np.random.Generator) -> None:
        reply = self._client.join(self._study, {"source": "simulated"})
        while reply.finished is None and reply.questions and not self._stopped.is_set():
            pause = rng.exponential(self._pause)
            self._stopped.wait(pause)
            reply = self._answer(reply, rng, 1000 * pause)
        self._stopped.wait(rng.exponential(self._pause))

    def _answer(self, reply: Reply, rng: np.random.Generator, pause: float) -> Reply:
        question = reply.questions[0]
        pair = [question.left.id, question.right.id]
        distances = np.linalg.norm(self._places[pair] - self._places[question.anchor.id], axis=1)
        is_wrong = rng.random() < self._wrong
        choice = pair[int(distances.argmax() if is_wrong else distances.argmin())]
        return self._client.answer(self._study, reply.participant, question.token, choice, round(pause))
