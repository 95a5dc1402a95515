"""Values as cells of a table, each on one line."""

import json
from datetime import UTC, datetime
from typing import Any

# Characters that programs may read as the end of a line, although JSON does not escape them.
_LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def cell(value: Any) -> str | int | float:
    """Return a value as a cell; nothing and an empty object are empty cells.

    >>> cell(True), cell(None), cell({"a": 1})
    ('true', '', '{"a": 1}')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return value
    return "" if value is None or value == {} else json_text(value)


def json_text(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).translate(_LINE_ENDS)


def one_line(text: str) -> str:
    """Return a text without line ends."""
    return " ".join(text.splitlines())


def iso(at: int) -> str:
    """Return a time in microseconds since 1970 as a date in UTC.

    >>> iso(1_500_000)
    '1970-01-01T00:00:01.500000+00:00'
    """
    moment = datetime.fromtimestamp(at // 1_000_000, UTC).replace(microsecond=at % 1_000_000)
    return moment.isoformat(timespec="microseconds")
