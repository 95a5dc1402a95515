"""A server process with a study, which can be killed and started again on the same data."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np

from erkle.service.accounts.passwords import hashed
from erkle.service.studies.spec import Limits, StudySettings
from erkle.store import State, Store

PASSWORD = "correct horse battery"
# Here all participants share one address, so the limits per address are lifted.
_NO_LIMITS = '{"per_second": 100000, "burst": 100000}'


class Serving:
    """``erkle serve`` on a folder that contains an open study of points in the plane.

    Parameters
    ----------
    folder : Path
    n_objects : int
    per_participant : int
        Questions per participant.
    workers : int
        Web processes.
    """

    def __init__(self, folder: Path, n_objects: int = 100, per_participant: int = 50, workers: int = 1) -> None:
        self.folder, self.workers = folder, workers
        self.places = np.random.default_rng(0).normal(size=(n_objects, 2))
        settings = StudySettings(limits=Limits(per_participant=per_participant)).model_dump(mode="json")
        folder.mkdir(parents=True, exist_ok=True)
        with Store(self.database) as store:
            store.accounts.create("ann", hashed(PASSWORD), admin=True)
            self.study = store.studies.create("Points", [f"point {i}" for i in range(n_objects)], settings).id
            store.studies.change_state(self.study, State.OPEN)
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def database(self) -> Path:
        """The file with all data."""
        return self.folder / "erkle.db"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        command = [sys.executable, "-m", "erkle", "serve", "--data", str(self.folder), "--port", str(self.port)]
        limits = {
            f"ERKLE_SERVER_{name}_RATE": _NO_LIMITS for name in ("JOIN", "ANSWER", "ANSWER_ADDRESS", "STORED", "LOGIN")
        }
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--workers", str(self.workers)],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **limits},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The server did not start: {(self.folder / 'server.log').read_text()[-2000:]}")
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill the server and all its workers at once, like a power cut."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Ask the server to shut down, and wait for it."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(60)

    def nearer(self, anchor: int, left: int, right: int) -> int:
        """The answer of a participant who sees the points."""
        here, one, two = self.places[[anchor, left, right]]
        return left if ((here - one) ** 2).sum() < ((here - two) ** 2).sum() else right

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self.url + "/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
