"""`make bench`: measure speed, reading and errors, print the tables, and write them to benchmarks/results.md."""

import os

# One BLAS thread, because algorithms are compared. It must be set before a BLAS is loaded.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import platform
from pathlib import Path

import numba
import numpy
import scipy

from benchmarks import accuracy, batch, reading, speed


def main() -> None:
    versions = f"Python {platform.python_version()}, NumPy {numpy.__version__}, SciPy {scipy.__version__}"
    parts = [
        f"# Measured by `make bench`\n\n{versions}, Numba {numba.__version__}; one BLAS thread, on a shared machine."
    ]
    for benchmark in (speed, reading, accuracy, batch):
        for part in benchmark.run():
            print(part + "\n", flush=True)
            parts.append(part)
    Path(__file__).with_name("results.md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
