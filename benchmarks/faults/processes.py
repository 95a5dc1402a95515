"""Faults of the server's processes: they are stopped, or started twice."""

import copy
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.faults.trial import LASTS, Fault, Trial, signed_in, wait_until
from benchmarks.service.serving import Serving, free_port

__all__ = ["StoppedWhileCompiling", "TwoServers", "WorkerStopped"]

# Compiled functions in the cache when the server is stopped; a learner needs several times as many.
_FIRST_COMPILED = 4
# Seconds within which a server ends; docs/operate/what-can-go-wrong.md promises them.
_MOST_SECONDS = 10.0


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


class StoppedWhileCompiling(Fault):
    """The server is stopped (SIGTERM) while it compiles, and started again."""

    @contextmanager
    def serving(self, folder: Path) -> Iterator[Serving]:
        """A server with an empty cache of compiled code."""
        yield Serving(folder / "data", 30, 30, environment={"XDG_CACHE_HOME": str(folder / "cache")})

    def happen(self, trial: Trial) -> str:
        """Stop the server when the first functions are compiled and most are not."""
        process = trial.serving.process
        assert process is not None
        wait_until(lambda: _n_compiled(trial.folder) >= _FIRST_COMPILED, "Nothing is compiled.")
        begun = time.monotonic()
        trial.serving.stop()
        seconds, n_before = time.monotonic() - begun, _n_compiled(trial.folder)
        assert seconds <= _MOST_SECONDS, f"The server needed {seconds:.1f} seconds to end."
        trial.participants.mend()
        trial.serving.start()
        with signed_in(trial.serving) as client:
            wait_until(lambda: client.live(trial.serving.study)["learned"] > 0, "Nothing is learned.")
        n_after = _n_compiled(trial.folder)
        assert n_after > n_before, f"All {n_before} functions were compiled before the server was stopped."
        return f"ended within {seconds:.1f} s, with {n_before} of {n_after} functions compiled"


def _n_compiled(folder: Path) -> int:
    return len(list((folder / "cache").rglob("*.nbc")))
