"""A server process with a study, which can be killed and started again on the same data."""

import os
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from erkle.service.accounts.passwords import hashed
from erkle.service.studies.spec import Limits, StudySettings
from erkle.store import State, Store

PASSWORD = "correct horse battery"
# If all participants share one address, the limits per address are lifted.
_WITHOUT_LIMITS = {
    f"ERKLE_SERVER_{name}_RATE": '{"per_second": 1000000000, "burst": 1000000000}'
    for name in ("REQUEST", "JOIN", "ANSWER", "ANSWER_ADDRESS", "STORED", "LOGIN")
}


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
    database : str
        The URL of a PostgreSQL database; by default the data are in a file in the folder.
    environment : mapping, optional
        Further environment variables of the server, from its next start on.
    limits : mapping, optional
        Resource limits of the server, by their numbers in `resource`, from its next start on.
    limited : bool
        Whether the limits per address are those of a real server.
    """

    def __init__(
        self,
        folder: Path,
        n_objects: int = 100,
        per_participant: int = 50,
        workers: int = 1,
        database: str = "",
        environment: Mapping[str, str] | None = None,
        limits: Mapping[int, int] | None = None,
        limited: bool = False,
    ) -> None:
        self.folder, self.workers, self.limited = folder, workers, limited
        self._url, self.environment, self.limits = database, dict(environment or {}), dict(limits or {})
        self.places = np.random.default_rng(0).normal(size=(n_objects, 2))
        settings = StudySettings(limits=Limits(per_participant=per_participant)).model_dump(mode="json")
        folder.mkdir(parents=True, exist_ok=True)
        with Store(self.database) as store:
            store.accounts.create("ann", hashed(PASSWORD), admin=True)
            self.study = store.studies.create("Points", [f"point {i}" for i in range(n_objects)], settings).id
            store.studies.change_state(self.study, State.OPEN)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def database(self) -> str:
        """The path or the URL of the database."""
        return self._url or str(self.folder / "erkle.db")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.launch()
        assert self.process is not None
        deadline = time.monotonic() + 60
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The server did not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.02)

    def launch(self) -> None:
        """Start the server and do not wait."""
        place = ["--database", self._url] if self._url else ["--data", str(self.folder)]
        options = [*place, "--port", str(self.port), "--workers", str(self.workers)]
        rates = {} if self.limited else _WITHOUT_LIMITS
        self.process = launch(options, self.log, {**rates, **self.environment}, self.limits)

    @property
    def log(self) -> Path:
        """The file with the server's output."""
        return self.folder / "server.log"

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


def launch(
    options: Sequence[str], log: Path, environment: Mapping[str, str], limits: Mapping[int, int]
) -> subprocess.Popen[bytes]:
    """Start ``erkle serve`` in a session of its own."""

    def limit() -> None:
        for number, value in limits.items():
            # The hard limit too, because the server raises the number of files to it.
            resource.setrlimit(number, (value, value))

    with log.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "erkle", "serve", *options],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=limit,
        )


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
