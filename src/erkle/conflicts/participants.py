"""How far each worker agrees with the others, or with a learner that stands in for them.

Both are one measure: an answer has support above zero where the standard says the same, below zero where it says the
opposite, and zero where it has no opinion. A learner's support is its decision value, that of the others the balance
of their votes.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LEAST_SHARED = 10
_LEAST_CHANCE = 0.001
_MOST_LISTED = 10
# In small letters, what stands for a worker who is not known.
_MISSING = frozenset(("", "nan", "na", "null", "none", "nat", "<na>"))


class Workers(NamedTuple):
    """How far each worker agrees with a standard: with the others' answers, or with a learner.

    A worker is flagged where at least 10 answers can be compared and chance is a poor explanation of how few of
    them agree: by Fisher's exact test against all other workers together, one-sided, p < 0.001 after Bonferroni's
    correction for the number of workers tested. Answers without a worker are those of one named "", who is
    never flagged.

    Attributes
    ----------
    names : array of str, shape (n_workers,)
        In alphabetical order, or by size where workers are numbers.
    n_answers : array of int, shape (n_workers,)
    n_shared : array of int, shape (n_workers,)
        Answers that the standard has an opinion on: others answered that question and were not evenly divided,
        or the learner's decision value is neither 0 nor NaN.
    agreement : array of float, shape (n_workers,)
        Share of the shared answers that agree with the standard; NaN without any.
    expected : array of float, shape (n_workers,)
        The same share among the answers of all other workers together: what the test compares with.
    flagged : array of bool, shape (n_workers,)
    standard : str
        With whom they agree: "the others" or "the learner".
    """

    names: npt.NDArray[np.str_]
    n_answers: Integers
    n_shared: Integers
    agreement: Floats
    expected: Floats
    flagged: npt.NDArray[np.bool_]
    standard: str = "the others"

    def summary(self) -> str:
        """Who agrees less than chance explains, the worst first, and how many could not be judged."""
        known = self.names != ""
        n_known, n_few = int(known.sum()), int(np.sum(known & (self.n_shared < _LEAST_SHARED)))
        if not n_known:
            return "No answer names its worker."
        if n_few == n_known:
            return f"No worker can be judged: of {n_known:,} none has {_LEAST_SHARED} answers to compare."
        few = f" {counted(n_few, 'None has', '1 has', 'have')} too few answers to compare." * (n_few > 0)
        worst = np.flatnonzero(self.flagged)
        worst = worst[np.argsort(self.agreement[worst], kind="stable")]
        if not len(worst):
            return f"None of {n_known:,} workers agrees with {self.standard} less than chance explains.{few}"
        listed = [f"{self.names[i]} ({self.agreement[i]:.2f} of {self.n_shared[i]:,})" for i in worst[:_MOST_LISTED]]
        if len(worst) > _MOST_LISTED:
            listed.append(f"and {len(worst) - _MOST_LISTED:,} more")
        agree = "agrees" if len(worst) == 1 else "agree"
        return (
            f"{len(worst):,} of {n_known:,} workers {agree} with {self.standard} less than chance explains:"
            f" {', '.join(listed)}.{few}"
        )

    def __str__(self) -> str:
        return self.summary()


def agreement_with(decision_values: npt.ArrayLike, workers: npt.ArrayLike) -> Workers:
    """How far each worker agrees with a learner, for workers who share no questions.

    Parameters
    ----------
    decision_values : array of shape (n_answers,)
        Positive where the learner predicts the answer, as `erkle.metrics.decision_values` and ``decision_function``
        give them, best of answers that it has not learned. 0 and NaN are no prediction and are not counted.
    workers : array of shape (n_answers,)
        Who gave each answer, as in `find`.

    Returns
    -------
    Workers

    Examples
    --------
    >>> table = agreement_with([3.0, 1.0, -2.0, 0.0], ["ann", "ann", "bob", "bob"])
    >>> table.agreement.tolist(), table.expected.tolist(), table.n_shared.tolist()
    ([1.0, 0.0], [0.0, 1.0], [2, 1])
    """
    decisions = np.asarray(decision_values, dtype=np.float64)
    if decisions.ndim != 1:
        raise ValueError(
            f"Got decision values of shape {decisions.shape}, wanted one number for each answer; pass a flat array."
        )
    return _table(decisions, *_coded(workers, len(decisions)), standard="the learner")


def agreement_with_others(asked: Integers, says_low: npt.NDArray[np.bool_], workers: npt.ArrayLike) -> Workers:
    """The table of workers, from the number of each answer's question and which of its candidates it names."""
    names, who = _coded(workers, len(asked))
    support = np.zeros(len(asked))
    rows = np.flatnonzero(np.bincount(asked)[asked] > 1)
    question, vote = asked[rows], np.where(says_low[rows], 1.0, -1.0)
    # All that a worker said to a question is left out of the others' votes, not only the answer that is judged.
    own = np.unique(question * len(names) + who[rows], return_inverse=True)[1]
    others = np.bincount(question, weights=vote)[question] - np.bincount(own, weights=vote)[own]
    support[rows] = vote * others
    return _table(support, names, who)


