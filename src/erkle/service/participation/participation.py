"""Taking part: to join, to answer, to skip and to come back are one transaction each, the next question included.

When somebody hears that an answer counts it is on the disk, and so is the question that they are shown next.
"""

from collections.abc import Callable, Mapping
from typing import Any

from erkle.service.dashboard.dashboard import Board
from erkle.service.learning import Engine, Learning
from erkle.service.participation.asking import Course, next_queries
from erkle.service.participation.prepared_studies import Desk, Desks
from erkle.service.participation.replies import OUTCOMES, Turn, question_of
from erkle.service.web.errors import Problem
from erkle.store import (
    Acknowledged,
    Entry,
    Full,
    Issued,
    Kind,
    Participant,
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
        found = self._store.studies.get(study)
        return found, self.desks.desk(found)

    def join(self, study: str, parameters: Mapping[str, Any], consent: bool) -> dict[str, Any]:
        """Begin, or go on where somebody of the same identity was; of who does not consent nothing is kept."""
        _, desk = self.desk(study)
        if not consent:
            return _sent_away(desk, parameters)

        learning = self._engine.learning(study)

        def work(transaction: Transaction) -> Turn:
            identity, most = _identity(desk, parameters), desk.settings.limits.participants
            person = transaction.participants.join(study, dict(parameters), identity, most)
            return self._advance(transaction, learning, person.id, None)

        try:
            return self._told(learning, self._store.transact(work))
        except Full:
            return _sent_away(desk, parameters)

    def resume(self, study: str, participant: str) -> dict[str, Any]:
        """Go on after the page was loaded again."""
        learning = self._engine.learning(study)
        turn = self._store.transact(lambda transaction: self._advance(transaction, learning, participant, None))
        return self._told(learning, turn)

    def answer(
        self, study: str, participant: str, token: str, choice: int, response_ms: int | None, client: Any
    ) -> dict[str, Any]:
        """Count an answer and ask on."""
        return self._exchange(
            study,
            participant,
            token,
            lambda transaction: transaction.answers.submit(study, participant, token, choice, response_ms, client),
            response_ms,
        )

    def skip(self, study: str, participant: str, token: str, reason: str) -> dict[str, Any]:
        """Give a question up and ask on."""
        if not self.desk(study)[1].settings.skipping.allowed:
            raise Problem(409, "no-skipping", "Questions of this study cannot be skipped; answer as well as you can.")
        return self._exchange(
            study, participant, token, lambda transaction: transaction.answers.skip(study, participant, token, reason)
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
        learning = self._learning(study)

        def work(transaction: Transaction) -> Turn | Refused:
            outcome = send(transaction)
            if learning is None:
                # No question is one of a study that there is not.
                assert isinstance(outcome, Refused)
                return outcome
            try:
                return self._advance(transaction, learning, participant, outcome)
            except (Unknown, Problem):
                # Raised, it would undo that the refusal was kept.
                if isinstance(outcome, Refused):
                    return outcome
                raise

        turn = self._store.transact(work)
        if isinstance(turn, Refused):
            raise Problem(409, turn.reason, turn.sentence)
        assert learning is not None
        if not isinstance(turn.outcome, Refused):
            learning.pending.drop(token)
        return self._told(learning, turn, response_ms)

    def _learning(self, study: str) -> Learning | None:
        """The learner, found before a transaction begins; None where there is no such study."""
        try:
            return self._engine.learning(study)
        except Unknown:
            return None

    def _advance(self, transaction: Transaction, learning: Learning, participant: str, outcome: Outcome) -> Turn:
        """Put as many questions as are missing, or see that it is enough."""
        found, person = (
            transaction.studies.get(learning.study),
            transaction.participants.get(learning.study, participant),
        )
        desk = self.desks.desk(found, transaction)
        total = desk.settings.limits.per_participant
        turn = Turn(desk, participant, person.parameters, outcome, [], [], total, total, person.standing)
        if person.standing in OUTCOMES:
            return turn
        ledger = transaction.questions.ledger(found.id, participant)
        course = Course.of(ledger, desk.plan.right, now())
        turn, takes_part = turn._replace(done=course.done), person.standing == Standing.ACTIVE
        if takes_part and course.caught >= desk.settings.checks.fail_after:
            return _finished(transaction, found, turn, Standing.FAILED)
        if not takes_part or found.state != State.OPEN:
            if outcome is not None and not isinstance(outcome, Refused):
                # What was acknowledged once is acknowledged again, whatever has happened since.
                return turn
            raise _stopped(person, found)
        issued = self._issue(transaction, found, desk, learning, participant, ledger, course)
        turn = turn._replace(open=[entry.issued for entry in course.open] + issued, issued=issued)
        return turn if turn.open else _finished(transaction, found, turn, _ending(desk, course))

    def _issue(
        self,
        transaction: Transaction,
        study: Study,
        desk: Desk,
        learning: Learning,
        participant: str,
        ledger: list[Entry],
        course: Course,
    ) -> list[Issued]:
        limits = desk.settings.limits
        if limits.answers is not None and transaction.answers.last(study.id) >= limits.answers:
            return []
        queries = next_queries(desk.plan, learning, ledger, course)
        return transaction.questions.issue(study.id, participant, queries, limits.lifetime_s) if queries else []

    def _told(self, learning: Learning, turn: Turn, response_ms: int | None = None) -> dict[str, Any]:
        """The turn as JSON; the learner hears of it only now that it is on the disk."""
        learning.pending.add(turn.issued)
        too_fast = response_ms is not None and response_ms < turn.desk.settings.checks.too_fast_ms
        body = turn.body(too_fast)
        if isinstance(turn.outcome, Refused):
            raise Problem(409, turn.outcome.reason, turn.outcome.sentence, besides=body)
        if isinstance(turn.outcome, Acknowledged):
            learning.heard()
        return body


def _finished(transaction: Transaction, study: Study, turn: Turn, standing: Standing) -> Turn:
    assert turn.participant is not None
    person = transaction.participants.finish(study.id, turn.participant, standing)
    return turn._replace(standing=person.standing)


def _ending(desk: Desk, course: Course) -> Standing:
    """How it ends for somebody of whom no more is asked: who has answered nothing has completed nothing."""
    if course.done == 0:
        return Standing.SCREENED
    return Standing.FAILED if course.skipped > desk.settings.skipping.most * course.done else Standing.COMPLETED


def _stopped(person: Participant, study: Study) -> Problem:
    if person.standing == Standing.EXCLUDED:
        return Problem(409, "excluded", "You cannot take part in this study any more.")
    return Problem(409, f"study-{study.state}", f"The study is {study.state}; it takes no answers now.")


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
