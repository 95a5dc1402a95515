"""The numbers of answers: 1, 2, 3, ... in the order in which they were committed.

One that somebody has written by hand, and that is none, numbers nothing: its answer is in no log, and the next number
is still the one after the last.
"""

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, cast, func, select

from erkle.store import schema

__all__ = ["NUMBERED", "last_number"]

_A = schema.answers.c
# What every reader of JSON holds exactly.
_MOST = 2**53

# In SQLite texts are greater than all numbers, and what is no whole number differs from what it is cast to.
NUMBERED = (_A.sequence >= 1) & (_A.sequence <= _MOST) & (cast(_A.sequence, BigInteger) == _A.sequence)


def last_number(study: Any) -> ColumnElement[int]:
    """The last number of a study, or 0, as a part of a query: by the index alone, not through all answers."""
    numbers = select(_A.sequence).where(_A.study_id == study, NUMBERED).order_by(_A.sequence.desc())
    return func.coalesce(numbers.limit(1).scalar_subquery(), 0)
