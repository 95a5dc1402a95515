"""What a participant is asked next: practice questions, then questions of the strategy, mixed with attention checks.

The choice depends only on the questions that the participant was asked before, which the store keeps. So any process
can ask, and a reload of the page changes nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from erkle.service.learning import Chosen, Learning
from erkle.service.participation.prepared_study import CatchAnswers, PreparedStudy
from erkle.store import Entry, Kind, Query

# Open questions per participant: the one they see, and the next one, which the page loads in advance.
AHEAD = 2
# A question among the participant's last 5 is not repeated yet.
_RECENT = 5
# Only questions that the learner also learns from are repeated.
_REPEATABLE = frozenset({Kind.CHOSEN, Kind.HELD_OUT})


class History(NamedTuple):
    """What a participant has been asked so far.

    Attributes
    ----------
    ledger : sequence of Entry
        All questions that they were asked.
    open : list of Entry
        Questions that wait for an answer.
    n_done : int
        Questions that were answered or skipped, not counting practice.
    n_practised : int
        Practice questions that were answered or skipped.
    n_failed_catches : int
        Catch questions that were answered wrongly or skipped.
    n_skipped : int
        Questions that were skipped, not counting practice.
    asked : list of (anchor, first, second)
        Questions that are not asked again: all except those that expired without an answer.
    """

    ledger: Sequence[Entry]
    open: list[Entry]
    n_done: int
    n_practised: int
    n_failed_catches: int
    n_skipped: int
    asked: list[tuple[int, int, int]]

    @classmethod
    def of(cls, ledger: Sequence[Entry], right: CatchAnswers, at: int) -> "History":
        """Summarise a ledger at a time ``at``; ``right`` has the right answers to catch questions."""
        settled = [entry for entry in ledger if entry.choice is not None or entry.skipped]
        waiting = [e for e in ledger if e.choice is None and not e.skipped and e.issued.expires_at > at]
        main = [entry for entry in settled if entry.issued.kind != Kind.PRACTICE]
        return cls(
            ledger=ledger,
            open=waiting,
            n_done=len(main),
            n_practised=len(settled) - len(main),
            n_failed_catches=sum(right.is_failed(_asked(e), e.choice) for e in main if e.issued.kind == Kind.CATCH),
            n_skipped=sum(entry.skipped for entry in main),
            asked=[_asked(entry) for entry in (*settled, *waiting)],
        )


def next_queries(prepared: PreparedStudy, learning: Learning, history: History) -> list[Query]:
    """Choose questions until the participant has `AHEAD` open ones, or has reached a limit.

    The caller holds the write transaction of the answer. So the ledger does not change while the strategy chooses,
    and an answer is never saved without the question that follows it.
    """
    checks, limits = prepared.settings.checks, prepared.settings.limits
    n_practice = history.n_practised + sum(entry.issued.kind == Kind.PRACTICE for entry in history.open)
    n_main = history.n_done + sum(entry.issued.kind != Kind.PRACTICE for entry in history.open)
    asked = [*history.asked]
    found: list[Query] = []
    while len(history.open) + len(found) < AHEAD:
        if n_practice < checks.practice:
            query = _query(prepared.chooser.at_random(learning, asked), Kind.PRACTICE)
            n_practice += 1
        elif n_main < limits.per_participant:
            query = _main_query(prepared, learning, history.ledger, asked, n_main)
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
        anchor, *pair = prepared.catches[(place // checks.catch_every) % len(prepared.catches)]
        return Query(anchor, pair[0], pair[1], pair[prepared.chooser.random_below(2)], Kind.CATCH, "catch")
    if checks.repeat_share and prepared.chooser.random() < checks.repeat_share:
        again = [e.issued for e in ledger[:-_RECENT] if e.choice is not None and e.issued.kind in _REPEATABLE]
        if again:
            old = again[prepared.chooser.random_below(len(again))]
            other = old.second if old.left == old.first else old.first
            return Query(old.anchor, old.first, old.second, other, Kind.REPEATED, "repeated")
    chosen = prepared.chooser.choose(learning, asked, prepared.settings.holdout)
    return _query(chosen, Kind.HELD_OUT if chosen is not None and chosen.held_out else Kind.CHOSEN)


def _query(chosen: Chosen | None, kind: Kind) -> Query | None:
    """Show the first candidate on the left. The chooser has put the candidates in random order."""
    if chosen is None:
        return None
    anchor, first, second = chosen.query
    return Query(anchor, first, second, first, kind, chosen.strategy)


def _asked(entry: Entry) -> tuple[int, int, int]:
    return entry.issued.anchor, entry.issued.first, entry.issued.second
