"""How many objects a study has: what its row says, unless its objects say otherwise.

Either may have been changed by hand. To look the last object up is quick; where it does not fit, they are counted.
"""

from typing import Any

from sqlalchemy import Connection, ScalarSelect, func, select

from erkle.store import schema

__all__ = ["last_object", "n_objects"]

_T = schema.objects.c


def last_object(study: Any) -> ScalarSelect[Any]:
    """The greatest number of an object of a study, as a part of a query."""
    return select(func.max(_T.number)).where(_T.study_id == study).scalar_subquery()


def n_objects(connection: Connection, study: int, told: Any, last: Any) -> int:
    """How many objects there are, given what is told and the greatest number of one."""
    if type(told) is not int or told - 1 != last:
        there: int = connection.execute(select(func.count()).where(_T.study_id == study)).scalar_one()
        # Some may have been deleted, but hardly most of them.
        return told if type(told) is int and there <= told <= 2 * there else there
    return told
