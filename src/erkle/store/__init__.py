"""Answers, append-only: what was acknowledged is on the disk, and stays there.

`Store` keeps studies, participants, questions and answers in an SQLite file or in PostgreSQL. Its operations are sorted
by topic: ``store.studies.create(...)`` is a transaction of its own, and inside `Store.transact` the same method of the
transaction is part of it.

An answer is committed before it is acknowledged; exactly one counts for each question; and the answers of a study form
a log, numbered without gaps, of which everything that is learned is a fold. What does not count is kept too, with the
reason.
"""

from importlib.util import find_spec

if not (find_spec("sqlalchemy") and find_spec("alembic")):
    raise ImportError("erkle.store needs SQLAlchemy and Alembic; pip install 'erkle[service]'.")

from erkle.store.accounts import Account, Link, Session
from erkle.store.answers import Acknowledged, Answer, Skip, Skipped
from erkle.store.database.checking import Report, check_database
from erkle.store.database.enumerations import Kind, Purpose, Reason, Standing, State
from erkle.store.errors import Full, NotAllowed, StoreError, Unavailable, Unknown
from erkle.store.importing import Imported, Whole
from erkle.store.learners import Snapshot
from erkle.store.media import Medium
from erkle.store.participants import Participant
from erkle.store.questions import Entry, Issued, Query
from erkle.store.refusals import Refused
from erkle.store.store import Store, Transaction
from erkle.store.studies import Counts, Object, Study

__all__ = [
    "Account", "Acknowledged", "Answer", "Counts", "Entry", "Full", "Imported", "Issued", "Kind", "Link", "Medium",
    "NotAllowed", "Object", "Participant", "Purpose", "Query", "Reason", "Refused", "Report", "Session",
    "Skip", "Skipped", "Snapshot", "Standing", "State", "Store", "StoreError", "Study", "Transaction", "Unavailable",
    "Unknown", "Whole", "check_database",
]  # fmt: skip
