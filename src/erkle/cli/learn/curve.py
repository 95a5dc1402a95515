"""The error as it falls: prequential over all answers and over the last thousand, and on held-out answers.

Points lie at fixed numbers of learned answers, denser at the start, so that a resumed run has the same ones.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

WINDOW = 1000


class ErrorCurve:
    """Counts mistakes as they come, and keeps a row (answers, prequential, last thousand, held out) a point."""

    def __init__(self) -> None:
        self.n_answers = 0
        self.n_mistakes = 0
        self._last = np.zeros(WINDOW, bool)
        self._points: list[tuple[float, ...]] = []

    def until_next_point(self) -> int:
        """How many answers may be added before the next point is due."""
        n = int(self._points[-1][0]) if self._points else 0
        return n + max(10, n // 50) - self.n_answers

    def add(self, decisions: NDArray[np.float64]) -> None:
        """Count what was decided just before each of these answers was learned."""
        mistakes = ~(decisions > 0.0)
        self.n_mistakes += int(mistakes.sum())
        at = (self.n_answers + np.arange(len(mistakes))) % WINDOW
        self._last[at[-WINDOW:]] = mistakes[-WINDOW:]
        self.n_answers += len(mistakes)

    def add_point(self, held_out: float) -> None:
        """Make a point here, in the place of one that is here already."""
        if self._points and self._points[-1][0] == self.n_answers:
            self._points.pop()
        if self.n_answers:
            self._points.append((self.n_answers, self.prequential, self.last, held_out))

    @property
    def prequential(self) -> float:
        """Share of all answers that were predicted wrongly just before they were learned."""
        return self.n_mistakes / self.n_answers if self.n_answers else float("nan")

    @property
    def last(self) -> float:
        """The same over the last thousand."""
        recent = self._last[: self.n_last]
        return float(recent.mean()) if len(recent) else float("nan")

    @property
    def n_last(self) -> int:
        """How many answers `last` is about: a thousand, or all while there are fewer."""
        return min(self.n_answers, WINDOW)

    @property
    def points(self) -> NDArray[np.float64]:
        """The points, shape (m, 4)."""
        return np.array(self._points).reshape(-1, 4)

    def pack(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """State as arrays and numbers."""
        arrays = {"curve_last": self._last, "curve_points": self.points}
        return arrays, {"n_answers": self.n_answers, "n_mistakes": self.n_mistakes}

    def restore(self, arrays: dict[str, NDArray[Any]], numbers: dict[str, Any]) -> None:
        """Stand where another curve stood."""
        self.n_answers, self.n_mistakes = int(numbers["n_answers"]), int(numbers["n_mistakes"])
        self._last[:] = arrays["curve_last"]
        self._points = [tuple(point) for point in arrays["curve_points"].tolist()]


ShowCurve = Callable[[ErrorCurve], None]
