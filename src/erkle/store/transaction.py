"""What can be done together: all of it is committed at once, with one flush to the disk, or nothing is."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from erkle.store import answering, ledger, participants, questions, studies
from erkle.store.answering import Acknowledged, Sent, Skipped
from erkle.store.clock import Clock
from erkle.store.ledger import Entry
from erkle.store.participants import Participant, Standing
from erkle.store.questions import Issued, Query
from erkle.store.refusals import Refused
from erkle.store.sanitising import Json
from erkle.store.studies import Object, Study

__all__ = ["HOUR", "Transaction"]

HOUR = 3600.0


class Transaction:
    """The methods of a store that concern a participant, each the same as there, in one transaction.

    An error that leaves the transaction undoes everything that was done in it. What was refused is no error.
    """

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    def study(self, study: str) -> Study:
        """The study with this id."""
        return studies.get(self._connection, study)

    def objects(self, study: str) -> list[Object]:
        """What the study asks about."""
        return studies.objects(self._connection, study)

    def join(
        self, study: str, parameters: Json | None = None, identity: str | None = None, most: int | None = None
    ) -> Participant:
        """A new participant of an open study, or the one that has joined it with this identity."""
        return participants.join(self._connection, study, parameters or {}, identity, most, self._clock())

    def participant(self, study: str, participant: str) -> Participant:
        """The participant with this id."""
        return participants.get(self._connection, study, participant)

    def finish(self, study: str, participant: str, standing: Standing) -> Participant:
        """An active participant has completed the study, failed its checks or was screened out."""
        return participants.finish(self._connection, study, participant, standing)

    def issue(self, study: str, participant: str, queries: Sequence[Query], lifetime: float = HOUR) -> list[Issued]:
        """Put questions to an active participant of an open study, to be answered within so many seconds."""
        return questions.issue(self._connection, study, participant, queries, lifetime, self._clock())

    def ledger(self, study: str, participant: str) -> list[Entry]:
        """All questions put to a participant and what became of them, the oldest first."""
        return ledger.ledger(self._connection, study, participant)

    def answer(
        self,
        token: str,
        study: str,
        participant: str,
        choice: int,
        response_ms: int | None = None,
        client: Any = None,
    ) -> Acknowledged | Refused:
        """Count an answer; nothing that is passed here is trusted."""
        sent = Sent(token, study, participant, choice, response_ms, client)
        return answering.answer(self._connection, sent, self._clock())

    def skip(self, token: str, study: str, participant: str, reason: str = "") -> Skipped | Refused:
        """Give up a question; it cannot be answered any more."""
        return answering.skip(self._connection, Sent(token, study, participant, reason=reason), self._clock())

    def last(self, study: str) -> int:
        """The number of the study's last answer."""
        return answering.last(self._connection, study)

    def has_answers(self, study: str, many: int) -> bool:
        """Whether a study has so many answers."""
        return answering.has_answers(self._connection, study, many)
