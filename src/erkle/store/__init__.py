"""Answers, append-only: what was acknowledged is on the disk, and stays there.

`Store` keeps studies, participants, questions and answers in an SQLite file or in PostgreSQL. An answer is committed
before it is acknowledged; exactly one counts for each question; and the answers of a study form a log, numbered without
gaps, of which everything that is learned is a fold. What does not count is kept, too, with the reason.
"""

from importlib.util import find_spec

if not (find_spec("sqlalchemy") and find_spec("alembic")):
    raise ImportError("erkle.store needs SQLAlchemy and Alembic; pip install 'erkle[service]'.")

from erkle.store.accounts import Account
from erkle.store.answering import Acknowledged, Skipped
from erkle.store.errors import Full, NotAllowed, StoreError, Unavailable, Unknown
from erkle.store.importing import Imported
from erkle.store.ledger import Entry
from erkle.store.links import Link, Purpose
from erkle.store.log import Answer, Counts, Skip
from erkle.store.media import Medium
from erkle.store.participants import Participant, Standing
from erkle.store.questions import ASKED, Issued, Kind, Query, are_objects
from erkle.store.refusals import Reason, Refusal, Refused
from erkle.store.restoring import Person, Whole
from erkle.store.sessions import Session
from erkle.store.snapshots import Snapshot
from erkle.store.store import Store
from erkle.store.studies import Object, State, Study
from erkle.store.transaction import Transaction

__all__ = [
    "ASKED",
    "Account",
    "Acknowledged",
    "Answer",
    "Counts",
    "Entry",
    "Full",
    "Imported",
    "Issued",
    "Kind",
    "Link",
    "Medium",
    "NotAllowed",
    "Object",
    "Participant",
    "Person",
    "Purpose",
    "Query",
    "Reason",
    "Refusal",
    "Refused",
    "Session",
    "Skip",
    "Skipped",
    "Snapshot",
    "Standing",
    "State",
    "Store",
    "StoreError",
    "Study",
    "Transaction",
    "Unavailable",
    "Unknown",
    "Whole",
    "are_objects",
]
