"""One trial: participants answer, something breaks and is mended, and the log is compared with what they were told."""

import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.service.comparing import Kept, compared, same_kernel
from benchmarks.service.participants import Participants
from benchmarks.service.serving import PASSWORD, Serving
from erkle.client import Client
from erkle.store import check_database

__all__ = ["LASTS", "Fault", "Outcome", "Skipped", "Trial", "in_words", "run", "signed_in", "wait_until"]

# Acknowledged answers before the fault.
_BEFORE = 40
# Seconds of answering after the recovery.
_AFTER = 2.0
# Seconds that most faults last.
LASTS = 4.0
# Seconds to wait for what must happen; many, because a busy machine compiles for minutes.
_PATIENCE = 600.0


class Skipped(Exception):
    """The machine does not allow the fault; the message says why."""


class Trial(NamedTuple):
    """A server under load, and the folder that contains its data folder."""

    serving: Serving
    participants: Participants
    folder: Path


class Fault:
    """Something that can break. Its class docstring is its name in the table."""

    @contextmanager
    def serving(self, folder: Path) -> Iterator[Serving]:
        """The server, before it is started."""
        yield Serving(folder / "data", n_objects=30, per_participant=30)

    def url(self, serving: Serving) -> str:
        """The address that participants use."""
        return serving.url

    def happen(self, trial: Trial) -> str:
        """Break something, call ``trial.participants.mend()``, mend it, and return a remark.

        An `AssertionError` says that the server did not do what it should, or that nothing broke.
        """
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What breaks, in a few words."""
        return (self.__doc__ or "").strip().rstrip(".")


class Outcome(NamedTuple):
    """What a fault did.

    Attributes
    ----------
    name : str
    seen : str
        What people saw, or why the trial was skipped or failed.
    acknowledged : int
    kept : Kept or None
        What is in the log; None if the trial was skipped or failed.
    seconds : float or None
        The time from the mend to the next acknowledgement; None if none came.
    problems : tuple of str
    """

    name: str
    seen: str
    acknowledged: int = 0
    kept: Kept | None = None
    seconds: float | None = None
    problems: tuple[str, ...] = ()
    is_skipped: bool = False

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost or doubled, and the server has recovered."""
        if self.kept is None:
            return self.is_skipped
        return (
            not (self.kept.lost or self.kept.altered or self.kept.twice or self.problems) and self.seconds is not None
        )


def run(fault: Fault) -> Outcome:
    """Let a fault happen."""
    with tempfile.TemporaryDirectory(prefix="erkle-fault-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        try:
            with fault.serving(folder) as serving:
                return _run(fault, serving, folder)
        except Skipped as skipped:
            return Outcome(fault.name, f"skipped: {skipped}", is_skipped=True)
        except Exception as error:
            # Any error: the other faults must still happen.
            traceback.print_exc()
            return Outcome(fault.name, f"FAILED: {type(error).__name__}: {error}")


def _run(fault: Fault, serving: Serving, folder: Path) -> Outcome:
    serving.start()
    participants = Participants(serving, fault.url(serving))
    participants.start()
    try:
        participants.until(_BEFORE)
        remark = fault.happen(Trial(serving, participants, folder))
        seconds = participants.seconds_to_recover()
        time.sleep(_AFTER)
        participants.end()
        is_same = same_kernel(serving, folder)
        serving.stop()
    except Exception:
        status, log = serving.process and serving.process.poll(), serving.log.read_text()[-5000:]
        print(f"The server (exit status {status}) wrote last:\n{log}", file=sys.stderr)
        raise
    finally:
        if serving.process is not None and serving.process.poll() is None:
            serving.kill()
        participants.end()
    if participants.errors:
        raise participants.errors[0]
    problems = [] if is_same else ["the kernel is not that of the log"]
    problems += check_database(serving.database).findings
    told, seen = participants.acknowledged, in_words(participants.seen)
    kept = compared(serving, told)
    return Outcome(
        fault.name, f"{seen}; {remark}" if remark else seen, len(told), kept, seconds, problems=tuple(problems)
    )


def in_words(seen: Counter[str]) -> str:
    """What participants saw, most frequent first."""
    return ", ".join(f"{what} ({count})" for what, count in seen.most_common(4)) or "nothing"


@contextmanager
def signed_in(serving: Serving) -> Iterator[Client]:
    """A researcher who does not try again."""
    with Client(serving.url, timeout=60.0, retry_for=0.0) as client:
        client.login("ann", PASSWORD)
        yield client


def wait_until(is_so: Callable[[], bool], sentence: str) -> float:
    """Wait until something is so, and return how many seconds it took; fail with the sentence after a long time."""
    begun = time.monotonic()
    while not is_so():
        assert time.monotonic() < begun + _PATIENCE, sentence
        time.sleep(0.05)
    return time.monotonic() - begun
