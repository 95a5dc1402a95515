"""Whether a database can store something now, judged by the last write."""

from collections.abc import Iterator
from contextlib import contextmanager

from erkle.store.errors import Busy, Damaged, Unavailable


class Readiness:
    """What went wrong with the last write, and whether the database was found to be damaged.

    Parameters
    ----------
    is_shared : bool
        Whether a lock concerns only a part of the database, so that others can still write.
    """

    def __init__(self, is_shared: bool) -> None:
        self._is_shared = is_shared
        # Whether a write has succeeded since this object was created.
        self._is_proven = False
        self._trouble: Unavailable | None = None
        # Damage does not go away, even if other writes succeed.
        self._damage: Damaged | None = None

    @property
    def failed(self) -> bool:
        """Whether the last write failed and none has succeeded since."""
        return self._trouble is not None

    @property
    def is_doubtful(self) -> bool:
        """Whether the last write failed, or there has been none."""
        return self.failed or not self._is_proven

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Notice damage in this block."""
        try:
            yield
        except Damaged as damage:
            self._damage = damage
            raise

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Notice damage in this block, and whether its write succeeds."""
        try:
            with self.reading():
                yield
        except Unavailable as trouble:
            if not (self._is_shared and isinstance(trouble, Busy)):
                self._trouble = trouble
            raise
        self._trouble, self._is_proven = None, True

    def check(self) -> None:
        """Raise what went wrong, if the database is damaged or the last write failed."""
        trouble = self._damage or self._trouble
        if trouble is not None:
            raise type(trouble)(*trouble.args)
