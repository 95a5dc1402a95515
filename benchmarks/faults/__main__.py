"""``python -m benchmarks.faults``: let every fault happen, and write benchmarks/faults.md.

With names of classes as arguments, only these faults happen, and the table is only printed.
"""

import os
import sys
import time
from pathlib import Path

from benchmarks.faults.network import DroppedAndRepeated
from benchmarks.faults.postgresql import PostgresqlStopped
from benchmarks.faults.processes import (
    KilledInDeletion,
    KilledInFirstStart,
    KilledInImport,
    TwoServers,
    WorkerStopped,
)
from benchmarks.faults.resources import ClockJumps, FewHandles, LittleMemory
from benchmarks.faults.storage import DamagedSnapshots, FilesCannotGrow, FolderRenamed, FullDisk, WalRemoved
from benchmarks.faults.trial import Outcome, run
from erkle.cli.screen import compile_first
from erkle.online import ERKLE

_FAULTS = (
    FullDisk(), FilesCannotGrow(), FolderRenamed(), WalRemoved(), DamagedSnapshots(),
    WorkerStopped(), TwoServers(), KilledInFirstStart(), KilledInImport(), KilledInDeletion(),
    PostgresqlStopped(), FewHandles(), LittleMemory(), ClockJumps(), DroppedAndRepeated(),
)  # fmt: skip
_ABOUT = """# The collection service on bad days

Measured by `make faults`. A real server runs while four participants answer through HTTP and send each answer again
until it is acknowledged. Then something breaks, and is mended after some seconds. *Lost* are acknowledged answers that
are not in the log at the end, *doubled* those that are there twice. The time to recover is that from the mend to the
next acknowledgement; it includes the start of a server that was killed. *Seen* is what participants got instead of an
acknowledgement, and how often; their page waits and sends again. At the end of each trial, `erkle check` must find no
problem, and the kernel must be that of a fresh replay of the log, to the last bit. The server and the participants
share {cores} cores of one machine.
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
    if not sys.argv[1:]:
        about = _ABOUT.format(cores=os.cpu_count())
        (Path(__file__).parents[1] / "faults.md").write_text(f"{about}\n{text}")
    sys.exit(not all(outcome.is_good for outcome in outcomes))


def _table(outcomes: list[Outcome]) -> str:
    head = "| fault | acknowledged | lost | doubled | seconds to recover | seen |\n|---|---|---|---|---|---|"
    return "\n".join([head, *map(_row, outcomes)]) + "\n"


def _row(outcome: Outcome) -> str:
    if outcome.is_skipped:
        return f"| {outcome.name} | | | | | {outcome.seen} |"
    seconds = "never" if outcome.seconds is None else f"{outcome.seconds:.1f}"
    counts = f"{outcome.acknowledged:,} | {outcome.lost} | {outcome.doubled} | {seconds}"
    return f"| {outcome.name} | {counts} | {'; '.join([outcome.seen, *outcome.problems])} |"


if __name__ == "__main__":
    main()
