"""``python -m benchmarks.service``: kill -9, the open loop and the closed loop, into benchmarks/service.md.

``kill``, ``open`` or ``closed`` as arguments run only these, and print them.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.service.killing import kill_and_check
from benchmarks.service.load import Waits, closed_loop, open_loop
from benchmarks.service.serving import Serving

_PARTICIPANTS, _RATE, _SECONDS = 200, 50.0, 600.0
_AT_ONCE, _ANSWERS, _EARLY, _AROUND = 16, 50_000, 1000, 500
_KILLS = 100


def killed() -> str:
    """The promise, with more kills than the tests have time for."""
    seen = kill_and_check(_KILLS)
    return f"""## kill -9

{seen.clients} clients answer without pause while the server is killed {seen.kills} times,
each at a random moment within a second of its start.

| | |
|---|---|
| acknowledged answers | {seen.acknowledged:,} |
| of these lost | {seen.lost} |
| in the log twice | {seen.twice} |
| altered | {seen.altered} |
| the kernel is that of a fresh fold of the log, to the last bit | {"yes" if seen.same_kernel else "NO"} |
"""


def opened() -> str:
    """Waits at a rate that does not care how the server does."""
    waits = _served(lambda serving: open_loop(serving, _PARTICIPANTS, _RATE, _SECONDS))
    row = {
        "answers": f"{len(waits.ms):,}",
        **{name: f"{waits.at(share):.1f} ms" for name, share in (("median", 0.5), ("p95", 0.95), ("p99", 0.99))},
        "longest": f"{waits.at(1.0):.0f} ms",
        "failures": str(waits.failures),
    }
    return f"""## Open loop

{_PARTICIPANTS} participants, {_RATE:.0f} answers a second in all for {_SECONDS / 60:.0f} minutes, adaptive questions
about 100 objects.
A wait is from when the answer was due to the reply, which acknowledges it and brings the next question.

{_table(row)}"""


def closed() -> str:
    """The rate that is reached, and whether waits grow with the log."""
    waits = _served(lambda serving: closed_loop(serving, _AT_ONCE, _ANSWERS))
    early = waits._replace(ms=waits.ms[_EARLY - _AROUND : _EARLY + _AROUND]).at(0.5)
    late = waits._replace(ms=waits.ms[-2 * _AROUND :]).at(0.5)
    row = {
        "answers": f"{len(waits.ms):,}",
        "rate": f"{waits.rate:.0f} a second",
        "median wait": f"{waits.at(0.5):.1f} ms",
        "p99": f"{waits.at(0.99):.1f} ms",
        "failures": str(waits.failures),
        f"median around answer {_EARLY:,}": f"{early:.1f} ms",
        f"of the last {2 * _AROUND:,}": f"{late:.1f} ms",
        "ratio": f"{late / early:.2f}",
    }
    return f"""## Closed loop

{_AT_ONCE} clients, each of which answers as soon as it has the next question; 100 objects,
every commit flushed to the disk.

{_table(row)}"""


def _table(row: dict[str, str]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (row, ["---"] * len(row), row.values())) + "\n"


def _served(measure: Callable[[Serving], Waits]) -> Waits:
    with tempfile.TemporaryDirectory() as folder:
        serving = Serving(Path(folder))
        serving.start()
        try:
            return measure(serving)
        finally:
            serving.stop()


_PARTS = {"kill": killed, "open": opened, "closed": closed}


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
            f"Written by `make load`. Server and clients share {os.cpu_count()} cores of one machine; "
            "clients are threads of one Python process.\n"
        )
        (Path(__file__).parents[1] / "service.md").write_text("\n".join([about, *sections]))


if __name__ == "__main__":
    main()
