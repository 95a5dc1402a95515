"""The methods compared: each follows the stream of a trial and says at every mark how good it is.

ERKLE learns answer by answer; a batch method fits all answers so far at every mark, from the fit before, or with
plain steps as the paper did, from K = I; and "steps" are the paper's cheap batch, a few plain gradient steps of a
given length at every mark.
"""

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from erkle import metrics
from erkle.batch import RCKL, Popularity
from erkle.batch.objective import ByKernel, terms_of
from erkle.estimators import TripletLearner
from erkle.experiments.descent import plain_descent
from erkle.experiments.protocol import Protocol
from erkle.experiments.trials import Trial
from erkle.kernels.lapack import one_thread, projected
from erkle.losses import CKL, GNMDS, STE, Loss
from erkle.online import ERKLE
from erkle.steps import Constant, Inverse, InverseSqrt, PassiveAggressive, Step

__all__ = ["METHODS", "Method", "Row"]


class Row(NamedTuple):
    """How good a method is after so many answers and passes, and what it has cost."""

    answers: int
    passes: int
    test_error: float
    train_error: float
    validation_error: float
    rank: int
    seconds: float
    eigenpairs: int
    projections: int


class Method(ABC):
    """What runs a unit."""

    def every(self, world: str, sizes: Protocol) -> int:
        """Answers between two marks."""
        return sizes.every_large if world == "large" else sizes.every

    def settings(self, sizes: Protocol) -> list[dict[str, float]]:
        """The settings to try, of which the best one counts; by default there is nothing to choose."""
        return [{}]

    @abstractmethod
    def rows(self, trial: Trial, every: int, seed: int, setting: dict[str, float], sizes: Protocol) -> Iterator[Row]:
        """A row for each mark."""


@dataclass(frozen=True)
class Online(Method):
    """ERKLE, evaluated as it goes."""

    loss: Loss
    step: Step
    passes: int = 1

    def rows(self, trial: Trial, every: int, seed: int, setting: dict[str, float], sizes: Protocol) -> Iterator[Row]:
        """A row for each mini-batch."""
        learner = ERKLE(trial.n_objects, self.loss, self.step, passes=self.passes, random_state=seed).partial_fit([])
        seconds = 0.0
        for seen in _marks(trial, every):
            start = time.perf_counter()
            learner.partial_fit(trial.train[learner.n_triplets_seen_ : seen])
            seconds += time.perf_counter() - start
            yield _row(learner, trial, seen, self.passes, seconds, learner.n_eigenpairs_, learner.n_projections_)


@dataclass(frozen=True)
class Batch(Method):
    """A trace-regularised fit of all answers so far, warm-started."""

    loss: Loss

    def every(self, world: str, sizes: Protocol) -> int:
        """Answers between two marks."""
        return sizes.mini_batch

    def settings(self, sizes: Protocol) -> list[dict[str, float]]:
        """Weights of the trace, from none to speak of to far too much."""
        return [{"trace": trace} for trace in np.geomspace(0.03, 30.0, sizes.n_traces).round(4).tolist()]

    def rows(self, trial: Trial, every: int, seed: int, setting: dict[str, float], sizes: Protocol) -> Iterator[Row]:
        """A row for each mini-batch."""
        learner = RCKL(trial.n_objects, self.loss, setting["trace"], max_iter=sizes.max_iter, warm_start=True)
        seconds, n_iter = 0.0, 0
        for seen in _marks(trial, every):
            start = time.perf_counter()
            with warnings.catch_warnings():
                # The paper's limit of iterations is part of the protocol, and reached at times.
                warnings.simplefilter("ignore", ConvergenceWarning)
                learner.fit(trial.train[:seen])
            seconds += time.perf_counter() - start
            n_iter += learner.n_iter_
            yield _row(learner, trial, seen, learner.n_iter_, seconds, n_iter, n_iter)


class PlainBatch(Batch):
    """The same fit by plain gradient steps from K = I, which end where the paper's did."""

    def rows(self, trial: Trial, every: int, seed: int, setting: dict[str, float], sizes: Protocol) -> Iterator[Row]:
        """A row for each mini-batch."""
        seconds, n_iter = 0.0, 0
        for seen in _marks(trial, every):
            start = time.perf_counter()
            objective = ByKernel(terms_of(trial.train[:seen], self.loss), setting["trace"])
            with one_thread(trial.n_objects):
                K, n_steps = plain_descent(objective, trial.n_objects, sizes.max_iter)
            seconds += time.perf_counter() - start
            n_iter += n_steps
            yield _row(_Fixed(K), trial, seen, n_steps, seconds, n_iter, n_iter)


