"""`python -m benchmarks.thousands`: the exact kernel with many objects, compared with an earlier commit in one run.

The tables are written to benchmarks/thousands.md. Both this code and the baseline use all cores.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.thousands import rules, tables
from benchmarks.thousands.processes import ROOT

# The last commit without the certified interior and buffered updates.
_BASELINE = "031949e"


def main() -> None:
    options = _options()
    parts = ["# Measured by `python -m benchmarks.thousands`", f"The baseline is commit {_BASELINE}."]
    with tempfile.TemporaryDirectory() as folder:
        _check_out(Path(folder))
        for part in _parts(options, Path(folder)):
            print(part + "\n", flush=True)
            parts.append(part)
    Path(__file__).parents[1].joinpath("thousands.md").write_text("\n\n".join(parts) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.thousands", description=__doc__)
    parser.add_argument("--turns", type=int, default=5, help="turns of the sizes up to 1,000; their median counts")
    parser.add_argument("--baseline", type=int, default=10_000, help="answers about 5,000 objects the baseline learns")
    parser.add_argument("--largest", type=int, default=20_000, help="objects of the largest kernel")
    return parser.parse_args()


def _check_out(folder: Path) -> None:
    archive = subprocess.run(["git", "archive", _BASELINE], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)


def _parts(options: argparse.Namespace, baseline: Path) -> Iterator[str]:
    yield tables.per_answer(options.turns, baseline)
    yield tables.forms(options.turns)
    yield tables.five_thousand(options.baseline, baseline)
    yield rules.batch_steps()
    yield rules.eigenpairs()
    yield tables.largest(options.largest)


if __name__ == "__main__":
    main()
