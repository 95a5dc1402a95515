"""Studies: the objects that participants are asked about, and whether they can be asked now."""

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import RowMapping, Select, bindparam, case, func, insert, select, update

from erkle.checks import whole
from erkle.store import limits
from erkle.store.accounts import lock_account
from erkle.store.database import rows, schema
from erkle.store.database.enumerations import State
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.deletion import delete_batch, hide
from erkle.store.errors import Damaged, NotAllowed, StoreError, Unavailable, Unknown
from erkle.store.questions import IS_ACTIVE, are_open
from erkle.store.sanitising import Json, strict_json, strict_member, strict_text

TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.DRAFT: frozenset({State.OPEN, State.CLOSED}),
    State.OPEN: frozenset({State.PAUSED, State.CLOSED}),
    State.PAUSED: frozenset({State.OPEN, State.CLOSED}),
    State.CLOSED: frozenset(),
}

_T = schema.studies.c
_BY_ID = select(schema.studies).where(_T.public_id == bindparam("study"))
_IS_FINISHED = _T.id.not_in(select(schema.unfinished_studies.c.study_id))


class Object(NamedTuple):
    """An object of a study: its name, and what else a page needs to show it."""

    name: str
    payload: Json = {}  # noqa: RUF012


class Study(NamedTuple):
    """A study; ``owner`` is the id of an account.

    ``roster`` counts what makes the learner learn from the start: exclusions and inclusions of participants, and
    changes to the objects and their features.
    """

    id: str
    title: str
    settings: Json
    state: State
    n_objects: int
    roster: int
    created_at: int
    owner: str | None


class Counts(NamedTuple):
    """The numbers of rows of a study; ``answers`` includes the answers of excluded participants."""

    participants: int
    questions: int
    answers: int
    excluded_answers: int
    skips: int
    refusals: int


class Totals(NamedTuple):
    """Totals over all studies: studies by state, questions by strategy and kind, and so on."""

    studies: dict[State, int]
    questions: dict[tuple[str, str], int]
    answers: int
    skips: int
    open_participants: int


Revision = Callable[[Study, list[Object]], tuple[str | None, Json | None]]


