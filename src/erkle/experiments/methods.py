"""The methods that are compared. Each learns the answers of a trial in order, and is measured at several marks.

- `Online` is ERKLE, which learns answer by answer.
- `Batch` fits all answers so far at every mark, and starts from the previous fit.
- `PlainBatch` does the same with plain gradient steps from K = I, as the paper did.
- `Steps` takes only one or two plain gradient steps at every mark: the cheap batch method of the paper.

A mark is the number of answers after which a method is measured.
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
from erkle.kernels.dense import Dense
from erkle.kernels.forms import BUFFERED_FROM
from erkle.kernels.lapack import one_thread, projected
from erkle.losses import CKL, GNMDS, STE, Loss
from erkle.online import ERKLE
from erkle.steps import Constant, Inverse, InverseSqrt, PassiveAggressive, Step

Marks = Sequence[int]
Setting = dict[str, float]

# Plain gradient steps stop when the objective changes by less.
_TOL = 1e-7


class Row(NamedTuple):
    """The errors and the costs of a method at one mark."""

    answers: int
    passes: int
    test_error: float
    train_error: float
    validation_error: float
    rank: int
    seconds: float
    certified: int
    eigenpairs: int
    projections: int


class FixedKernel(NamedTuple):
    """A kernel with the ``score`` method of a learner."""

    kernel: NDArray[np.float64]

    def kernel_matrix(self) -> NDArray[np.float64]:
        """The kernel."""
        return self.kernel

    def score(self, T: NDArray[np.int64]) -> float:
        """Share of answers that are predicted correctly."""
        return 1.0 - metrics.triplet_error(self.kernel, T)


class Fit(NamedTuple):
    """A learner at a mark, with the answers and passes so far, and what they cost.

    ``certified`` answers moved the kernel without an eigenpair.
    """

    learner: TripletLearner | FixedKernel
    answers: int
    passes: int
    certified: int = 0
    eigenpairs: int = 0
    projections: int = 0

    def row(self, trial: Trial, seconds: float) -> Row:
        """Measure the learner."""
        matrix = getattr(self.learner, "kernel_matrix", None)
        test = 1.0 - self.learner.score(trial.test)
        same = trial.validation is trial.test
        return Row(
            answers=self.answers,
            passes=self.passes,
            test_error=test,
            train_error=1.0 - self.learner.score(trial.train[: self.answers]),
            validation_error=test if same else 1.0 - self.learner.score(trial.validation),
            # At n = 5000 the eigenvalues would cost more than learning, and the paper shows no ranks there.
            rank=metrics.rank(matrix(), 1e-3) if matrix is not None and trial.n_objects < 2000 else -1,
            seconds=seconds,
            certified=self.certified,
            eigenpairs=self.eigenpairs,
            projections=self.projections,
        )


class Method(ABC):
    """A method that is compared with others."""

    def every(self, dataset: str, protocol: Protocol) -> int:
        """Number of answers between two marks."""
        return protocol.measure_every_large if dataset == "large" else protocol.measure_every

    def settings(self, protocol: Protocol) -> list[Setting]:
        """The settings to try; only the best one is shown. By default there is nothing to choose."""
        return [{}]

    def rows(self, trial: Trial, every: int, seed: int, setting: Setting, protocol: Protocol) -> Iterator[Row]:
        """Yield a row for each mark; the seconds include neither compilation nor measuring errors."""
        marks = range(every, len(trial.train) + 1, every)
        self.compile(trial.n_objects)
        fits, seconds = self.fits(trial, marks, seed, setting, protocol), 0.0
        while True:
            start = time.perf_counter()
            fit = next(fits, None)
            seconds += time.perf_counter() - start
            if fit is None:
                return
            yield fit.row(trial, seconds)

    def compile(self, n_objects: int) -> None:  # noqa: B027
        """Compile what the method needs, before the clock starts. By default there is nothing to compile."""

    @abstractmethod
    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, protocol: Protocol) -> Iterator[Fit]:
        """The learner at each mark."""


@dataclass(frozen=True)
class Online(Method):
    """ERKLE, which learns answer by answer."""

    loss: Loss
    step: Step
    passes: int = 1

    def compile(self, n_objects: int) -> None:
        """Compile the loop for the form of this kernel."""
        ERKLE(min(n_objects, BUFFERED_FROM), kernel=Dense(), loss=self.loss, step=self.step).fit([(0, 1, 2)])

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, protocol: Protocol) -> Iterator[Fit]:
        """The learner after each mini-batch."""
        learner = ERKLE(
            trial.n_objects,
            kernel=Dense(),
            loss=self.loss,
            step=self.step,
            passes=self.passes,
            random_state=seed,
        ).partial_fit([])
        for seen in marks:
            learner.partial_fit(trial.train[learner.n_triplets_seen_ : seen])
            counters = learner.counters_
            yield Fit(learner, seen, self.passes, *counters[1:])


@dataclass(frozen=True)
class Batch(Method):
    """A trace-regularised fit of all answers so far, which starts from the previous fit."""

    loss: Loss

    def every(self, dataset: str, protocol: Protocol) -> int:
        """Number of answers between two marks."""
        return protocol.mini_batch

    def settings(self, protocol: Protocol) -> list[Setting]:
        """Weights of the trace, from negligible to far too large."""
        return [{"trace": trace} for trace in np.geomspace(0.03, 30.0, protocol.n_traces).round(4).tolist()]

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, protocol: Protocol) -> Iterator[Fit]:
        """The fit of the answers up to each mark."""
        learner = RCKL(trial.n_objects, self.loss, setting["trace"], max_iter=protocol.max_iter, warm_start=True)
        n_iter = 0
        for seen in marks:
            with warnings.catch_warnings():
                # The paper limits the iterations, and some fits reach the limit.
                warnings.simplefilter("ignore", ConvergenceWarning)
                learner.fit(trial.train[:seen])
            n_iter += learner.n_iter_
            yield Fit(learner, seen, learner.n_iter_, 0, n_iter, n_iter)


class PlainBatch(Batch):
    """The same fit by plain gradient steps from K = I, which stop as in the paper."""

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, protocol: Protocol) -> Iterator[Fit]:
        """The fit of the answers up to each mark."""
        n_iter = 0
        for seen in marks:
            objective = ByKernel(terms_of(trial.train[:seen], self.loss), setting["trace"])
            with one_thread(trial.n_objects):
                K, n_steps = plain_descent(objective, trial.n_objects, protocol.max_iter)
            n_iter += n_steps
            yield Fit(FixedKernel(K), seen, n_steps, 0, n_iter, n_iter)


@dataclass(frozen=True)
class Steps(Method):
    """Plain projected gradient steps K <- projection(K - rate (gradient + trace I)), ``n_steps`` at every mark."""

    loss: Loss
    n_steps: int = 1

    def settings(self, protocol: Protocol) -> list[Setting]:
        """Lengths of the step, with a small weight of the trace."""
        return [{"rate": rate, "trace": 0.1} for rate in np.geomspace(0.001, 0.1, protocol.n_traces).round(4).tolist()]

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, protocol: Protocol) -> Iterator[Fit]:
        """The kernel after the steps at each mark; eigenpairs and projections are the number of steps so far."""
        K, steps = np.eye(trial.n_objects), 0
        for seen in marks:
            objective = ByKernel(terms_of(trial.train[:seen], self.loss), setting["trace"])
            with one_thread(trial.n_objects):
                for _ in range(self.n_steps):
                    K = projected(K - setting["rate"] * objective(K)[1])
            steps += self.n_steps
            yield Fit(FixedKernel(K), seen, self.n_steps, 0, steps, steps)


@dataclass(frozen=True)
class Passes(Method):
    """ERKLE on all answers of the trial, with one, two, three, ... passes."""

    loss: Loss
    step: Step

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, protocol: Protocol) -> Iterator[Fit]:
        """A learner for each number of passes."""
        for passes in range(1, protocol.most_passes + 1):
            yield from Online(self.loss, self.step, passes).fits(trial, [len(trial.train)], seed, setting, protocol)


class Descent(Steps):
    """The same steps on all answers of the trial, measured after each step."""

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, protocol: Protocol) -> Iterator[Fit]:
        """The kernel after each step."""
        marks = protocol.most_passes * [len(trial.train)]
        for step, fit in enumerate(super().fits(trial, marks, seed, setting, protocol), 1):
            yield fit._replace(passes=step)


class ByPopularity(Method):
    """Predictions that use only the popularity of the objects and ignore the anchor."""

    def fits(self, trial: Trial, marks: Marks, seed: int, setting: Setting, protocol: Protocol) -> Iterator[Fit]:
        """The counts after each mini-batch."""
        learner = Popularity(trial.n_objects)
        for before, seen in pairwise([0, *marks]):
            yield Fit(learner.partial_fit(trial.train[before:seen]), seen, 1)


def plain_descent(objective: ByKernel, n_objects: int, max_iter: int) -> tuple[NDArray[np.float64], int]:
    """The best kernel found by projected gradient steps, and the number of steps.

    This is the method of the MATLAB programs that the paper used. The rate starts at the number of objects over the
    number of answers. It grows by 1 % after each step that lowers the objective, and is halved after each step that
    raises it. The descent stops after five rises in a row, or when the objective changes by less than 1e-7.
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
    "popularity": ByPopularity(),
}
