"""The store: each call happens as a whole or not at all, and what it wrote is on the disk when it returns."""

from collections.abc import Callable
from typing import Self, TypeVar

from sqlalchemy import Connection, select

from erkle.store.accounts import Accounts, Links, Sessions
from erkle.store.answers import Answers
from erkle.store.clock import Clock, now
from erkle.store.database.engine import Database, Pathlike
from erkle.store.importing import Imports
from erkle.store.learners import Leases, Snapshots
from erkle.store.media import Media
from erkle.store.participants import Participants
from erkle.store.questions import Questions
from erkle.store.studies import Studies

R = TypeVar("R")


class _Topics:
    """All that can be done with a database, by topic."""

    def __init__(self, source: Connection | Database, clock: Clock) -> None:
        self.accounts = Accounts(source, clock)
        self.sessions = Sessions(source, clock)
        self.links = Links(source, clock)
        self.studies = Studies(source, clock)
        self.media = Media(source, clock)
        self.participants = Participants(source, clock)
        self.questions = Questions(source, clock)
        self.answers = Answers(source, clock)
        self.imports = Imports(source, clock)
        self.leases = Leases(source, clock)
        self.snapshots = Snapshots(source, clock)


class Transaction(_Topics):
    """The same topics as those of a store, in one transaction: all of it is committed at once, or nothing is.

    An error that leaves the transaction undoes everything that was done in it. What was refused is not an error.
    """


class Store(_Topics):
    """Studies, participants, the questions put to them, and their answers, which are only ever added to.

    Each call of a method of a topic, such as ``store.studies.create(...)``, is a transaction of its own; `transact`
    does several things in one.

    Parameters
    ----------
    place : path or str
        The path of an SQLite file, made if it is not there, or a URL such as ``postgresql://user@host/name``.
    clock : function
        Returns the time in microseconds since 1970, UTC.

    Attributes
    ----------
    accounts, sessions, links
        Accounts of researchers, and what lets somebody into one.
    studies, media
        Studies, and what they show besides names.
    participants, questions, answers
        Who takes part, what they were asked, and what they answered.
    imports
        Answers and whole studies from elsewhere.
    leases, snapshots
        Which process owns a study's learner, and what it keeps of it.

    Raises
    ------
    StoreError
        When the database cannot be used, with a sentence that says what to do; from every method.

    Examples
    --------
    >>> import tempfile
    >>> from erkle.store import Query, State, Store
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/answers.db") as store:
    ...     study = store.studies.create("Cities", ["Paris", "Lyon", "Madrid"]).id
    ...     _ = store.studies.change_state(study, State.OPEN)
    ...     ann = store.participants.join(study, {"PROLIFIC_PID": "ann"}).id
    ...     [asked] = store.questions.issue(study, ann, [Query(0, 1, 2)])
    ...     store.answers.submit(study, ann, asked.token, choice=1)
    ...     store.answers.submit(study, ann, asked.token, choice=1)
    ...     store.answers.submit(study, ann, asked.token, choice=2).sentence
    ...     [(answer.anchor, answer.near, answer.far) for answer in store.answers.log(study)]
    Acknowledged(sequence=1, repeated=False)
    Acknowledged(sequence=1, repeated=True)
    'This question has been answered already, and the first answer stands.'
    [(0, 1, 2)]
    """

    def __init__(self, place: Pathlike, clock: Clock = now) -> None:
        self._database, self._clock = Database(place), clock
        super().__init__(self._database, clock)

    def transact(self, work: Callable[[Transaction], R]) -> R:
        """What the work returns, when everything that it did is on the disk; if it raises, nothing of it is done.

        The work is done once more if others with whom it shared a flush to the disk have failed; so it may change
        nothing but the transaction, and should be short: on SQLite nobody else writes meanwhile.
        """

        def run(connection: Connection) -> R:
            return work(Transaction(connection, self._clock))

        return self._database.write(run)

    def check(self) -> None:
        """Raise `Unavailable` unless the database answers and is the one that was opened."""
        self._database.check()
        with self._database.reading() as connection:
            connection.execute(select(1))

    def back_up(self, path: Pathlike) -> None:
        """Copy an SQLite database to a file as it is at one moment, while others go on writing."""
        self._database.back_up(path)

    def close(self) -> None:
        """Close all connections; the store cannot be used any more."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
