"""`erkle learn --participant`: how often each participant agrees with the others and with the learner."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from erkle.cli.learn.settings import Settings
from erkle.conflicts import Participants, agreement_with, find
from erkle.online import ERKLE
from erkle.triplets import Labels, Reader


class Comparison(NamedTuple):
    """The same participants, compared with the others and with the learner."""

    by_others: Participants
    by_learner: Participants

    def table(self) -> tuple[list[str], list[list[object]]]:
        """Header and rows of participants.csv; an agreement that is unknown is an empty cell."""
        header = ["participant", "answers", "shared", "agreement_with_others", "agreement_with_learner", "flagged"]
        others, learner = self
        columns = (others.names, others.n_answers, others.n_shared, others.agreement, learner.agreement)
        flags = [_flag(*pair) for pair in zip(others.flagged.tolist(), learner.flagged.tolist(), strict=True)]
        rows = zip(*(column.tolist() for column in columns), flags, strict=True)
        return header, [["" if isinstance(cell, float) and math.isnan(cell) else cell for cell in row] for row in rows]


def compare_participants(path: Path, labels: Labels, settings: Settings, learner: ERKLE) -> Comparison:
    """Read the file again, and compare each answer with those of others and with the learner's prediction."""
    ids: dict[str, int] = {}
    rows, who, decisions = [], [], []
    with Reader(path, labels, frozen=True, column=settings.participant_column) as reader:
        for chunk in reader:
            rows.append(chunk.triplets.astype(np.int32))
            who.append(np.array([ids.setdefault(name, len(ids)) for name in chunk.column], np.int32))
            decisions.append(learner.decision_function(chunk.triplets))
    # An array of Python objects stores each name once, however many answers it has.
    participants = np.array([*ids, None], dtype=np.object_)[np.concatenate(who)]
    by_others = find(np.concatenate(rows), participants, n_worst=0).participants
    assert by_others is not None
    measured = "partly measured" if settings.holdout else "measured"
    reference = f"the learner ({measured} on answers that it has learned)"
    by_learner = agreement_with(np.concatenate(decisions), participants)._replace(reference=reference)
    return Comparison(by_others, by_learner)


def _flag(by_others: bool, by_learner: bool) -> str:
    if by_others and by_learner:
        return "by both"
    return "by the others" if by_others else "by the learner" if by_learner else "no"
