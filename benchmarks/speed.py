"""The speed of one update, compared with two eigensolvers on the same stream in the same run.

At several places of the stream the kernel is copied, moved by the gradient step of an active answer, and projected by
both solvers. Their mean time is compared with ours: the time of all calls of `partial_fit`, divided by the number of
eigenpairs that they needed. The comparison does not use the paper's rule for skipping projections, which would save
some of them, most of all among the first answers.
"""

import time
from collections.abc import Iterator

import numba
import numpy as np
import scipy.linalg
from scipy.sparse.linalg import eigsh

from benchmarks.data import gaussian_answers, markdown
from erkle import ERKLE, Dense
from erkle._compiled.small_eigen import eigenpairs

_N_ANSWERS = 10_000
# Places of the stream at which the solvers are measured, by the number of objects.
_PLACES = {100: 50, 412: 50, 1000: 50, 5000: 5}
# Most objects for which ARPACK is measured; with 5,000 it takes too long.
_MOST_FOR_ARPACK = 1000


def run() -> Iterator[str]:
    ERKLE(3, kernel=Dense()).fit([(0, 1, 2)])
    yield "## Speed of an update (PA-ERKLE, one pass, 10,000 answers)"
    rows = [_against_solvers(n) for n in _PLACES]
    header = ["objects", "ours, µs", "`eigh`, one pair, µs", "`eigsh`, µs", "times faster than the faster of the two"]
    yield markdown(header, rows)
    yield _linear()
    yield _passive()
    yield _small_eigenproblems()


def _against_solvers(n: int) -> list[str]:
    T = gaussian_answers(n, _N_ANSWERS, seed=0)
    learner = ERKLE(n, kernel=Dense()).partial_fit([])
    ours, solvers = 0.0, []
    for piece in np.array_split(T, _PLACES[n]):
        start = time.perf_counter()
        learner.partial_fit(piece)
        ours += time.perf_counter() - start
        moved = _moved(learner, T)
        solvers.append([_seconds(_by_eigh, moved), _seconds(_by_eigsh, moved) if n <= _MOST_FOR_ARPACK else np.nan])
    own = ours / learner.counters_.n_eigenpairs
    eigh, arnoldi = np.mean(solvers, axis=0)
    cells = [own * 1e6, eigh * 1e6, arnoldi * 1e6, np.fmin(eigh, arnoldi) / own]
    return [str(n), *(_shown(cell) for cell in cells)]


def _shown(cell: float) -> str:
    if np.isnan(cell):
        return ""
    return f"{cell:,.0f}" if cell >= 20 else f"{cell:.1f}"


def _moved(learner: ERKLE, T: np.ndarray) -> np.ndarray:
    """The kernel after the gradient step of an active answer, before its projection."""
    K = learner._model.kernel.unprojected()
    decisions = learner.decision_function(T)
    a, b, c = T[np.flatnonzero(decisions < 1.0)[-1]]
    gamma = (1.0 - decisions[decisions < 1.0][-1]) / 10
    K[np.ix_([a, b, c], [a, b, c])] -= gamma * np.array([[0, -2, 2], [-2, 1, 0], [2, 0, -1]])
    return K


def _by_eigh(K: np.ndarray) -> None:
    values, vectors = scipy.linalg.eigh(K, subset_by_index=[0, 0], check_finite=False)
    K - values[0] * vectors @ vectors.T


def _by_eigsh(K: np.ndarray) -> None:
    values, vectors = eigsh(K, k=1, which="SA")
    K - values[0] * vectors @ vectors.T


def _seconds(function, K: np.ndarray) -> float:
    start = time.perf_counter()
    function(K)
    return time.perf_counter() - start


def _linear() -> str:
    """Time per active answer in the first and in the second ten thousand answers."""
    rows = []
    for n in (100, 412):
        T = gaussian_answers(n, 20_000, seed=1)
        learner = ERKLE(n, kernel=Dense()).partial_fit([])
        costs = []
        for half in (T[:10_000], T[10_000:]):
            active, start = learner.counters_.n_active, time.perf_counter()
            learner.partial_fit(half)
            costs.append((time.perf_counter() - start) / (learner.counters_.n_active - active))
        rows.append([str(n), *(f"{cost * 1e6:.1f}" for cost in costs), f"{costs[1] / costs[0]:.2f}"])
    header = ["objects", "first 10,000, µs per active answer", "second 10,000, µs per active answer", "ratio"]
    return "### Learning is linear in the number of answers\n\n" + markdown(header, rows)


def _passive() -> str:
    T = gaussian_answers(100, 10_000, seed=2)
    learner = ERKLE(100, kernel=Dense()).fit(T)
    satisfied = T[learner.decision_function(T) > 1.0]
    many = np.tile(satisfied, (1 + 1_000_000 // len(satisfied), 1))
    active, start = learner.counters_.n_active, time.perf_counter()
    learner.partial_fit(many)
    inside = (time.perf_counter() - start) / len(many)
    assert learner.counters_.n_active == active
    start = time.perf_counter()
    for row in satisfied[:2000]:
        learner.learn_one(row)
    alone = (time.perf_counter() - start) / 2000
    return (
        "### An answer that is already satisfied\n\n"
        f"{inside * 1e9:.0f} ns within `partial_fit`, {alone * 1e6:.0f} µs as a call of `learn_one` (n = 100)."
    )


def _small_eigenproblems() -> str:
    """Our loops for the core of a low-rank update, compared with LAPACK; both are called from compiled code."""
    rows = []
    for rank in (2, 5, 10, 20, 40):
        rng = np.random.default_rng(rank)
        W, _ = np.linalg.qr(rng.standard_normal((rank + 2, 2)))
        spectrum = np.append(np.sort(rng.exponential(size=rank))[::-1], [0.0, 0.0])
        core = np.diag(spectrum) + 0.1 * (np.outer(W[:, 0], W[:, 0]) - np.outer(W[:, 1], W[:, 1]))
        ours, lapack = (_lowest_seconds(solver, core) for solver in (_repeated_loops, _repeated_lapack))
        rows.append([str(rank), *(f"{seconds * 1e6:.1f}" for seconds in (ours, lapack)), f"{lapack / ours:.1f}"])
    header = ["rank", "ours, µs", "LAPACK, µs", "times faster"]
    return "### All eigenpairs of the core of a low-rank update\n\n" + markdown(header, rows)


def _lowest_seconds(solver, core: np.ndarray, repetitions: int = 200) -> float:
    solver(core, 1)
    return min(_seconds(lambda A: solver(A, repetitions), core) for _ in range(15)) / repetitions


@numba.njit
def _repeated_loops(A: np.ndarray, repetitions: int) -> float:
    total = 0.0
    for _ in range(repetitions):
        values, _vectors = eigenpairs(A.copy())
        total += values[0]
    return total


@numba.njit
def _repeated_lapack(A: np.ndarray, repetitions: int) -> float:
    total = 0.0
    for _ in range(repetitions):
        values, _vectors = np.linalg.eigh(A)
        total += values[-1]
    return total
