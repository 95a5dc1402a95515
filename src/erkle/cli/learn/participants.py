"""`erkle learn --participant`: how often each participant slips, and agrees with the others and with the learner.

The slips come from predictions made before learning. The agreements are measured on the answers that the learner keeps.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.conflicts import Participants, agreement_with
from erkle.online import ERKLE
from erkle.online.participants import ParticipantLapses

# Participants who answer at random that a sentence names.
_MOST_LISTED = 10
# Share of slips above which a participant may be answering at random.
_SUSPECT = 0.25
# Answers predicted at once, to limit memory.
_PIECE = 100_000
# Who the participants are compared with, in words.
_REFERENCE = "the learner (measured on answers that it has learned)"


class Comparison(NamedTuple):
    """The slips of participants, and their agreement with the others and with the learner.

    The agreements are None if the learner keeps no answers. ``n_unknown`` counts the answers without a participant.
    """

    lapses: ParticipantLapses
    n_unknown: int
    by_others: Participants | None
    by_learner: Participants | None

    def table(self) -> tuple[list[str], list[list[object]]]:
        """Header and rows of participants.csv, in alphabetical order; a number that is unknown is an empty cell."""
        slips = ["lapse", "lapse_low", "lapse_high", "at_random"]
        agreements = ["shared", "agreement_with_others", "agreement_with_learner", "flagged"]
        known = zip(*(column.tolist() for column in self.lapses), strict=True)
        about = {name: [n, *shares, "yes" if random else "no"] for name, n, *shares, random in known}
        if self.n_unknown:
            about[""] = [self.n_unknown, "", "", "", ""]
        agreement = self._agreements()
        rows = [[name, *about[name], *agreement.get(name, [""] * len(agreements))] for name in sorted(about)]
        return ["participant", "answers", *slips, *agreements], rows

    def _agreements(self) -> dict[str, list[object]]:
        """The columns about agreement, by the name of the participant."""
        if self.by_others is None or self.by_learner is None:
            return {}
        others, learner = self.by_others, self.by_learner
        columns = (others.names, others.n_shared, others.agreement, learner.agreement, others.flagged, learner.flagged)
        found: dict[str, list[object]] = {}
        for name, n_shared, *agreement, by_others, by_learner in zip(*(c.tolist() for c in columns), strict=True):
            known = ["" if math.isnan(share) else share for share in agreement]
            found[name] = [n_shared, *known, _flag(by_others, by_learner)]
        return found

    def sentences(self) -> list[tuple[str, bool]]:
        """What to say about the participants, and whether it is a warning."""
        said = [(at_random(self.lapses), bool(self.lapses.at_random.any()))] if len(self.lapses.names) else []
        compared = [table for table in (self.by_others, self.by_learner) if table is not None]
        return said + [(table.summary(), bool(table.flagged.any())) for table in compared]


def at_random(lapses: ParticipantLapses) -> str:
    """Who seems to answer at random, in words.

    >>> names, shares = np.array(["Ann", "Eve"]), np.array([0.0, 0.48])
    >>> at_random(ParticipantLapses(names, np.array([90, 80]), shares, shares, shares, shares > 0.4))
    '1 of 2 participants seems to answer at random: Eve (80 answers, 48 to 48 % slips).'
    """
    n, found, suspected = len(lapses.names), np.flatnonzero(lapses.at_random), lapses.lapse > _SUSPECT
    if len(found):
        seem = "seems" if len(found) == 1 else "seem"
        return f"{len(found):,} of {n:,} participants {seem} to answer at random: {_listed(lapses, found)}."
    if suspected.any():
        unsure = f"There are too few answers to be sure about {_listed(lapses, np.flatnonzero(suspected))}."
        return f"None of {n:,} participants certainly answers at random. {unsure}"
    return f"None of {n:,} participants seems to answer at random."


def _listed(lapses: ParticipantLapses, which: NDArray[np.int64]) -> str:
    """Some participants, with the number of their answers and the interval of their slips."""
    listed = [
        f"{lapses.names[i]} ({lapses.n_answers[i]:,} answers,"
        f" {100 * lapses.low[i]:.0f} to {100 * lapses.high[i]:.0f} % slips)"
        for i in which[:_MOST_LISTED]
    ]
    if len(which) > _MOST_LISTED:
        listed.append(f"and {len(which) - _MOST_LISTED:,} more")
    return ", ".join(listed)


def participants_of(learner: ERKLE) -> NDArray[np.object_]:
    """The name of the participant who gave each answer that the learner keeps; "" if unknown."""
    # An array of Python objects stores each name once, however many answers it has.
    names = np.array(["", *learner.participants_.names.tolist()], np.object_)
    return np.asarray(names[learner.history_participants_], dtype=np.object_)


def compare_participants(learner: ERKLE, by_others: Participants | None) -> Comparison:
    """Compare the participants; ``by_others`` is their agreement with the others, if the learner keeps answers."""
    lapses, history, by_learner = learner.participants_, learner.history_, None
    if history is not None:
        pieces = [history[start : start + _PIECE] for start in range(0, len(history), _PIECE)]
        decisions = np.concatenate([learner.decision_function(piece) for piece in pieces])
        by_learner = agreement_with(decisions, participants_of(learner))._replace(reference=_REFERENCE)
    return Comparison(lapses, learner.n_triplets_seen_ - int(lapses.n_answers.sum()), by_others, by_learner)


def _flag(by_others: bool, by_learner: bool) -> str:
    if by_others and by_learner:
        return "by both"
    return "by the others" if by_others else "by the learner" if by_learner else "no"
