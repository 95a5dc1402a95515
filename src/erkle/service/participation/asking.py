"""What somebody is asked next: practice first, then questions of the strategy, and among them some that check.

All of it follows from the questions that were put to them before and what became of those. So it does not matter which
process asks, or whether the page was loaded anew in between.
"""

from collections.abc import Sequence
from typing import NamedTuple

from erkle.service.learning import Chosen, Learning
from erkle.service.participation.prepared_study import CatchAnswers, PreparedStudy
from erkle.store import Entry, Kind, Query

# Questions that somebody has before them: the one they look at, and the next, so that nobody waits for it.
AHEAD = 2
# What somebody answered only now is not asked again.
_LATELY = 5


class Course(NamedTuple):
    """How far somebody has come.

    Attributes
    ----------
    ledger : sequence of Entry
        All questions that were put to them.
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

    ledger: Sequence[Entry]
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
            ledger=ledger,
            open=waiting,
            done=len(main),
            practised=len(settled) - len(main),
            caught=sum(right.is_failed(_asked(e), e.choice) for e in main if e.issued.kind == Kind.CATCH),
            skipped=sum(entry.skipped for entry in main),
            asked=[_asked(entry) for entry in (*settled, *waiting)],
        )


def next_queries(prepared: PreparedStudy, learning: Learning, course: Course) -> list[Query]:
    """As many questions as are missing before somebody; fewer when it is enough.

    The caller holds the write transaction of the answer. So the ledger is true while the strategy chooses, and the
    answer is never on the disk without the question that follows it.
    """
    checks, limits = prepared.settings.checks, prepared.settings.limits
    n_practice = course.practised + sum(entry.issued.kind == Kind.PRACTICE for entry in course.open)
    n_main = course.done + sum(entry.issued.kind != Kind.PRACTICE for entry in course.open)
    asked = [*course.asked]
    found: list[Query] = []
    while len(course.open) + len(found) < AHEAD:
        if n_practice < checks.practice:
            query = _query(prepared.chooser.at_random(learning, asked), Kind.PRACTICE)
            n_practice += 1
        elif n_main < limits.per_participant:
            query = _main_query(prepared, learning, course.ledger, asked, n_main)
            n_main += 1
        else:
            break
        if query is None:
            break
        found.append(query)
        asked.append((query.anchor, query.first, query.second))
    return found


def _main_query(
    prepared: PreparedStudy, learning: Learning, ledger: Sequence[Entry], asked: list[tuple[int, int, int]], place: int
) -> Query | None:
    checks = prepared.settings.checks
    if prepared.catches and (place + 1) % checks.catch_every == 0:
        head, *pair = prepared.catches[(place // checks.catch_every) % len(prepared.catches)]
        return Query(head, pair[0], pair[1], pair[prepared.chooser.one_of(2)], Kind.CATCH, "catch")
    if checks.repeat_share and prepared.chooser.drawn() < checks.repeat_share:
        again = [e.issued for e in ledger[:-_LATELY] if e.choice is not None and e.issued.kind in _REPEATABLE]
        if again:
            old = again[prepared.chooser.one_of(len(again))]
            other = old.second if old.left == old.first else old.first
            return Query(old.anchor, old.first, old.second, other, Kind.REPEATED, "repeated")
    chosen = prepared.chooser.choose(learning, asked, prepared.settings.holdout)
    return _query(chosen, Kind.HELD_OUT if chosen is not None and chosen.held_out else Kind.CHOSEN)


_REPEATABLE = frozenset({Kind.CHOSEN, Kind.HELD_OUT})


def _query(chosen: Chosen | None, kind: Kind) -> Query | None:
    """The question with its first candidate, which was drawn, on the left."""
    if chosen is None:
        return None
    head, o1, o2 = chosen.query
    return Query(head, o1, o2, o1, kind, chosen.strategy)


def _asked(entry: Entry) -> tuple[int, int, int]:
    return entry.issued.anchor, entry.issued.first, entry.issued.second
