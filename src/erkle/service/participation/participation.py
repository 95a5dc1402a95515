"""What participants do: they join, answer, skip and come back. Each of these is one transaction.

The transaction also issues the next question. An answer is acknowledged only after it is saved to disk, together with
the next question.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from erkle.service.participation.asking import History, next_queries
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
        """Start taking part. Participants who have taken part before continue. Without consent, nothing is saved."""
        runtime = self._runtimes.of(study)
        prepared = runtime.prepared(self._store.studies.get(study), self._store)
        if not consent:
            return _screened_out(prepared, parameters)

        def work(transaction: Transaction) -> Advance:
            identity, most = _identity(prepared, parameters), prepared.settings.limits.participants
            person = transaction.participants.join(study, dict(parameters), identity, most)
            return _advance(transaction, runtime, person.id, None)

        try:
            return _reply(runtime, self._store.transact(work))
        except Full:
            return _screened_out(prepared, parameters)

    def resume(self, study: str, participant: str) -> Reply:
        """Continue after the page was reloaded."""
        runtime = self._runtimes.of(study)
        done = self._store.transact(lambda transaction: _advance(transaction, runtime, participant, None))
        return _reply(runtime, done)

    def answer(
        self, study: str, participant: str, token: str, choice: int, response_ms: int | None, client: Any
    ) -> Reply:
        """Save an answer and issue the next question."""

        def send(transaction: Transaction) -> Outcome:
            return transaction.answers.submit(study, participant, token, choice, response_ms, client)

        return self._send(study, participant, token, send, response_ms)

    def skip(self, study: str, participant: str, token: str, reason: str) -> Reply:
        """Save a skip and issue the next question."""
        prepared = self._runtimes.of(study).prepared(self._store.studies.get(study), self._store)
        if not prepared.settings.skipping.allowed:
            raise Problem(409, "no-skipping", "Questions of this study cannot be skipped; answer as well as you can.")

        def send(transaction: Transaction) -> Outcome:
            return transaction.answers.skip(study, participant, token, reason)

        return self._send(study, participant, token, send)

    def preview(self, study: Study, n_questions: int) -> list[Question]:
        """Choose questions to show to a researcher. Nothing is issued or saved."""
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

    def _send(self, study: str, participant: str, token: str, send: Send, response_ms: int | None = None) -> Reply:
        """Save an answer or a skip and issue the next questions, in one transaction."""
        # Find the runtime before the transaction begins, because this may read the study in another transaction. If the
        # study does not exist, the transaction still runs, to record the refusal.
        runtime = None
        with suppress(Unknown):
            runtime = self._runtimes.of(study)

        def work(transaction: Transaction) -> Advance | Refused:
            outcome = send(transaction)
            if runtime is None:
                # The store refuses every token for a study that does not exist.
                assert isinstance(outcome, Refused)
                return outcome
            try:
                return _advance(transaction, runtime, participant, outcome)
            except (Unknown, Problem):
                # Raising here would roll back the saved refusal.
                if isinstance(outcome, Refused):
                    return outcome
                raise

        done = self._store.transact(work)
        if isinstance(done, Refused):
            raise Problem(409, done.reason, done.sentence)
        assert runtime is not None
        if not isinstance(done.outcome, Refused):
            runtime.learning.pending.drop(token)
        return _reply(runtime, done, response_ms)


def _advance(transaction: Transaction, runtime: Runtime, participant: str, outcome: Outcome) -> Advance:
    """Issue the next questions, or finish the participation if there are none."""
    study = transaction.studies.get(runtime.learning.study)
    person = transaction.participants.get(study.id, participant)
    prepared = runtime.prepared(study, transaction)
    total = prepared.settings.limits.per_participant
    done = Advance(prepared, participant, person.parameters, outcome, [], [], total, total, person.standing)
    if person.standing in ENDINGS:
        return done
    history = History.of(transaction.questions.ledger(study.id, participant), prepared.catch_answers, now())
    done, takes_part = done._replace(done=history.n_done), person.standing == Standing.ACTIVE
    if takes_part and history.n_failed_catches >= prepared.settings.checks.fail_after:
        return _finished(transaction, study, done, Standing.FAILED)
    if not takes_part or study.state != State.OPEN:
        if outcome is not None and not isinstance(outcome, Refused):
            # An answer that was acknowledged once is acknowledged again, even if the study is closed by now.
            return done
        raise _not_allowed(person, study)
    issued = _issue(transaction, runtime, prepared, participant, history)
    done = done._replace(open=[entry.issued for entry in history.open] + issued, issued=issued)
    return done if done.open else _finished(transaction, study, done, ending(prepared, history))


def _issue(
    transaction: Transaction, runtime: Runtime, prepared: PreparedStudy, participant: str, history: History
) -> list[Issued]:
    study, limits = runtime.learning.study, prepared.settings.limits
    if limits.answers is not None and transaction.answers.last(study) >= limits.answers:
        return []
    # The strategy scores questions inside the write transaction, because the next question depends on the ledger. If
    # the ledger could change between scoring and issuing, two requests of one participant could get the same question.
    # Scoring happens in memory and takes 0.7 ms at 1,000 objects (`make active`).
    queries = next_queries(prepared, runtime.learning, history)
    return transaction.questions.issue(study, participant, queries, limits.lifetime_s) if queries else []


def _reply(runtime: Runtime, done: Advance, response_ms: int | None = None) -> Reply:
    """Build the reply, and notify the learner. Called after the commit, when everything is saved."""
    runtime.learning.pending.add(done.issued)
    reply = done.reply(response_ms)
    if isinstance(done.outcome, Refused):
        raise Problem(409, done.outcome.reason, done.outcome.sentence, extra=reply.model_dump())
    if isinstance(done.outcome, Acknowledged):
        runtime.learning.notify()
    return reply


def _finished(transaction: Transaction, study: Study, done: Advance, standing: Standing) -> Advance:
    assert done.participant is not None
    person = transaction.participants.finish(study.id, done.participant, standing)
    return done._replace(standing=person.standing)


def _not_allowed(person: Participant, study: Study) -> Problem:
    if person.standing == Standing.EXCLUDED:
        return Problem(409, "excluded", "You can no longer take part in this study.")
    return Problem(409, f"study-{study.state}", f"The study is {study.state} and does not accept answers now.")


def _screened_out(prepared: PreparedStudy, parameters: Mapping[str, Any]) -> Reply:
    total = prepared.settings.limits.per_participant
    return Advance(prepared, None, parameters, None, [], [], 0, total, Standing.SCREENED).reply()


def _identity(prepared: PreparedStudy, parameters: Mapping[str, Any]) -> str | None:
    """Return the identity by which a returning participant is recognised, or None.

    It is the name and value of the first ``identify_by`` parameter that the link contains.
    """
    for name in prepared.settings.identify_by:
        value = parameters.get(name)
        if isinstance(value, str) and value.strip():
            return f"{name}={value.strip()[:200]}"
    return None
