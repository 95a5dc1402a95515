"""Answers as a Parquet file: the columns of ``answers.csv``, as numbers, times and text.

It is written in pieces, so that memory use does not grow with the study.
"""

from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO

from erkle.arrow_files import import_pyarrow
from erkle.service.exchange.cells import cell
from erkle.service.exchange.exporting import answer_table
from erkle.store import Store, Study

_TYPES = {
    **dict.fromkeys(("head", "left", "right", "winner", "loser"), "int64"),
    **dict.fromkeys(("sequence", "participant", "position", "response_ms"), "int64"),
    **dict.fromkeys(("response_time", "time_received", "time_received_since_start"), "float64"),
    **dict.fromkeys(("datetime_received", "issued_at", "answered_at"), "time"),
    "excluded": "bool",
}
# Rows in a row group.
_GROUP = 10_000


def answers_parquet(store: Store, study: Study, file: BinaryIO) -> None:
    """Write the answers of a study to an open file; answers of excluded participants are marked."""
    pyarrow = import_pyarrow("answers.parquet")
    columns, rows = answer_table(store, study)
    types = {"time": pyarrow.timestamp("us", tz="UTC")}
    kinds = {name: _TYPES.get(name, "string") for name in columns}
    schema = pyarrow.schema([(name, types.get(kind, kind)) for name, kind in kinds.items()])
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        while piece := list(islice(rows, _GROUP)):
            arrays = [
                pyarrow.array([_value(row, field.name, kinds[field.name]) for row in piece], field.type)
                for field in schema
            ]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))


def _value(row: Mapping[str, Any], name: str, kind: str) -> Any:
    """A value of a row for a column of this kind; None if it is empty."""
    value = row.get(name)
    if kind == "time":
        return datetime.fromisoformat(row[name])
    if kind == "string":
        # A text from a browser may have half a surrogate pair.
        return str(cell(value)).encode("utf-8", "replace").decode() or None
    return value
