"""How many bytes participants have made the server store in a study.

This counts joins, questions with their answers, and everything that is sent with them. Imports and media are not
counted, because researchers add them. Neither are refusals, which have a limit of their own.
"""

from sqlalchemy import Connection, bindparam, select, update

from erkle.store.database import rows, schema
from erkle.store.database.topics import Topic, reading

_T = schema.usage.c
_CHARGE = (
    update(schema.usage)
    .where(_T.study_id == bindparam("study"), _T.stored_bytes < bindparam("quota"))
    .values(stored_bytes=_T.stored_bytes + bindparam("n_bytes"))
)
# The largest number that the column accepts, for callers without a quota.
_NO_QUOTA = 2**53


class Usage(Topic):
    """How many bytes participants have made the server store."""

    @reading
    def get(self, study: str) -> int:
        """Return the number of bytes of a study."""
        number = rows.study(self.connection, study)["id"]
        return int(self.connection.execute(select(_T.stored_bytes).where(_T.study_id == number)).scalar_one())


def charge(connection: Connection, study_number: int, n_bytes: int, quota: int | None) -> bool:
    """Add bytes to a study, unless its quota is used up, and return whether they were added.

    The caller has locked the study, given the number of its row. The last bytes may exceed the quota.
    """
    values = {"study": study_number, "n_bytes": n_bytes, "quota": _NO_QUOTA if quota is None else quota}
    return connection.execute(_CHARGE, values).rowcount == 1
