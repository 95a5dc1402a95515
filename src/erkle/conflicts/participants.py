"""How often each participant agrees with a reference: the other participants, or a learner.

The support of an answer is positive if the reference gives the same answer, negative if it gives the opposite answer,
and zero if it gives none. With a learner, support is the decision value. With the other participants, it is their votes
for the answer minus their votes against it.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Shared answers a participant needs to be tested.
_LEAST_SHARED = 10
# p-value below which a participant is flagged, after Bonferroni's correction.
_SIGNIFICANCE = 0.001
# Flagged participants that a summary names.
_MOST_LISTED = 10
# Values that mean "unknown participant", in lower case.
_MISSING = frozenset(("", "nan", "na", "null", "none", "nat", "<na>"))


class Participants(NamedTuple):
    """How often each participant agrees with a reference: the other participants, or a learner.

    A participant is flagged if at least 10 answers can be compared and their agreement is significantly lower than that
    of all other participants together: p < 0.001 in a one-sided Fisher's exact test, after Bonferroni's correction for
    the number of participants tested. All unknown participants count as one, named "", who is never flagged.

    Attributes
    ----------
    names : array of str, shape (n_participants,)
        In alphabetical order, or in numerical order if participants are numbers.
    n_answers : array of int, shape (n_participants,)
    n_shared : array of int, shape (n_participants,)
        Answers that can be compared: others answered the same question and are not evenly divided, or the learner's
        decision value is neither 0 nor NaN.
    agreement : array of float, shape (n_participants,)
        Share of the shared answers that agree with the reference; NaN if there are none.
    expected : array of float, shape (n_participants,)
        The same share for all other participants together. The test compares ``agreement`` with it.
    flagged : array of bool, shape (n_participants,)
    reference : str
        Who the participants are compared with, in words: "the others" or "the learner".
    """

    names: npt.NDArray[np.str_]
    n_answers: Integers
    n_shared: Integers
    agreement: Floats
    expected: Floats
    flagged: npt.NDArray[np.bool_]
    reference: str = "the others"

    def summary(self) -> str:
        """Name the flagged participants, lowest agreement first, and count those with too few answers."""
        known = self.names != ""
        n_known, n_few = int(known.sum()), int(np.sum(known & (self.n_shared < _LEAST_SHARED)))
        if not n_known:
            return "No answer names the participant who gave it."
        if n_few == n_known:
            needed = f"the {_LEAST_SHARED} answers needed to compare with {self.reference}"
            return f"No participant (of {n_known:,}) has {needed}."
        few = f" {counted(n_few, 'None has', '1 has', 'have')} too few answers to compare." * (n_few > 0)
        worst = np.flatnonzero(self.flagged)
        worst = worst[np.argsort(self.agreement[worst], kind="stable")]
        if not len(worst):
            return (
                f"None of {n_known:,} participants agrees with {self.reference} significantly less than expected.{few}"
            )
        listed = [
            f"{self.names[i]} ({100 * self.agreement[i]:.0f} % of {self.n_shared[i]:,} answers)"
            for i in worst[:_MOST_LISTED]
        ]
        if len(worst) > _MOST_LISTED:
            listed.append(f"and {len(worst) - _MOST_LISTED:,} more")
        agree = "agrees" if len(worst) == 1 else "agree"
        return (
            f"{len(worst):,} of {n_known:,} participants {agree} with {self.reference} significantly less than"
            f" expected: {', '.join(listed)}.{few}"
        )

    def __str__(self) -> str:
        return self.summary()


def agreement_with(decision_values: npt.ArrayLike, participants: npt.ArrayLike) -> Participants:
    """How often each participant agrees with a learner. Use it if participants share few questions.

    Parameters
    ----------
    decision_values : array of shape (n_answers,)
        Positive where the learner predicts the answer, as `erkle.metrics.decision_values` and ``decision_function``
        return them, preferably for answers that the learner has not seen. 0 and NaN are not counted.
    participants : array of shape (n_answers,)
        The participant who gave each answer, as in `find`.

    Returns
    -------
    Participants

    Examples
    --------
    >>> table = agreement_with([3.0, 1.0, -2.0, 0.0], ["ann", "ann", "bob", "bob"])
    >>> table.agreement.tolist(), table.expected.tolist(), table.n_shared.tolist()
    ([1.0, 0.0], [0.0, 1.0], [2, 1])
    """
    decisions = np.asarray(decision_values, dtype=np.float64)
    if decisions.ndim != 1:
        raise ValueError(
            f"Got decision values of shape {decisions.shape}, wanted one number per answer; pass a flat array."
        )
    return _table(decisions, *_coded(participants, len(decisions)), reference="the learner")


def agreement_with_others(
    asked: Integers, says_low: npt.NDArray[np.bool_], participants: npt.ArrayLike
) -> Participants:
    """Compare participants with each other, from each answer's question number and the candidate it chose."""
    names, who = _coded(participants, len(asked))
    support = np.zeros(len(asked))
    rows = np.flatnonzero(np.bincount(asked)[asked] > 1)
    question, vote = asked[rows], np.where(says_low[rows], 1.0, -1.0)
    # Leave out all of a participant's own answers to the question, in case there are several.
    own = np.unique(question * len(names) + who[rows], return_inverse=True)[1]
    others = np.bincount(question, weights=vote)[question] - np.bincount(own, weights=vote)[own]
    support[rows] = vote * others
    return _table(support, names, who)


