"""What tests of the command share: made-up answers, what lies in a folder of results, and Ctrl-C at a given moment."""

import csv
import itertools
import os
import signal
import sys

import numpy as np

from erkle import ERKLE, triplets

COMMAND = [sys.executable, "-m", "erkle"]
EXACT = ["embedding.csv", "errors.csv", "errors.png", "kernel.npz", "map.png", "reliability.png", "summary.json"]
FILES = sorted([*EXACT, "selection.csv"])


def answers_of(n_objects, n_answers, seed=0):
    X = np.random.default_rng(seed).standard_normal((n_objects, 5))
    T = triplets.sample(n_objects, n_answers, seed)
    near, far = (np.linalg.norm(X[T[:, 0]] - X[T[:, i]], axis=1) for i in (1, 2))
    return triplets.orient(T, near < far)


def write(path, T, header="anchor,near,far"):
    path.write_text("\n".join([header, *(",".join(f"object {i}" for i in row) for row in T.tolist())]) + "\n")
    return path


def listing(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".erkle-lock")


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def learned(folder):
    return ERKLE.load(folder / "kernel.npz")


def interrupting(monkeypatch, owner, name, at_call, how=signal.SIGINT):
    """Ctrl-C, or another signal, in the middle of some function, at its so-manieth call."""
    original, calls = getattr(owner, name), itertools.count(1)

    def interrupted(*arguments, **options):
        if next(calls) == at_call:
            os.kill(os.getpid(), how)
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, interrupted)
