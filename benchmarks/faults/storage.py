"""Faults of the disk and of the files on it."""

import contextlib
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks.faults.trial import LASTS, Fault, Skipped, Trial
from benchmarks.service.serving import Serving

__all__ = [
    "DamagedSnapshots",
    "FileMovedAway",
    "FilesCannotGrow",
    "FilesImmutable",
    "FolderRenamed",
    "FullDisk",
    "ShmImmutable",
    "ShmRemoved",
    "WalRemoved",
]

# Bytes of the small disk, and of each write that fills it.
_DISK, _BLOCK = 24_000_000, 1 << 16


class FullDisk(Fault):
    """The disk is full, then has space again."""

    @contextlib.contextmanager
    def serving(self, folder: Path) -> Iterator[Serving]:
        """A server whose data are on a small disk in memory."""
        disk = folder / "data"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "none", str(disk)]
        if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
            raise Skipped("only root can mount a small disk")
        try:
            with super().serving(folder) as serving:
                yield serving
        finally:
            subprocess.run(["umount", "--lazy", str(disk)], check=True)

    def happen(self, trial: Trial) -> str:
        """Fill the disk, wait, and delete what fills it."""
        filler = trial.serving.folder / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(_BLOCK))
        time.sleep(LASTS)
        trial.participants.mend()
        filler.unlink()
        return ""


class FilesCannotGrow(Fault):
    """No file of the server can grow (RLIMIT_FSIZE), then all can again."""

    def happen(self, trial: Trial) -> str:
        """Limit the size of files to that of the write-ahead log."""
        assert trial.serving.process is not None
        pid, (_, most) = trial.serving.process.pid, resource.getrlimit(resource.RLIMIT_FSIZE)
        size = Path(f"{trial.serving.database}-wal").stat().st_size
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, most))
        time.sleep(LASTS)
        trial.participants.mend()
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))
        return ""


class FilesImmutable(Fault):
    """The database and its write-ahead log are immutable (chattr +i), then can be written again."""

    suffixes = "", "-wal"

    def happen(self, trial: Trial) -> str:
        """Make files immutable for a while."""
        files = [f"{trial.serving.database}{suffix}" for suffix in self.suffixes]
        if not _changed_attributes("+i", files):
            _changed_attributes("-i", files)
            raise Skipped("only root can make files immutable, and not on every file system")
        try:
            time.sleep(LASTS)
            trial.participants.mend()
        finally:
            _changed_attributes("-i", files)
        assert trial.participants.seen, "Immutable files were written to."
        return self.after(trial)

    def after(self, trial: Trial) -> str:
        """Return a remark about the server once its files can be written again."""
        return ""


class ShmImmutable(FilesImmutable):
    """The index of the write-ahead log (-shm) is immutable as well (chattr +i); the server is started again."""

    suffixes = "", "-wal", "-shm"

    def happen(self, trial: Trial) -> str:
        """Write all pages to the disk first, so that the next change of the index needs permission to write."""
        os.sync()
        return super().happen(trial)

    def after(self, trial: Trial) -> str:
        """Start the server if the operating system has ended it: SQLite writes to this file as to memory."""
        process = trial.serving.process
        assert process is not None
        if process.poll() is None:
            return "the server continued"
        assert process.returncode == -signal.SIGBUS, f"The server ended with status {process.returncode}."
        trial.serving.start()
        return "the operating system ended the server (SIGBUS)"


def _changed_attributes(mode: str, files: Sequence[str]) -> bool:
    if shutil.which("chattr") is None:
        return False
    return subprocess.run(["chattr", mode, *files], check=False, capture_output=True).returncode == 0


class FolderRenamed(Fault):
    """The data folder is renamed, and gets its name back."""

    def happen(self, trial: Trial) -> str:
        """Rename the folder for a while."""
        away = trial.folder / "away"
        trial.serving.folder.rename(away)
        time.sleep(LASTS)
        trial.participants.mend()
        away.rename(trial.serving.folder)
        return ""


class FileMovedAway(Fault):
    """The database file is moved away while the server runs, and put back."""

    def happen(self, trial: Trial) -> str:
        """Rename the file for a while."""
        file, away = Path(trial.serving.database), trial.folder / "away.db"
        file.rename(away)
        time.sleep(LASTS)
        trial.participants.mend()
        away.rename(file)
        return ""


class _FileRemoved(Fault):
    """A file beside the database is removed while the server runs, and the server is restarted."""

    suffix: ClassVar[str]

    def happen(self, trial: Trial) -> str:
        """Remove the file, wait, and restart the server."""
        Path(f"{trial.serving.database}{self.suffix}").unlink()
        time.sleep(LASTS)
        trial.serving.stop()
        trial.participants.mend()
        trial.serving.start()
        return ""


class WalRemoved(_FileRemoved):
    """The write-ahead log is removed while the server runs, and the server is restarted."""

    suffix = "-wal"


class ShmRemoved(_FileRemoved):
    """The index of the write-ahead log (-shm) is removed while the server runs, and the server is restarted."""

    suffix = "-shm"


class DamagedSnapshots(Fault):
    """The server is killed, and the learners' snapshots are damaged."""

    def happen(self, trial: Trial) -> str:
        """Wait for snapshots, kill the server, overwrite the middle of each snapshot, and start the server."""
        with contextlib.closing(sqlite3.connect(trial.serving.database)) as database:
            deadline = time.monotonic() + 60
            while not database.execute("SELECT count(*) FROM snapshots").fetchone()[0]:
                assert time.monotonic() < deadline, "There are no snapshots."
                time.sleep(0.1)
            trial.serving.kill()
            rows = database.execute("SELECT id, data FROM snapshots").fetchall()
            for number, data in rows:
                half = len(data) // 2
                damaged = data[:half] + b"damage" + data[half + 6 :]
                database.execute("UPDATE snapshots SET data = ? WHERE id = ?", (damaged, number))
            database.commit()
        trial.participants.mend()
        trial.serving.start()
        return f"{len(rows)} damaged"
