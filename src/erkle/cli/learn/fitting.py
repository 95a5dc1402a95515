"""Fits of many answers: where they are computed, and how far they have got."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from erkle.online.models.fit_progress import FitProgress


@contextmanager
def fitting_at(scheduler: str | None) -> Iterator[None]:
    """Compute fits on the cluster of a Dask scheduler, or in this process."""
    if scheduler is None:
        yield
        return
    from erkle.cluster import on_dask

    with on_dask(scheduler):
        # What Dask logs when a connection is lost, our sentences say.
        logger = logging.getLogger("distributed.client")
        logger.disabled = True
        try:
            yield
        finally:
            logger.disabled = False


class FitClock:
    """Says how far fits have got, and measures how long they take."""

    def __init__(self) -> None:
        self._before: FitProgress | None = None
        self._started = 0.0

    def say(self, progress: "FitProgress") -> str:
        """A sentence about this moment."""
        now, before = time.monotonic(), self._before
        is_new = before is None or progress.n_answers != before.n_answers or progress.share < before.share
        self._started = now if is_new else self._started
        self._before = progress
        return in_words(progress, now - self._started)


def in_words(progress: "FitProgress", seconds: float) -> str:
    """How far fits have got after so many seconds.

    >>> from erkle.online.models.fit_progress import FitProgress
    >>> in_words(FitProgress(5_000_000, fit=2, n_fits=5, iteration=7, n_iterations=34), 16.0)
    'Fitting 5,000,000 answers again: candidate 2 of 5, iteration 7 of 34, about 52 s left'
    """
    left = f", about {_rounded(seconds / progress.share - seconds)} left" if progress.share else ""
    return (
        f"Fitting {progress.n_answers:,} answers again: candidate {progress.fit} of {progress.n_fits}, "
        f"iteration {progress.iteration} of {progress.n_iterations}{left}"
    )


def _rounded(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"
