"""Fits in a background thread. Online steps continue meanwhile, and are repeated on the result."""

import copy
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from erkle.kernels.looping import Stretch
from erkle.online.models.base import Answers
from erkle.online.models.refitting import Refitting


class Background:
    """A fit of the answers so far, made by a copy of the model in a thread."""

    def __init__(self, model: Refitting, answers: Answers) -> None:
        self._copy = copy.deepcopy(model)
        self._review, self._fitted = model.next_review, len(answers.T)
        pool = ThreadPoolExecutor(1, thread_name_prefix="erkle-refit")
        self.future: Future[None] = pool.submit(
            self._copy.finish, answers._replace(T=answers.T.copy(), lapses=answers.lapses.copy())
        )
        pool.shutdown(wait=False)

    def result(self, model: Refitting, history: NDArray[np.int32]) -> Refitting:
        """The copy after learning the answers that came during the fit.

        If the model itself has been fitted again meanwhile, that model.
        """
        self.future.result()
        if model.next_review != self._review:
            return model
        if n_new := model.n_objects - self._copy.n_objects:
            self._copy.grow(n_new, model.features and model.features.last(n_new))
        rows = history[self._fitted :].astype(np.int64)
        numbers = np.arange(self._fitted + 1, len(history) + 1)
        if len(rows):
            self._copy.learn(Stretch.of(rows, numbers, np.arange(len(rows))))
        return self._copy
