"""What participants do: they join, answer, skip and come back. Each of these is one transaction.

The transaction also issues the next question. An answer is acknowledged only after it is saved to disk, together with
the next question. Participants cannot see drafts.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from erkle.service.participation.advancing import advance, study_paused
from erkle.service.participation.asking import History
from erkle.service.participation.continuing import Going, of_newcomer, of_participant
from erkle.service.participation.endings import Ending
from erkle.service.participation.identity import Identified, signed, unproven
from erkle.service.participation.prepared_study import PreparedStudy
from erkle.service.participation.prolific import Prolific
from erkle.service.participation.replies import Advance, Outcome, Question, Reply
from erkle.service.runtime import Runtime, Runtimes
from erkle.service.studies.spec import StudySettings
from erkle.service.web.errors import Problem
from erkle.store import Acknowledged, Issued, Kind, Refused, Skipped, State, Store, Study, Transaction
from erkle.store.clock import now
from erkle.store.errors import Full, NotOpen, OverQuota, Unknown
from erkle.store.sanitising import Json, json_bytes

Send = Callable[[Transaction], Outcome]


class Participation:
    """What participants do in the studies of a store.

    Parameters
    ----------
    store : Store
    runtimes : Runtimes
    quota : int
        Bytes that the participants of a study may make the server store.
    prolific : Prolific
        Checks links that come from Prolific.
    """

    def __init__(self, store: Store, runtimes: Runtimes, quota: int, prolific: Prolific) -> None:
        self._store, self._runtimes = store, runtimes
        self._quota, self._prolific = quota, prolific

    def join(self, study: str, parameters: Mapping[str, Any], consent: bool) -> Reply:
        """Start taking part. Participants who have taken part before continue. Without consent, nothing is saved."""
        found = self._store.studies.get(study, drafts=False)
        runtime = self._runtimes.of(study)
        prepared = runtime.prepared(found, self._store)
        if not consent:
            return _not_joined(prepared, Ending.DECLINED, parameters)
        who = self._identified(study, prepared.settings, parameters)
        places = prepared.settings.limits

        def work(transaction: Transaction) -> Advance:
            person = transaction.participants.join(
                study, dict(who.parameters), who.identity, places.participants, places.idle_s, self._quota
            )
            done = advance(transaction, runtime, person.id, None, self._quota)
            if done.ending == Ending.FULL:
                # Undo the joining: whoever comes too late leaves nothing behind.
                raise Full("The study has all its answers.")
            return done

        try:
            return _reply(runtime, self._store.transact(work), parameters)
        except Full:
            return _not_joined(prepared, Ending.FULL, parameters)
        except NotOpen:
            if self._store.studies.get(study).state == State.CLOSED:
                return _not_joined(prepared, Ending.CLOSED, parameters)
            raise study_paused() from None
        except OverQuota:
            sentence = "This study has stored all the data that it may; tell the people who gave you the link."
            raise Problem(409, "quota", sentence) from None

    def expected(self, study: Study, settings: StudySettings, parameters: Mapping[str, Any]) -> Going | Ending:
        """Say what joining with these parameters would lead to. Nothing is written.

        Raises
        ------
        Problem
            If the study demands a proof of identity and the parameters contain none.
        """
        identity = self._identified(study.id, settings, parameters).identity
        person = None if identity is None else self._store.participants.identified(study.id, identity)
        if person is None:
            return of_newcomer(self._store, study, settings)
        right = self._runtimes.of(study.id).prepared(study, self._store).catch_answers
        history = History.of(self._store.questions.ledger(study.id, person.id), right, now())
        return of_participant(self._store, study, person, settings, history)

    def resume(self, study: str, participant: str, parameters: Mapping[str, Any]) -> Reply:
        """Continue after the page was reloaded."""
        runtime = self._runtimes.of(study)
        done = self._store.transact(lambda transaction: advance(transaction, runtime, participant, None, self._quota))
        return _reply(runtime, done, parameters)

    def answer(
        self,
        study: str,
        participant: str,
        token: str,
        choice: int,
        response_ms: int | None,
        client: Json,
        parameters: Mapping[str, Any],
    ) -> Reply:
        """Save an answer and issue the next question. ``parameters`` only fill the address of the ending."""

        def send(transaction: Transaction) -> Outcome:
            return transaction.answers.submit(study, participant, token, choice, response_ms, client)

        runtime, done = self._send(study, participant, token, send, json_bytes(client))
        return _reply(runtime, done, parameters, response_ms)

    def skip(self, study: str, participant: str, token: str, reason: str, parameters: Mapping[str, Any]) -> Reply:
        """Save a skip and issue the next question. ``parameters`` only fill the address of the ending."""
        found = self._store.studies.get(study, drafts=False)
        if not self._runtimes.of(study).prepared(found, self._store).settings.skipping.allowed:
            raise Problem(409, "no-skipping", "Questions of this study cannot be skipped; answer as well as you can.")

        def send(transaction: Transaction) -> Outcome:
            return transaction.answers.skip(study, participant, token, reason)

        runtime, done = self._send(study, participant, token, send, len(reason.encode()))
        return _reply(runtime, done, parameters)

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
            found.append(Question.of(prepared, Issued("", "", *chosen.query, chosen.query[1], kind, "", 0, 0, None)))
            asked.append(chosen.query)
        return found

    def _identified(self, study: str, settings: StudySettings, parameters: Mapping[str, Any]) -> Identified:
        """Return who has followed a link, or raise a `Problem` if the study demands a proof and the link has none."""
        names = settings.identify_by
        match settings.identity_proof:
            case "signature":
                return signed(names, parameters, self._store.studies.signing_key(study), now())
            case "prolific":
                return self._prolific.identified(names, parameters, now())
            case "none":
                return unproven(names, parameters)

    def _send(self, study: str, participant: str, token: str, send: Send, sent_bytes: int) -> tuple[Runtime, Advance]:
        """Save an answer or a skip and issue the next questions, in one transaction.

        ``sent_bytes`` is what the answer or the skip takes in the database, besides its row.
        """
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
                is_new = isinstance(outcome, Acknowledged | Skipped) and not outcome.repeated
                return advance(transaction, runtime, participant, outcome, self._quota, sent_bytes if is_new else 0)
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
        return runtime, done


def _reply(runtime: Runtime, done: Advance, parameters: Mapping[str, Any], response_ms: int | None = None) -> Reply:
    """Build the reply, and notify the learner. Called after the commit, when everything is saved."""
    runtime.learning.pending.add(done.issued)
    reply = done.reply(parameters, response_ms)
    if isinstance(done.outcome, Refused):
        raise Problem(409, done.outcome.reason, done.outcome.sentence, extra=reply.model_dump())
    if isinstance(done.outcome, Acknowledged):
        runtime.learning.notify()
    return reply


def _not_joined(prepared: PreparedStudy, ending: Ending, parameters: Mapping[str, Any]) -> Reply:
    total = prepared.settings.limits.per_participant
    return Advance(prepared, None, None, [], [], 0, total, ending).reply(parameters)
