"""Whether a visitor of a study is asked questions, waits, or how it ends for them.

Nothing is written here. The page asks before a visitor joins, so that nobody reads a consent text in vain, and every
request of a participant asks again. Both get the same decision.

Whoever has a question that can still be answered is in the middle of the study. When the study is paused or closed, its
settings say whether they finish or complete at once. Whoever comes later waits until the study continues, or gets the
ending of a closed study.
"""

from enum import StrEnum

from erkle.service.participation.asking import History
from erkle.service.participation.endings import Ending
from erkle.service.studies.spec import Limits, StudySettings
from erkle.store import Participant, Standing, State, Store, Study, Transaction


class Going(StrEnum):
    """What a visitor does if their participation has not ended: continue, or wait until the study is open."""

    ON = "on"
    WAITING = "waiting"


def of_newcomer(source: Store | Transaction, study: Study, settings: StudySettings) -> Going | Ending:
    """Decide for somebody who has not joined."""
    if study.state == State.CLOSED:
        return Ending.CLOSED
    if study.state != State.OPEN:
        return Going.WAITING
    limits = settings.limits
    is_full = _has_all_answers(source, study, limits) or _has_no_place(source, study, limits)
    return Ending.FULL if is_full else Going.ON


def of_participant(
    source: Store | Transaction,
    study: Study,
    person: Participant,
    settings: StudySettings,
    history: History,
    has_answered: bool = False,
) -> Going | Ending:
    """Decide for a participant; ``has_answered`` is whether they have answered or skipped a question just now."""
    if person.state != Standing.ACTIVE:
        return Ending(person.state)
    if person.excluded:
        return Ending.COMPLETED if settings.unfinished.excluded == "complete" else Ending.FAILED
    if history.n_failed_catches >= settings.checks.fail_after:
        return Ending.FAILED
    if study.state == State.OPEN:
        return Ending.FULL if _has_lost_place(source, study, person, settings.limits, history) else Going.ON
    if has_answered or history.open:
        return Ending.COMPLETED if settings.unfinished.stopped == "complete" else Going.ON
    return Ending.CLOSED if study.state == State.CLOSED else Going.WAITING


def without_questions(settings: StudySettings, history: History) -> Ending:
    """Decide how it ends for a participant for whom there are no more questions.

    A participant who was asked nothing is screened out. One who skipped too many questions has failed.
    """
    if not history.has_begun:
        return Ending.SCREENED
    return Ending.FAILED if history.n_skipped > settings.skipping.most * history.n_done else Ending.COMPLETED


def _has_all_answers(source: Store | Transaction, study: Study, limits: Limits) -> bool:
    return limits.answers is not None and source.answers.last(study.id) >= limits.answers


def _has_no_place(source: Store | Transaction, study: Study, limits: Limits) -> bool:
    most = limits.participants
    return most is not None and source.participants.is_full(study.id, most, limits.idle_s)


def _has_lost_place(
    source: Store | Transaction, study: Study, person: Participant, limits: Limits, history: History
) -> bool:
    """Return whether the study is full for a participant who has answered nothing.

    Either it has all its answers, or others have taken the place of a participant who joined long ago.
    """
    if history.has_begun:
        return False
    if not history.open and _has_all_answers(source, study, limits):
        return True
    return person.joined_at + limits.idle_s * 1e6 <= history.at and _has_no_place(source, study, limits)
