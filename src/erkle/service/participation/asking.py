"""What a participant is asked next: practice questions, then questions of the strategy, mixed with attention checks.

The choice depends only on the questions that the participant was asked before, which the store keeps. So any process
can ask, and a reload of the page changes nothing.

Nothing about a question tells its answer: each object is on the left and on the right equally often for each
participant, as far as possible, and the catch question of each block is at a random place.
"""

from collections import Counter
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
    valid : list of Entry
        Questions that are not asked again, in order: all except those that expired without an answer.
    at : int
        The time of this summary, in microseconds since 1970.
    """

    ledger: Sequence[Entry]
    open: list[Entry]
    n_done: int
    n_practised: int
    n_failed_catches: int
    n_skipped: int
    valid: list[Entry]
    at: int

    @property
    def has_begun(self) -> bool:
        """Whether the participant has answered or skipped a question, perhaps for practice."""
        return self.n_done + self.n_practised > 0

    @classmethod
    def of(cls, ledger: Sequence[Entry], right: CatchAnswers, at: int) -> "History":
        """Summarise a ledger at a time ``at``; ``right`` has the right answers to catch questions."""
        valid = [entry for entry in ledger if _is_settled(entry) or entry.issued.expires_at > at]
        settled = [entry for entry in valid if _is_settled(entry)]
        main = [entry for entry in settled if entry.issued.kind != Kind.PRACTICE]
        return cls(
            ledger=ledger,
            open=[entry for entry in valid if not _is_settled(entry)],
            n_done=len(main),
            n_practised=len(settled) - len(main),
            n_failed_catches=sum(right.is_failed(_asked(e), e.choice) for e in main if e.issued.kind == Kind.CATCH),
            n_skipped=sum(entry.skipped for entry in main),
            valid=valid,
            at=at,
        )


def next_queries(prepared: PreparedStudy, learning: Learning, history: History) -> list[Query]:
    """Choose questions until the participant has `AHEAD` open ones, or has reached a limit.

    The caller holds the write transaction of the answer. So the ledger does not change while the strategy chooses,
    and an answer is never saved without the question that follows it.
    """
    checks, limits = prepared.settings.checks, prepared.settings.limits
    course = _Course(prepared, learning, history)
    found: list[Query] = []
    while len(history.open) + len(found) < AHEAD:
        if course.n_practice < checks.practice:
            query = course.practice()
        elif len(course.main) < limits.per_participant:
            query = course.main_question()
        else:
            break
        if query is None:
            break
        course.add(query)
        found.append(query)
    return found


class _Course:
    """The questions of a participant, in order, while further ones are chosen.

    Attributes
    ----------
    asked : list of (anchor, first, second)
        All questions.
    n_practice : int
        Practice questions among them.
    main : list of Kind
        The kinds of the others.
    """

    def __init__(self, prepared: PreparedStudy, learning: Learning, history: History) -> None:
        self._prepared, self._learning, self._ledger = prepared, learning, history.ledger
        self.asked = [_asked(entry) for entry in history.valid]
        kinds = [entry.issued.kind for entry in history.valid]
        self.main = [kind for kind in kinds if kind != Kind.PRACTICE]
        self.n_practice = len(kinds) - len(self.main)
        # How many more times each object was on the left than on the right.
        self._lead = Counter[int]()
        for entry in history.ledger:
            self._count_sides(entry.issued.left, entry.issued.first, entry.issued.second)

    def add(self, query: Query) -> None:
        """Add a question to the end."""
        self.asked.append((query.anchor, query.first, query.second))
        if query.kind == Kind.PRACTICE:
            self.n_practice += 1
        else:
            self.main.append(query.kind)
        assert query.left is not None
        self._count_sides(query.left, query.first, query.second)

    def practice(self) -> Query | None:
        """Choose a practice question."""
        return self._chosen(self._prepared.chooser.at_random(self._learning, self.asked), Kind.PRACTICE)

    def main_question(self) -> Query | None:
        """Choose a question that is not for practice."""
        checks, chooser = self._prepared.settings.checks, self._prepared.chooser
        if self._prepared.catches and is_catch_due(self.main, checks.catch_every, chooser.random()):
            return self._placed(self._next_catch(), Kind.CATCH, "catch")
        if checks.repeat_share and chooser.random() < checks.repeat_share and (again := self._repeated()):
            return again
        chosen = chooser.choose(self._learning, self.asked, self._prepared.settings.holdout)
        return self._chosen(chosen, Kind.HELD_OUT if chosen is not None and chosen.held_out else Kind.CHOSEN)

    def _next_catch(self) -> tuple[int, int, int]:
        """Return one of the catch questions that the participant was asked least often."""
        times = Counter(self.asked)
        least = min(times[catch] for catch in self._prepared.catches)
        rare = [catch for catch in self._prepared.catches if times[catch] == least]
        return rare[self._prepared.chooser.random_below(len(rare))]

    def _repeated(self) -> Query | None:
        """Return an earlier question with left and right swapped, or None if there is none yet."""
        again = [e.issued for e in self._ledger[:-_RECENT] if e.choice is not None and e.issued.kind in _REPEATABLE]
        if not again:
            return None
        old = again[self._prepared.chooser.random_below(len(again))]
        other = old.second if old.left == old.first else old.first
        return Query(old.anchor, old.first, old.second, other, Kind.REPEATED, "repeated")

    def _chosen(self, chosen: Chosen | None, kind: Kind) -> Query | None:
        return None if chosen is None else self._placed(chosen.query, kind, chosen.strategy)

    def _placed(self, question: tuple[int, int, int], kind: Kind, strategy: str) -> Query:
        """Show that candidate on the left which was more on the right so far; between equals, a coin decides."""
        anchor, first, second = question
        lead = self._lead[first] - self._lead[second] or self._prepared.chooser.random() - 0.5
        return Query(anchor, first, second, first if lead < 0 else second, kind, strategy)

    def _count_sides(self, left: int, first: int, second: int) -> None:
        self._lead[left] += 1
        self._lead[second if left == first else first] -= 1


def is_catch_due(kinds: Sequence[Kind], every: int, random: float) -> bool:
    """Return whether the next question after these is a catch question, given a random number from [0, 1).

    Each block of ``every`` questions has one, and each place in the block is equally likely.

    >>> is_catch_due([Kind.CHOSEN, Kind.CHOSEN], 3, 0.99), is_catch_due([Kind.CHOSEN, Kind.CATCH], 3, 0.0)
    (True, False)
    """
    place = len(kinds) % every
    if Kind.CATCH in kinds[len(kinds) - place :]:
        return False
    return random * (every - place) < 1.0


def _is_settled(entry: Entry) -> bool:
    return entry.choice is not None or entry.skipped


def _asked(entry: Entry) -> tuple[int, int, int]:
    return entry.issued.anchor, entry.issued.first, entry.issued.second
