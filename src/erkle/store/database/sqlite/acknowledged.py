"""The numbers of the last answers of all studies, in a file next to an SQLite database.

A server writes the file now and then, and not with each answer. If somebody removes a part of the database while no
server is running, or kills a server whose log was removed, the next start finds in this file that answers are missing.
Otherwise their numbers would be given to other answers.
"""

import json
from pathlib import Path

from sqlalchemy import Connection, func, inspect, select, text

from erkle.files import write_atomically
from erkle.store.database import schema
from erkle.store.database.sqlite.files import ACKNOWLEDGED


class AcknowledgedAnswers:
    """The file next to a database, as it was when this object was created.

    Parameters
    ----------
    name : str
        The path of the database.
    """

    def __init__(self, name: str) -> None:
        self._path = Path(name + ACKNOWLEDGED)
        self._noted: dict[str, int] | None = None
        # Whether the file is there, but cannot be read.
        self._is_damaged = False
        # Read before the database, because a running server may write both meanwhile.
        self._found = self._read()

    def note(self, connection: Connection) -> None:
        """Write the numbers of the last answers to the file, if they have changed."""
        found = _last_numbers(connection)
        if found == self._noted:
            return
        with write_atomically(self._path) as file:
            Path(file.name).chmod(0o600)
            file.write(json.dumps({"last_answers": found}).encode())
        self._noted = found

    def missing(self, connection: Connection) -> str | None:
        """Say what is missing in the database, or return None."""
        if self._is_damaged:
            return (
                f"{self._path.name} next to it has the numbers of acknowledged answers and cannot be read; run erkle "
                f"check, and delete {self._path} to continue"
            )
        if self._found is None:
            return None
        if not inspect(connection).has_table(schema.studies.name):
            return f"is empty, but a server has used it before; {self._remedy('start anew')}"
        # Numbers of studies are never used again: a study that is not there was deleted, unless its number is new.
        newest = text("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'studies'")
        found, last = _last_numbers(connection), connection.execute(newest).scalar_one()
        missing = {
            study: number - found.get(study, 0)
            for study, number in self._found.items()
            if (number > found[study] if study in found else int(study) > last)
        }
        if not missing:
            return None
        return (
            f"{sum(missing.values()):,} acknowledged answers of {len(missing):,} studies are missing; "
            f"{self._remedy('continue without them')}"
        )

    def _read(self) -> dict[str, int] | None:
        """Return the noted number for each study; None without a file, or if it is damaged."""
        try:
            if not self._path.exists():
                return None
            # Reading a pipe would never end.
            noted = json.loads(self._path.read_bytes() if self._path.is_file() else b"")["last_answers"]
            return {str(int(study)): int(number) for study, number in noted.items()}
        except Exception:
            # Whatever is wrong with it, nobody knows whether answers are missing.
            self._is_damaged = True
            return None

    def _remedy(self, otherwise: str) -> str:
        return f"restore its files or a backup, or delete {self._path} to {otherwise}"


def _last_numbers(connection: Connection) -> dict[str, int]:
    s, a = schema.studies.c, schema.answers.c
    # Studies that are being deleted lose their answers, and those that are being imported have none that matter yet.
    unfinished = select(schema.unfinished_studies.c.study_id)
    last = select(func.coalesce(func.max(a.sequence), 0)).where(a.study_id == s.id).scalar_subquery()
    return {
        str(study): number for study, number in connection.execute(select(s.id, last).where(s.id.not_in(unfinished)))
    }
