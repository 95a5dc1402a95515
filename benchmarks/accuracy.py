"""Errors on the paper's small synthetic set, and the effect of the tolerance of the eigenpairs."""

from collections.abc import Iterator

import numpy as np

from benchmarks.data import all_questions, gaussian_points, markdown
from erkle import ERKLE, GNMDS, STE, Constant, Dense, PassiveAggressive, metrics
from erkle.datasets import answered

_TRIALS = 5
_METHODS = {
    "PA-ERKLE": (GNMDS(), PassiveAggressive()),
    "STE-ERKLE, rate 1": (STE(), Constant(1.0)),
}


def run() -> Iterator[str]:
    rows = []
    for name, (loss, step) in _METHODS.items():
        for passes in (1, 10):
            errors = [_error(loss, step, passes, seed) for seed in range(_TRIALS)]
            rows.append([name, str(passes), f"{np.mean(errors):.3f}", f"{np.std(errors, ddof=1):.3f}"])
    title = f"## Test error on the paper's small synthetic set (n = 100, 10,000 answers, {_TRIALS} trials)"
    yield title + "\n\n" + markdown(["method", "passes", "mean", "standard deviation"], rows)
    yield _tolerances()


def sets(seed: int) -> tuple[np.ndarray, np.ndarray]:
    T = answered(all_questions(100), gaussian_points(100, seed))
    T = np.random.default_rng(seed).permutation(T)
    return T[:10_000], T[10_000:]


def _error(loss, step, passes: int, seed: int) -> float:
    train, test = sets(seed)
    return 1.0 - ERKLE(100, kernel=Dense(), loss=loss, step=step, passes=passes, random_state=seed).fit(train).score(
        test
    )


def _tolerances() -> str:
    train, test = sets(0)
    literal = ERKLE(100, kernel=Dense(projection="eigh")).fit(train)
    rows = []
    for tol in (1e-1, 1e-2, 1e-3, 1e-4, 1e-8):
        learner = ERKLE(100, kernel=Dense(tol=tol)).fit(train)
        apart = np.linalg.norm(learner.kernel_matrix() - literal.kernel_matrix()) / np.linalg.norm(
            literal.kernel_matrix()
        )
        smallest = np.linalg.eigvalsh(learner._model.kernel.unprojected())[0]
        error = metrics.triplet_error(learner.kernel_matrix(), test)
        rows.append([f"{tol:.0e}", f"{apart:.1e}", f"{smallest:.1e}", f"{error:.4f}"])
    rows.append(["exact (`eigh`)", "0", "", f"{metrics.triplet_error(literal.kernel_matrix(), test):.4f}"])
    header = [
        "tol",
        "relative distance from the exact kernel",
        "smallest eigenvalue before the last projection",
        "test error",
    ]
    return "### Effect of the tolerance\n\n" + markdown(header, rows)
