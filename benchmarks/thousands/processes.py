"""Processes that learn in pieces, with this code or with another version of it; only one of them computes at a time."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.data import gaussian_answers

ROOT = Path(__file__).parents[2]


class Work(NamedTuple):
    """What a process learns.

    Attributes
    ----------
    n_objects, n_answers, piece : int
    paper : bool
        Whether to learn the answers of figure 2 of the paper, trial 0; otherwise other answers of the same kind.
    form : (int, int) or None
        Objects from which updates are buffered, and how many of them; None is the default of this code.
    """

    n_objects: int
    n_answers: int
    piece: int
    paper: bool = False
    form: tuple[int, int] | None = None


class Process:
    """A process with the sources of ``root``."""

    def __init__(self, root: Path, work: Work) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(ROOT)])}
        command = [sys.executable, "-m", "benchmarks.thousands.processes", json.dumps(work)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, cwd=root / "src", env=environment, **pipes)

    def learn_piece(self) -> dict[str, Any]:
        """Learn the next piece: seconds, answers so far, peak memory in bytes, and the counters."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        """Stop the process, whether it is done or not."""
        self._process.kill()
        self._process.communicate()


def measure(root: Path, work: Work) -> dict[str, Any]:
    """Learn one piece in a process of its own."""
    process = Process(root, work)
    found = process.learn_piece()
    process.end()
    return found


def _answers(work: Work) -> Any:
    if not work.paper:
        return gaussian_answers(work.n_objects, work.n_answers, seed=0)
    from erkle.experiments.protocol import PAPER
    from erkle.experiments.trials import large

    return large(0, PAPER).train[: work.n_answers]


def _main(work: Work) -> None:
    """Learn a piece for every line of the standard input, and print what it cost."""
    from erkle import ERKLE, Dense

    if work.form is not None:
        from erkle.kernels import forms

        forms.BUFFERED_FROM, forms.ROOM = work.form
    T = _answers(work)
    # Compile before the clock starts: the form of small kernels, and that of large ones.
    for size in (50, 500):
        ERKLE(size, kernel=Dense()).fit(gaussian_answers(size, 200, seed=1))
    learner = ERKLE(work.n_objects, kernel=Dense())
    for start in range(0, work.n_answers, work.piece):
        sys.stdin.readline()
        begun = time.perf_counter()
        learner.partial_fit(T[start : start + work.piece])
        seconds = time.perf_counter() - begun
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        found = {"seen": start + work.piece, "seconds": seconds, "memory": memory}
        print(json.dumps(found | learner.counters_._asdict()), flush=True)


if __name__ == "__main__":
    _main(Work(*json.loads(sys.argv[1])))
