"""How a participant answered, in counts. Measures and marks are computed from these counts and nothing else."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erkle.service.dashboard.answering import ShareOfSlips
from erkle.service.learning import View
from erkle.service.learning.columns import KINDS, LEFT, RIGHT, Columns
from erkle.service.learning.fold import LEARNED
from erkle.service.participation.prepared_study import CatchAnswers, PreparedStudy
from erkle.store import Kind, Skip

IS_LEARNED = np.array([kind in LEARNED for kind in KINDS])
_CATCH, _REPEATED = map(KINDS.index, (Kind.CATCH, Kind.REPEATED))
Rows = NDArray[np.int64]


class Conduct(NamedTuple):
    """How a participant answered.

    Attributes
    ----------
    answers, skips : int
    median_ms : float or None
        Median response time; None if no time is known.
    timed, too_fast : int
        Answers with a response time, and those among them that were too fast.
    sided, left : int
        Answers of which it is known on which side the chosen object was, and those among them on the left.
    compared, agreeing : int
        Answers that the map also gives an answer to, and those among them that agree with it.
    repeated, consistent : int
        Repeated questions, and those that were answered as the first time.
    catch_asked, catch_wrong : int
        Catch questions that were answered or skipped, and those that were failed.
    lapse : ShareOfSlips or None
        The share of answers that are slips, from the answer model; None if no answers are learned.
    """

    answers: int
    skips: int
    median_ms: float | None
    timed: int
    too_fast: int
    sided: int
    left: int
    compared: int
    agreeing: int
    repeated: int
    consistent: int
    catch_asked: int
    catch_wrong: int
    lapse: ShareOfSlips | None

    @classmethod
    def of(
        cls,
        columns: Columns,
        rows: Rows,
        skips: Sequence[Skip],
        agrees: NDArray[np.bool_] | None,
        lapse: ShareOfSlips | None,
        prepared: PreparedStudy,
    ) -> Self:
        """Count the answers in some rows of the columns; ``agrees`` is for all rows, and None without a map."""
        kinds, side, times = columns.kind[rows], columns.side[rows], columns.response_ms[rows]
        times = times[times >= 0]
        learned = rows[IS_LEARNED[kinds]]
        compared = learned[:0] if agrees is None else learned
        repeated, consistent = _repeats(columns, learned)
        catch_asked, catch_wrong = _catches(columns.triplets(rows[kinds == _CATCH]), skips, prepared.catch_answers)
        return cls(
            answers=len(rows),
            skips=len(skips),
            median_ms=float(np.median(times)) if len(times) else None,
            timed=len(times),
            too_fast=int((times < prepared.settings.checks.too_fast_ms).sum()),
            sided=int(((side == LEFT) | (side == RIGHT)).sum()),
            left=int((side == LEFT).sum()),
            compared=len(compared),
            agreeing=0 if agrees is None else int(agrees[compared].sum()),
            repeated=repeated,
            consistent=consistent,
            catch_asked=catch_asked,
            catch_wrong=catch_wrong,
            lapse=lapse,
        )


def rows_of_each(columns: Columns) -> dict[str, Rows]:
    """Return the rows of the columns that belong to each participant."""
    order = np.argsort(columns.participant, kind="stable")
    ends = np.searchsorted(columns.participant[order], np.arange(1, len(columns.participants) + 1))
    return dict(zip(columns.participants, np.split(order, ends[:-1]) if len(ends) else [], strict=True))


def agreement(columns: Columns, view: View | None) -> NDArray[np.bool_] | None:
    """Return whether each answer agrees with the present map, or None if there is no map."""
    if view is None or view.n_learned == 0 or not len(columns):
        return None
    return view.decision_function(columns.triplets()) > 0.0


def lapses(view: View | None) -> dict[str, ShareOfSlips]:
    """Return the lapse of each participant whose answers were learned."""
    if view is None:
        return {}
    names, _, lapse, low, high, _ = view.participants
    return {name: ShareOfSlips.of(*share) for name, *share in zip(names.tolist(), lapse, low, high, strict=True)}


def _catches(answers: Rows, skips: Sequence[Skip], right: CatchAnswers) -> tuple[int, int]:
    """Count the catch questions that were answered or skipped, and those that were failed.

    A skipped catch question counts as failed, as in `History`. A skip has no kind, but the question itself is enough:
    catch questions are never asked for another reason.
    """
    wrong = sum(right.is_failed((anchor, near, far), near) for anchor, near, far in answers.tolist())
    skipped = sum(right.is_failed((skip.anchor, skip.first, skip.second), None) for skip in skips)
    return len(answers) + skipped, wrong + skipped


def _repeats(columns: Columns, rows: Rows) -> tuple[int, int]:
    """Count repeated questions, and those that were answered the same way as the first time."""
    first: dict[tuple[int, int, int], int] = {}
    same = []
    for anchor, near, far, kind in zip(*columns.triplets(rows).T.tolist(), columns.kind[rows].tolist(), strict=True):
        key = (anchor, min(near, far), max(near, far))
        if kind == _REPEATED and key in first:
            same.append(first[key] == near)
        first.setdefault(key, near)
    return len(same), sum(same)
