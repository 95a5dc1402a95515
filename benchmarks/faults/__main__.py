"""``python -m benchmarks.faults``: let every fault happen, and write benchmarks/faults.md.

With names of classes as arguments, only these faults happen, and the table is only printed. The file is not written if
a trial fails, or if anything is lost or doubled.
"""

import os
import sys
import time
from pathlib import Path

from benchmarks.faults.kills import KilledInDeletion, KilledInFirstStart, KilledInImport
from benchmarks.faults.network import DroppedAndRepeated
from benchmarks.faults.patches import ClockJumps, LearningFails
from benchmarks.faults.postgresql import ConnectionsEnded, PostgresqlStopped, StatementsCancelled, StudyLocked
from benchmarks.faults.processes import StoppedWhileCompiling, TwoServers, WorkerStopped
from benchmarks.faults.resources import FewHandles, LittleMemory
from benchmarks.faults.starts import BytesFlipped, CutInHalf, Emptied, LittleMemoryAtStart, PagesZeroed
from benchmarks.faults.storage import (
    DamagedSnapshots,
    FileMovedAway,
    FilesCannotGrow,
    FilesImmutable,
    FolderRenamed,
    FullDisk,
    ShmImmutable,
    ShmRemoved,
    WalRemoved,
)
from benchmarks.faults.trial import Outcome, run
from erkle.cli.screen import compile_first
from erkle.online import ERKLE

_FAULTS = (
    FullDisk(), FilesCannotGrow(), FilesImmutable(), ShmImmutable(), FolderRenamed(), FileMovedAway(),
    WalRemoved(), ShmRemoved(), DamagedSnapshots(),
    CutInHalf(), PagesZeroed(), Emptied(), BytesFlipped(), LittleMemoryAtStart(),
    WorkerStopped(), TwoServers(), StoppedWhileCompiling(),
    KilledInFirstStart(), KilledInImport(), KilledInDeletion(),
    PostgresqlStopped(), StudyLocked(), StatementsCancelled(), ConnectionsEnded(),
    FewHandles(), LittleMemory(), LearningFails(), ClockJumps(), DroppedAndRepeated(),
)  # fmt: skip
_FILE = Path(__file__).parents[1] / "faults.md"
_ABOUT = """# The collection service on bad days

Measured by `make faults`. A real server runs while four participants answer through HTTP and send each answer again
until it is acknowledged. Then something breaks, and is mended after some seconds. *Lost* are acknowledged answers that
are not in the log at the end or are different there, *doubled* those that are there twice. The time to recover is that
from the mend to the next acknowledgement; it includes the start of a server that was killed. *Seen* is what
participants got instead of an acknowledgement, and how often; their page waits and sends again. After the semicolon is
what researchers and operators saw. At the end of each trial, `erkle check` must find no problem, and the kernel must be
that of a fresh replay of the log, to the last bit. The server and the participants share {cores} cores of one machine.
"""


def main() -> None:
    faults = {type(fault).__name__: fault for fault in _FAULTS}
    wanted = sys.argv[1:] or list(faults)
    if unknown := [name for name in wanted if name not in faults]:
        sys.exit(f"There is no fault {unknown[0]!r}; choose from {', '.join(faults)}.")
    # Servers must not compile while the participants wait.
    compile_first(ERKLE(3))
    begun, outcomes = time.monotonic(), list[Outcome]()
    for number, name in enumerate(wanted, 1):
        outcomes.append(run(faults[name]))
        print(f"{number} of {len(wanted)}: {_row(outcomes[-1])}", flush=True)
    text = _table(outcomes)
    print(f"\n{text}\nAll faults took {(time.monotonic() - begun) / 60:.1f} minutes.")
    if n_bad := sum(not outcome.is_good for outcome in outcomes):
        sys.exit(f"{n_bad} of {len(outcomes)} faults did harm or could not be measured; no table is written.")
    if not sys.argv[1:]:
        about = _ABOUT.format(cores=os.cpu_count())
        _FILE.write_text(f"{about}\n{text}")


def _table(outcomes: list[Outcome]) -> str:
    head = "| fault | acknowledged | lost | doubled | seconds to recover | seen |\n|---|---|---|---|---|---|"
    return "\n".join([head, *map(_row, outcomes)]) + "\n"


def _row(outcome: Outcome) -> str:
    # Without line ends and bars, which would end the cell.
    seen = " ".join("; ".join([outcome.seen, *outcome.problems]).replace("|", "/").split())
    if (kept := outcome.kept) is None:
        return f"| {outcome.name} | | | | | {seen} |"
    seconds = "never" if outcome.seconds is None else f"{outcome.seconds:.1f}"
    counts = f"{outcome.acknowledged:,} | {kept.lost + kept.altered} | {kept.twice} | {seconds}"
    return f"| {outcome.name} | {counts} | {seen} |"


if __name__ == "__main__":
    main()
