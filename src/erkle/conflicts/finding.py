"""Count the questions that were answered both ways.

No kernel satisfies more than the majority of the answers to a question.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from erkle import triplets
from erkle.checks import whole
from erkle.conflicts.participants import Participants, agreement_with_others, counted

Integers = npt.NDArray[np.int64]


class Conflicts(NamedTuple):
    """The result of `find`. ``print`` shows its `summary`.

    Attributes
    ----------
    n_answers, n_questions : int
    n_repeated : int
        Answers to a question that already had an answer: ``n_answers - n_questions``.
    n_contradicted : int
        Questions that were answered both ways.
    n_unsatisfiable : int
        Answers in the minority of their question; half of the answers at a tie. Every kernel gets at least this many
        answers wrong.
    floor : float
        ``n_unsatisfiable / n_answers``: every kernel has at least this error. 0.0 if there are no answers.
    questions : array of int, shape (k, 3)
        The most disputed questions (anchor, b, c), with b < c. All were answered both ways. They are sorted by the
        size of the minority (largest first), then by the number of answers (most first), then by id.
    counts : array of int, shape (k, 2)
        The number of answers for b and for c.
    participants : Participants or None
        How often each participant agrees with the others. None if `find` got no participants.
    """

    n_answers: int
    n_questions: int
    n_repeated: int
    n_contradicted: int
    n_unsatisfiable: int
    floor: float
    questions: Integers
    counts: Integers
    participants: Participants | None = None

    def summary(self, labels: triplets.Labels | Sequence[str] | None = None) -> str:
        """Describe the result in a few sentences.

        Parameters
        ----------
        labels : Labels or sequence of str, optional
            Names of the objects. Without them, questions show ids.

        Examples
        --------
        >>> print(find([[0, 1, 2], [0, 1, 2], [0, 2, 1]]).summary(["Apple", "Pear", "Fig"]))
        2 of 3 answers repeat a question; 1 question was answered both ways, so every kernel gets at least 33 % of the
        answers wrong.
        Most disputed questions:
          Is Apple more like Pear (2) or Fig (1)?
        """
        lines = [self.sentence()]
        if len(self.questions):
            lines += ["Most disputed questions:", *(f"  {line}" for line in self.disputed(labels))]
        if self.participants is not None:
            lines.append(self.participants.summary())
        return "\n".join(lines)

    def sentence(self) -> str:
        """Say how many answers contradict each other, and the error that no kernel can avoid."""
        if not self.n_answers:
            return "There are no answers."
        answers = counted(self.n_answers, "", "1 answer", "answers")
        repeated = counted(
            self.n_repeated, f"None of {answers} repeats", f"1 of {answers} repeats", f"of {answers} repeat"
        )
        if not self.n_repeated:
            return f"{repeated} a question."
        both = counted(self.n_contradicted, "no question was", "1 question was", "questions were")
        wrong = f", so every kernel gets at least {100 * self.floor:.2g} % of the answers wrong"
        return f"{repeated} a question; {both} answered both ways{wrong * (self.floor > 0)}."

    def disputed(self, labels: triplets.Labels | Sequence[str] | None = None) -> list[str]:
        """The most disputed questions in words, with the number of answers for each candidate."""
        names = labels.names if isinstance(labels, triplets.Labels) else labels
        if names is not None and len(self.questions) and self.questions.max() >= len(names):
            raise ValueError(
                f"Got {len(names)} labels, but a question names object {self.questions.max()}; "
                "pass one label per object."
            )
        name_of = str if names is None else names.__getitem__
        return [
            f"Is {name_of(a)} more like {name_of(b)} ({n_b:,}) or {name_of(c)} ({n_c:,})?"
            for (a, b, c), (n_b, n_c) in zip(self.questions.tolist(), self.counts.tolist(), strict=True)
        ]

    def __str__(self) -> str:
        return self.summary()


def find(T: npt.ArrayLike, participants: npt.ArrayLike | None = None, n_worst: int = 10) -> Conflicts:
    """Count the answers that contradict each other, and compare the participants.

    Parameters
    ----------
    T : integer array of shape (n_answers, 3)
        Rows of anchor, near, far.
    participants : array of shape (n_answers,), optional
        The name or number of the participant who gave each answer. None, NaN, "" and words such as "NA" mean that
        the participant is unknown; all unknown participants count as one, named "".
    n_worst : int
        The number of most disputed questions to list.

    Returns
    -------
    Conflicts

    Notes
    -----
    An answer agrees with the others if most answers of *other* participants to the same question say the same. It is
    not counted if the others are evenly divided. Time and memory are those of sorting the answers.

    Examples
    --------
    >>> found = find([[0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 0, 2]], participants=["ann", "bob", "cid", "ann"])
    >>> found.n_questions, found.n_contradicted, found.floor
    (2, 1, 0.25)
    >>> found.questions.tolist(), found.counts.tolist()
    ([[0, 1, 2]], [[2, 1]])
    >>> found.participants.names.tolist()
    ['ann', 'bob', 'cid']
    >>> found.participants.n_shared.tolist()  # the others are evenly divided about ann's and bob's answers
    [0, 0, 1]
    """
    T = triplets.check(T)
    whole(n_worst, "n_worst", 0, "0 lists no questions")
    asked, low, total = _counts(T)
    minority = np.minimum(low, total - low)
    disputed = np.flatnonzero(minority)  # sorted by id; the stable sort below keeps that order between equals
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
        participants=None if participants is None else agreement_with_others(asked, T[:, 1] < T[:, 2], participants),
    )


def contradicted(T: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Mask of the answers whose question was answered both ways in T.

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
    """The smallest error that the contradictions in T leave to any kernel, as `find` counts it.

    Parameters
    ----------
    T : integer array of shape (n_answers, 3)

    Returns
    -------
    float
        0.0 if there are no answers.

    Examples
    --------
    >>> floor([[0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 0, 2]])
    0.25
    """
    return find(T, n_worst=0).floor


def _counts(T: Integers) -> tuple[Integers, Integers, Integers]:
    """The question number of each answer; for each question, the numbers of answers for the smaller id and of all."""
    asked = triplets.questions(T)
    total = np.bincount(asked)
    return asked, np.bincount(asked[T[:, 1] < T[:, 2]], minlength=len(total)), total


def _rows(T: Integers, asked: Integers, wanted: Integers) -> Integers:
    """Rows (anchor, smaller id, larger id) of the wanted questions."""
    row = np.empty(len(T), dtype=np.int64)
    row[asked] = np.arange(len(T))
    found = T[row[wanted]]
    found[:, 1:].sort(axis=1)
    return found
