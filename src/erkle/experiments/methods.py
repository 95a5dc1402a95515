"""The methods compared: each follows the stream of a trial and says at every mark how good it is.

ERKLE learns answer by answer; a batch method fits all answers so far at every mark, from the fit before, or with
plain steps as the paper did, from K = I; and "steps" are the paper's cheap batch, a few plain gradient steps of a
given length at every mark.
"""

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from erkle import metrics
from erkle.batch import RCKL, Popularity
from erkle.batch.objective import ByKernel, terms_of
from erkle.estimators import TripletLearner
from erkle.experiments.protocol import Protocol
from erkle.experiments.trials import Trial
from erkle.kernels.lapack import one_thread, projected
from erkle.losses import CKL, GNMDS, STE, Loss
from erkle.online import ERKLE
from erkle.steps import Constant, Inverse, InverseSqrt, PassiveAggressive, Step

Marks = Sequence[int]
Setting = dict[str, float]

_TOL = 1e-7


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


class FixedKernel(NamedTuple):
    """A kernel that predicts as a learner does."""

    kernel_: NDArray[np.float64]

    def score(self, T: NDArray[np.int64]) -> float:
        """Share of answers that it predicts rightly."""
        return 1.0 - metrics.triplet_error(self.kernel_, T)


class Fit(NamedTuple):
    """A learner at a mark: the answers and passes it has had, and what they took."""

    learner: TripletLearner | FixedKernel
    answers: int
    passes: int
    eigenpairs: int = 0
    projections: int = 0

    def row(self, trial: Trial, seconds: float) -> Row:
        """How good it is."""
        kernel = getattr(self.learner, "kernel_", None)
        test = 1.0 - self.learner.score(trial.test)
        same = trial.validation is trial.test
        return Row(
            answers=self.answers,
            passes=self.passes,
            test_error=test,
            train_error=1.0 - self.learner.score(trial.train[: self.answers]),
            validation_error=test if same else 1.0 - self.learner.score(trial.validation),
            # Ranks as people count them: directions with at least a thousandth of the largest variance. At n = 5000
            # the eigenvalues would cost more than the learning, and the paper shows none.
            rank=metrics.rank(kernel, 1e-3) if kernel is not None and len(kernel) < 2000 else -1,
            seconds=seconds,
            eigenpairs=self.eigenpairs,
            projections=self.projections,
        )


class Method(ABC):
    """What runs a unit."""

    def every(self, world: str, sizes: Protocol) -> int:
        """Answers between two marks."""
        return sizes.every_large if world == "large" else sizes.every

    def settings(self, sizes: Protocol) -> list[Setting]:
        """The settings to try, of which the best one counts; by default there is nothing to choose."""
        return [{}]

    def rows(self, trial: Trial, every: int, seed: int, setting: Setting, sizes: Protocol) -> Iterator[Row]:
        """A row for each mark; the clock stops while errors are measured."""
        marks = range(every, len(trial.train) + 1, every)
        fits, seconds = self.fits(trial, marks, seed, setting, sizes), 0.0
        while True:
            start = time.perf_counter()
            fit = next(fits, None)
            seconds += time.perf_counter() - start
            if fit is None:
                return
            yield fit.row(trial, seconds)

    @abstractmethod
    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, sizes: Protocol) -> Iterator[Fit]:
        """The learner at each mark."""


@dataclass(frozen=True)
class Online(Method):
    """ERKLE, evaluated as it goes."""

    loss: Loss
    step: Step
    passes: int = 1

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, sizes: Protocol) -> Iterator[Fit]:
        """The learner after each mini-batch."""
        learner = ERKLE(trial.n_objects, self.loss, self.step, passes=self.passes, random_state=seed).partial_fit([])
        for seen in marks:
            learner.partial_fit(trial.train[learner.n_triplets_seen_ : seen])
            yield Fit(learner, seen, self.passes, learner.n_eigenpairs_, learner.n_projections_)


