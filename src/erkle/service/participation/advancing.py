"""What happens after each request of a participant: they get the next questions, or their participation ends.

All of it runs in the transaction of the request.
"""

from erkle.service.participation.asking import History, next_queries
from erkle.service.participation.continuing import Going, of_participant, without_questions
from erkle.service.participation.endings import Ending
from erkle.service.participation.prepared_study import PreparedStudy
from erkle.service.participation.replies import Advance, Outcome
from erkle.service.runtime import Runtime
from erkle.service.web.errors import Problem
from erkle.store import Acknowledged, Issued, Participant, Query, Skipped, Standing, Study, Transaction
from erkle.store.clock import now
from erkle.store.participants import ENDINGS

# Other endings are decided anew whenever the participant comes back: somebody may give up a place in a full study.
_STORED = frozenset(Ending(each) for each in ENDINGS)


def advance(
    transaction: Transaction,
    runtime: Runtime,
    participant: str,
    outcome: Outcome,
    quota: int,
    sent_bytes: int = 0,
) -> Advance:
    """Issue the next questions, or finish the participation if there are none.

    Parameters
    ----------
    transaction : Transaction
    runtime : Runtime
        The runtime of the study.
    participant : str
        The participant's id.
    outcome : Acknowledged, Skipped, Refused or None
        What became of the answer or skip in this request.
    quota : int
        Bytes that the participants of the study may make the server store. When they are used up, nobody gets another
        question.
    sent_bytes : int
        What the answer or skip takes in the database, besides its row.
    """
    study = transaction.studies.get(runtime.learning.study, drafts=False)
    person = transaction.participants.get(study.id, participant)
    prepared = runtime.prepared(study, transaction)
    settings = prepared.settings
    history = History.of(transaction.questions.ledger(study.id, participant), prepared.catch_answers, now())
    done = Advance(prepared, participant, outcome, [], [], history.n_done, settings.limits.per_participant, None)
    has_answered = isinstance(outcome, Acknowledged | Skipped) and not outcome.repeated
    decision = of_participant(transaction, study, person, settings, history, has_answered)
    if isinstance(decision, Ending):
        return _ended(transaction, study, person, done, decision)
    if decision == Going.WAITING:
        if isinstance(outcome, Acknowledged | Skipped):
            # An answer that was acknowledged once is acknowledged again, even if the study is paused by now.
            return done
        raise study_paused()
    queries = _next_queries(transaction, runtime, prepared, history)
    issued = list[Issued]()
    if queries or sent_bytes:
        lifetime = settings.limits.lifetime_s
        issued = transaction.questions.issue(study.id, participant, queries, lifetime, sent_bytes, quota)
    done = done._replace(open=[entry.issued for entry in history.open] + issued, issued=issued)
    return done if done.open else _ended(transaction, study, person, done, without_questions(settings, history))


def study_paused() -> Problem:
    """Return the error for a visitor who has to wait until the study is open."""
    return Problem(409, "study-paused", "The study is paused; come back later with the same link.")


def _next_queries(transaction: Transaction, runtime: Runtime, prepared: PreparedStudy, history: History) -> list[Query]:
    most = prepared.settings.limits.answers
    if most is not None and transaction.answers.last(runtime.learning.study) >= most:
        return []
    # The strategy scores questions inside the write transaction, because the next question depends on the ledger. If
    # the ledger could change between scoring and issuing, two requests of one participant could get the same question.
    # Scoring happens in memory and takes 0.7 ms at 1,000 objects (`make active`).
    return next_queries(prepared, runtime.learning, history)


def _ended(transaction: Transaction, study: Study, person: Participant, done: Advance, ending: Ending) -> Advance:
    """End the participation."""
    if ending in _STORED and person.state == Standing.ACTIVE:
        transaction.participants.finish(study.id, person.id, Standing(ending))
    return done._replace(ending=ending)
