"""A quick check of an SQLite file when it is opened. `erkle check` does the complete one.

The check takes at most two seconds, so it reads all of a small database and a part of a large one.
"""

import sqlite3
import threading
from pathlib import Path

from erkle.store.database.sqlite.log_file import HEADER, LOG, PAGE_HEADER
from erkle.store.errors import Damaged

# Seconds after which the check of the pages ends, whether it is complete or not.
SECONDS = 2.0


def check_soundness(connection: sqlite3.Connection, name: str) -> None:
    """Raise `Damaged` if the database is cut short or has damaged pages."""
    [page_size], [n_pages] = (connection.execute(f"PRAGMA {each}").fetchone() for each in ("page_size", "page_count"))
    # The last pages may still be in the log.
    n_in_file = Path(name).stat().st_size // page_size
    n_in_log = max(0, _size(name + LOG) - HEADER) // (page_size + PAGE_HEADER)
    if n_pages > n_in_file + n_in_log:
        raise Damaged(f"{name}: is cut short: {n_in_file:,} of {n_pages:,} pages are there; restore a backup.")
    if (finding := _finding(connection)) is not None:
        raise Damaged(f"{name}: is damaged ({finding}); run erkle check, and restore a backup.")


def _size(path: str) -> int:
    file = Path(path)
    return file.stat().st_size if file.exists() else 0


def _finding(connection: sqlite3.Connection) -> str | None:
    """Return the first fault that SQLite finds in time, or None."""
    is_over = threading.Event()

    def end() -> None:
        is_over.set()
        connection.interrupt()

    timer = threading.Timer(SECONDS, end)
    timer.start()
    try:
        found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return None
    finally:
        timer.cancel()
    # A check that was interrupted may report faults that do not exist.
    return None if found == "ok" or is_over.is_set() else found.splitlines()[-1]
