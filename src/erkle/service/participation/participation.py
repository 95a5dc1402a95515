"""Taking part: joining, answering, skipping and coming back are one transaction each, the next question included.

When somebody hears that an answer counts, it is on the disk, and so is the question that they are shown next.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from erkle.service.participation.asking import Course, next_queries
from erkle.service.participation.endings import ending
from erkle.service.participation.prepared_study import PreparedStudy
from erkle.service.participation.replies import Advance, Outcome, Question, Reply
from erkle.service.runtime import Runtime, Runtimes
from erkle.service.web.errors import Problem
from erkle.store import Acknowledged, Issued, Kind, Participant, Refused, Standing, State, Store, Study, Transaction
from erkle.store.clock import now
from erkle.store.errors import Full, Unknown
from erkle.store.participants import ENDINGS

Send = Callable[[Transaction], Outcome]


class Participation:
    """What participants do in the studies of a store.

    Parameters
    ----------
    store : Store
    runtimes : Runtimes
    """

    def __init__(self, store: Store, runtimes: Runtimes) -> None:
        self._store, self._runtimes = store, runtimes

    def join(self, study: str, parameters: Mapping[str, Any], consent: bool) -> Reply:
        """Begin, or go on where somebody of the same identity was; of who does not consent nothing is kept."""
        runtime = self._runtimes.of(study)
        prepared = runtime.prepared(self._store.studies.get(study), self._store)
        if not consent:
            return _sent_away(prepared, parameters)

        def work(transaction: Transaction) -> Advance:
            identity, most = _identity(prepared, parameters), prepared.settings.limits.participants
            person = transaction.participants.join(study, dict(parameters), identity, most)
            return _advance(transaction, runtime, person.id, None)

        try:
            return _told(runtime, self._store.transact(work))
        except Full:
            return _sent_away(prepared, parameters)

    def resume(self, study: str, participant: str) -> Reply:
        """Go on after the page was loaded again."""
        runtime = self._runtimes.of(study)
        done = self._store.transact(lambda transaction: _advance(transaction, runtime, participant, None))
        return _told(runtime, done)

    def answer(
        self, study: str, participant: str, token: str, choice: int, response_ms: int | None, client: Any
    ) -> Reply:
        """Count an answer and ask on."""

        def send(transaction: Transaction) -> Outcome:
            return transaction.answers.submit(study, participant, token, choice, response_ms, client)

        return self._settle(study, participant, token, send, response_ms)

    def skip(self, study: str, participant: str, token: str, reason: str) -> Reply:
        """Skip a question and ask on."""
        prepared = self._runtimes.of(study).prepared(self._store.studies.get(study), self._store)
        if not prepared.settings.skipping.allowed:
            raise Problem(409, "no-skipping", "Questions of this study cannot be skipped; answer as well as you can.")

        def send(transaction: Transaction) -> Outcome:
            return transaction.answers.skip(study, participant, token, reason)

        return self._settle(study, participant, token, send)

    def preview(self, study: Study, n_questions: int) -> list[Question]:
        """Questions that are put to nobody."""
        runtime, found = self._runtimes.of(study.id), list[Question]()
        prepared = runtime.prepared(study, self._store)
        asked: list[tuple[int, int, int]] = []
        while len(found) < n_questions:
            chosen = prepared.chooser.choose(runtime.learning, asked)
            if chosen is None:
                break
            kind = Kind.PRACTICE if len(found) < prepared.settings.checks.practice else Kind.CHOSEN
            found.append(Question.of(prepared, Issued("", "", *chosen.query, chosen.query[1], kind, "", 0, 0)))
            asked.append(chosen.query)
        return found

    def _settle(self, study: str, participant: str, token: str, send: Send, response_ms: int | None = None) -> Reply:
        """Send an answer or a skip and issue the next questions, in one transaction."""
        # Found before the transaction begins; there may be no such study.
        runtime = None
        with suppress(Unknown):
            runtime = self._runtimes.of(study)

        def work(transaction: Transaction) -> Advance | Refused:
            outcome = send(transaction)
            if runtime is None:
                # No question belongs to a study that does not exist.
                assert isinstance(outcome, Refused)
                return outcome
            try:
                return _advance(transaction, runtime, participant, outcome)
            except (Unknown, Problem):
                # Raised, it would undo that the refusal was kept.
                if isinstance(outcome, Refused):
                    return outcome
                raise

        done = self._store.transact(work)
        if isinstance(done, Refused):
            raise Problem(409, done.reason, done.sentence)
        assert runtime is not None
        if not isinstance(done.outcome, Refused):
            runtime.learning.pending.drop(token)
        return _told(runtime, done, response_ms)


def _advance(transaction: Transaction, runtime: Runtime, participant: str, outcome: Outcome) -> Advance:
    """Issue as many questions as are missing, or see that it is enough."""
    study = transaction.studies.get(runtime.learning.study)
    person = transaction.participants.get(study.id, participant)
    prepared = runtime.prepared(study, transaction)
    total = prepared.settings.limits.per_participant
    done = Advance(prepared, participant, person.parameters, outcome, [], [], total, total, person.standing)
    if person.standing in ENDINGS:
        return done
    course = Course.of(transaction.questions.ledger(study.id, participant), prepared.right, now())
    done, takes_part = done._replace(done=course.done), person.standing == Standing.ACTIVE
    if takes_part and course.caught >= prepared.settings.checks.fail_after:
        return _finished(transaction, study, done, Standing.FAILED)
    if not takes_part or study.state != State.OPEN:
        if outcome is not None and not isinstance(outcome, Refused):
            # What was acknowledged once is acknowledged again, whatever has happened since.
            return done
        raise _stopped(person, study)
    issued = _issue(transaction, runtime, prepared, participant, course)
    done = done._replace(open=[entry.issued for entry in course.open] + issued, issued=issued)
    return done if done.open else _finished(transaction, study, done, ending(prepared, course))


def _issue(
    transaction: Transaction, runtime: Runtime, prepared: PreparedStudy, participant: str, course: Course
) -> list[Issued]:
    study, limits = runtime.learning.study, prepared.settings.limits
    if limits.answers is not None and transaction.answers.last(study) >= limits.answers:
        return []
    # The strategy scores questions inside the write transaction, on purpose. Which question is next depends on the
    # ledger, and the ledger must not change between reading it and issuing: two requests of one participant would get
    # the same question twice, or one too many. Scoring takes 0.7 ms at 1,000 objects (`make active`), in memory.
    queries = next_queries(prepared, runtime.learning, course)
    return transaction.questions.issue(study, participant, queries, limits.lifetime_s) if queries else []


def _told(runtime: Runtime, done: Advance, response_ms: int | None = None) -> Reply:
    """The reply; the learner hears of what happened only now that it is on the disk."""
    runtime.learning.pending.add(done.issued)
    reply = done.reply(response_ms)
    if isinstance(done.outcome, Refused):
        raise Problem(409, done.outcome.reason, done.outcome.sentence, besides=reply.model_dump())
    if isinstance(done.outcome, Acknowledged):
        runtime.learning.heard()
    return reply


def _finished(transaction: Transaction, study: Study, done: Advance, standing: Standing) -> Advance:
    assert done.participant is not None
    person = transaction.participants.finish(study.id, done.participant, standing)
    return done._replace(standing=person.standing)


def _stopped(person: Participant, study: Study) -> Problem:
    if person.standing == Standing.EXCLUDED:
        return Problem(409, "excluded", "You cannot take part in this study any more.")
    return Problem(409, f"study-{study.state}", f"The study is {study.state}; it takes no answers now.")


def _sent_away(prepared: PreparedStudy, parameters: Mapping[str, Any]) -> Reply:
    total = prepared.settings.limits.per_participant
    return Advance(prepared, None, parameters, None, [], [], 0, total, Standing.SCREENED).reply()


def _identity(prepared: PreparedStudy, parameters: Mapping[str, Any]) -> str | None:
    """By what somebody is known who comes back: the first parameter in the settings that the link has."""
    for name in prepared.settings.identify_by:
        value = parameters.get(name)
        if isinstance(value, str) and value.strip():
            return f"{name}={value.strip()[:200]}"
    return None
