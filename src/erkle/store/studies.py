"""Studies: some objects to ask about, and whether people are asked now.

A study is deleted as a whole: answers go only together with everything that they are part of. The triggers that keep
every row make way for the rows of a study that is listed in ``deletions``. It is listed there only within the
transaction that deletes it, because the table lets no row be committed.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import RowMapping, Select, bindparam, delete, func, insert, select, update

from erkle.checks import whole
from erkle.store import limits
from erkle.store.accounts import keep_account
from erkle.store.database import rows, schema
from erkle.store.database.enumerations import State
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import NotAllowed, StoreError
from erkle.store.media import Medium, add_media
from erkle.store.questions import IS_ACTIVE, are_open
from erkle.store.sanitising import Json, strict_json, strict_member, strict_text

TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.DRAFT: frozenset({State.OPEN, State.CLOSED}),
    State.OPEN: frozenset({State.PAUSED, State.CLOSED}),
    State.PAUSED: frozenset({State.OPEN, State.CLOSED}),
    State.CLOSED: frozenset(),
}

_T = schema.studies.c
_WHOLE = select(schema.studies).where(_T.public_id == bindparam("study"))
# A table is emptied before those that it refers to.
_OF_STUDY = (
    schema.answers, schema.questions, schema.participants, schema.refusals, schema.snapshots, schema.leases,
    schema.media, schema.objects,
)  # fmt: skip


class Object(NamedTuple):
    """Something that is asked about: its name, and what else a page needs to show it."""

    name: str
    payload: Json = {}  # noqa: RUF012


class Study(NamedTuple):
    """A study; ``roster`` counts how often participants were excluded or included, ``owner`` is an account's id."""

    id: str
    title: str
    settings: Json
    state: State
    n_objects: int
    roster: int
    created_at: int
    owner: str | None


class Counts(NamedTuple):
    """How many rows a study has; ``answers`` are those in the log, with those of excluded participants."""

    participants: int
    questions: int
    answers: int
    excluded_answers: int
    skips: int
    refusals: int


class Totals(NamedTuple):
    """How many there are in all studies together: studies by state, questions by strategy and kind, ..."""

    studies: dict[State, int]
    questions: dict[tuple[str, str], int]
    answers: int
    skips: int
    open_participants: int


Revision = Callable[[Study, list[Object]], tuple[str | None, Json | None]]


