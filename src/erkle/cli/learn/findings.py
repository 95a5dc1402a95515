"""Facts about answers and about a learner, as sentences for the screen and as numbers for files.

About answers: repeats, contradictions, and whether they look sorted. About a learner: the setting it chose, how well
its confidence is calibrated, how people answer, and a forecast of the error. `erkle learn`, `erkle info` and `erkle
data` share them.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from erkle import conflicts, triplets
from erkle.answer_models import AnswerModel, Lapse, in_words
from erkle.cli.screen import counted, per_cent, some
from erkle.conflicts import Conflicts
from erkle.features import FeatureWorth
from erkle.online import ERKLE
from erkle.online.forecast import Forecast, TooEarly
from erkle.online.selection.candidates import Candidate
from erkle.online.selection.evidence import Reliability, is_lapse_known
from erkle.triplets import Labels

_COLUMNS = ("anchor", "near", "far")
_COUNTS = ("n_questions", "n_repeated", "n_contradicted", "n_unsatisfiable", "floor")


def repeats(T: NDArray[np.int32] | NDArray[np.int64]) -> dict[str, str]:
    """How many questions are repeated, and how many are answered both ways."""
    found, n_contradicted = conflicts.find(T, n_worst=0), int(conflicts.contradicted(T).sum())
    return {
        "different questions": f"{found.n_questions:,}",
        "identical answers": f"{int(triplets.duplicates(T).sum()):,}",
        "answers in conflict": f"{n_contradicted:,} on {found.n_contradicted:,} questions",
        "unavoidable error": per_cent(found.floor),
    }


class FileWarnings:
    """Counts kept while an answer file is read, and the warnings that follow from them."""

    def __init__(self) -> None:
        self.n_answers = 0
        self._n_repeated = np.zeros(3, np.int64)
        self._first: NDArray[np.int64] | None = None
        self._n_first_again = 0

    def add(self, T: NDArray[np.int64]) -> None:
        """Count more answers."""
        if self._first is None:
            self._first = T[0]
            self._n_first_again = -3
        self.n_answers += len(T)
        self._n_repeated += np.count_nonzero(T[1:] == T[:-1], axis=0)
        if self._n_first_again <= 0:
            self._n_first_again += int(np.isin(T, self._first).sum())

    def sentences(self, name: str, labels: Labels, shuffled: bool) -> Iterator[str]:
        """Warnings about a header that was read as an answer, and about sorted answers."""
        if self._first is not None and self.n_answers > 10 and self._n_first_again <= 0:
            names = some([labels.names[i] for i in self._first])
            yield (
                f"The first line of {name} ({names}) names objects that no other answer mentions. If it is a header, "
                "name its columns anchor, near, far."
            )
        column = int(np.argmax(self._n_repeated))
        if not shuffled and self.n_answers > 100 and self._n_repeated[column] > 0.9 * self.n_answers:
            yield (
                f"{name} looks sorted: most answers have the same {_COLUMNS[column]} object as the previous answer. "
                "Sorted answers are learned less accurately; add --shuffle to learn them in random order."
            )


def is_choice(selection: Sequence[Candidate]) -> bool:
    """Whether the learner chose among several settings."""
    return len(selection) > 1


def choice(selection: Sequence[Candidate]) -> str:
    """The setting of the leading candidate, and why it leads.

    >>> choice([Candidate({"rank": 2}, 1.0, 0.5, 0.2, "leads"), Candidate({"rank": 3}, 0.0, 0.6, 0.25, "runs")])
    'rank 2, which has the lowest loss of 2 settings on recent answers (20.0 % predicted wrongly); weight 1.00'
    """
    leader = _leader(selection)
    tried = counted(len(selection), "setting")
    if math.isnan(leader.error):
        return f"{leader.described()}, the first of {tried}, because there are too few answers to compare them"
    return (
        f"{leader.described()}, which has the lowest loss of {tried} on recent answers "
        f"({per_cent(leader.error)} predicted wrongly); weight {leader.weight:.2f}"
    )


def findings(learner: ERKLE, conflicts: Conflicts | None) -> dict[str, object]:
    """The facts about a learner as numbers for JSON; None if a number is unknown."""
    known = is_lapse_known(learner.lapse_, learner.n_triplets_seen_)
    counts = conflicts and {name: getattr(conflicts, name) for name in _COUNTS}
    return {
        "chosen": _chosen(learner.selection_) if is_choice(learner.selection_) else None,
        "answer_model": learner.answer_model_._asdict(),
        "lapse": learner.lapse_._asdict() if known else None,
        "calibration_error": learner.reliability_.calibration_error,
        "conflicts": counts,
        "forecast": learner.answers_needed().record(),
        "features": [_worth(worth) for worth in learner.features_],
    }


def _worth(worth: FeatureWorth) -> dict[str, object]:
    values = {name: None if value != value else value for name, value in worth._asdict().items()}
    return {**values, "verdict": worth.verdict}


def _chosen(selection: Sequence[Candidate]) -> dict[str, object]:
    leader = _leader(selection)
    values = {name: None if value != value else value for name, value in leader._asdict().items()}
    return {**values, "answer_model": leader.answer_model and leader.answer_model._asdict()}


def _leader(selection: Sequence[Candidate]) -> Candidate:
    return next(candidate for candidate in selection if candidate.status == "leads")


def selection_table(selection: Sequence[Candidate]) -> tuple[list[str], list[list[object]]]:
    """Header and rows of selection.csv; a number that is unknown is an empty cell."""
    names = list(selection[0].setting)
    rows: list[list[object]] = []
    for candidate in selection:
        measured = (candidate.loss, candidate.error)
        known = ["" if math.isnan(value) else value for value in measured]
        people = candidate.answer_model or [""] * len(AnswerModel._fields)
        setting = [candidate.setting[name] for name in names]
        rows.append([*setting, *people, candidate.weight, *known, candidate.status])
    return [*names, *AnswerModel._fields, "weight", "loss", "prequential_error", "status"], rows


def calibration(reliability: Reliability) -> str:
    """The mean difference between confidence and accuracy.

    >>> import numpy as np
    >>> calibration(Reliability(np.array([10]), np.array([0.9]), np.array([0.8])))
    '10.0 % off on average'
    """
    error = reliability.calibration_error
    return "nothing predicted yet" if math.isnan(error) else f"{per_cent(error)} off on average"


def how_people_answer(model: AnswerModel, lapse: Lapse, n_learned: int) -> str | None:
    """What people seem to compare and how often they slip; None if the answers do not tell yet.

    >>> how_people_answer(AnswerModel(2.0, 0.4, 0.04), Lapse(0.04, 0.02, 0.06), 3000)
    'People seem to compare distances (power 0.4); about 4 % of answers are slips (2 to 6 %).'
    """
    return in_words(model, lapse) if is_lapse_known(lapse, n_learned) else None


def estimate(ahead: Forecast | TooEarly) -> str:
    """A forecast in words. Its error comes from the errors before learning, so it differs from a test error.

    >>> estimate(Forecast(0.1, 0.2, 0.18, 0.22, 400.0, 100.0, 900.0))
    'Estimated from the errors before learning: about 400 more answers should reduce the error to 10.0 % (100 to 900
    more answers). The error is now 20.0 % (18.0 to 22.0 %).'
    """
    words = str(ahead)
    if isinstance(ahead, TooEarly):
        return words
    return f"Estimated from the errors before learning: {words[0].lower()}{words[1:]}"