class Studies(Topic):
    """Studies: the objects that participants are asked about, and whether they can be asked now."""

    @writing
    def create(
        self,
        title: str,
        objects: Sequence[Object | str],
        settings: Json | None = None,
        owner: str | None = None,
    ) -> Study:
        """Create a draft of a study of at least three objects with different names.

        Parameters
        ----------
        title : str
            The title of the study.
        objects : sequence of Object or str
            The objects to ask about; a string is the name of an object.
        settings : dict, optional
            The settings, as any JSON object.
        owner : str, optional
            The id of the owner's account.
        """
        numbered = checked_objects(objects)
        values: dict[str, Any] = {
            "public_id": _new_id(),
            "title": strict_text(title, "The title", limits.TITLE),
            "settings": strict_json(settings or {}, "The settings"),
            "state": State.DRAFT,
            "n_objects": len(numbered),
            "roster": 0,
            "created_at": self.clock(),
            "owner": None if owner is None else lock_account(self.connection, owner).id,
            "signing_key": _new_key(),
        }
        number = self.connection.execute(insert(schema.studies).returning(_T.id), values).scalar_one()
        self.connection.execute(insert(schema.objects), [{"study_id": number, **row} for row in numbered])
        self.connection.execute(insert(schema.leases).values(study_id=number, owner="", until=0, fence=0))
        self.connection.execute(insert(schema.usage).values(study_id=number, stored_bytes=0))
        return self.get(values["public_id"])

    @reading
    def all(self) -> list[Study]:
        """Return all studies, oldest first, without those that are still being imported."""
        query = select(schema.studies).where(_IS_FINISHED).order_by(_T.id)
        return [_study(row) for row in self.connection.execute(query).mappings()]

    @reading
    def get(self, study: str, drafts: bool = True) -> Study:
        """Return the study with this id. Without ``drafts``, a draft is as unknown as a study that does not exist."""
        found = _study(rows.found_study(self.connection, _BY_ID, study))
        if found.state == State.DRAFT and not drafts:
            raise rows.unknown_study(study)
        return found

    @reading
    def signing_key(self, study: str) -> str:
        """Return the secret with which links to a study are signed; bundles do not contain it."""
        number = rows.study(self.connection, study)["id"]
        return str(self.connection.execute(select(_T.signing_key).where(_T.id == number)).scalar_one())

    @writing
    def renew_signing_key(self, study: str) -> str:
        """Replace the signing key of a study and return the new one; links signed with the old one no longer work."""
        number, key = rows.lock_study(self.connection, study)["id"], _new_key()
        self.connection.execute(update(schema.studies).where(_T.id == number).values(signing_key=key))
        return key

    @reading
    def objects(self, study: str, most: int | None = None) -> list[Object]:
        """Return the objects of a study, or the first ``most``; an object's id is its position in the list."""
        t, number = schema.objects.c, rows.study(self.connection, study)["id"]
        query = select(t.name, t.payload).where(t.study_id == number).order_by(t.number).limit(most)
        return [Object(*row) for row in self.connection.execute(query)]

    @reading
    def counts(self, study: str) -> Counts:
        """Return the numbers of participants, questions, answers, skips and refusals of a study."""
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
    def totals(self, strategies: Collection[str]) -> Totals:
        """Return totals over all studies, counted with the help of indexes.

        Open participants are active and have a question that can still be answered. Strategies that are not among
        ``strategies`` are counted together as ``"other"``: an import may contain any number of them.
        """
        q, p, a, execute = schema.questions, schema.participants, schema.answers.c, self.connection.execute
        states = select(_T.state, func.count()).where(_IS_FINISHED).group_by(_T.state)
        strategy = case((q.c.strategy.in_(strategies), q.c.strategy), else_="other").label("strategy")
        by = select(strategy, q.c.kind).subquery().c
        asked = select(by.strategy, by.kind, func.count()).group_by(by.strategy, by.kind)
        # The number of the last answer of a study is its number of answers.
        last = select(func.coalesce(func.max(a.sequence), 0)).where(a.study_id == _T.id).scalar_subquery()
        waiting = select(q.c.participant_id).where(*are_open(self.clock()))
        return Totals(
            {State(state): count for state, count in execute(states)},
            {(strategy, kind): count for strategy, kind, count in execute(asked)},
            sum(execute(select(last).select_from(schema.studies)).scalars()),
            execute(_count(schema.skips)).scalar_one(),
            execute(_count(p).where(p.c.id.in_(waiting), IS_ACTIVE)).scalar_one(),
        )

    @writing
    def change_state(self, study: str, state: State) -> Study:
        """Open, pause or close a study; a closed study cannot be opened again."""
        row, wanted = rows.lock_study(self.connection, study), strict_member(state, "The state", State)
        if wanted != row["state"]:
            if wanted not in (allowed := TRANSITIONS[row["state"]]):
                ways = f"it can become {' or '.join(sorted(allowed))}" if allowed else "create a new study"
                raise NotAllowed(f"The study is {row['state']} and cannot become {wanted}; {ways}.")
            self.connection.execute(update(schema.studies).where(_T.id == row["id"]).values(state=wanted))
        return self.get(study)

    @writing
    def revise(self, study: str, revision: Revision) -> Study:
        """Replace the title and the settings of a study by what ``revision(study, objects)`` returns.

        A title or settings of None stay as they are, and an exception changes nothing. Nobody else can change the
        study while the function runs, so it should be short. It may be called twice.
        """
        number = rows.lock_study(self.connection, study)["id"]
        # Read after locking: somebody else may have changed the study before.
        title, settings = revision(self.get(study), self.objects(study))
        values: dict[str, Any] = {}
        if title is not None:
            values["title"] = strict_text(title, "The title", limits.TITLE)
        if settings is not None:
            values["settings"] = strict_json(settings, "The settings")
        if values:
            self.connection.execute(update(schema.studies).where(_T.id == number).values(values))
        return self.get(study)

    def delete(self, study: str) -> None:
        """Delete a study with all its data, including the answers.

        Nobody can find the study from the first moment on. Others can write while its rows are deleted.
        """
        hidden = self._hide(study)
        try:
            while self._delete_batch(hidden):
                pass
        except Damaged:
            raise
        except (Unavailable, Unknown):
            # A server deletes the rest later, or another process has done so.
            pass

    @writing
    def _hide(self, study: str) -> str:
        return hide(self.connection, study, self.clock())

    @writing
    def _delete_batch(self, study: str) -> bool:
        return delete_batch(self.connection, study)


def _study(row: RowMapping) -> Study:
    values = {**row, "id": row["public_id"], "state": State(row["state"])}
    return Study(**{name: values[name] for name in Study._fields})


def _count(table: Any) -> Select[Any]:
    return select(func.count()).select_from(table)


def _new_id() -> str:
    """Return a random id that does not look like an option of a command."""
    while (found := secrets.token_urlsafe(12)).startswith("-"):
        pass
    return found


def _new_key() -> str:
    return secrets.token_urlsafe(32)


def checked_objects(objects: Sequence[Object | str]) -> list[dict[str, Any]]:
    """Return the rows of the objects, after checking their number and names."""
    whole(len(objects), "The number of objects", 3, "a question needs three objects")
    if len(objects) > limits.OBJECTS:
        raise StoreError(f"There are {len(objects):,} objects; a study has at most {limits.OBJECTS:,}.")
    numbered: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for number, each in enumerate(objects):
        name, payload = (each, {}) if isinstance(each, str) else each
        name = strict_text(name, f"The name of object {number}", limits.OBJECT_NAME)
        if (other := seen.setdefault(name, number)) != number:
            raise StoreError(f"Objects {other} and {number} are both named {name[:60]!r}; give them different names.")
        payload = strict_json(payload, f"The payload of object {number}")
        numbered.append({"number": number, "name": name, "payload": payload})
    return numbered
