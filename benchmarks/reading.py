"""Time and memory of reading ten million answers about 1,000 objects: `python -m benchmarks.reading`."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from numpy.typing import NDArray

from benchmarks.data import markdown
from erkle import triplets

_N_ROWS, _N_FILES = 10_000_000, 10
# The largest memory that Linux reports to `resource` includes that of the program that started this one.
_READ = """
import resource, sys, time
from erkle.triplets import Reader

def most_kilobytes():
    if sys.platform == "linux":
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

reader = Reader(sys.argv[1])  # imports pyarrow, if it is needed
before, start = most_kilobytes(), time.perf_counter()
n = sum(len(chunk.triplets) for chunk in reader)
print(n, time.perf_counter() - start, most_kilobytes() - before)
"""
_NAMES = np.array([f"object {i}" for i in range(1000)])


def run() -> Iterator[str]:
    rows = [_row(*form) for form in _FORMS.items()]
    heading = ["file", "seconds", "million answers per second", "with the start of Python, s", "additional memory, MiB"]
    yield "## Reading\n\n" + markdown(heading, rows)


def _row(title: str, write: Callable[[Path], Path]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder))
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", _READ, path], capture_output=True, text=True, check=True)
        whole = time.perf_counter() - start
    n_rows, seconds, kilobytes = map(float, done.stdout.split())
    return [title, f"{seconds:.1f}", f"{n_rows / seconds / 1e6:.1f}", f"{whole:.1f}", f"{kilobytes / 1024:.0f}"]


def _answers() -> Iterator[NDArray[np.int64]]:
    for seed in range(_N_FILES):
        yield triplets.sample(1000, _N_ROWS // _N_FILES, seed)


def _csv(folder: Path) -> Path:
    path = folder / "answers.csv"
    with path.open("w") as file:
        for T in _answers():
            file.writelines(f"{a},{b},{c}\n" for a, b, c in T.tolist())
    return path


def _table(T: NDArray[np.int64]) -> pyarrow.Table:
    return pyarrow.table(list(T.T), names=["anchor", "near", "far"])


def _folder(folder: Path) -> Path:
    for number, T in enumerate(_answers()):
        pyarrow.parquet.write_table(_table(T), folder / f"part.{number}.parquet")
    return folder


def _row_group(folder: Path) -> Path:
    """One file with one row group, which is the hardest to read in bounded memory."""
    path, T = folder / "answers.parquet", np.concatenate(list(_answers()))
    pyarrow.parquet.write_table(_table(T), path, row_group_size=len(T))
    return path


def _sparse(folder: Path) -> Path:
    """Ids that are too large for a table, such as the keys of a database."""
    path = folder / "answers.parquet"
    ids = np.random.default_rng(0).integers(2**40, 2**60, 1000)
    pyarrow.parquet.write_table(_table(ids[np.concatenate(list(_answers()))]), path)
    return path


def _names(folder: Path) -> Path:
    path = folder / "answers.parquet"
    pyarrow.parquet.write_table(_table(_NAMES[np.concatenate(list(_answers()))]), path)
    return path


def _feather(folder: Path) -> Path:
    path = folder / "answers.arrow"
    with pyarrow.ipc.new_file(path, _table(_NAMES[:3][None, :]).schema) as file:
        for T in _answers():
            file.write_table(_table(_NAMES[T]), max_chunksize=1 << 16)
    return path


_FORMS = {
    "CSV": _csv,
    "Parquet, ids from 0 to 999, in ten files": _folder,
    "Parquet, the same ids, in one row group": _row_group,
    "Parquet, ids of 60 bits": _sparse,
    "Parquet, names": _names,
    "Arrow, names": _feather,
}

if __name__ == "__main__":
    print(*run(), sep="\n")
