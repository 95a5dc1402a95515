"""The list of participants as a table: whom to pay, what their answers look like, and what is unusual about them."""

from collections.abc import Sequence
from typing import Any

from erkle.csv_files import csv_text
from erkle.service.dashboard.participants.rows import ParticipantRow
from erkle.service.exchange.cells import cell, iso
from erkle.service.exchange.members import common_parameters, parameter_cells, parameter_columns

_COLUMNS = (
    "puid", "code", "state", "excluded", "flagged", "answers", "skips", "minutes", "catch_asked", "catch_wrong",
    "median_ms", "too_fast", "left", "left_low", "left_high", "agreement", "consistency",
    "lapse", "lapse_low", "lapse_high", "marks", "participant", "joined_at", "last_at",
)  # fmt: skip


def participants_csv(rows: Sequence[ParticipantRow]) -> str:
    """Return a CSV with a row for each participant, in the order in which they joined."""
    common = common_parameters(row.parameters for row in rows)
    columns = [*_COLUMNS, *parameter_columns(common)]
    tables = ({**_row(row), **parameter_cells(row.parameters, common)} for row in rows)
    return csv_text(columns, ([cell(each.get(name)) for name in columns] for each in tables))


def _row(row: ParticipantRow) -> dict[str, Any]:
    left, lapse = row.left, row.lapse
    same = {name: value for name, value in row if name in _COLUMNS}
    return {
        **same,
        "left": left and left.share,
        "left_low": left and left.low,
        "left_high": left and left.high,
        "lapse": lapse and lapse.rate,
        "lapse_low": lapse and lapse.low,
        "lapse_high": lapse and lapse.high,
        "marks": "; ".join(f"{mark.kind}: {mark.sentence}" for mark in row.marks),
        "participant": row.number,
        "joined_at": iso(row.joined_at * 1000),
        "last_at": None if row.last_at is None else iso(row.last_at * 1000),
    }
