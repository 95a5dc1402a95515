"""A whole study from elsewhere, in one transaction: there is all of it, or nothing."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert

from erkle import triplets
from erkle.store import importing, media, schema, studies
from erkle.store.errors import StoreError
from erkle.store.importing import Imported
from erkle.store.log import Skip
from erkle.store.media import Medium
from erkle.store.participants import Standing, bounded_identity
from erkle.store.questions import Kind
from erkle.store.sanitising import Json, bounded_json, bounded_text
from erkle.store.studies import Object, State, Study

__all__ = ["Person", "Whole", "import_study"]

_PARAMETERS, _REASON = 4000, 500
# Nobody is asked anything before somebody here has opened the study.
_WAYS: Mapping[State, tuple[State, ...]] = {
    State.DRAFT: (),
    State.OPEN: (State.OPEN, State.PAUSED),
    State.PAUSED: (State.OPEN, State.PAUSED),
    State.CLOSED: (State.CLOSED,),
}


class Person(NamedTuple):
    """Somebody who took part elsewhere."""

    parameters: Json
    standing: Standing
    joined_at: int
    identity: str | None = None
    flagged: bool = False
    excluded: bool = False


class Whole(NamedTuple):
    """A study as it was elsewhere; whose an answer or a skip is, is told by the person's place in the list."""

    title: str
    objects: Sequence[Object | str]
    settings: Json
    state: State
    created_at: int
    people: Sequence[Person] = ()
    answers: Sequence[Imported] = ()
    skips: Sequence[Skip] = ()
    media: Mapping[str, Medium] = {}


def import_study(connection: Connection, whole: Whole, owner: str | None, at: int) -> Study:
    """The study with a new id, paused if it was open."""
    if whole.state not in list(State):
        raise StoreError(f"The state is {bounded_text(whole.state, 40)!r}; pass one of {', '.join(State)}.")
    created = min(whole.created_at, at)
    study = studies.create(connection, whole.title, whole.objects, whole.settings, owner, created)
    media.add(connection, study.id, whole.media)
    number = studies.locked(connection, study.id)["id"]
    people = _people(connection, number, whole.people)
    given = importing.checked(whole.answers, study.n_objects, at)
    _check_people({row.participant for row in given} | {skip.participant for skip in whole.skips}, people)
    importing.append(connection, number, given, people, last=0)
    _give_up(connection, number, study.n_objects, whole.skips, people)
    for state in _WAYS[State(whole.state)]:
        studies.change_state(connection, study.id, state)
    return studies.get(connection, study.id)


def _people(connection: Connection, study: int, people: Sequence[Person]) -> dict[str, int]:
    """The number of each one's row, by the place in the list as a text."""
    if not people:
        return {}
    t = schema.participants
    added = insert(t).returning(t.c.id, sort_by_parameter_order=True)
    numbers = connection.execute(added, [_participant(person, study) for person in people]).scalars()
    return {str(place): number for place, number in enumerate(numbers)}


def _participant(person: Person, study: int) -> dict[str, Any]:
    # How it stood with those who were excluded is not told; nobody asks them anything more.
    excluded = person.excluded or person.standing == Standing.EXCLUDED
    return {
        "public_id": secrets.token_urlsafe(18),
        "study_id": study,
        "parameters": bounded_json(person.parameters, _PARAMETERS),
        "state": Standing.COMPLETED if excluded else Standing(person.standing),
        "excluded": excluded,
        "joined_at": person.joined_at,
        "identity": None if person.identity is None else bounded_identity(person.identity),
        "flagged": bool(person.flagged),
    }


def _check_people(labels: Iterable[str], people: Mapping[str, int]) -> None:
    for label in labels:
        if label not in people:
            raise StoreError(
                f"There is no person {bounded_text(label, 40)!r}; pass a place in the list of {len(people)}."
            )


def _give_up(
    connection: Connection, study: int, n_objects: int, skips: Sequence[Skip], people: Mapping[str, int]
) -> None:
    if not skips:
        return
    triplets.check([skip[1:4] for skip in skips], n_objects)
    asked = [_question(skip, study, people[skip.participant]) for skip in skips]
    ids = importing.ask(connection, asked)
    given_up = [
        {"question_id": number, "reason": bounded_text(skip.reason, _REASON), "skipped_at": skip.skipped_at}
        for skip, number in zip(skips, ids, strict=True)
    ]
    connection.execute(insert(schema.skips), given_up)


def _question(skip: Skip, study: int, participant: int) -> dict[str, Any]:
    return {
        "token": secrets.token_urlsafe(24),
        "study_id": study,
        "participant_id": participant,
        "head": skip.head,
        "o1": skip.o1,
        "o2": skip.o2,
        "left_object": skip.o1,
        "kind": Kind.CHOSEN,
        "strategy": "imported",
        "issued_at": skip.skipped_at,
        "expires_at": skip.skipped_at,
    }
