"""Errors of the store; the message says in a sentence or two what is wrong and what to do."""


class StoreError(ValueError):
    """The database cannot be used, or it cannot hold a value.

    Examples
    --------
    >>> raise StoreError("answers.db: the disk is full; free some space.")
    Traceback (most recent call last):
    erkle.store.errors.StoreError: answers.db: the disk is full; free some space.
    """


class Unknown(StoreError, LookupError):
    """There is no such study, participant, account or medium."""


class NotAllowed(StoreError):
    """The current state of a study, a participant or an account does not allow this."""


class NotOpen(NotAllowed):
    """The study is not open, so nobody can join it."""


class Full(NotAllowed):
    """The study has its maximum number of participants."""


class OverQuota(NotAllowed):
    """Participants have made the server store as many bytes in the study as they may."""


class Unavailable(StoreError):
    """The database cannot be used now, for example because the disk is full. Nothing has changed; try again later."""


class Busy(Unavailable):
    """Others use the database: a lock or a connection was not free in time. Nothing has changed; try again soon."""


class Damaged(Unavailable):
    """The database is damaged. Waiting does not help; restore a backup."""


class NoRoom(StoreError):
    """The disk has too little free space for an upload. The rest is kept for answers."""
