"""Participants who answer until they are told to stop, and note what they see.

Like the page in the browser, they send an answer again until it is acknowledged.
"""

import random
import threading
import time
from collections import Counter
from typing import NamedTuple

from benchmarks.service.serving import Serving
from erkle.client import Client, Refused, Reply, Unreachable

__all__ = ["Acknowledged", "Participants"]

# Seconds that one attempt may take, and seconds between two attempts.
_TIMEOUT, _PAUSE = 5.0, 0.1


class Acknowledged(NamedTuple):
    """An answer that a participant was told is saved."""

    sequence: int
    participant: str
    token: str
    choice: int


class Participants:
    """Threads of participants.

    Attributes
    ----------
    urls : list of str
        Addresses of the server; each attempt uses one of them.
    acknowledged : list of Acknowledged
    seen : Counter of str
        What participants saw instead of an acknowledgement, such as ``503 database``.
    n_refused : int
        Requests that were refused for good, so that participants did not send them again.
    errors : list of Exception
        Errors that ended a thread.
    """

    def __init__(self, serving: Serving, url: str, n_participants: int = 4) -> None:
        self.serving, self.urls = serving, [url]
        self.acknowledged: list[Acknowledged] = []
        self.seen: Counter[str] = Counter()
        self.n_refused, self.errors = 0, list[Exception]()
        # When each answer was acknowledged, and when the fault began to be mended, on the monotonic clock.
        self._times, self._mended_at = list[float](), 0.0
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(n_participants)]

    def start(self) -> None:
        """Start answering."""
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Stop answering."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def mend(self) -> None:
        """Note that the fault is being mended now."""
        self._mended_at = time.monotonic()

    def seconds_to_recover(self, most: float = 120.0) -> float | None:
        """Wait for the first acknowledgement since the mend, and return how long it took; None if none came."""
        while not self._times or self._times[-1] < self._mended_at:
            if time.monotonic() > self._mended_at + most:
                return None
            time.sleep(0.01)
        return next(at for at in self._times if at >= self._mended_at) - self._mended_at

    def until(self, n_acknowledged: int) -> None:
        """Wait until this many answers are acknowledged."""
        deadline = time.monotonic() + 120
        while len(self.acknowledged) < n_acknowledged:
            assert time.monotonic() < deadline, f"Only {len(self.acknowledged)} answers were acknowledged."
            time.sleep(0.01)

    def _run(self) -> None:
        clients: dict[str, Client] = {}
        try:
            reply = None
            while not self._over.is_set():
                url = random.choice(self.urls)
                if url not in clients:
                    clients[url] = Client(url, timeout=_TIMEOUT, retry_for=0.0)
                reply = self._step(clients[url], reply)
        except Exception as error:
            self.errors.append(error)
        finally:
            for client in clients.values():
                client.close()

    def _step(self, client: Client, reply: Reply | None) -> Reply | None:
        """Answer the open question, or join if there is none. Return where the participant stands now."""
        try:
            return self._answer(client, reply) if reply and reply.questions else client.join(self.serving.study)
        except Refused as refused:
            self.seen[f"{refused.status} {refused.reason}"] += 1
            # After any other refusal, such as that of an expired question, the same answer need not be sent again.
            if refused.status != 429 and refused.status < 500:
                self.n_refused += 1
                reply = refused.reply
        except Unreachable:
            self.seen["no response"] += 1
        self._over.wait(_PAUSE)
        return reply

    def _answer(self, client: Client, reply: Reply) -> Reply:
        question = reply.questions[0]
        choice = self.serving.nearer(question.anchor.id, question.left.id, question.right.id)
        found = client.answer(self.serving.study, reply.participant, question.token, choice)
        assert found.acknowledged is not None
        assert reply.participant is not None
        self.acknowledged.append(Acknowledged(found.acknowledged.sequence, reply.participant, question.token, choice))
        self._times.append(time.monotonic())
        return found
