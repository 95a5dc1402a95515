"""Faults that a patch of the server causes: the clock jumps, and learning fails.

Python imports ``sitecustomize`` when it starts; the patch reads from a file whether the fault is there.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import erkle
from benchmarks.faults.trial import LASTS, Fault, Trial, in_words, signed_in, wait_until
from benchmarks.service.serving import Serving
from erkle.client import Client, Refused

__all__ = ["ClockJumps", "LearningFails"]

# Seconds by which the clock jumps: questions can be answered for an hour.
_JUMP = 7200
# Moves the clock by as many seconds as the file says.
_MOVED_CLOCK = """
import os, pathlib, time
_time_ns = time.time_ns
_file = pathlib.Path(os.environ["FAULTS_SWITCH"])
time.time_ns = lambda: _time_ns() + 1_000_000_000 * int(_file.read_text())
time.time = lambda: time.time_ns() / 1e9
"""
# Learning fails in the middle of a page while the file says something else than 0.
_FAILING_LEARNER = """
import os, pathlib
from erkle.service.learning.fold import Fold
_learn = Fold.learn
_file = pathlib.Path(os.environ["FAULTS_SWITCH"])
def learn(self, answers):
    if answers and int(_file.read_text()):
        _learn(self, answers[: len(answers) // 2])
        raise ArithmeticError("this is a trial")
    _learn(self, answers)
Fold.learn = learn
"""
# Answers that participants give while learning fails.
_ANSWERS = 100


class _Patched(Fault):
    """A fault that is switched on and off by a number in a file."""

    patch: ClassVar[str]

    @contextmanager
    def serving(self, folder: Path) -> Iterator[Serving]:
        """A server with the patch."""
        (folder / "sitecustomize.py").write_text(self.patch)
        self._file = folder / "switch"
        self._switch(0)
        path = f"{folder}:{Path(erkle.__file__).parents[1]}"
        yield Serving(folder / "data", 30, 30, environment={"PYTHONPATH": path, "FAULTS_SWITCH": str(self._file)})

    def _switch(self, number: int) -> None:
        # Replaced at once, so that the server never reads an empty file.
        new = self._file.with_suffix(".new")
        new.write_text(str(number))
        new.replace(self._file)


class ClockJumps(_Patched):
    """The clock jumps two hours ahead, then two hours back."""

    patch = _MOVED_CLOCK

    def happen(self, trial: Trial) -> str:
        """Move the clock."""
        self._switch(_JUMP)
        time.sleep(LASTS)
        trial.participants.mend()
        self._switch(0)
        return ""


class LearningFails(_Patched):
    """Learning fails with an unexpected error, then works again."""

    patch = _FAILING_LEARNER

    def happen(self, trial: Trial) -> str:
        """Let learning fail until the dashboard says so, and mend it. Participants must not notice."""
        study, told = trial.serving.study, trial.participants.acknowledged
        with signed_in(trial.serving) as client:
            self._switch(1)
            noticed = wait_until(lambda: _stall(client, study) is not None, "The dashboard says nothing.")
            trial.participants.until(len(told) + _ANSWERS)
            assert client.live(study)["answers"] >= len(told) - 4, "The dashboard stopped counting."
            assert _is_refused(client, study), "A kernel was exported that does not have all answers."
            trial.participants.mend()
            self._switch(0)
            learned = wait_until(lambda: _stall(client, study) is None, "The model still stands still.")
        assert not trial.participants.seen, f"Participants saw {in_words(trial.participants.seen)}."
        return f"dashboard: the model stands still (after {noticed:.1f} s), and learns again (after {learned:.1f} s)"


def _stall(client: Client, study: str) -> Any:
    return client.live(study)["learner"]["stall"]


def _is_refused(client: Client, study: str) -> bool:
    try:
        client.export(study, "kernel.npz")
    except Refused as refused:
        return (refused.status, refused.reason) == (503, "learning")
    return False
