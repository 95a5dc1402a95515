"""What a store does with participants."""

from erkle.store import ledger, participants
from erkle.store.ledger import Entry
from erkle.store.opened import Opened
from erkle.store.participants import Participant, Standing
from erkle.store.sanitising import Json

__all__ = ["ParticipantMethods"]


class ParticipantMethods(Opened):
    """Participants: who is asked, how it ended for them, and whether their answers are used."""

    def join(
        self, study: str, parameters: Json | None = None, identity: str | None = None, most: int | None = None
    ) -> Participant:
        """A new participant of an open study, with the parameters of the link that they followed.

        An identity, such as ``PROLIFIC_PID=abc``, that has joined already gets the participant that there is.
        Others are refused (`Full`) when there are ``most`` who are not excluded.
        """
        return self.together(lambda transaction: transaction.join(study, parameters, identity, most))

    def participant(self, study: str, participant: str) -> Participant:
        """The participant with this id."""
        return self._read(lambda connection: participants.get(connection, study, participant))

    def participants(self, study: str) -> list[Participant]:
        """All participants of a study, the first first."""
        return self._read(lambda connection: participants.listed(connection, study))

    def ledger(self, study: str, participant: str) -> list[Entry]:
        """All questions put to a participant and what became of them, the oldest first."""
        return self._read(lambda connection: ledger.ledger(connection, study, participant))

    def finish(self, study: str, participant: str, standing: Standing) -> Participant:
        """An active participant has completed the study, failed its checks or was screened out."""
        return self.together(lambda transaction: transaction.finish(study, participant, standing))

    def flag(self, study: str, participant: str, flagged: bool) -> Participant:
        """Mark somebody for a second look, or take the mark away; their answers stay what they are."""
        return self._write(lambda connection: participants.flag(connection, study, participant, flagged))

    def exclude(self, study: str, participant: str) -> Participant:
        """Take no more answers of somebody, and leave theirs out of the log; the study's roster counts up."""
        return self._write(lambda connection: participants.exclude(connection, study, participant, True))

    def include(self, study: str, participant: str) -> Participant:
        """Take somebody in again who was excluded; the study's roster counts up."""
        return self._write(lambda connection: participants.exclude(connection, study, participant, False))
