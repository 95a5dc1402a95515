"""Rows that somebody has changed by hand: every value that is read is of its type, whatever lies in the database.

So one row never ends a list, an export or the learning. SQLite keeps a text in a column of numbers and takes any text
for JSON; PostgreSQL refuses both.
"""

import json
from typing import Any

from erkle.store.outside import Json, bounded_text

__all__ = ["json_object", "moment", "number", "text"]

_SHOWN = 500


def number(value: Any) -> int:
    """A whole number; -1 where there is none.

    >>> number(7), number("Paris")
    (7, -1)
    """
    return value if type(value) is int else -1


def moment(value: Any) -> int:
    """Microseconds since 1970; 0 where there are none.

    >>> moment(1_700_000_000_000_000), moment("yesterday"), moment(-1)
    (1700000000000000, 0, 0)
    """
    return value if type(value) is int and 0 <= value < 2**62 else 0


def text(value: Any) -> str:
    r"""A text; of what is none, how Python writes it.

    >>> text("Lyon"), text(7), text(b"\xff")
    ('Lyon', '7', "b'\\xff'")
    """
    return value if isinstance(value, str) else bounded_text(value, _SHOWN)


def json_object(value: Any) -> Json:
    """The object that a text of JSON says; where it says none, the text as what is damaged.

    >>> json_object('{"width": 1280}'), json_object("{not json"), json_object("[1]"), json_object(7)
    ({'width': 1280}, {'damaged': '{not json'}, {'damaged': '[1]'}, {'damaged': '7'})
    """
    try:
        found = json.loads(value)
    except (TypeError, ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"damaged": bounded_text(value, _SHOWN)}
