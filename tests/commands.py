"""Helpers for tests of the command: simulated answers, the files of a run, and ways to stop a run."""

import csv
import itertools
import os
import signal
import sys

import numpy as np
import pytest

from erkle import ERKLE, Dense, LowRank, PassiveAggressiveI, triplets
from erkle.cli.learn.run import Run
from erkle.npz_files import load_npz

COMMAND = [sys.executable, "-m", "erkle"]
# Files written with --exact, and by the default learner.
EXACT = ["embedding.csv", "errors.csv", "errors.png", "kernel.npz", "map.png", "reliability.png", "summary.json"]
FILES = sorted([*EXACT, "selection.csv"])

# Every kind of learner: options of the command, parameters in Python, and whether a last fit of all answers follows.
KINDS = {
    "default": ([], {}, True),
    "never fitted": (["--consolidate", "off"], {"kernel": LowRank(consolidate="off")}, False),
    "of rank 3": (
        ["--rank", "3", "--trace", "0.001", "--step", "pa1", "--passes", "2"],
        {"kernel": LowRank(3, 0.001), "step": PassiveAggressiveI(), "passes": 2},
        False,
    ),
    "of rank 3, fitted": (["--rank", "3", "--consolidate", "0.2"], {"kernel": LowRank(3, None, 0.2)}, True),
    "exact": (["--exact", "--passes", "2"], {"kernel": Dense(), "passes": 2}, False),
}


def answers_of(n_objects, n_answers, seed=0):
    X = np.random.default_rng(seed).standard_normal((n_objects, 5))
    T = triplets.sample(n_objects, n_answers, seed)
    near, far = (np.linalg.norm(X[T[:, 0]] - X[T[:, i]], axis=1) for i in (1, 2))
    return triplets.orient(T, near < far)


def write(path, T, header="anchor,near,far"):
    path.write_text("".join([f"{header}\n", *lines(T)]))
    return path


def lines(T):
    """Answers as lines of a stream."""
    return [",".join(f"object {i}" for i in row) + "\n" for row in T.tolist()]


def listing(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".erkle-lock")


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def learned(folder):
    return ERKLE.load(folder / "kernel.npz")


def interrupting(monkeypatch, owner, name, at_call, how=signal.SIGINT):
    """Send Ctrl-C, or another signal, to this process at the given call of a function."""
    original, calls = getattr(owner, name), itertools.count(1)

    def interrupted(*arguments, **options):
        if next(calls) == at_call:
            os.kill(os.getpid(), how)
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, interrupted)


def n_saved(folder):
    """The number of answers learned at the checkpoint in a folder."""
    return load_npz(folder / "checkpoint.npz", format="erkle checkpoint")[1]["curve"]["n_answers"]


class Killed(BaseException):
    """Ends a command as a SIGKILL would: nothing catches it."""


def killed(erkle, monkeypatch, at_checkpoint, *command):
    """Run a command that ends right after a checkpoint, as if its process was killed."""
    save, calls = Run.save, itertools.count(1)

    def save_and_die(run, *source):
        save(run, *source)
        if next(calls) == at_checkpoint:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Run, "save", save_and_die)
        with pytest.raises(Killed):
            erkle(*command)
