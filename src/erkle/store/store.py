"""The store: each method happens as a whole or not at all, and is on the disk when it has returned."""

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

from erkle.parameters import whole
from erkle.store import answering, leases, log, participants, questions, refusals, snapshots, studies
from erkle.store.answering import Acknowledged, Sent, Skipped
from erkle.store.clock import Clock, now
from erkle.store.database import Database, Pathlike
from erkle.store.log import Answer, Counts
from erkle.store.outside import Json
from erkle.store.participants import Participant, Standing
from erkle.store.questions import Issued, Query
from erkle.store.refusals import Refusal, Refused
from erkle.store.snapshots import Snapshot
from erkle.store.studies import Object, State, Study

__all__ = ["Store"]

_PAGE = 1000
_HOUR = 3600.0


class Store:
    """Studies, participants, the questions put to them, and their answers, which are only ever added to.

    Parameters
    ----------
    place : path or str
        The path of an SQLite file, made if it is not there, or a URL such as ``postgresql://user@host/name``.
    clock : function
        What tells the time, in microseconds since 1970, UTC.

    Raises
    ------
    StoreError
        When the database cannot be used, with a sentence that says what to do; from every method.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/answers.db") as store:
    ...     study = store.create_study("Cities", ["Paris", "Lyon", "Madrid"]).id
    ...     _ = store.change_state(study, State.OPEN)
    ...     ann = store.join(study, {"PROLIFIC_PID": "ann"}).id
    ...     [asked] = store.issue(study, ann, [Query(0, 1, 2)])
    ...     store.answer(asked.token, study, ann, choice=1)
    ...     store.answer(asked.token, study, ann, choice=1)
    ...     store.answer(asked.token, study, ann, choice=2).sentence
    ...     [(answer.head, answer.near, answer.far) for answer in store.log(study)]
    Acknowledged(sequence=1, repeated=False)
    Acknowledged(sequence=1, repeated=True)
    'This question has been answered already, and the first answer stands.'
    [(0, 1, 2)]
    """

    def __init__(self, place: Pathlike, clock: Clock = now) -> None:
        self._database = Database(place)
        self._clock = clock

    def create_study(self, title: str, objects: Sequence[Object | str], settings: Json | None = None) -> Study:
        """A new study, as a draft, about at least three objects with different names."""
        return self._database.write(
            lambda connection: studies.create(connection, title, objects, settings or {}, self._clock())
        )

    def studies(self) -> list[Study]:
        """All studies, the oldest first."""
        with self._database.reading() as connection:
            return studies.listed(connection)

    def study(self, study: str) -> Study:
        """The study with this id."""
        with self._database.reading() as connection:
            return studies.get(connection, study)

    def objects(self, study: str) -> list[Object]:
        """What the study asks about; the place in the list is the object's id."""
        with self._database.reading() as connection:
            return studies.objects(connection, study)

    def change_state(self, study: str, state: State) -> Study:
        """Open, pause or close a study; a closed one stays closed."""
        return self._database.write(lambda connection: studies.change_state(connection, study, state))

    def join(self, study: str, parameters: Json | None = None) -> Participant:
        """A new participant of an open study, with the parameters of the link that they followed."""
        return self._database.write(
            lambda connection: participants.join(connection, study, parameters or {}, self._clock())
        )

    def participant(self, study: str, participant: str) -> Participant:
        """The participant with this id."""
        with self._database.reading() as connection:
            return participants.get(connection, study, participant)

    def participants(self, study: str) -> list[Participant]:
        """All participants of a study, the first first."""
        with self._database.reading() as connection:
            return participants.listed(connection, study)

    def finish(self, study: str, participant: str, standing: Standing) -> Participant:
        """An active participant has completed the study, failed its checks or was screened out."""
        return self._database.write(lambda connection: participants.finish(connection, study, participant, standing))

    def exclude(self, study: str, participant: str) -> Participant:
        """Take no more answers of somebody, and leave theirs out of the log; the study's roster counts up."""
        return self._database.write(lambda connection: participants.exclude(connection, study, participant, True))

    def include(self, study: str, participant: str) -> Participant:
        """Take somebody in again who was excluded; the study's roster counts up."""
        return self._database.write(lambda connection: participants.exclude(connection, study, participant, False))

    def issue(self, study: str, participant: str, queries: Sequence[Query], lifetime: float = _HOUR) -> list[Issued]:
        """Put questions to an active participant of an open study, to be answered within so many seconds."""
        return self._database.write(
            lambda connection: questions.issue(connection, study, participant, queries, lifetime, self._clock())
        )

    def pending(self, study: str, participant: str | None = None) -> list[Issued]:
        """Questions that may still be answered, of a participant or of all, the oldest first."""
        with self._database.reading() as connection:
            return questions.pending(connection, study, participant, self._clock())

    def answer(
        self,
        token: str,
        study: str,
        participant: str,
        choice: int,
        response_ms: int | None = None,
        client: Any = None,
    ) -> Acknowledged | Refused:
        """Count an answer: the head is more like the object ``choice``. Nothing that is passed here is trusted.

        Parameters
        ----------
        token, study, participant : str
            The question's token, and whose it must be.
        choice : int
            The id of one of the two objects.
        response_ms : int, optional
            Milliseconds to the answer; what is not from 0 to a day is kept as None.
        client : anything, optional
            What else the browser tells, cut to a size.

        Returns
        -------
        Acknowledged
            The answer counts, and is on the disk. The same answer again gives the same sequence number.
        Refused
            It does not count; it was kept with the reason.
        """
        sent = Sent(token, study, participant, choice, response_ms, client)
        return self._database.write(lambda connection: answering.answer(connection, sent, self._clock()))

    def skip(self, token: str, study: str, participant: str, reason: str = "") -> Skipped | Refused:
        """Give up a question, with a reason in the participant's words; it cannot be answered any more."""
        return self._database.write(
            lambda connection: answering.skip(connection, Sent(token, study, participant, reason=reason), self._clock())
        )

    def log(
        self, study: str, after: int = 0, limit: int | None = None, include_excluded: bool = False
    ) -> Iterator[Answer]:
        """Answers that count, in the order of their numbers, of those after a number at most so many."""
        left = limit
        with self._database.reading() as connection:
            number = studies.find(connection, study)["id"]
        while left is None or left > 0:
            size = _PAGE if left is None else min(left, _PAGE)
            # A transaction for each page, so that a slow reader holds up nobody.
            with self._database.reading() as connection:
                page = log.page(connection, number, after, size, include_excluded)
            yield from page
            if len(page) < size:
                return
            after, left = page[-1].sequence, None if left is None else left - size

    def refusals(self, study: str | None = None, limit: int = _PAGE) -> list[Refusal]:
        """The newest refusals of a study; of None, those that name no study that there is."""
        with self._database.reading() as connection:
            return refusals.listed(connection, study, whole(limit, "limit", 0, "one cannot list fewer"))

    def counts(self, study: str) -> Counts:
        """How much there is of everything in a study."""
        with self._database.reading() as connection:
            return log.counts(connection, study)

    def save_snapshot(self, study: str, sequence: int, roster: int, data: bytes) -> bool:
        """Keep a learner's npz bytes, and those before; False where the roster has changed since they were made."""
        return self._database.write(
            lambda connection: snapshots.save(connection, study, sequence, roster, data, self._clock())
        )

    def snapshots(self, study: str) -> list[Snapshot]:
        """The last two snapshots, the newest first; none that was made under another roster."""
        with self._database.reading() as connection:
            return snapshots.latest(connection, study)

    def acquire(self, study: str, owner: str, seconds: float) -> bool:
        """Own the study's learner for so many seconds, if nobody else does."""
        return self._database.write(lambda connection: leases.acquire(connection, study, owner, seconds, self._clock()))

    def renew(self, study: str, owner: str, seconds: float) -> bool:
        """Own it for so many seconds from now; False where the lease has ended."""
        return self._database.write(lambda connection: leases.renew(connection, study, owner, seconds, self._clock()))

    def release(self, study: str, owner: str) -> bool:
        """Give up a lease; False where it was somebody else's."""
        return self._database.write(lambda connection: leases.release(connection, study, owner))

    def back_up(self, path: Pathlike) -> None:
        """Copy an SQLite database to a file as it is at one moment, while others go on writing."""
        self._database.back_up(path)

    def close(self) -> None:
        """Close all connections; the store cannot be used any more."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
