"""kill -9 at random moments while participants answer: every acknowledged answer must be saved once, and learned.

Participants send an answer again until it is acknowledged, as the page in the browser does.
"""

import random
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.service.serving import PASSWORD, Serving
from erkle import ERKLE
from erkle.client import Client, Refused, Reply, Unreachable
from erkle.service.learning import Fold
from erkle.store import Store

__all__ = ["Survived", "kill_and_check", "same_kernel"]


class Survived(NamedTuple):
    """The counts after all kills."""

    kills: int
    clients: int
    acknowledged: int
    answers: int
    lost: int
    twice: int
    altered: int
    same_kernel: bool
    seconds: float

    @property
    def kept_its_promise(self) -> bool:
        """Whether no acknowledged answer is lost, doubled or altered, and the kernel is that of the log."""
        return self.acknowledged > 0 and not (self.lost or self.twice or self.altered) and self.same_kernel


class _Participants:
    """Threads of participants, and the acknowledgements that they have received."""

    def __init__(self, serving: Serving, n_clients: int) -> None:
        self.serving = serving
        self.acknowledged: dict[int, tuple[str, str, int]] = {}
        self.errors: list[BaseException] = []
        self._over, self._lock = threading.Event(), threading.Lock()
        self._threads = [threading.Thread(target=self._answer, daemon=True) for _ in range(n_clients)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _answer(self) -> None:
        try:
            with Client(self.serving.url, timeout=5.0, retry_for=60.0) as client:
                while not self._over.is_set():
                    self._take_part(client)
        except BaseException as error:
            self.errors.append(error)

    def _take_part(self, client: Client) -> None:
        reply = self._joined(client)
        while reply is not None and reply.questions and not self._over.is_set():
            question = reply.questions[0]
            choice = self.serving.nearer(question.anchor.id, question.left.id, question.right.id)
            assert reply.participant is not None
            reply = self._sent(client, reply.participant, question.token, choice)

    def _joined(self, client: Client) -> Reply | None:
        try:
            return client.join(self.serving.study)
        except Unreachable:
            # The server may or may not know this participant, so another one joins.
            time.sleep(0.05)
            return None

    def _sent(self, client: Client, participant: str, token: str, choice: int) -> Reply:
        try:
            reply = client.answer(self.serving.study, participant, token, choice)
        except Refused as refused:
            raise AssertionError(f"An honest answer was refused: {refused}") from refused
        assert reply.acknowledged is not None
        with self._lock:
            assert reply.acknowledged.sequence not in self.acknowledged, "Two answers have the same number."
            self.acknowledged[reply.acknowledged.sequence] = participant, token, choice
        return reply


def kill_and_check(
    n_kills: int, n_clients: int = 16, n_objects: int = 30, longest: float = 1.0, workers: int = 1
) -> Survived:
    """Kill the server ``n_kills`` times, at most ``longest`` seconds after each start, and check the log."""
    begun, rng = time.monotonic(), random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        serving = Serving(Path(folder), n_objects, per_participant=30, workers=workers)
        serving.start()
        participants = _Participants(serving, n_clients)
        participants.start()
        for _ in range(n_kills):
            time.sleep(rng.uniform(0.05, longest))
            serving.kill()
            serving.start()
        time.sleep(longest)
        participants.end()
        if participants.errors:
            raise participants.errors[0]
        same = same_kernel(serving, Path(folder))
        serving.stop()
        return _compared(serving, participants.acknowledged, n_kills, n_clients, same, time.monotonic() - begun)


def same_kernel(serving: Serving, folder: Path) -> bool:
    """Whether the kernel of the server equals that of a fresh replay of the log, to the last bit."""
    with Client(serving.url, timeout=90.0) as client:
        client.login("ann", PASSWORD)
        client.export(serving.study, "kernel.npz", folder / "kernel.npz")
    fold = Fold(len(serving.places))
    with Store(serving.database) as store:
        fold.learn(list(store.answers.log(serving.study)))
    given = ERKLE.load(folder / "kernel.npz")
    return bool(np.array_equal(given.kernel_matrix(), fold.learner.kernel_matrix()))


def _compared(
    serving: Serving,
    acknowledged: dict[int, tuple[str, str, int]],
    n_kills: int,
    n_clients: int,
    same: bool,
    seconds: float,
) -> Survived:
    with Store(serving.database) as store:
        log = {
            answer.sequence: (answer.participant, answer.token, answer.near)
            for answer in store.answers.log(serving.study)
        }
    assert sorted(log) == list(range(1, len(log) + 1)), "The log has gaps."
    tokens = Counter(token for _, token, _ in log.values())
    return Survived(
        kills=n_kills,
        clients=n_clients,
        acknowledged=len(acknowledged),
        answers=len(log),
        lost=sum(sequence not in log for sequence in acknowledged),
        twice=sum(count - 1 for count in tokens.values()),
        altered=sum(log.get(sequence, answer) != answer for sequence, answer in acknowledged.items()),
        same_kernel=same,
        seconds=seconds,
    )
