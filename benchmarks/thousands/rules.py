"""What figure 2 of the paper compares: gradient steps of batch GNMDS, and the paper's rule for skipping eigenpairs."""

import time

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from benchmarks.data import markdown
from erkle import ERKLE, Dense
from erkle._compiled.buffered import multiply
from erkle.experiments.methods import METHODS
from erkle.experiments.protocol import PAPER
from erkle.experiments.trials import large

# The length of step that `erkle reproduce 2a` chose.
_STEP = {"rate": 0.1, "trace": 0.1}


def batch_steps() -> str:
    """PA-ERKLE over the whole trial, and one gradient step of batch GNMDS per mini-batch, in one process."""
    trial, marks = large(0, PAPER), range(500, 10_001, 500)
    seconds = {}
    for name, setting in (("PA-ERKLE", {}), ("GNMDS 1 step", _STEP)):
        begun = time.perf_counter()
        for _ in METHODS[name].fits(trial, marks, 0, setting, PAPER):
            pass
        seconds[name] = time.perf_counter() - begun
    ours, theirs = seconds.values()
    header = ["a pass of PA-ERKLE, s", "20 gradient steps of batch GNMDS, s", "times faster"]
    row = [f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.1f}"]
    return "## A pass and batch gradient steps, 10,000 answers about 5,000 objects\n\n" + markdown(header, [row])


def eigenpairs() -> str:
    """The eigenpairs of the paper's rule: it asks for one whenever its bound of the smallest eigenvalue is negative."""
    T = large(0, PAPER).train
    learner = ERKLE(5000, kernel=Dense()).partial_fit([])
    bound, n_asked, n_interior = 1.0, 0, 0
    while learner.counters_.n_eigenpairs == 0:
        [decision] = learner.prequential(T[n_interior : n_interior + 1])
        n_interior += 1
        bound -= 0.3 * max(0.0, 1.0 - decision)
        if bound < 0.0 and learner.counters_.n_eigenpairs == 0:
            n_asked += 1
            bound = _smallest_eigenvalue(learner)
    n_interior -= 1
    learner.partial_fit(T[n_interior + 1 :])
    counters = learner.counters_
    # At the border the smallest eigenvalue is close to 0, so every move makes the bound negative.
    n_border = counters.n_active - counters.n_certified
    header = [
        "part of the pass",
        "moves",
        "that need a projection",
        "eigenpairs here",
        "eigenpairs by the paper's rule",
    ]
    rows = [
        ["interior", f"{counters.n_certified:,}", "0", "0", f"{n_asked:,}"],
        ["border", f"{n_border:,}", f"{counters.n_projections:,}", f"{counters.n_eigenpairs:,}", f"{n_border:,}"],
    ]
    return "## Eigenpairs of a pass, 10,000 answers about 5,000 objects\n\n" + markdown(header, rows)


def _smallest_eigenvalue(learner: ERKLE) -> float:
    """The smallest eigenvalue of a kernel in the interior, from the maintained inverse."""
    state = learner._model.kernel._state
    n, sigma = len(state.P.lower), state.memory["sigma"][0]

    def product(x: np.ndarray) -> np.ndarray:
        y = np.empty(n, np.float32)
        multiply(state.P, x.astype(np.float32).ravel(), y)
        return y

    operator = LinearOperator((n, n), matvec=product, dtype=np.float32)
    [largest], _ = eigsh(operator, 1, which="LA", tol=1e-3, v0=np.random.default_rng(0).normal(size=n))
    return 1.0 / largest - sigma