class Studies(Topic):
    """Studies: some objects to ask about, and whether people are asked now."""

    @writing
    def create(
        self,
        title: str,
        objects: Sequence[Object | str],
        settings: Json | None = None,
        owner: str | None = None,
        media: Mapping[str, Medium] | None = None,
    ) -> Study:
        """Create a study, as a draft, about at least three objects with different names.

        Parameters
        ----------
        title : str
            What it is called.
        objects : sequence of Object or str
            What it asks about; a text is an object of this name.
        settings : dict, optional
            Anything that JSON can hold.
        owner : str, optional
            The id of an account.
        media : mapping of names to Medium, optional
            What goes with the objects.
        """
        numbered = _checked_objects(objects)
        values: dict[str, Any] = {
            "public_id": _new_id(),
            "title": strict_text(title, "The title", limits.TITLE),
            "settings": strict_json(settings or {}, "The settings"),
            "state": State.DRAFT,
            "n_objects": len(numbered),
            "roster": 0,
            "created_at": self.clock(),
            "owner": None if owner is None else keep_account(self.connection, owner).id,
        }
        number = self.connection.execute(insert(schema.studies).returning(_T.id), values).scalar_one()
        self.connection.execute(insert(schema.objects), [{"study_id": number, **row} for row in numbered])
        self.connection.execute(insert(schema.leases).values(study_id=number, owner="", until=0, fence=0))
        add_media(self.connection, number, media or {})
        return self.get(values["public_id"])

    @reading
    def all(self) -> list[Study]:
        """All studies, oldest first."""
        return [_study(row) for row in self.connection.execute(select(schema.studies).order_by(_T.id)).mappings()]

    @reading
    def get(self, study: str) -> Study:
        """The study with this id."""
        return _study(rows.found_study(self.connection, _WHOLE, study))

    @reading
    def objects(self, study: str) -> list[Object]:
        """What the study asks about; the place in the list is the object's id."""
        t, number = schema.objects.c, rows.study(self.connection, study)["id"]
        query = select(t.name, t.payload).where(t.study_id == number).order_by(t.number)
        return [Object(*row) for row in self.connection.execute(query)]

    @reading
    def counts(self, study: str) -> Counts:
        """How many rows of everything a study has."""
        number = rows.study(self.connection, study)["id"]
        p, q, a = schema.participants, schema.questions, schema.answers
        excluded = select(q.c.id).join(p).where(p.c.excluded, q.c.study_id == number)
        counted = (
            _count(p).where(p.c.study_id == number),
            _count(q).where(q.c.study_id == number),
            _count(a).where(a.c.study_id == number),
            _count(a).where(a.c.study_id == number, a.c.question_id.in_(excluded)),
            _count(schema.skips).join(q).where(q.c.study_id == number),
            _count(schema.refusals).where(schema.refusals.c.study_id == number),
        )
        return Counts(*self.connection.execute(select(*(each.scalar_subquery() for each in counted))).one())

    @reading
    def totals(self) -> Totals:
        """How many there are in all studies together, counted by indexes.

        Open participants are those of open studies who have a question that may still be answered.
        """
        q, p, a, execute = schema.questions, schema.participants, schema.answers.c, self.connection.execute
        states = select(_T.state, func.count()).group_by(_T.state)
        asked = select(q.c.strategy, q.c.kind, func.count()).group_by(q.c.strategy, q.c.kind)
        # The last number of a study is how many answers it has.
        last = select(func.coalesce(func.max(a.sequence), 0)).where(a.study_id == _T.id).scalar_subquery()
        is_open = q.c.study_id.in_(select(_T.id).where(_T.state == State.OPEN))
        waiting = select(q.c.participant_id).where(is_open, *are_open(self.clock()))
        return Totals(
            {State(state): count for state, count in execute(states)},
            {(strategy, kind): count for strategy, kind, count in execute(asked)},
            sum(execute(select(last).select_from(schema.studies)).scalars()),
            execute(_count(schema.skips)).scalar_one(),
            execute(_count(p).where(p.c.id.in_(waiting), IS_ACTIVE)).scalar_one(),
        )

    @writing
    def change_state(self, study: str, state: State) -> Study:
        """Open, pause or close a study; a closed study stays closed."""
        row, wanted = rows.lock_study(self.connection, study), strict_member(state, "The state", State)
        if wanted != row["state"]:
            if wanted not in (allowed := TRANSITIONS[row["state"]]):
                ways = f"it can become {' or '.join(sorted(allowed))}" if allowed else "create another study"
                raise NotAllowed(f"The study is {row['state']} and cannot become {wanted}; {ways}.")
            self.connection.execute(update(schema.studies).where(_T.id == row["id"]).values(state=wanted))
        return self.get(study)

    @writing
    def revise(self, study: str, revision: Revision) -> Study:
        """Give a study the title and the settings that a function makes of the study and its objects.

        Nobody else changes the study while the function runs. Where it returns None, nothing changes; if it raises,
        nothing changes either. It may be called twice, and should be short.
        """
        number = rows.lock_study(self.connection, study)["id"]
        # Read after the lock: before it others may have changed something.
        title, settings = revision(self.get(study), self.objects(study))
        values: dict[str, Any] = {}
        if title is not None:
            values["title"] = strict_text(title, "The title", limits.TITLE)
        if settings is not None:
            values["settings"] = strict_json(settings, "The settings")
        if values:
            self.connection.execute(update(schema.studies).where(_T.id == number).values(values))
        return self.get(study)

    @writing
    def delete(self, study: str) -> None:
        """Delete a study and everything of it, answers too; there is no other way to delete an answer."""
        number = rows.lock_study(self.connection, study, alone=True)["id"]
        self.connection.execute(insert(schema.deletions).values(study_id=number, smaller=number - 1))
        asked = select(schema.questions.c.id).where(schema.questions.c.study_id == number)
        self.connection.execute(delete(schema.skips).where(schema.skips.c.question_id.in_(asked)))
        for table in _OF_STUDY:
            self.connection.execute(delete(table).where(table.c.study_id == number))
        self.connection.execute(delete(schema.studies).where(_T.id == number))
        self.connection.execute(delete(schema.deletions).where(schema.deletions.c.study_id == number))


def _study(row: RowMapping) -> Study:
    values = {**row, "id": row["public_id"], "state": State(row["state"])}
    return Study(**{name: values[name] for name in Study._fields})


def _count(table: Any) -> Select[Any]:
    return select(func.count()).select_from(table)


def _new_id() -> str:
    """An id that nobody can guess, and that a command line does not take for an option."""
    while (found := secrets.token_urlsafe(12)).startswith("-"):
        pass
    return found


def _checked_objects(objects: Sequence[Object | str]) -> list[dict[str, Any]]:
    """The rows of at least three objects with different names."""
    whole(len(objects), "The number of objects", 3, "a question needs three objects")
    numbered: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for number, each in enumerate(objects):
        name, payload = (each, {}) if isinstance(each, str) else each
        name = strict_text(name, f"The name of object {number}", limits.OBJECT_NAME)
        if (other := seen.setdefault(name, number)) != number:
            raise StoreError(f"Objects {other} and {number} are both called {name[:60]!r}; give them different names.")
        payload = strict_json(payload, f"What goes with object {number}")
        numbered.append({"number": number, "name": name, "payload": payload})
    return numbered
