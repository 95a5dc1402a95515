"""A stall: since when the model of a study has stood still because learning fails, why, and when to try again.

Answers are saved all the same. Researchers see the stall on the dashboard, operators see it in the metrics, and exports
that need the model are refused meanwhile.
"""

from datetime import UTC, datetime
from typing import NamedTuple, Self

from erkle.store import StoreError

# Seconds before the first new attempt; each further pause is twice as long.
FIRST_PAUSE = 5.0
# Seconds that a pause can last at most.
_LONGEST_PAUSE = 120.0
_KEEPS_TRYING = "All answers are saved, and the server keeps trying."


class Stall(NamedTuple):
    """Why learning fails, and since when.

    Attributes
    ----------
    since : int
        When the first attempt failed, in microseconds since 1970.
    reason : str
        ``database``, ``memory`` or ``error``.
    sentence : str
        The reason in words. It does not quote the error, which could contain personal data.
    sequence : int
        The number of the last answer that the model had learned by then.
    n_failures : int
        Failed attempts in a row for this reason.
    """

    since: int
    reason: str
    sentence: str
    sequence: int
    n_failures: int = 1

    @classmethod
    def of(cls, error: Exception, sequence: int, at: int) -> Self:
        """Describe an error."""
        match error:
            case StoreError():
                return cls(at, "database", "The database is not available; the server keeps trying.", sequence)
            case MemoryError():
                words = "The server has too little memory to learn the new answers; give it more."
                return cls(at, "memory", f"{words} {_KEEPS_TRYING}", sequence)
            case _:
                words = f"Learning fails with an unexpected error ({type(error).__name__}); see the server's log."
                return cls(at, "error", f"{words} {_KEEPS_TRYING}", sequence)

    def again(self, error: Exception) -> Self:
        """Describe the next failure of the same stall. The model still stands where it stood."""
        found = self.of(error, self.sequence, self.since)
        # The pauses grow only while the reason stays the same.
        return found._replace(n_failures=self.n_failures + 1) if found.reason == self.reason else found

    @property
    def pause(self) -> float:
        """Seconds to wait before the next attempt."""
        # The exponent is bounded, because 2 to the power of all failures of a month does not fit into a float.
        return float(min(_LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(self.n_failures - 1, 10)))

    def __str__(self) -> str:
        moment = datetime.fromtimestamp(self.since // 1_000_000, UTC)
        return f"The model has stood still since {moment:%Y-%m-%d %H:%M} UTC. {self.sentence}"
