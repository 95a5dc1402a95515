"""Rows that somebody has changed by hand: every value that is read is of its type, whatever lies in the database.

So one row never ends a list, an export or the learning. SQLite keeps a text in a column of numbers and takes any text
for JSON; PostgreSQL refuses both.
"""

import json
import math
from enum import StrEnum
from typing import Any, TypeVar

from erkle.store.sanitising import Json, bounded_text, cleaned

__all__ = ["data", "json_object", "member", "moment", "number", "roster", "text"]

Member = TypeVar("Member", bound=StrEnum)

_SHOWN = 500
# Above as many brackets something may lie deeper than it can be written again.
_BRACKETS = 20


def number(value: Any) -> int:
    """A whole number; -1 where there is none.

    >>> number(7), number("Paris")
    (7, -1)
    """
    return value if type(value) is int else -1


def member(value: Any, otherwise: Member) -> Member:
    """The member of an enumeration that has this value; another where none has."""
    return next((each for each in type(otherwise) if each == value), otherwise)


def moment(value: Any) -> int:
    """Microseconds since 1970; 0 where there are none.

    >>> moment(1_700_000_000_000_000), moment("yesterday"), moment(-1)
    (1700000000000000, 0, 0)
    """
    return value if type(value) is int and 0 <= value < 2**62 else 0


def roster(value: Any) -> int:
    """How often the roster of a study has changed; -1 where nobody knows, so that it is like none before.

    >>> roster(2), roster("abc"), roster(-7)
    (2, -1, -1)
    """
    return value if type(value) is int and 0 <= value < 2**53 else -1


def data(value: Any) -> bytes | None:
    """Bytes; None where there are none.

    >>> data(b"PK"), data("PK"), data(7)
    (b'PK', None, None)
    """
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else None


def text(value: Any) -> str:
    r"""A text; of what is none, how Python writes it.

    >>> text("Lyon"), text(7), text(b"\xff")
    ('Lyon', '7', "b'\\xff'")
    """
    return value if isinstance(value, str) and "\0" not in value else bounded_text(value, _SHOWN)


def json_object(value: Any) -> Json:
    """The object that a text of JSON says; where it says none, the text as what is damaged.

    Whatever it is, it can be written as JSON again.

    >>> json_object('{"width": 1280}'), json_object("{not json"), json_object("[1]"), json_object(7)
    ({'width': 1280}, {'damaged': '{not json'}, {'damaged': '[1]'}, {'damaged': '7'})
    >>> json_object('{"a": NaN, "b": 1e999, "c": [[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]}')
    {'a': None, 'b': None, 'c': [[[[[[[[[[[[[[[[[[['[[[]]]']]]]]]]]]]]]]]]]]]]}
    """
    try:
        written = value.decode() if isinstance(value, bytes) else value
        found = _DECODER.decode(written)
    except (TypeError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return {"damaged": bounded_text(value, _SHOWN)}
    # Only these can hide half a surrogate pair, or a depth; to clean everything would take longer than to read it.
    is_odd = "\\u" in written or written.count("[") + written.count("{") > _BRACKETS
    return cleaned(found) if is_odd else found


def _number(written: str) -> float | None:
    return found if math.isfinite(found := float(written)) else None


def _whole(written: str) -> int | str:
    return int(written) if len(written) < 19 else cleaned(int(written))


_DECODER = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_number, parse_int=_whole)
