"""The store: each method happens as a whole or not at all, and is on the disk when it has returned."""

from collections.abc import Iterator, Sequence
from typing import Any

from erkle.parameters import whole
from erkle.store import answering, log, questions, refusals, studies
from erkle.store.account_methods import AccountMethods
from erkle.store.answering import Acknowledged, Skipped
from erkle.store.learner_methods import LearnerMethods
from erkle.store.log import Answer, Counts, Skip
from erkle.store.participant_methods import ParticipantMethods
from erkle.store.questions import Issued, Query
from erkle.store.refusals import Refusal, Refused
from erkle.store.study_methods import StudyMethods
from erkle.store.transaction import HOUR

__all__ = ["Store"]

_PAGE = 1000


class Store(StudyMethods, ParticipantMethods, LearnerMethods, AccountMethods):
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
    >>> from erkle.store import Query, State, Store
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

    def issue(self, study: str, participant: str, queries: Sequence[Query], lifetime: float = HOUR) -> list[Issued]:
        """Put questions to an active participant of an open study, to be answered within so many seconds."""
        return self.together(lambda transaction: transaction.issue(study, participant, queries, lifetime))

    def pending(self, study: str, participant: str | None = None) -> list[Issued]:
        """Questions that may still be answered, of a participant or of all, the oldest first."""
        return self._read(lambda connection: questions.pending(connection, study, participant, self._clock()))

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
        return self.together(
            lambda transaction: transaction.answer(token, study, participant, choice, response_ms, client)
        )

    def skip(self, token: str, study: str, participant: str, reason: str = "") -> Skipped | Refused:
        """Give up a question, with a reason in the participant's words; it cannot be answered any more."""
        return self.together(lambda transaction: transaction.skip(token, study, participant, reason))

    def last(self, study: str) -> int:
        """The number of the study's last answer, which is how many there are where nobody has changed one by hand."""
        return self._read(lambda connection: answering.last(connection, study))

    def log(
        self, study: str, after: int = 0, limit: int | None = None, include_excluded: bool = False
    ) -> Iterator[Answer]:
        """Answers that count, in the order of their numbers, of those after a number at most so many."""
        left = limit
        row = self._read(lambda connection: studies.find(connection, study))
        while left is None or left > 0:
            size = _PAGE if left is None else min(left, _PAGE)
            # A transaction for each page, so that a slow reader holds up nobody.
            with self._database.reading() as connection:
                page = log.page(connection, row["id"], row["n_objects"], after, size, include_excluded)
            yield from page
            if len(page) < size:
                return
            after, left = page[-1].sequence, None if left is None else left - size

    def skips(self, study: str) -> list[Skip]:
        """All questions of a study that were given up, the first first."""
        return self._read(lambda connection: log.skips(connection, study))

    def strategies(self, study: str) -> list[tuple[str, str, int, int]]:
        """How each strategy fared, as (strategy, kind, asked, answered), the most asked first.

        It counts through all questions of the study: do not call it for each answer.
        """
        return self._read(lambda connection: log.strategies(connection, study))

    def refusals(self, study: str | None = None, limit: int = _PAGE) -> list[Refusal]:
        """The newest refusals of a study; of None, those that name no study that there is."""
        limit = whole(limit, "limit", 0, "one cannot list fewer")
        return self._read(lambda connection: refusals.listed(connection, study, limit))

    def counts(self, study: str) -> Counts:
        """How much there is of everything in a study."""
        return self._read(lambda connection: log.counts(connection, study))
