"""How well the map, which shows only the first two coordinates, predicts answers on its own."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle import metrics
from erkle.cli.screen import per_cent
from erkle.kernels.dense import Dense
from erkle.kernels.kernel import LARGEST_MATRIX_SAVED
from erkle.kernels.low_rank import excess
from erkle.online import ERKLE

# Dimensions that a map shows.
_SHOWN = 2
# Answers predicted at once, to limit memory.
_PIECE = 100_000
# Most learned answers that the error is measured on, spread evenly.
MOST_LEARNED = 5000


class MapQuality(NamedTuple):
    """The dimensions of a kernel, and the errors of its map and of its learner on the same answers.

    The number of dimensions is None if it would take too long to compute. The errors are None if the map shows all
    dimensions, or if there are no answers to measure them on.
    """

    n_dimensions: int | None
    answers: str
    map_error: float | None = None
    learner_error: float | None = None

    @property
    def caption(self) -> str | None:
        """What the map shows, if that is not everything."""
        if self.n_dimensions is None:
            return f"{_SHOWN} of many dimensions"
        return f"{_SHOWN} of {self.n_dimensions} dimensions" if self.n_dimensions > _SHOWN else None

    def sentence(self) -> str | None:
        """What the map shows and how well it predicts; None if it shows everything.

        >>> MapQuality(25, "test answers", 0.35, 0.17).sentence()
        'The map shows 2 of 25 dimensions. Alone it predicts 65.0 % of the test answers; the learner predicts 83.0 %.
        For the best map in two dimensions, use erkle.TripletEmbedding.'
        """
        if self.caption is None:
            return None
        measured = ""
        if self.map_error is not None and self.learner_error is not None:
            shares = per_cent(1.0 - self.map_error), per_cent(1.0 - self.learner_error)
            measured = f" Alone it predicts {shares[0]} of the {self.answers}; the learner predicts {shares[1]}."
        return (
            f"The map shows {self.caption}.{measured} For the best map in two dimensions, use erkle.TripletEmbedding."
        )


def map_quality(learner: ERKLE, test: NDArray[np.int64], test_error: float) -> MapQuality:
    """Measure the map on the test answers; without any, on some of the answers that the learner has kept.

    ``test_error`` is the learner's error on the test answers.
    """
    n_dimensions, T, answers = rank(learner), test, "test answers"
    if not len(test) and learner.history_ is not None:
        every = -(-len(learner.history_) // MOST_LEARNED)
        T, answers = learner.history_[:: max(1, every)].astype(np.int64), "learned answers"
    if (n_dimensions is not None and n_dimensions <= _SHOWN) or not len(T):
        return MapQuality(n_dimensions, answers)
    X = learner.embedding(_SHOWN)
    pieces = [T[start : start + _PIECE] for start in range(0, len(T), _PIECE)]
    n_map = sum(int(np.count_nonzero(excess(*X[piece.T]) < 0.0)) for piece in pieces)
    learner_error = test_error if len(test) else 1.0 - learner.score(T)
    return MapQuality(n_dimensions, answers, 1.0 - n_map / len(T), learner_error)


def rank(learner: ERKLE) -> int | None:
    """The number of dimensions of the learned kernel; None for a large exact kernel, where it takes too long."""
    if isinstance(learner.kernel, Dense):
        return metrics.rank(learner.kernel_matrix()) if learner.n_objects_ <= LARGEST_MATRIX_SAVED else None
    # Each column is a principal axis; the kernel of all pairs might not fit into memory.
    spreads = np.linalg.norm(learner.embedding(), axis=0)
    return int(np.count_nonzero(spreads > 1e-6 * max(spreads, default=0.0)))
