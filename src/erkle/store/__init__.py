"""The append-only store: an acknowledged answer is saved to disk and never changes.

`Store` keeps studies, participants, questions and answers in an SQLite file or in PostgreSQL. Its operations are
grouped by topic. A call such as ``store.studies.create(...)`` is a transaction of its own. To do several things in one
transaction, use `Store.transact`, which offers the same methods.

Each answer is committed before it is acknowledged, and exactly one answer counts for each question. The answers of a
study form a log, numbered without gaps, and learners read only this log. Answers that do not count are recorded with
the reason.
"""

from importlib.util import find_spec

if not (find_spec("sqlalchemy") and find_spec("alembic")):
    raise ImportError("erkle.store needs SQLAlchemy and Alembic; pip install 'erkle[service]'.")

from erkle.store.accounts import Account, Link, Session
from erkle.store.answers import Acknowledged, Answer, Skip, Skipped
from erkle.store.database.checking import Report, check_database
from erkle.store.database.enumerations import Kind, Purpose, Reason, Standing, State
from erkle.store.errors import Full, NoRoom, NotAllowed, StoreError, Unavailable, Unknown
from erkle.store.imports.rows import Imported
from erkle.store.imports.unfinished import ImportedStudy
from erkle.store.learners import Snapshot
from erkle.store.media import Medium
from erkle.store.objects import Replaced
from erkle.store.participants import Participant
from erkle.store.questions import Entry, Issued, Query
from erkle.store.refusals import Refused
from erkle.store.store import Store, Transaction
from erkle.store.studies import Counts, Object, Study

__all__ = [
    "Account", "Acknowledged", "Answer", "Counts", "Entry", "Full", "Imported", "ImportedStudy", "Issued", "Kind",
    "Link", "Medium", "NoRoom", "NotAllowed", "Object", "Participant", "Purpose", "Query", "Reason", "Refused",
    "Replaced", "Report", "Session", "Skip", "Skipped", "Snapshot", "Standing", "State", "Store", "StoreError", "Study",
    "Transaction", "Unavailable", "Unknown", "check_database",
]  # fmt: skip
