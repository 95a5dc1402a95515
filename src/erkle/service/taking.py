"""Taking part: to join, to answer, to skip and to come back are one transaction each, the next question included.

When somebody hears that an answer counts it is on the disk, and so is the question that they are shown next.
"""

from collections.abc import Callable, Mapping
from typing import Any

from erkle.service.asking import Course, next_queries
from erkle.service.desks import Desk, Desks
from erkle.service.errors import Problem
from erkle.service.learning import Engine, Learning
from erkle.service.live import Board
from erkle.service.turns import OUTCOMES, Turn, question_of
from erkle.store import (
    Acknowledged,
    Full,
    Issued,
    Kind,
    Refused,
    Skipped,
    Standing,
    State,
    Store,
    Study,
    Transaction,
    Unknown,
)
from erkle.store.clock import now

__all__ = ["Reception"]

Outcome = Acknowledged | Skipped | Refused | None


class Reception:
    """Receives those who take part in a study.

    Parameters
    ----------
    store : Store
    engine : Engine
    """

    def __init__(self, store: Store, engine: Engine) -> None:
        self._store, self._engine = store, engine
        self.desks = Desks(store)
        self._boards: dict[str, Board] = {}

    def board(self, study: str) -> Board:
        """What researchers watch of a study."""
        learning, found = self._engine.learning(study), self._boards.get(study)
        if found is None or found.learning is not learning:
            found = self._boards[study] = Board(self._store, learning)
        return found

    def desk(self, study: str) -> tuple[Study, Desk]:
        """A study that there is, and what is needed to ask about it."""
        found = self._store.study(study)
        return found, self.desks.desk(found)

    def join(self, study: str, parameters: Mapping[str, Any], consent: bool) -> dict[str, Any]:
        """Begin, or go on where somebody of the same identity was; of who does not consent nothing is kept."""
        _, desk = self.desk(study)
        if not consent:
            return _sent_away(desk, parameters)

        def work(transaction: Transaction) -> Turn:
            identity, most = _identity(desk, parameters), desk.settings.limits.participants
            person = transaction.join(study, dict(parameters), identity, most)
            return self._advance(transaction, study, person.id, None)

        try:
            return self._told(study, self._store.together(work))
        except Full:
            return _sent_away(desk, parameters)

    def resume(self, study: str, participant: str) -> dict[str, Any]:
        """Go on after the page was loaded again."""
        turn = self._store.together(lambda transaction: self._advance(transaction, study, participant, None))
        return self._told(study, turn)

    def answer(
        self, study: str, participant: str, token: str, choice: int, response_ms: int | None, client: Any
    ) -> dict[str, Any]:
        """Count an answer and ask on."""
        return self._exchange(
            study,
            participant,
            token,
            lambda transaction: transaction.answer(token, study, participant, choice, response_ms, client),
            response_ms,
        )

    def skip(self, study: str, participant: str, token: str, reason: str) -> dict[str, Any]:
        """Give a question up and ask on."""
        if not self.desk(study)[1].settings.skipping.allowed:
            raise Problem(409, "no-skipping", "Questions of this study cannot be skipped; answer as well as you can.")
        return self._exchange(
            study, participant, token, lambda transaction: transaction.skip(token, study, participant, reason)
        )

    def preview(self, study: Study, n_questions: int) -> list[dict[str, Any]]:
        """Questions that are put to nobody."""
        desk, learning, found = self.desks.desk(study), self._engine.learning(study.id), list[dict[str, Any]]()
        asked: list[tuple[int, int, int]] = []
        while len(found) < n_questions and (chosen := desk.plan.chooser.choose(learning, asked)) is not None:
            kind = Kind.PRACTICE if len(found) < desk.settings.checks.practice else Kind.CHOSEN
            found.append(question_of(desk, Issued("", "", *chosen.query, chosen.query[1], kind, "", 0, 0)))
            asked.append(chosen.query)
        return found

    def _exchange(
        self,
        study: str,
        participant: str,
        token: str,
        send: Callable[[Transaction], Outcome],
        response_ms: int | None = None,
    ) -> dict[str, Any]:
        def work(transaction: Transaction) -> Turn | Refused:
            outcome = send(transaction)
            try:
                return self._advance(transaction, study, participant, outcome)
            except (Unknown, Problem):
                # Raised, it would undo that the refusal was kept.
                if isinstance(outcome, Refused):
                    return outcome
                raise

        turn = self._store.together(work)
        if isinstance(turn, Refused):
            raise Problem(409, turn.reason, turn.sentence)
        if not isinstance(turn.outcome, Refused):
            self._engine.learning(study).pending.drop(token)
        return self._told(study, turn, response_ms)

    def _advance(self, transaction: Transaction, study: str, participant: str, outcome: Outcome) -> Turn:
        """Put as many questions as are missing, or see that it is enough."""
        found, person = transaction.study(study), transaction.participant(study, participant)
        desk = self.desks.desk(found)
        total = desk.settings.limits.per_participant
        if person.standing in OUTCOMES:
            return Turn(desk, participant, person.parameters, outcome, [], [], total, total, person.standing)
        if person.standing == Standing.EXCLUDED:
            raise Problem(409, "excluded", "You cannot take part in this study any more.")
        ledger = transaction.ledger(study, participant)
        course = Course.of(ledger, desk.plan.right, now())
        if course.caught >= desk.settings.checks.fail_after:
            standing = transaction.finish(study, participant, Standing.FAILED).standing
            return Turn(desk, participant, person.parameters, outcome, [], [], course.done, total, standing)
        if found.state != State.OPEN:
            if outcome is not None and not isinstance(outcome, Refused):
                return Turn(desk, participant, person.parameters, outcome, [], [], course.done, total, person.standing)
            raise Problem(409, f"study-{found.state}", f"The study is {found.state}; it takes no answers now.")
        issued = self._issue(transaction, found, desk, participant, ledger, course)
        still = [entry.issued for entry in course.open] + issued
        standing = person.standing if still else transaction.finish(study, participant, Standing.COMPLETED).standing
        return Turn(desk, participant, person.parameters, outcome, still, issued, course.done, total, standing)

    def _issue(
        self, transaction: Transaction, study: Study, desk: Desk, participant: str, ledger: Any, course: Course
    ) -> list[Issued]:
        limits = desk.settings.limits
        if limits.answers is not None and transaction.last(study.id) >= limits.answers:
            return []
        queries = next_queries(desk.plan, self._learning(study.id), ledger, course)
        return transaction.issue(study.id, participant, queries, limits.lifetime_s) if queries else []

    def _learning(self, study: str) -> Learning:
        return self._engine.learning(study)

    def _told(self, study: str, turn: Turn, response_ms: int | None = None) -> dict[str, Any]:
        """The turn as JSON; the learner hears of it only now that it is on the disk."""
        learning = self._learning(study)
        learning.pending.add(turn.issued)
        too_fast = response_ms is not None and response_ms < turn.desk.settings.checks.too_fast_ms
        body = turn.body(too_fast)
        if isinstance(turn.outcome, Refused):
            raise Problem(409, turn.outcome.reason, turn.outcome.sentence, besides=body)
        if isinstance(turn.outcome, Acknowledged):
            learning.heard()
        return body


def _sent_away(desk: Desk, parameters: Mapping[str, Any]) -> dict[str, Any]:
    total = desk.settings.limits.per_participant
    return Turn(desk, None, parameters, None, [], [], 0, total, Standing.SCREENED).body()


def _identity(desk: Desk, parameters: Mapping[str, Any]) -> str | None:
    """By what somebody is known who comes back; the first parameter of those in the settings that there is."""
    for name in desk.settings.identify_by:
        value = parameters.get(name)
        if isinstance(value, str) and value.strip():
            return f"{name}={value.strip()[:200]}"
    return None
