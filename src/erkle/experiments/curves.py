"""Curves from the results of units: the best setting of each trial, then means over trials with 95 % intervals."""

from typing import NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from erkle.experiments.methods import METHODS, Row
from erkle.experiments.protocol import Protocol
from erkle.experiments.units import Unit, read_rows, units_of
from erkle.runner import Runner

Floats = NDArray[np.float64]


class MeanCurve(NamedTuple):
    """Means over trials, half the width of their 95 % intervals, and the setting chosen in each trial."""

    x: Floats
    mean: Floats
    half_width: Floats
    chosen: list[dict[str, float]]

    def at(self, x: float) -> float:
        """The mean at the point nearest to x."""
        return float(self.mean[np.argmin(np.abs(self.x - x))])

    @property
    def last(self) -> float:
        """The last mean."""
        return float(self.mean[-1])


class Curves:
    """The curves of a run, by data set, method and quantity."""

    def __init__(self, runner: Runner[Unit], protocol: Protocol, n_trials: int) -> None:
        self._runner, self._protocol, self._n_trials = runner, protocol, n_trials
        self._chosen: dict[tuple[str, str], list[tuple[Unit, list[Row]]]] = {}

    def of(self, dataset: str, method: str, y: str, x: str = "answers") -> MeanCurve:
        """The curve of a quantity over answers or over passes."""
        trials = self._trials(dataset, method)
        values = np.array([[getattr(row, y) for row in rows] for _, rows in trials], dtype=float)
        places = np.array([getattr(row, x) for row in trials[0][1]], dtype=float)
        n = len(values)
        spread = scipy.stats.t.ppf(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else 0.0
        chosen = [dict(unit.setting) for unit, _ in trials]
        return MeanCurve(places, values.mean(axis=0), spread * np.ones(len(places)), chosen)

    def bounds_chosen(self, dataset: str, method: str) -> list[str]:
        """A sentence for each smallest or largest setting that a trial chose: a better one may lie outside the grid."""
        grid = METHODS[method].settings(self._protocol)
        chosen = [dict(unit.setting) for unit, _ in self._trials(dataset, method)]
        sentences = []
        for name in grid[0]:
            values = sorted({setting[name] for setting in grid})
            for word, bound in (("smallest", values[0]), ("largest", values[-1])):
                times = sum(setting[name] == bound for setting in chosen)
                # With one or two values, every value is the smallest or the largest.
                if times and len(values) > 2:
                    sentences.append(
                        f"{method} chose the {word} {name} tried ({bound:g}) in {times} of "
                        f"{len(chosen)} trial{'s' if len(chosen) > 1 else ''}."
                    )
        return sentences

    def _trials(self, dataset: str, method: str) -> list[tuple[Unit, list[Row]]]:
        """For each trial, the unit whose last validation error is the lowest."""
        if (dataset, method) not in self._chosen:
            trials = []
            for trial in range(self._n_trials):
                units = units_of(dataset, method, trial, self._protocol)
                results = [(unit, read_rows(unit, self._runner)) for unit in units]
                trials.append(min(results, key=_validation_error))
            self._chosen[dataset, method] = trials
        return self._chosen[dataset, method]


def _validation_error(result: tuple[Unit, list[Row]]) -> float:
    return result[1][-1].validation_error