def counted(n: int, none: str, one: str, many: str) -> str:
    """``none`` if n is 0, ``one`` if n is 1, else the number followed by ``many``."""
    return (none, one)[n] if n < 2 else f"{n:,} {many}"


def _table(support: Floats, names: npt.NDArray[np.str_], who: Integers, reference: str = "the others") -> Participants:
    """Count positive support as agreement and negative support as disagreement; ignore 0 and NaN."""
    n_agreeing, n_against = (np.bincount(who[side], minlength=len(names)) for side in (support > 0, support < 0))
    n_shared = n_agreeing + n_against
    return Participants(
        names=names,
        n_answers=np.bincount(who, minlength=len(names)),
        n_shared=n_shared,
        agreement=_share(n_agreeing, n_shared),
        expected=_share(n_agreeing.sum() - n_agreeing, n_shared.sum() - n_shared),
        flagged=_flagged(n_agreeing, n_shared, names != ""),
        reference=reference,
    )


def _share(part: Integers, whole: Integers) -> Floats:
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def _flagged(n_agreeing: Integers, n_shared: Integers, known: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    # Importing scipy.stats takes half a second, and only participants need it.
    from scipy.stats import hypergeom

    flagged = known & (n_shared >= _LEAST_SHARED)
    tested = np.flatnonzero(flagged)
    # A binomial test would take the others' share as exact: if they agree on 200 of 200, it would flag 99 of 100.
    p_value = hypergeom.cdf(n_agreeing[tested], n_shared.sum(), n_agreeing.sum(), n_shared[tested])
    flagged[tested] = p_value * len(tested) < _SIGNIFICANCE
    return flagged


def _coded(participants: npt.ArrayLike, n_answers: int) -> tuple[npt.NDArray[np.str_], Integers]:
    """The names of the participants, and for each answer the position of its participant in them."""
    given = np.asarray(participants)
    if given.shape != (n_answers,):
        raise ValueError(
            f"Participants have shape {given.shape}, but there are {n_answers} answers;"
            f" pass one participant per answer, shape ({n_answers},)."
        )
    if given.dtype.kind in "biuf":
        values, codes = np.unique(given, return_inverse=True)
        texts = [participant_name(value) for value in values.tolist()]
        names = list(dict.fromkeys(texts))
    else:
        # np.unique would sort the text, which takes several times as long.
        seen: dict[object, int] = {}
        codes = np.fromiter((seen.setdefault(value, len(seen)) for value in given.tolist()), np.int64, n_answers)
        texts = [participant_name(value) for value in seen]
        names = sorted(set(texts))
    places = {name: place for place, name in enumerate(names)}
    return np.array(names, dtype=np.str_), np.array([places[text] for text in texts], dtype=np.int64)[codes]


def participant_name(participant: object) -> str:
    """The participant's name as text. A missing value turns whole numbers into floats, so 7.0 becomes "7"."""
    text = participant.decode(errors="replace") if isinstance(participant, bytes) else str(participant)
    # NumPy drops NULs at the end of a text, so that they would be lost in a file.
    name = text.rstrip("\0")
    if name.lower() in _MISSING:
        return ""
    return name.removesuffix(".0") if isinstance(participant, float) else name
