"""One trial: participants answer, something breaks and is mended, and the log is compared with what they were told."""

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.faults.participants import Acknowledged, Participants
from benchmarks.service.killing import same_kernel
from benchmarks.service.serving import Serving
from erkle.store import Store, check_database

__all__ = ["Fault", "Outcome", "Skipped", "Trial", "run"]

# Acknowledged answers before the fault.
_BEFORE = 40
# Seconds of answering after the recovery.
_AFTER = 2.0
# Seconds that most faults last.
LASTS = 4.0


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
        """Break something, call ``trial.participants.mend()``, mend it, and return a remark."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What breaks, in a few words."""
        return (self.__doc__ or "").strip().rstrip(".")


class Outcome(NamedTuple):
    """What a fault did: ``seconds`` is the time from the mend to the next acknowledgement."""

    name: str
    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0
    seconds: float | None = None
    seen: str = ""
    problems: tuple[str, ...] = ()
    is_skipped: bool = False

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost or doubled, and the server has recovered."""
        return self.is_skipped or not (self.lost or self.doubled or self.problems or self.seconds is None)


def run(fault: Fault) -> Outcome:
    """Let a fault happen."""
    with tempfile.TemporaryDirectory(prefix="erkle-fault-") as temporary:
        folder = Path(temporary)
        try:
            with fault.serving(folder) as serving:
                return _run(fault, serving, folder)
        except Skipped as skipped:
            return Outcome(fault.name, seen=f"skipped: {skipped}", is_skipped=True)
        except (AssertionError, RuntimeError) as error:
            return Outcome(fault.name, problems=(str(error),))


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
    finally:
        participants.end()
        if serving.process is not None and serving.process.poll() is None:
            serving.kill()
    seen = [f"{what} ({count})" for what, count in participants.seen.most_common(4)]
    seen = [*seen, remark] if remark else seen
    problems = [] if is_same else ["the kernel is not that of the log"]
    problems += check_database(serving.database).findings
    lost, doubled = _compared(serving, participants.acknowledged)
    found = len(participants.acknowledged), lost, doubled, seconds, ", ".join(seen) or "nothing", tuple(problems)
    return Outcome(fault.name, *found)


def _compared(serving: Serving, acknowledged: list[Acknowledged]) -> tuple[int, int]:
    """Count the acknowledged answers that are not in the log, and those that are there twice."""
    with Store(serving.database) as store:
        log = [Acknowledged(a.sequence, a.participant, a.token, a.near) for a in store.answers.log(serving.study)]
    saved = set(log)
    lost = sum(answer not in saved for answer in acknowledged)
    twice = [Counter(answer.token for answer in log), Counter(answer.sequence for answer in acknowledged)]
    return lost, sum(count - 1 for counts in twice for count in counts.values())