def counted(n: int, none: str, one: str, many: str) -> str:
    """So many, with what stands for none and for one."""
    return (none, one)[n] if n < 2 else f"{n:,} {many}"


def _table(support: Floats, names: npt.NDArray[np.str_], who: Integers, standard: str = "the others") -> Workers:
    """Support above zero agrees, below zero does not, and anything else is no opinion."""
    n_agreeing, n_against = (np.bincount(who[side], minlength=len(names)) for side in (support > 0, support < 0))
    n_shared = n_agreeing + n_against
    return Workers(
        names=names,
        n_answers=np.bincount(who, minlength=len(names)),
        n_shared=n_shared,
        agreement=_share(n_agreeing, n_shared),
        expected=_share(n_agreeing.sum() - n_agreeing, n_shared.sum() - n_shared),
        flagged=_flagged(n_agreeing, n_shared, names != ""),
        standard=standard,
    )


def _share(part: Integers, whole: Integers) -> Floats:
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def _flagged(n_agreeing: Integers, n_shared: Integers, known: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    # Half a second to import, and needed only where there are workers.
    from scipy.stats import hypergeom

    flagged = known & (n_shared >= _LEAST_SHARED)
    tested = np.flatnonzero(flagged)
    # Not the binomial, which takes the share of the others for known: beside 200 of 200 it would flag 99 of 100.
    chance = hypergeom.cdf(n_agreeing[tested], n_shared.sum(), n_agreeing.sum(), n_shared[tested])
    flagged[tested] = chance * len(tested) < _LEAST_CHANCE
    return flagged


def _coded(workers: npt.ArrayLike, n_answers: int) -> tuple[npt.NDArray[np.str_], Integers]:
    """Names of the workers, and the number of each answer's worker."""
    given = np.asarray(workers)
    if given.shape != (n_answers,):
        raise ValueError(
            f"Workers have shape {given.shape}, but there are {n_answers} answers;"
            f" pass one worker an answer, shape ({n_answers},)."
        )
    if given.dtype.kind in "biuf":
        values, codes = np.unique(given, return_inverse=True)
        texts = [_name(value) for value in values.tolist()]
        names = list(dict.fromkeys(texts))
    else:
        # Sorting text takes several times as long.
        seen: dict[object, int] = {}
        codes = np.fromiter((seen.setdefault(value, len(seen)) for value in given.tolist()), np.int64, n_answers)
        texts = [_name(value) for value in seen]
        names = sorted(set(texts))
    places = {name: place for place, name in enumerate(names)}
    return np.array(names, dtype=np.str_), np.array([places[text] for text in texts], dtype=np.int64)[codes]


def _name(worker: object) -> str:
    """A worker's name; a missing value among whole numbers has made floats of them."""
    name = str(worker)
    if name.lower() in _MISSING:
        return ""
    return name.removesuffix(".0") if isinstance(worker, float) else name