@dataclass(frozen=True)
class Steps(Method):
    """Plain projected gradient steps K <- projection(K - rate (gradient + trace I)), so many at every mark."""

    loss: Loss
    n_steps: int = 1

    def settings(self, sizes: Protocol) -> list[dict[str, float]]:
        """Lengths of the step; the weight of the trace is that of a light regularisation."""
        return [{"rate": rate, "trace": 0.1} for rate in np.geomspace(0.001, 0.1, sizes.n_traces).round(4).tolist()]

    def rows(self, trial: Trial, every: int, seed: int, setting: dict[str, float], sizes: Protocol) -> Iterator[Row]:
        """A row for each mini-batch; the number of steps taken in all counts as eigenpairs."""
        K, seconds, steps = np.eye(trial.n_objects), 0.0, 0
        for seen in _marks(trial, every):
            start = time.perf_counter()
            objective = ByKernel(terms_of(trial.train[:seen], self.loss), setting["trace"])
            with one_thread(trial.n_objects):
                for _ in range(self.n_steps):
                    K = projected(K - setting["rate"] * objective(K)[1])
            seconds += time.perf_counter() - start
            steps += self.n_steps
            yield _row(_Fixed(K), trial, seen, self.n_steps, seconds, steps, steps)


@dataclass(frozen=True)
class Passes(Method):
    """ERKLE over the whole trial with one, two, three ... passes."""

    loss: Loss
    step: Step

    def rows(self, trial: Trial, every: int, seed: int, setting: dict[str, float], sizes: Protocol) -> Iterator[Row]:
        """A row for each number of passes."""
        for passes in range(1, sizes.most_passes + 1):
            *_, last = Online(self.loss, self.step, passes).rows(trial, len(trial.train), seed, setting, sizes)
            yield last


class Descent(Steps):
    """The same steps over all answers, one after the other."""

    def rows(self, trial: Trial, every: int, seed: int, setting: dict[str, float], sizes: Protocol) -> Iterator[Row]:
        """A row for each step."""
        K, seconds, n = np.eye(trial.n_objects), 0.0, len(trial.train)
        objective = ByKernel(terms_of(trial.train, self.loss), setting["trace"])
        for step in range(1, sizes.most_passes + 1):
            start = time.perf_counter()
            with one_thread(trial.n_objects):
                K = projected(K - setting["rate"] * objective(K)[1])
            seconds += time.perf_counter() - start
            yield _row(_Fixed(K), trial, n, step, seconds, step, step)


class Counting(Method):
    """Popularity: how far one gets without looking at the anchor."""

    def rows(self, trial: Trial, every: int, seed: int, setting: dict[str, float], sizes: Protocol) -> Iterator[Row]:
        """A row for each mini-batch."""
        learner, seconds = Popularity(trial.n_objects), 0.0
        for seen in _marks(trial, every):
            start = time.perf_counter()
            learner.partial_fit(trial.train[seen - every : seen])
            seconds += time.perf_counter() - start
            yield _row(learner, trial, seen, 1, seconds, 0, 0)


class _Fixed(NamedTuple):
    kernel_: Any

    def score(self, T: Any) -> float:
        return 1.0 - metrics.triplet_error(self.kernel_, T)


def _marks(trial: Trial, every: int) -> range:
    return range(every, len(trial.train) + 1, every)


def _row(
    learner: TripletLearner | _Fixed, trial: Trial, seen: int, passes: int, seconds: float, pairs: int, projections: int
) -> Row:
    kernel = getattr(learner, "kernel_", None)
    test = 1.0 - learner.score(trial.test)
    same = trial.validation is trial.test
    return Row(
        answers=seen,
        passes=passes,
        test_error=test,
        train_error=1.0 - learner.score(trial.train[:seen]),
        validation_error=test if same else 1.0 - learner.score(trial.validation),
        # Ranks as people count them: directions with at least a thousandth of the largest variance. At n = 5000 the
        # eigenvalues would cost more than the learning, and the paper shows none.
        rank=metrics.rank(kernel, 1e-3) if kernel is not None and len(kernel) < 2000 else -1,
        seconds=seconds,
        eigenpairs=pairs,
        projections=projections,
    )


METHODS: dict[str, Method] = {
    "STE-ERKLE 1/j": Online(STE(), Inverse()),
    "STE-ERKLE 1/sqrt j": Online(STE(), InverseSqrt()),
    "STE-ERKLE": Online(STE(), Constant(1.0)),
    "STE-ERKLE 10 passes": Online(STE(), Constant(1.0), 10),
    "PA-ERKLE": Online(GNMDS(), PassiveAggressive()),
    "PA-ERKLE 10 passes": Online(GNMDS(), PassiveAggressive(), 10),
    "STE-Batch": Batch(STE()),
    "GNMDS-Batch": Batch(GNMDS()),
    "CKL-Batch": Batch(CKL()),
    "STE-Batch, plain steps": PlainBatch(STE()),
    "GNMDS-Batch, plain steps": PlainBatch(GNMDS()),
    "GNMDS 1 step": Steps(GNMDS(), 1),
    "GNMDS 2 steps": Steps(GNMDS(), 2),
    "PA-ERKLE by passes": Passes(GNMDS(), PassiveAggressive()),
    "STE-ERKLE by passes": Passes(STE(), Constant(1.0)),
    "GNMDS-Batch by steps": Descent(GNMDS()),
    "STE-Batch by steps": Descent(STE()),
    "popularity": Counting(),
}
