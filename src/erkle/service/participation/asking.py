"""What somebody is asked next: practice first, then questions of the strategy, and among them some that check.

All of it follows from the questions that were put to them before and what became of those. So it does not matter which
process asks, or whether the page was loaded anew in between.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from erkle.service.learning import Chooser, Chosen, Learning
from erkle.service.studies.spec import StudySettings
from erkle.store import Entry, Kind, Query

__all__ = ["AHEAD", "CatchAnswers", "Course", "Plan", "next_queries"]

# Questions that somebody has before them: the one they look at, and the next, so that nobody waits for it.
AHEAD = 2
# What somebody answered only now is not asked again.
_LATELY = 5


class CatchAnswers:
    """The right answers to the catch questions of a study.

    Parameters
    ----------
    catches : iterable of (head, near, far)
        The right answer to each question is ``near``.

    Examples
    --------
    >>> right = CatchAnswers([(0, 1, 2), (0, 2, 3)])
    >>> right.is_failed((0, 2, 1), 1), right.is_failed((0, 2, 1), 2), right.is_failed((0, 3, 2), None)
    (False, True, True)
    """

    def __init__(self, catches: Iterable[tuple[int, int, int]]) -> None:
        self._near = {_catch_key(*catch): catch[1] for catch in catches}

    def is_failed(self, question: tuple[int, int, int], choice: int | None) -> bool:
        """Whether it is a catch question that was answered wrongly, or skipped (``choice`` of None).

        The whole question decides: two catch questions may share an anchor and a candidate. A question that is no
        catch question, perhaps because the settings have changed since, is never failed.
        """
        right = self._near.get(_catch_key(*question))
        return right is not None and choice != right


class Course(NamedTuple):
    """How far somebody has come.

    Attributes
    ----------
    open : list of Entry
        Questions that wait for an answer.
    done : int
        Questions that were answered or skipped, practice apart.
    practised : int
        Practice questions that were.
    caught : int
        Catch questions that were answered wrongly, or skipped.
    skipped : int
        Questions that were skipped, practice apart.
    asked : list of (head, o1, o2)
        What is not asked again: everything but questions that were never answered in time.
    """

    open: list[Entry]
    done: int
    practised: int
    caught: int
    skipped: int
    asked: list[tuple[int, int, int]]

    @classmethod
    def of(cls, ledger: Sequence[Entry], right: CatchAnswers, at: int) -> "Course":
        """The course of somebody who was asked these questions, by the right answers to catch questions."""
        settled = [entry for entry in ledger if entry.choice is not None or entry.skipped]
        waiting = [e for e in ledger if e.choice is None and not e.skipped and e.issued.expires_at > at]
        main = [entry for entry in settled if entry.issued.kind != Kind.PRACTICE]
        return cls(
            open=waiting,
            done=len(main),
            practised=len(settled) - len(main),
            caught=sum(_is_failed(entry, right) for entry in main if entry.issued.kind == Kind.CATCH),
            skipped=sum(entry.skipped for entry in main),
            asked=[(e.issued.head, e.issued.o1, e.issued.o2) for e in (*settled, *waiting)],
        )


class Plan(NamedTuple):
    """What a study asks for besides the strategy's questions, as ids; ``right`` are the answers of its catches."""

    settings: StudySettings
    chooser: Chooser
    catches: list[tuple[int, int, int]]
    right: CatchAnswers

    @classmethod
    def of(cls, settings: StudySettings, chooser: Chooser, catches: list[tuple[int, int, int]]) -> "Plan":
        """The plan of a study with these catch questions (head, near, far)."""
        return cls(settings, chooser, catches, CatchAnswers(catches))


def next_queries(plan: Plan, learning: Learning, ledger: Sequence[Entry], course: Course) -> list[Query]:
    """As many questions as are missing before somebody; fewer when it is enough.

    The caller holds the write transaction of the answer. So the ledger is true while the strategy chooses, and the
    answer is never on the disk without the question that follows it.
    """
    checks, limits = plan.settings.checks, plan.settings.limits
    n_practice = course.practised + sum(entry.issued.kind == Kind.PRACTICE for entry in course.open)
    n_main = course.done + sum(entry.issued.kind != Kind.PRACTICE for entry in course.open)
    asked = [*course.asked]
    found: list[Query] = []
    while len(course.open) + len(found) < AHEAD:
        if n_practice < checks.practice:
            query = _query(plan.chooser.at_random(learning, asked), Kind.PRACTICE)
            n_practice += 1
        elif n_main < limits.per_participant:
            query = _main_query(plan, learning, ledger, asked, n_main)
            n_main += 1
        else:
            break
        if query is None:
            break
        found.append(query)
        asked.append((query.head, query.o1, query.o2))
    return found


def _main_query(
    plan: Plan, learning: Learning, ledger: Sequence[Entry], asked: list[tuple[int, int, int]], place: int
) -> Query | None:
    checks = plan.settings.checks
    if plan.catches and (place + 1) % checks.catch_every == 0:
        head, *pair = plan.catches[(place // checks.catch_every) % len(plan.catches)]
        return Query(head, pair[0], pair[1], pair[plan.chooser.one_of(2)], Kind.CATCH, "catch")
    if checks.repeat_share and plan.chooser.drawn() < checks.repeat_share:
        again = [e.issued for e in ledger[:-_LATELY] if e.choice is not None and e.issued.kind in _REPEATABLE]
        if again:
            old = again[plan.chooser.one_of(len(again))]
            other = old.o2 if old.left == old.o1 else old.o1
            return Query(old.head, old.o1, old.o2, other, Kind.REPEATED, "repeated")
    chosen = plan.chooser.choose(learning, asked, plan.settings.holdout)
    return _query(chosen, Kind.HELD_OUT if chosen is not None and chosen.held_out else Kind.CHOSEN)


_REPEATABLE = frozenset({Kind.CHOSEN, Kind.HELD_OUT})


def _query(chosen: Chosen | None, kind: Kind) -> Query | None:
    """The question with its first candidate, which was drawn, on the left."""
    if chosen is None:
        return None
    head, o1, o2 = chosen.query
    return Query(head, o1, o2, o1, kind, chosen.strategy)


def _is_failed(entry: Entry, right: CatchAnswers) -> bool:
    return right.is_failed((entry.issued.head, entry.issued.o1, entry.issued.o2), entry.choice)


def _catch_key(head: int, o1: int, o2: int) -> tuple[int, int, int]:
    return head, min(o1, o2), max(o1, o2)
