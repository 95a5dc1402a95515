"""The error curve: the prequential error of all answers and of the last thousand, and the error on test answers.

Points are added at fixed numbers of learned answers, more densely at the start, so that a resumed run has the same
points.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Answers in the error of the most recent answers.
WINDOW = 1000


class ErrorCurve:
    """Counts mistakes, and keeps a row for each point: answers, prequential error, recent error, test error."""

    def __init__(self) -> None:
        self.n_answers = 0
        self.n_mistakes = 0
        self._last = np.zeros(WINDOW, bool)
        self._points: list[tuple[float, ...]] = []

    def until_next_point(self) -> int:
        """The number of answers until the next point."""
        n = int(self._points[-1][0]) if self._points else 0
        return n + max(10, n // 50) - self.n_answers

    def add(self, decisions: NDArray[np.float64]) -> None:
        """Count the mistakes among decision values that were computed before each answer was learned."""
        mistakes = ~(decisions > 0.0)
        self.n_mistakes += int(mistakes.sum())
        at = (self.n_answers + np.arange(len(mistakes))) % WINDOW
        self._last[at[-WINDOW:]] = mistakes[-WINDOW:]
        self.n_answers += len(mistakes)

    def add_point(self, test_error: float) -> None:
        """Add a point for the current number of answers, or replace it."""
        if self._points and self._points[-1][0] == self.n_answers:
            self._points.pop()
        if self.n_answers:
            self._points.append((self.n_answers, self.prequential, self.last, test_error))

    @property
    def prequential(self) -> float:
        """Share of all answers that were predicted wrongly before they were learned."""
        return self.n_mistakes / self.n_answers if self.n_answers else float("nan")

    @property
    def last(self) -> float:
        """The same share of the last thousand answers."""
        recent = self._last[: self.n_last]
        return float(recent.mean()) if len(recent) else float("nan")

    @property
    def n_last(self) -> int:
        """The number of answers in `last`: a thousand, or all answers if there are fewer."""
        return min(self.n_answers, WINDOW)

    @property
    def points(self) -> NDArray[np.float64]:
        """All points, shape (n_points, 4)."""
        return np.array(self._points).reshape(-1, 4)

    def pack(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The state as arrays and numbers, for a checkpoint."""
        arrays = {"curve_last": self._last, "curve_points": self.points}
        return arrays, {"n_answers": self.n_answers, "n_mistakes": self.n_mistakes}

    def restore(self, arrays: dict[str, NDArray[Any]], numbers: dict[str, Any]) -> None:
        """Restore the state that `pack` returned."""
        self.n_answers, self.n_mistakes = int(numbers["n_answers"]), int(numbers["n_mistakes"])
        self._last[:] = arrays["curve_last"]
        self._points = [tuple(point) for point in arrays["curve_points"].tolist()]


class ShowCurve(Protocol):
    """Shows how far learning has got."""

    def __call__(self, curve: ErrorCurve, *, gets_slower: bool = False) -> None:
        """Show a curve, and whether later answers will take longer than those so far."""