@dataclass(frozen=True)
class Batch(Method):
    """A trace-regularised fit of all answers so far, warm-started."""

    loss: Loss

    def every(self, world: str, sizes: Protocol) -> int:
        """Answers between two marks."""
        return sizes.mini_batch

    def settings(self, sizes: Protocol) -> list[Setting]:
        """Weights of the trace, from none to speak of to far too much."""
        return [{"trace": trace} for trace in np.geomspace(0.03, 30.0, sizes.n_traces).round(4).tolist()]

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, sizes: Protocol) -> Iterator[Fit]:
        """The fit of the answers up to each mark."""
        learner = RCKL(trial.n_objects, self.loss, setting["trace"], max_iter=sizes.max_iter, warm_start=True)
        n_iter = 0
        for seen in marks:
            with warnings.catch_warnings():
                # The paper's limit of iterations is part of the protocol, and reached at times.
                warnings.simplefilter("ignore", ConvergenceWarning)
                learner.fit(trial.train[:seen])
            n_iter += learner.n_iter_
            yield Fit(learner, seen, learner.n_iter_, n_iter, n_iter)


class PlainBatch(Batch):
    """The same fit by plain gradient steps from K = I, which end where the paper's did."""

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, sizes: Protocol) -> Iterator[Fit]:
        """The fit of the answers up to each mark."""
        n_iter = 0
        for seen in marks:
            objective = ByKernel(terms_of(trial.train[:seen], self.loss), setting["trace"])
            with one_thread(trial.n_objects):
                K, n_steps = plain_descent(objective, trial.n_objects, sizes.max_iter)
            n_iter += n_steps
            yield Fit(FixedKernel(K), seen, n_steps, n_iter, n_iter)


@dataclass(frozen=True)
class Steps(Method):
    """Plain projected gradient steps K <- projection(K - rate (gradient + trace I)), so many at every mark."""

    loss: Loss
    n_steps: int = 1

    def settings(self, sizes: Protocol) -> list[Setting]:
        """Lengths of the step; the weight of the trace is that of a light regularisation."""
        return [{"rate": rate, "trace": 0.1} for rate in np.geomspace(0.001, 0.1, sizes.n_traces).round(4).tolist()]

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, sizes: Protocol) -> Iterator[Fit]:
        """The kernel after the steps at each mark; the number of steps taken in all counts as eigenpairs."""
        K, steps = np.eye(trial.n_objects), 0
        for seen in marks:
            objective = ByKernel(terms_of(trial.train[:seen], self.loss), setting["trace"])
            with one_thread(trial.n_objects):
                for _ in range(self.n_steps):
                    K = projected(K - setting["rate"] * objective(K)[1])
            steps += self.n_steps
            yield Fit(FixedKernel(K), seen, self.n_steps, steps, steps)


@dataclass(frozen=True)
class Passes(Method):
    """ERKLE over the whole trial with one, two, three ... passes."""

    loss: Loss
    step: Step

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, sizes: Protocol) -> Iterator[Fit]:
        """A learner for each number of passes."""
        for passes in range(1, sizes.most_passes + 1):
            yield from Online(self.loss, self.step, passes).fits(trial, [len(trial.train)], seed, setting, sizes)


class Descent(Steps):
    """The same steps over all answers, one after the other."""

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, sizes: Protocol) -> Iterator[Fit]:
        """The kernel after each step."""
        marks = sizes.most_passes * [len(trial.train)]
        for step, fit in enumerate(super().fits(trial, marks, seed, setting, sizes), 1):
            yield fit._replace(passes=step)


class Counting(Method):
    """Popularity: how far one gets without looking at the anchor."""

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, sizes: Protocol) -> Iterator[Fit]:
        """The counts after each mini-batch."""
        learner = Popularity(trial.n_objects)
        for before, seen in pairwise([0, *marks]):
            yield Fit(learner.partial_fit(trial.train[before:seen]), seen, 1)


def plain_descent(objective: ByKernel, n_objects: int, max_iter: int) -> tuple[NDArray[np.float64], int]:
    """The best kernel on the way, and the number of steps: projected gradient as in the MATLAB codes the paper used.

    A step is as long as the mean of the losses asks for, times the number of objects. It gets a hundredth longer while
    the objective falls and is halved when it rises; five rises in a row end it, as does a change of less than 1e-7.
    """
    K = best = np.eye(n_objects)
    rate = n_objects / len(objective.terms.T)
    value, gradient = objective(K)
    lowest, before = value, np.inf
    n_steps = rises = 0
    while n_steps < max_iter and rises < 5 and abs(value - before) >= _TOL:
        K = projected(K - rate * gradient)
        before, (value, gradient) = value, objective(K)
        if value < lowest:
            lowest, best = value, K
        rises = 0 if value < before else rises + 1
        rate *= 0.5 if rises else 1.01
        n_steps += 1
    return best, n_steps


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
