"""The store: each call succeeds completely or changes nothing, and its writes are on disk when it returns."""

from collections.abc import Callable
from functools import partial
from typing import Self, TypeVar

from sqlalchemy import Connection, select

from erkle.store.accounts import Accounts, Links, Sessions
from erkle.store.answers import Answers
from erkle.store.clock import Clock, now
from erkle.store.database.database import Database
from erkle.store.database.location import Pathlike
from erkle.store.database.opening import open_database
from erkle.store.database.sqlite.room import check_room
from erkle.store.features import Features
from erkle.store.imports.importing import Imports
from erkle.store.imports.unfinished import UnfinishedStudies
from erkle.store.learners import Leases, Snapshots
from erkle.store.media import Media
from erkle.store.objects import Objects
from erkle.store.participants import Participants
from erkle.store.questions import Questions
from erkle.store.studies import Studies
from erkle.store.usage import Usage

R = TypeVar("R")


class _Topics:
    """The operations on a database, grouped by topic."""

    def __init__(self, source: Connection | Database, clock: Clock) -> None:
        self.accounts = Accounts(source, clock)
        self.sessions = Sessions(source, clock)
        self.links = Links(source, clock)
        self.studies = Studies(source, clock)
        self.objects = Objects(source, clock)
        self.media = Media(source, clock)
        self.features = Features(source, clock)
        self.participants = Participants(source, clock)
        self.questions = Questions(source, clock)
        self.answers = Answers(source, clock)
        self.usage = Usage(source, clock)
        self.imports = Imports(source, clock)
        self.unfinished = UnfinishedStudies(source, clock)
        self.leases = Leases(source, clock)
        self.snapshots = Snapshots(source, clock)


class Transaction(_Topics):
    """The same topics as those of a store, in one transaction: everything is committed at once, or nothing is.

    An exception undoes everything that was done in the transaction. A refused answer is not an exception.
    """


class Store(_Topics):
    """Studies, participants, questions and answers in a database; answers are never changed.

    Each call such as ``store.studies.create(...)`` is a transaction of its own; `transact` does several things in one.

    Parameters
    ----------
    location : path or str
        The path of an SQLite file, which is created if it does not exist, or a URL such as
        ``postgresql://user@host/name``.
    clock : function
        Returns the time in microseconds since 1970, UTC.

    Attributes
    ----------
    accounts, sessions, links
        Accounts of researchers, and what gives access to them.
    studies, objects, media, features
        Studies, changes to their objects, images, sounds and videos, and vectors that describe objects.
    participants, questions, answers
        Participants, the questions issued to them, and their answers.
    usage
        How many bytes participants have made the server store.
    imports, unfinished
        Import of answers, and new studies that are written in several transactions.
    leases, snapshots
        Which process owns a study's learner, and saved learners.

    Raises
    ------
    StoreError
        From every method, if the database cannot be used; the message says what to do.

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
    'This question has already been answered; the first answer counts.'
    [(0, 1, 2)]
    """

    def __init__(self, location: Pathlike, clock: Clock = now) -> None:
        self._database, self._clock = open_database(location), clock
        super().__init__(self._database, clock)
        # Leases, like `check`, must not wait for requests that use all other connections.
        self.leases = Leases(self._database.aside, clock)

    def transact(self, work: Callable[[Transaction], R]) -> R:
        """Call ``work(transaction)`` and return its result once everything is on disk; an exception undoes everything.

        The function may be called a second time, when another write in the same group commit fails. It must therefore
        change nothing outside the transaction. It should be short, because on SQLite nobody else can write meanwhile.
        """

        def run(connection: Connection) -> R:
            return work(Transaction(connection, self._clock))

        return self._database.write(run)

    def check(self) -> None:
        """Raise `Unavailable` unless the database responds, its files are in place, and the last write succeeded."""
        self._database.check()
        with self._database.aside.reading() as connection:
            connection.execute(select(1))

    def recover(self) -> bool:
        """Continue or undo what processes that ended have left unfinished: imports, new studies and deletions.

        Each call does a part of it that takes a short time, and returns whether there is more to do.
        """
        deleted, moved = self.unfinished.recover(), self.imports.recover()
        return deleted or moved

    def tend(self) -> None:
        """Look after the database; a server calls this every few seconds.

        After a start and after a failed write, this tries to write. It also notes the numbers of the last answers in a
        file next to an SQLite database, so that the next start notices if answers are missing.
        """
        self._database.tend()

    def check_room(self, n_bytes: int) -> None:
        """Raise `NoRoom` if an upload of ``n_bytes`` would leave too little space for answers on the disk."""
        self._database.read(partial(check_room, n_bytes=n_bytes))

    def back_up(self, path: Pathlike) -> None:
        """Copy an SQLite database to a file as it is at one moment; others can write meanwhile."""
        self._database.back_up(path)

    def close(self) -> None:
        """Close all connections; the store can no longer be used."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
