"""How long participants wait between an answer and the reply, which acknowledges it and contains the next question.

Open loop: answers are due at a fixed rate, however fast the server is, and a wait starts when the answer is due.
Closed loop: participants answer as soon as they have the next question.
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
    """Waits in milliseconds, in the order of the replies, and the seconds of the whole measurement."""

    ms: Floats
    seconds: float
    failures: int

    @property
    def rate(self) -> float:
        """Answers per second."""
        return len(self.ms) / self.seconds

    def at(self, share: float) -> float:
        """A quantile of the waits: this share of them is not longer."""
        return float(np.quantile(self.ms, share))


class _Participant:
    """A connection on which one participant after the other answers: when one has finished, the next one joins."""

    def __init__(self, serving: Serving, address: str = "127.0.0.1") -> None:
        self._serving = serving
        source = (address, 0)
        self._connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=60, source_address=source)
        self._reply: dict[str, Any] = {}

    def ready(self) -> None:
        """Join if there is no open question."""
        while not self._reply.get("questions"):
            self._reply = self._post("join", {"parameters": {}, "consent": True})

    def answer(self) -> None:
        """Answer the open question, and receive the next one."""
        question = self._reply["questions"][0]
        anchor, left, right = (question[name]["id"] for name in ("anchor", "left", "right"))
        sent = {"participant": self._reply["participant"], "token": question["token"], "response_ms": 1500}
        self._reply = self._post("answer", {**sent, "choice": self._serving.nearer(anchor, left, right), "client": {}})

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
    """Participants answer in turn at a fixed rate. If the server limits addresses, each has an address of its own."""
    n_answers, begun = int(rate * seconds), time.perf_counter() + 2.0 + participants / 100
    ms, failures = np.full(n_answers, np.nan), [0]

    def take_part(first: int) -> None:
        # On Linux, all addresses that begin with 127 belong to this machine.
        address = f"127.0.1.{first % 250 + 1}" if serving.limited else "127.0.0.1"
        participant = _Participant(serving, address)
        for number in range(first, n_answers, participants):
            due = begun + number / rate
            try:
                participant.ready()
                time.sleep(max(0.0, due - time.perf_counter()))
                participant.answer()
                ms[number] = 1000 * (time.perf_counter() - due)
            except (RuntimeError, OSError):
                failures[0] += 1
                participant = _Participant(serving, address)

    _together(take_part, participants)
    return Waits(ms[~np.isnan(ms)], time.perf_counter() - begun, failures[0])


def closed_loop(serving: Serving, participants: int, n_answers: int) -> Waits:
    """Participants answer as fast as they can."""
    waits: list[tuple[float, float]] = []
    left, lock, failures = [n_answers], threading.Lock(), [0]

    def take_part(_: int) -> None:
        participant = _Participant(serving)
        while True:
            with lock:
                left[0] -= 1
                if left[0] < 0:
                    return
            try:
                participant.ready()
                begun = time.perf_counter()
                participant.answer()
                waits.append((time.perf_counter(), 1000 * (time.perf_counter() - begun)))
            except (RuntimeError, OSError):
                failures[0] += 1
                participant = _Participant(serving)

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
