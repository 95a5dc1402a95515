"""A study that runs by itself: the cities of Europe, and simulated people who answer over HTTP as real ones do.

They know the map, and toss a coin now and then: a tenth of their answers goes the wrong way round.
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
        "instructions": "Go by the map of Europe in your head. There is no need to be exact.",
    },
    "limits": {"per_participant": 60},
    # A tenth of the answers is wrong whatever one learns.
    "target_error": 0.15,
    "checks": {"practice": 0, "catch": [{"anchor": "Lisbon", "near": "Porto", "far": "Moscow"}], "catch_every": 20},
}


class Prepared(NamedTuple):
    """The study, and the token of a link that opens its dashboard once."""

    study: str
    token: str


def prepare(store: Store) -> Prepared:
    """An open study of the cities, made unless there is one, for an account that nobody knows the password of."""
    known = store.accounts.named(_ACCOUNT)
    account = known[0] if known else store.accounts.create(_ACCOUNT, hashed(secrets.token_urlsafe()), admin=True)
    studies = [each for each in store.studies.all() if each.title == TITLE and each.state != State.CLOSED]
    settings = StudySettings.model_validate(_SETTINGS).model_dump(mode="json")
    study = studies[0] if studies else store.studies.create(TITLE, load_cities().names, settings, owner=account.id)
    store.studies.change_state(study.id, State.OPEN)
    return Prepared(study.id, store.links.create(Purpose.ENTER, account.id))


class Crowd:
    """Simulated people at a server, each in a thread of their own.

    Parameters
    ----------
    base_url, study : str
        Where they answer, and what.
    people : int
        How many at once; whoever has finished is followed by somebody new.
    rate : float
        Answers a second of all of them.
    wrong : float
        Share of answers that are given the wrong way round.
    """

    def __init__(self, base_url: str, study: str, people: int = 20, rate: float = 20.0, wrong: float = 0.1) -> None:
        self._client = Client(base_url, patience=60.0)
        self._study = study
        self._pause = people / rate
        self._wrong = wrong
        self._places = load_cities().positions
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._live, args=(seed,), daemon=True) for seed in range(people)]

    def start(self) -> None:
        """Let them answer, as soon as the server does."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let them go."""
        self._over.set()

    def _live(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        while not self._over.is_set():
            try:
                self._take_part(rng)
            except (Refused, Unreachable):
                # The study was paused, or the server is gone: perhaps somebody opens it again.
                self._over.wait(5.0)

    def _take_part(self, rng: np.random.Generator) -> None:
        reply = self._client.join(self._study, {"source": "simulated"})
        while reply.finished is None and reply.questions and not self._over.is_set():
            pause = rng.exponential(self._pause)
            self._over.wait(pause)
            reply = self._answered(reply, rng, 1000 * pause)
        self._over.wait(rng.exponential(self._pause))

    def _answered(self, reply: Reply, rng: np.random.Generator, pause: float) -> Reply:
        question = reply.questions[0]
        pair = [question.left.id, question.right.id]
        distances = np.linalg.norm(self._places[pair] - self._places[question.anchor.id], axis=1)
        is_wrong = rng.random() < self._wrong
        choice = pair[int(distances.argmax() if is_wrong else distances.argmin())]
        return self._client.answer(self._study, reply.participant, question.token, choice, round(pause))
