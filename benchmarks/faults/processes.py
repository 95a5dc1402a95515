"""Faults of the server's processes: they are stopped, killed, or started twice."""

import copy
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from benchmarks.faults.trial import LASTS, Fault, Trial
from benchmarks.service.serving import PASSWORD, Serving, free_port, launch
from erkle import triplets
from erkle.client import Client, Refused, Unreachable
from erkle.store import Store, Unknown

__all__ = ["KilledInDeletion", "KilledInFirstStart", "KilledInImport", "TwoServers", "WorkerStopped"]

_KILLS = 4
# Answers of the file that is imported: the import takes about a second.
_IMPORTED = 10_000
# Seconds in which a new server completes an import that was certain when the old one was killed.
_RECOVERY = 10.0


class WorkerStopped(Fault):
    """One of two workers is stopped (SIGSTOP) and continues later."""

    @contextmanager
    def serving(self, folder: Path) -> Iterator[Serving]:
        """A server with two workers."""
        yield Serving(folder / "data", n_objects=30, per_participant=30, workers=2)

    def happen(self, trial: Trial) -> str:
        """Stop a worker for longer than its lease lasts."""
        assert trial.serving.process is not None
        worker = random.choice(_workers(trial.serving.process.pid))
        os.kill(worker, signal.SIGSTOP)
        time.sleep(2 * LASTS)
        trial.participants.mend()
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGCONT)
        return ""


def _workers(pid: int) -> list[int]:
    """The worker processes of a server."""
    children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return [child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


class TwoServers(Fault):
    """A second server runs on the same folder, and is killed."""

    def happen(self, trial: Trial) -> str:
        """Let participants use both servers, then kill the second."""
        second = copy.copy(trial.serving)
        second.port = free_port()
        second.url = f"http://127.0.0.1:{second.port}"
        try:
            second.start()
        except RuntimeError:
            return "the second server did not start"
        trial.participants.urls.append(second.url)
        time.sleep(LASTS)
        trial.participants.mend()
        second.kill()
        trial.participants.urls.remove(second.url)
        return "both served"


class KilledInFirstStart(Fault):
    """The server is killed several times during its first start."""

    @contextmanager
    def serving(self, folder: Path) -> Iterator[Serving]:
        """A server on the folder that the killed ones have left."""
        data, rng = folder / "data", random.Random(0)
        data.mkdir()
        for _ in range(_KILLS):
            options = ["--data", str(data), "--port", str(free_port())]
            process = launch(options, data / "server.log", {}, {})
            # The database is created about a second after the start.
            time.sleep(rng.uniform(0.8, 2.5))
            process.kill()
            process.wait()
        with super().serving(folder) as serving:
            yield serving

    def happen(self, trial: Trial) -> str:
        """It has already happened."""
        trial.participants.mend()
        return f"{_KILLS} kills"


class _KilledInRequest(Fault):
    """Kills the server several times while it works on a request of a researcher, which takes about so many seconds."""

    seconds: ClassVar[float]

    def _request(self, client: Client, study: str, answers: Path) -> None:
        raise NotImplementedError

    def _prepare(self, client: Client, study: str, answers: Path) -> None:
        """Prepare the study for the request."""

    def happen(self, trial: Trial) -> str:
        """Kill the server at a random moment of the request. All of it must have happened then, or nothing."""
        rng, outcomes = random.Random(0), list[str]()
        file = _answers(trial.folder / "answers.csv")
        for _ in range(_KILLS):
            with _signed_in(trial.serving) as client:
                study = str(client.create_study("Another", [f"point {i}" for i in range(30)])["id"])
                self._prepare(client, study, file)
                request = threading.Thread(target=self._send, args=(client, study, file))
                request.start()
                time.sleep(rng.uniform(0.05, self.seconds))
                trial.serving.kill()
                trial.participants.mend()
                trial.serving.start()
                request.join()
            outcomes.append(_state(trial.serving, study))
        return f"after each kill: {', '.join(outcomes)}"

    def _send(self, client: Client, study: str, file: Path) -> None:
        with suppress(Unreachable, Refused):
            self._request(client, study, file)


class KilledInImport(_KilledInRequest):
    """The server is killed several times while it imports answers."""

    seconds = 2.0

    def _request(self, client: Client, study: str, answers: Path) -> None:
        client.import_answers(study, answers)


class KilledInDeletion(_KilledInRequest):
    """The server is killed several times while it deletes a study."""

    seconds = 0.4

    def _prepare(self, client: Client, study: str, answers: Path) -> None:
        client.import_answers(study, answers)

    def _request(self, client: Client, study: str, answers: Path) -> None:
        client.delete(study)


@contextmanager
def _signed_in(serving: Serving) -> Iterator[Client]:
    with closing(Client(serving.url, timeout=60.0, retry_for=0.0)) as client:
        client.login("ann", PASSWORD)
        yield client


def _answers(path: Path) -> Path:
    rows = triplets.sample(30, _IMPORTED, 0).tolist()
    lines = (",".join(f"point {i}" for i in row) for row in rows)
    path.write_text("\n".join(["anchor,near,far", *lines]) + "\n")
    return path


def _state(serving: Serving, study: str) -> str:
    """Whether a study is there with all answers or without any, or is gone."""
    deadline = time.monotonic() + _RECOVERY
    with Store(serving.database) as store:
        while True:
            try:
                n_answers = store.answers.last(study)
            except Unknown:
                return "no study"
            if n_answers in (0, _IMPORTED) or time.monotonic() > deadline:
                break
            # A server that has just started is still completing the import.
            time.sleep(0.1)
    assert n_answers in (0, _IMPORTED), f"{n_answers} of {_IMPORTED} answers are there."
    return "all answers" if n_answers else "no answers"
