"""What the store cannot do, in one sentence."""


class StoreError(ValueError):
    """A database that cannot be used, or a value that it cannot hold; the text says what to do.

    Examples
    --------
    >>> raise StoreError("answers.db: the disk is full; free some space.")
    Traceback (most recent call last):
    erkle.store.errors.StoreError: answers.db: the disk is full; free some space.
    """


class Unknown(StoreError, LookupError):
    """There is no such study or participant."""


class NotAllowed(StoreError):
    """Something that the state of a study or of a participant does not allow."""


class Full(NotAllowed):
    """A study that has as many participants as it takes."""


class Unavailable(StoreError):
    """A database that cannot be used now: its disk is full, say. Nothing has changed, and one may try again."""
