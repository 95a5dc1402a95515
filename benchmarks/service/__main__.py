"""``python -m benchmarks.service``: measure everything, and write benchmarks/service.md.

With ``kill``, ``open``, ``closed``, ``import`` or ``attack`` as arguments it measures and prints only these parts.
"""

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarks.service.attacking import SENDING, SILENT, SLOW, attack
from benchmarks.service.importing import waits_during_import
from benchmarks.service.killing import kill_and_check
from benchmarks.service.load import Waits, closed_loop, open_loop
from benchmarks.service.serving import Serving

# The open loop: participants, answers per second, and seconds.
_PARTICIPANTS, _RATE, _SECONDS = 200, 50.0, 600.0
# The attack: seconds, and the most milliseconds that 95 % of the answers may wait.
_ATTACKED_SECONDS, _MOST_WAITING = 120.0, 250.0
# Answers that are imported, and seconds of answering meanwhile.
_IMPORTED, _IMPORT_SECONDS = 100_000, 120.0
# The closed loop: clients, and answers.
_CLIENTS, _ANSWERS = 16, 50_000
# Waits are compared between this answer and the end; medians are taken over 500 answers on each side.
_EARLY, _AROUND = 1000, 500
_KILLS = 100

T = TypeVar("T")


def killed() -> str:
    """Whether every acknowledged answer survives 100 kills."""
    seen = kill_and_check(_KILLS)
    return f"""## kill -9

{seen.clients} clients answer without pause. The server is killed {seen.kills} times, each time at a random
moment within a second of its start.

| | |
|---|---|
| acknowledged answers | {seen.acknowledged:,} |
| lost | {seen.kept.lost} |
| twice in the log | {seen.kept.twice} |
| altered | {seen.kept.altered} |
| the kernel equals that of a fresh replay of the log, to the last bit | {"yes" if seen.same_kernel else "NO"} |
"""


def opened() -> str:
    """Waits at a fixed rate of answers, however fast the server is."""
    waits = _served(lambda serving: open_loop(serving, _PARTICIPANTS, _RATE, _SECONDS))
    return f"""## Open loop

{_PARTICIPANTS} participants give {_RATE:.0f} answers per second in total for {_SECONDS / 60:.0f} minutes. Questions are
adaptive, about 100 objects. A wait lasts from the moment when an answer is due to the reply, which acknowledges the
answer and contains the next question.

{_table(_quantiles(waits))}"""


def attacked() -> str:
    """Waits at a fixed rate of answers while somebody sends as many expensive requests as they can."""

    def measure(serving: Serving) -> tuple[Waits, Counter[int]]:
        with attack(serving) as seen:
            waits = open_loop(serving, _PARTICIPANTS, _RATE, _ATTACKED_SECONDS)
        return waits, seen

    waits, seen = _served(measure, limited=True)
    if waits.at(0.95) > _MOST_WAITING:
        sys.exit(f"Under attack, 5 % of the answers waited more than {waits.at(0.95):.0f} ms ({dict(seen)}).")
    row = {**_quantiles(waits), "requests of the attacker": f"{seen.total():,}", "refused": f"{_refused(seen):.1%}"}
    return f"""## Attack from one address

The same participants, each at an address of their own, give {_RATE:.0f} answers per second in total for
{_ATTACKED_SECONDS / 60:.0f} minutes. From another address, an attacker with an account sends the most expensive
requests (`benchmarks/service/attacking.py`) as fast as possible, each kind on {SENDING} connections. The attacker also
keeps {SILENT} silent connections open, and {SLOW} on which the body of a request arrives byte by byte. The 95 %
quantile must be below {_MOST_WAITING:.0f} ms.

{_table(row)}"""


def imported() -> str:
    """Waits at a fixed rate of answers while a researcher imports many answers into another study."""
    waits, seconds = _served(
        lambda serving: waits_during_import(serving, _IMPORTED, _PARTICIPANTS, _RATE, _IMPORT_SECONDS), limited=True
    )
    row = {**_quantiles(waits), "seconds of the import": f"{seconds:.1f}"}
    return f"""## Import into another study

The same participants, each at an address of their own, answer for {_IMPORT_SECONDS / 60:.0f} minutes. After five
seconds, a researcher imports {_IMPORTED:,} answers into another study.

{_table(row)}"""


def _quantiles(waits: Waits) -> dict[str, str]:
    return {
        "answers": f"{len(waits.ms):,}",
        **{name: f"{waits.at(share):.1f} ms" for name, share in (("median", 0.5), ("p95", 0.95), ("p99", 0.99))},
        "longest": f"{waits.at(1.0):.0f} ms",
        "failures": str(waits.failures),
    }


def _refused(seen: Counter[int]) -> float:
    return 1 - (seen[200] + seen[206]) / max(seen.total(), 1)


def closed() -> str:
    """The largest rate of answers, and whether waits grow with the log."""
    waits = _served(lambda serving: closed_loop(serving, _CLIENTS, _ANSWERS))
    early = waits._replace(ms=waits.ms[_EARLY - _AROUND : _EARLY + _AROUND]).at(0.5)
    late = waits._replace(ms=waits.ms[-2 * _AROUND :]).at(0.5)
    row = {
        "answers": f"{len(waits.ms):,}",
        "answers per second": f"{waits.rate:.0f}",
        "median wait": f"{waits.at(0.5):.1f} ms",
        "p99": f"{waits.at(0.99):.1f} ms",
        "failures": str(waits.failures),
        f"median around answer {_EARLY:,}": f"{early:.1f} ms",
        f"median of the last {2 * _AROUND:,}": f"{late:.1f} ms",
        "ratio": f"{late / early:.2f}",
    }
    return f"""## Closed loop

{_CLIENTS} clients answer as soon as they have the next question, about 100 objects. Every commit is flushed to disk.

{_table(row)}"""


def _table(row: dict[str, str]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (row, ["---"] * len(row), row.values())) + "\n"


def _served(measure: Callable[[Serving], T], limited: bool = False) -> T:
    with tempfile.TemporaryDirectory() as folder:
        serving = Serving(Path(folder), limited=limited)
        serving.start()
        try:
            return measure(serving)
        finally:
            serving.stop()


_PARTS = {"kill": killed, "open": opened, "closed": closed, "import": imported, "attack": attacked}


def main() -> None:
    wanted = sys.argv[1:] or list(_PARTS)
    if unknown := [name for name in wanted if name not in _PARTS]:
        sys.exit(f"There is no part {unknown[0]!r}; choose from {', '.join(_PARTS)}.")
    sections = []
    for name in wanted:
        sections.append(_PARTS[name]())
        print(sections[-1], flush=True)
    if not sys.argv[1:]:
        about = (
            "# The collection service under kill -9 and under load\n\n"
            f"Measured by `make load`. The server and the clients share {os.cpu_count()} cores of one machine. "
            "Clients are threads of one Python process.\n"
        )
        (Path(__file__).parents[1] / "service.md").write_text("\n".join([about, *sections]))


if __name__ == "__main__":
    main()
