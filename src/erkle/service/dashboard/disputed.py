"""Questions that were answered both ways."""

import numpy as np
from pydantic import BaseModel

from erkle import conflicts
from erkle.service.dashboard.participants.conduct import IS_LEARNED
from erkle.service.learning import Learning


class DisputedQuestion(BaseModel):
    """A question that was answered both ways: how often each way, and the learner's probability of ``first``."""

    anchor: int
    first: int
    second: int
    for_first: int
    for_second: int
    probability: float


def disputed_questions(learning: Learning, limit: int) -> list[DisputedQuestion]:
    """Return questions that were answered both ways, those with the largest minority first."""
    learning.catch_up()
    with learning.columns.lock:
        columns = learning.columns
        T = columns.triplets(IS_LEARNED[columns.kind]).copy()
    found = conflicts.find(T, n_worst=len(T))
    # Among equal minorities, the most even votes come first. In `find`, the most votes come first.
    order = np.lexsort((found.counts.sum(axis=1), -found.counts.min(axis=1)))[:limit]
    questions, counts = found.questions[order], found.counts[order]
    chances = np.full(len(questions), 0.5) if learning.view is None else learning.view.predict_proba(questions)[:, 1]
    rows = zip(questions.tolist(), counts.tolist(), np.round(chances, 4).tolist(), strict=True)
    return [
        DisputedQuestion(
            anchor=anchor, first=first, second=second, for_first=for_first, for_second=for_second, probability=chance
        )
        for (anchor, first, second), (for_first, for_second), chance in rows
    ]
