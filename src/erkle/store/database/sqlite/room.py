"""Free space on the disk of an SQLite database. Uploads leave some of it, so that answers can still be saved."""

import shutil
from pathlib import Path

from sqlalchemy import Connection

from erkle.store.errors import NoRoom

# Bytes that uploads leave free: enough for some 100,000 answers, with their log.
_RESERVE = 200_000_000
# The most that is left free on a small disk, as a share of it.
_SHARE = 0.05
# Bytes up to which an upload is treated like an answer.
_SMALL = 1_000_000
# An upload is written to the log first, and then to the database.
_COPIES = 2


def check_room(connection: Connection, n_bytes: int) -> None:
    """Raise `NoRoom` if an upload of ``n_bytes`` would leave too little space; on PostgreSQL, nobody can know."""
    if connection.dialect.name != "sqlite" or n_bytes <= _SMALL:
        return
    disk, needed = shutil.disk_usage(Path(str(connection.engine.url.database)).parent), _COPIES * n_bytes
    reserve = min(_RESERVE, _SHARE * disk.total)
    if disk.free < needed + reserve:
        raise NoRoom(
            f"The disk of the database has {disk.free / 1e6:,.0f} MB left. This upload needs {needed / 1e6:,.0f} MB, "
            f"and {reserve / 1e6:,.0f} MB are kept for answers; free some space."
        )


def is_full(name: str) -> bool:
    """Return whether the disk of a database is full, though a very small write may still fit."""
    return shutil.disk_usage(Path(name).parent).free < _SMALL
