"""Write answers to a Parquet or Arrow file, with the names of the objects as text."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erkle.arrow_files import import_pyarrow
from erkle.files import file_name, write_atomically
from erkle.triplets.arrow.formats import PARQUET
from erkle.triplets.labels import PARTS


def write_arrow(path: str | os.PathLike[str], T: NDArray[np.int64], names: Sequence[str]) -> None:
    """Write rows of ids with their names, atomically; the end of the path says whether as Parquet or Arrow."""
    pyarrow = import_pyarrow(file_name(path))
    texts = pyarrow.array(names, pyarrow.string())
    columns = [pyarrow.DictionaryArray.from_arrays(column.astype(np.int32), texts) for column in T.T]
    table = pyarrow.table(columns, names=list(PARTS))
    with write_atomically(path) as file:
        if Path(path).suffix.lower() in PARQUET:
            pyarrow.parquet.write_table(table, file)
        else:
            with pyarrow.ipc.new_file(file, table.schema) as sink:
                sink.write_table(table, max_chunksize=1 << 16)
