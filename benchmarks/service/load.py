"""How long a participant waits: from the answer to its acknowledgement and the next question, in one reply.

Open loop: 50 answers a second are due, whatever the server does, and a wait is counted from when the answer was due.
Closed loop: everybody answers as soon as they have the next question.
"""

import http.client
import json
import threading
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.service.serving import Serving

__all__ = ["Waits", "closed_loop", "open_loop"]

Floats = NDArray[np.float64]


class Waits(NamedTuple):
    """Waits in milliseconds, in the order of the replies, and how long it took in all."""

    ms: Floats
    seconds: float
    failures: int

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.ms) / self.seconds

    def at(self, share: float) -> float:
        """The wait that so many do not exceed."""
        return float(np.quantile(self.ms, share))


class _Participant:
    """One connection, and whoever answers on it: when one has finished, another joins."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=60)
        self._turn: dict[str, Any] = {}

    def ready(self) -> None:
        """Have a question."""
        while not self._turn.get("questions"):
            self._turn = self._post("join", {"parameters": {}, "consent": True})

    def answer(self) -> None:
        """Answer it, and have the next."""
        question = self._turn["questions"][0]
        anchor, left, right = (question[name]["id"] for name in ("anchor", "left", "right"))
        sent = {"participant": self._turn["participant"], "token": question["token"], "response_ms": 1500}
        self._turn = self._post("answer", {**sent, "choice": self._serving.nearer(anchor, left, right), "client": {}})

    def _post(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        path, headers = f"/api/take/{self._serving.study}/{what}", {"Content-Type": "application/json"}
        self._connection.request("POST", path, json.dumps(body), headers)
        reply = self._connection.getresponse()
        data = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"{what}: {reply.status} {data[:300]!r}")
        found: dict[str, Any] = json.loads(data)
        return found


def open_loop(serving: Serving, participants: int, rate: float, seconds: float) -> Waits:
    """So many participants, who answer in turn at a fixed rate."""
    n_answers, begun = int(rate * seconds), time.perf_counter() + 2.0 + participants / 100
    ms, failures = np.full(n_answers, np.nan), [0]

    def take_part(first: int) -> None:
        somebody = _Participant(serving)
        for number in range(first, n_answers, participants):
            due = begun + number / rate
            try:
                somebody.ready()
                time.sleep(max(0.0, due - time.perf_counter()))
                somebody.answer()
                ms[number] = 1000 * (time.perf_counter() - due)
            except (RuntimeError, OSError):
                failures[0] += 1
                somebody = _Participant(serving)

    _together(take_part, participants)
    return Waits(ms[~np.isnan(ms)], time.perf_counter() - begun, failures[0])


def closed_loop(serving: Serving, participants: int, n_answers: int) -> Waits:
    """So many participants, who answer as fast as they can."""
    waits: list[tuple[float, float]] = []
    left, lock, failures = [n_answers], threading.Lock(), [0]

    def take_part(_: int) -> None:
        somebody = _Participant(serving)
        while True:
            with lock:
                left[0] -= 1
                if left[0] < 0:
                    return
            try:
                somebody.ready()
                begun = time.perf_counter()
                somebody.answer()
                waits.append((time.perf_counter(), 1000 * (time.perf_counter() - begun)))
            except (RuntimeError, OSError):
                failures[0] += 1
                somebody = _Participant(serving)

    begun = time.perf_counter()
    _together(take_part, participants)
    seconds = time.perf_counter() - begun
    return Waits(np.array([ms for _, ms in sorted(waits)]), seconds, failures[0])


def _together(work: Any, n: int) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
