"""Studies: some things to ask about, and whether people are asked now.

Every write that concerns a study first locks its row. So the writes of a study happen one after the other, on
PostgreSQL, too, and an answer that counts was given while the study was open.
"""

import secrets
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, Select, bindparam, insert, select, update

from erkle.parameters import whole
from erkle.store import accounts, schema, sizes
from erkle.store.damaged import member, moment, roster, text
from erkle.store.errors import NotAllowed, StoreError, Unknown
from erkle.store.sanitising import Json, bounded_text, is_id, strict_json, strict_text

__all__ = ["TRANSITIONS", "Object", "State", "Study", "change_state", "create", "get", "listed", "locked", "objects"]


class State(StrEnum):
    """What is done with a study now."""

    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.DRAFT: frozenset({State.OPEN, State.CLOSED}),
    State.OPEN: frozenset({State.PAUSED, State.CLOSED}),
    State.PAUSED: frozenset({State.OPEN, State.CLOSED}),
    State.CLOSED: frozenset(),
}

Row = Mapping[str, Any]

_TITLE, _NAME = 500, 2000

_T = schema.studies.c
_LAST = sizes.last_object(_T.id).label("last_object")
_ALL = select(schema.studies, _LAST)
_WHOLE = _ALL.where(_T.public_id == bindparam("study"))
# Without what is written as JSON: to read that takes longer than to find the row.
_FOUND = select(_T.id, _T.public_id, _T.state, _T.n_objects, _T.roster, _LAST).where(_T.public_id == bindparam("study"))
# Not the stronger lock: rows that refer to the study may still be added. SQLite has locked everything by now.
_LOCKED = _FOUND.with_for_update(key_share=True)
_ALONE = _FOUND.with_for_update()


class Object(NamedTuple):
    """A thing that is asked about: its name, and what else a page needs to show it."""

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


def create(
    connection: Connection, title: str, things: Sequence[Object | str], settings: Json, owner: str | None, at: int
) -> Study:
    """A new study, as a draft."""
    rows = checked_objects(things)
    values: dict[str, Any] = {
        "public_id": _new_id(),
        "title": checked_title(title),
        "settings": checked_settings(settings),
        "state": State.DRAFT,
        "n_objects": len(rows),
        "roster": 0,
        "created_at": at,
        "owner": None if owner is None else accounts.kept(connection, owner).id,
    }
    number = connection.execute(insert(schema.studies).returning(schema.studies.c.id), values).scalar_one()
    connection.execute(insert(schema.objects), [{"study_id": number, **row} for row in rows])
    connection.execute(insert(schema.leases).values(study_id=number, owner="", until=0))
    return get(connection, values["public_id"])


def _new_id() -> str:
    """An id that nobody can guess, and that a command line does not take for an option."""
    while (found := secrets.token_urlsafe(12)).startswith("-"):
        pass
    return found


def get(connection: Connection, study: str) -> Study:
    """The study with this id."""
    return _study(_found(connection, _WHOLE, study))


def listed(connection: Connection) -> list[Study]:
    """All studies, the oldest first, but for those that no id leads to."""
    rows = connection.execute(_ALL.order_by(_T.id)).mappings().all()
    return [_study(_sound(connection, row)) for row in rows if is_id(row["public_id"])]


def objects(connection: Connection, study: str) -> list[Object]:
    """What the study asks about; the place in the list is the object's id.

    Where somebody has deleted an object by hand, another stands in its place, so that no other has its id.
    """
    t, row = schema.objects.c, find(connection, study)
    query = select(t.number, t.name, t.payload).where(t.study_id == row["id"])
    placed = {number: (text(name), payload) for number, name, payload in connection.execute(query).all()}
    found: dict[str, Json] = {}
    for number in range(row["n_objects"]):
        name, payload = placed.get(number, ("", {}))
        found[_unlike(name or f"object {number}", found)] = payload
    return [Object(*each) for each in found.items()]


def _unlike(name: str, others: Mapping[str, object]) -> str:
    """A name that no other has; where one has it, with a mark."""
    while name in others:
        name = f"{name}'"
    return name


def change_state(connection: Connection, study: str, state: State) -> Study:
    """Open, pause or close a study; a closed one stays closed."""
    row, wanted = locked(connection, study), _state(state)
    if wanted != row["state"]:
        if wanted not in (allowed := TRANSITIONS[row["state"]]):
            ways = f"it can become {' or '.join(sorted(allowed))}" if allowed else "create another study"
            raise NotAllowed(f"The study is {row['state']} and cannot become {wanted}; {ways}.")
        connection.execute(update(schema.studies).where(schema.studies.c.id == row["id"]).values(state=wanted))
    return get(connection, study)


def find(connection: Connection, study: str) -> Row:
    """The study's row."""
    return _found(connection, _FOUND, study)


def locked(connection: Connection, study: str, alone: bool = False) -> Row:
    """The study's row, which nobody else may change until this transaction ends, nor, if alone, refer to."""
    return _found(connection, _ALONE if alone else _LOCKED, study)


def is_open(row: Row) -> bool:
    """Whether people are asked now."""
    return bool(row["state"] == State.OPEN)


def checked_title(title: object) -> str:
    """A title that can be kept as it is."""
    return strict_text(title, "The title", _TITLE)


def checked_settings(settings: object) -> Json:
    """Settings that can be kept as they are."""
    return strict_json(settings, "The settings")


def checked_objects(things: Sequence[Object | str]) -> list[dict[str, Any]]:
    """The rows of at least three objects with different names."""
    whole(len(things), "The number of objects", 3, "a question needs three objects")
    rows: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for number, thing in enumerate(things):
        name, payload = (thing, {}) if isinstance(thing, str) else thing
        name = strict_text(name, f"The name of object {number}", _NAME)
        if (other := seen.setdefault(name, number)) != number:
            raise StoreError(f"Objects {other} and {number} are both called {name[:60]!r}; give them different names.")
        rows.append(
            {"number": number, "name": name, "payload": strict_json(payload, f"What goes with object {number}")}
        )
    return rows


def _found(connection: Connection, query: Select[Any], study: str) -> Row:
    row = connection.execute(query, {"study": study}).mappings().one_or_none() if is_id(study) else None
    if row is None:
        raise Unknown(f"There is no study {bounded_text(study, 40)!r}; check its id.")
    return _sound(connection, row)


def _sound(connection: Connection, row: RowMapping) -> Row:
    """A row with what is sound of its state, its number of objects and its roster."""
    size = sizes.n_objects(connection, row["id"], row["n_objects"], row["last_object"])
    return {**row, "state": state_of(row["state"]), "n_objects": size, "roster": roster(row["roster"])}


def _study(row: Row) -> Study:
    title, at = text(row["title"]) or "Untitled", moment(row["created_at"])
    how = (row["state"], row["n_objects"], row["roster"], at, row["owner"])
    return Study(row["public_id"], title, row["settings"], *how)


def state_of(value: object) -> State:
    """The state of a study; paused where what is written is none, so that nobody is asked until it is opened."""
    return member(value, State.PAUSED)


def _state(state: object) -> State:
    try:
        return State(state)  # type: ignore[arg-type]
    except ValueError:
        raise StoreError(f"The state is {bounded_text(state, 40)!r}; pass one of {', '.join(State)}.") from None
