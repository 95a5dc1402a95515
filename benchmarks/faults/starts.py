"""Faults at a start: the database is damaged, or there is too little memory. The server says so in one sentence."""

import random
import resource
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import ClassVar

from benchmarks.faults.trial import Fault, Trial
from benchmarks.service.serving import Serving

__all__ = ["BytesFlipped", "CutInHalf", "Emptied", "LittleMemoryAtStart", "PagesZeroed"]

_FLIPPED = 2000
# Bytes of address space, which are too few.
_LITTLE_MEMORY = 500_000_000
# The exit status of a command that is refused, and seconds to wait for it.
_REFUSED, _PATIENCE = 2, 120.0


class _DamagedAtStart(Fault):
    """The server is killed, its database is damaged, and the sound files are put back after a start."""

    def happen(self, trial: Trial) -> str:
        """Kill the server, damage the database, try to start, put the sound files back and start."""
        serving, kept = trial.serving, trial.folder / "kept"
        file = Path(serving.database)
        serving.kill()
        # All that is in the log moves to the database, so that the damage hits what is needed.
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copytree(serving.folder, kept)
        data = file.read_bytes()
        file.write_bytes(self.damaged(data))
        sentence = refused(serving)
        for left in serving.folder.glob("erkle.db*"):
            left.unlink()
        for sound in kept.glob("erkle.db*"):
            shutil.copy2(sound, serving.folder)
        trial.participants.mend()
        serving.start()
        return f"the start is refused: {sentence}"

    def damaged(self, data: bytes) -> bytes:
        """The damaged content of the database."""
        raise NotImplementedError


class CutInHalf(_DamagedAtStart):
    """The database is cut in half while the server is down, and put back after a start."""

    def damaged(self, data: bytes) -> bytes:
        """The first half."""
        return data[: len(data) // 2]


class PagesZeroed(_DamagedAtStart):
    """A tenth of the database is overwritten with zeros while the server is down, and put back after a start."""

    def damaged(self, data: bytes) -> bytes:
        """Zeros in the middle, from the beginning of a page on."""
        length = max(len(data) // 10, 4096)
        start = len(data) // 2 // 4096 * 4096
        return data[:start] + bytes(length) + data[start + length :]


class Emptied(_DamagedAtStart):
    """The database is emptied while the server is down, and put back after a start."""

    def damaged(self, data: bytes) -> bytes:
        """Nothing."""
        return b""


class BytesFlipped(_DamagedAtStart):
    """2,000 bytes of the database are flipped while the server is down, and put back after a start."""

    def damaged(self, data: bytes) -> bytes:
        """The same with some bytes inverted, but not the header, which would be noticed at once."""
        found, rng = bytearray(data), random.Random(0)
        for place in rng.sample(range(100, len(data)), _FLIPPED):
            found[place] ^= 0xFF
        return bytes(found)


class LittleMemoryAtStart(Fault):
    """The server starts with too little memory (RLIMIT_AS), then with enough."""

    limits: ClassVar = {resource.RLIMIT_AS: _LITTLE_MEMORY}

    def happen(self, trial: Trial) -> str:
        """Kill the server, try to start it with little memory, and start it."""
        trial.serving.kill()
        trial.serving.limits = self.limits
        sentence = refused(trial.serving)
        trial.serving.limits = {}
        trial.participants.mend()
        trial.serving.start()
        return f"the start is refused: {sentence}"


def refused(serving: Serving) -> str:
    """Start a server that must not start, and return the only sentence that it prints, without paths."""
    n_before = serving.log.stat().st_size
    serving.launch()
    assert serving.process is not None
    status = serving.process.wait(_PATIENCE)
    lines = serving.log.read_bytes()[n_before:].decode().splitlines()
    assert status == _REFUSED, f"The server ended with status {status}: {lines[-3:]}"
    assert len(lines) == 1, f"The server printed {len(lines)} lines: {lines[:5]}"
    return lines[0].replace(f"{serving.folder}/", "")
