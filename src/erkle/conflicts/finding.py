"""Questions that were answered both ways, counted.

Of each question's answers no kernel satisfies more than the majority; whose answers they are is up to `workers`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from erkle import triplets
from erkle.checks import whole
from erkle.conflicts.participants import Workers, agreement_with_others, counted

Integers = npt.NDArray[np.int64]


class Conflicts(NamedTuple):
    """What `find` found; printed, it is a few plain sentences.

    Attributes
    ----------
    n_answers, n_questions : int
    n_repeated : int
        Answers to a question that was asked before, ``n_answers - n_questions``.
    n_contradicted : int
        Questions that were answered both ways.
    n_unsatisfiable : int
        Answers in the minority of their question, half of them at a tie. No kernel satisfies more than the rest.
    floor : float
        ``n_unsatisfiable / n_answers``: every kernel has at least this error. 0.0 without answers.
    questions : array of int, shape (k, 3)
        The questions (anchor, b, c), b < c, with the largest minorities; of equal ones first those with more answers,
        then by ids. Only questions that were answered both ways.
    counts : array of int, shape (k, 2)
        How many said b and how many said c.
    workers : Workers or None
        How far each worker agrees with the others, if workers were given.
    """

    n_answers: int
    n_questions: int
    n_repeated: int
    n_contradicted: int
    n_unsatisfiable: int
    floor: float
    questions: Integers
    counts: Integers
    workers: Workers | None = None

    def summary(self, labels: triplets.Labels | Sequence[str] | None = None) -> str:
        """The findings in plain sentences.

        Parameters
        ----------
        labels : Labels or sequence of str, optional
            Names of the objects; without them the questions are told by ids.

        Examples
        --------
        >>> print(find([[0, 1, 2], [0, 1, 2], [0, 2, 1]]).summary(["Apple", "Pear", "Fig"]))
        Of 3 answers 2 ask a question asked before; 1 question was answered both ways, so at least 33 % of the
        answers are wrong under any kernel.
        The most disputed:
          is Apple more like Pear (2) or Fig (1)?
        """
        lines = [_sentence(self)]
        if len(self.questions):
            lines += ["The most disputed:", *_spoken(self.questions, self.counts, labels)]
        if self.workers is not None:
            lines.append(self.workers.summary())
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()


def find(T: npt.ArrayLike, workers: npt.ArrayLike | None = None, n_worst: int = 10) -> Conflicts:
    """Count the answers that contradict each other, and say whose they are.

    Parameters
    ----------
    T : integer array of shape (n_answers, 3)
        Rows of anchor, near, far.
    workers : array of shape (n_answers,), optional
        Who gave each answer, as names or numbers. None, NaN, "" and words for nothing, such as "NA", are one worker
        named "".
    n_worst : int
        How many of the most disputed questions to list.

    Returns
    -------
    Conflicts

    Notes
    -----
    An answer agrees with the others if most answers of *other* workers to its question say the same. Where they
    are evenly divided it is not counted. Time and memory are those of sorting the answers.

    Examples
    --------
    >>> found = find([[0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 0, 2]], workers=["ann", "bob", "cid", "ann"])
    >>> found.n_questions, found.n_contradicted, found.floor
    (2, 1, 0.25)
    >>> found.questions.tolist(), found.counts.tolist()
    ([[0, 1, 2]], [[2, 1]])
    >>> found.workers.names.tolist(), found.workers.n_shared.tolist()  # the others of ann and of bob are divided
    (['ann', 'bob', 'cid'], [0, 0, 1])
    """
    T = triplets.check(T)
    whole(n_worst, "n_worst", 0, "0 lists no questions")
    asked, low, total = _counts(T)
    minority = np.minimum(low, total - low)
    disputed = np.flatnonzero(minority)  # in the order of ids, which decides between equals
    worst = disputed[np.lexsort((-total[disputed], -minority[disputed]))[:n_worst]]
    return Conflicts(
        n_answers=len(T),
        n_questions=len(total),
        n_repeated=len(T) - len(total),
        n_contradicted=int(np.count_nonzero(minority)),
        n_unsatisfiable=int(minority.sum()),
        floor=int(minority.sum()) / max(1, len(T)),
        questions=_rows(T, asked, worst),
        counts=np.column_stack((low[worst], total[worst] - low[worst])),
        workers=None if workers is None else agreement_with_others(asked, T[:, 1] < T[:, 2], workers),
    )


def contradicted(T: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Mask of the answers whose question was answered both ways somewhere in T.

    Parameters
    ----------
    T : integer array of shape (n_answers, 3)

    Returns
    -------
    array of bool, shape (n_answers,)

    Examples
    --------
    >>> contradicted([[0, 1, 2], [0, 2, 1], [1, 0, 2]])
    array([ True,  True, False])
    """
    asked, low, total = _counts(triplets.check(T))
    return ((low > 0) & (low < total))[asked]


def floor(T: npt.ArrayLike) -> float:
    """The ``floor`` that `find` counts: every kernel leaves at least this share of the answers unsatisfied.

    Parameters
    ----------
    T : integer array of shape (n_answers, 3)

    Returns
    -------
    float
        0.0 without answers.

    Examples
    --------
    >>> floor([[0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 0, 2]])
    0.25
    """
    return find(T, n_worst=0).floor


def _counts(T: Integers) -> tuple[Integers, Integers, Integers]:
    """The number of each answer's question; and of each question, how many said the smaller id, and how many in all."""
    asked = triplets.questions(T)
    total = np.bincount(asked)
    return asked, np.bincount(asked[T[:, 1] < T[:, 2]], minlength=len(total)), total


def _rows(T: Integers, asked: Integers, wanted: Integers) -> Integers:
    """Anchor and sorted candidates of some questions."""
    row = np.empty(len(T), dtype=np.int64)
    row[asked] = np.arange(len(T))
    found = T[row[wanted]]
    found[:, 1:].sort(axis=1)
    return found


def _sentence(found: Conflicts) -> str:
    if not found.n_answers:
        return "There are no answers."
    repeated = counted(found.n_repeated, "none asks", "1 asks", "ask")
    answers = counted(found.n_answers, "", "1 answer", "answers")
    if not found.n_repeated:
        return f"Of {answers} {repeated} a question asked before."
    both = counted(found.n_contradicted, "no question was", "1 question was", "questions were")
    wrong = f", so at least {100 * found.floor:.2g} % of the answers are wrong under any kernel"
    return f"Of {answers} {repeated} a question asked before; {both} answered both ways{wrong * (found.floor > 0)}."


def _spoken(questions: Integers, counts: Integers, labels: triplets.Labels | Sequence[str] | None) -> list[str]:
    names = labels.names if isinstance(labels, triplets.Labels) else labels
    if names is not None and questions.max() >= len(names):
        raise ValueError(
            f"Got {len(names)} labels, but a question names object {questions.max()}; pass a label for each object."
        )
    called = str if names is None else names.__getitem__
    return [
        f"  is {called(a)} more like {called(b)} ({n_b:,}) or {called(c)} ({n_c:,})?"
        for (a, b, c), (n_b, n_c) in zip(questions.tolist(), counts.tolist(), strict=True)
    ]
