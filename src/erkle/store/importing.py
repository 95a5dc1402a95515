"""Import of answers and of complete studies; an import happens completely or not at all.

Answers are appended to the log in the given order. Each label stands for one participant, also in later imports into
the same study. Imported participants count as completed, so they get no questions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, insert, select, update

from erkle import triplets
from erkle.store import limits
from erkle.store.answers import Answers, Skip, response_time
from erkle.store.database import rows, schema
from erkle.store.database.enumerations import Kind, Standing, State
from erkle.store.database.room import check_room
from erkle.store.database.topics import Topic, writing
from erkle.store.errors import NotAllowed, StoreError
from erkle.store.media import Medium
from erkle.store.participants import Participant, bounded_identity, new_participant
from erkle.store.questions import Issued, new_question, new_token
from erkle.store.sanitising import Json, bounded_json, bounded_text, strict_member, strict_text
from erkle.store.studies import Object, Studies, Study

# Bytes of an answer and its question in the database, with their indexes, generously.
_ANSWER_BYTES = 1000


class Imported(NamedTuple):
    """An answer to import: the anchor is more like ``near`` than like ``far``. Times are in microseconds since 1970."""

    participant: str
    anchor: int
    near: int
    far: int
    left: int | None = None
    kind: Kind = Kind.CHOSEN
    strategy: str = "imported"
    response_ms: int | None = None
    client: Json = {}  # noqa: RUF012
    answered_at: int | None = None
    issued_at: int | None = None
    excluded: bool = False
    parameters: Json = {}  # noqa: RUF012


class ImportedStudy(NamedTuple):
    """A complete study to import; answers and skips refer to participants by the ids in ``participants``."""

    title: str
    objects: Sequence[Object | str]
    settings: Json
    state: State
    created_at: int
    participants: Sequence[Participant] = ()
    answers: Sequence[Imported] = ()
    skips: Sequence[Skip] = ()
    media: Mapping[str, Medium] = {}


class Imports(Topic):
    """Import of answers and of complete studies."""

    @writing
    def answers(self, study: str, answers: Sequence[Imported]) -> int:
        """Append answers to the log of a study that is not closed, and return their number.

        Either all answers are added or none. Each label stands for one participant, also in later imports.
        """
        owner = rows.lock_study(self.connection, study)
        if owner["state"] == State.CLOSED:
            raise NotAllowed("The study is closed; import the answers into another study.")
        given = _checked(answers, owner["n_objects"], self.clock())
        last = Answers(self.connection, self.clock).last(study)
        self._append(owner["id"], given, self._labelled(owner["id"], given), last)
        return len(given)

    @writing
    def study(self, imported: ImportedStudy, owner: str | None = None) -> Study:
        """Import a complete study under a new id; it is paused if it was open."""
        state, at = strict_member(imported.state, "The state", State), self.clock()
        studies = Studies(self.connection, self.clock)
        study = studies.create(imported.title, imported.objects, imported.settings, owner, imported.media)
        number = rows.lock_study(self.connection, study.id)["id"]
        row_numbers = self._join([_participant(number, each) for each in imported.participants])
        participants = {each.id: row for each, row in zip(imported.participants, row_numbers, strict=True)}
        given = _checked(imported.answers, study.n_objects, at)
        for label in {row.participant for row in given} | {skip.participant for skip in imported.skips}:
            if label not in participants:
                known = f"use one of the {len(participants)} ids of its participants"
                raise StoreError(f"The study has no participant {bounded_text(label, 40)!r}; {known}.")
        self._append(number, given, participants, last=0)
        self._skip(number, study.n_objects, imported.skips, participants)
        # No questions are issued until somebody opens the study on this server.
        state = State.PAUSED if state == State.OPEN else state
        values = {"state": state, "created_at": min(imported.created_at, at)}
        self.connection.execute(update(schema.studies).where(schema.studies.c.id == number).values(values))
        return studies.get(study.id)

    def _labelled(self, study: int, answers: Sequence[Imported]) -> dict[str, int]:
        """Return the row number of the participant for each label, and add the participants that are new."""
        t = schema.participants
        identities = {row.participant: bounded_identity(f"imported={row.participant}") for row in answers}
        query = select(t.c.identity, t.c.id).where(t.c.study_id == study, t.c.identity.startswith("imported="))
        known = {identity: number for [identity, number] in self.connection.execute(query)}
        new: dict[str, dict[str, Any]] = {}
        for row in answers:
            if (identity := identities[row.participant]) not in known:
                if identity not in new:
                    parameters = row.parameters or {"participant": row.participant}
                    new[identity] = new_participant(study, parameters, Standing.COMPLETED, self.clock(), identity)
                new[identity]["excluded"] |= bool(row.excluded)
        known |= dict(zip(new, self._join([*new.values()]), strict=True))
        return {label: known[identity] for label, identity in identities.items()}

    def _join(self, participants: Sequence[dict[str, Any]]) -> list[int]:
        """Add participants and return the numbers of their rows."""
        if not participants:
            return []
        t = schema.participants
        added = insert(t).returning(t.c.id, sort_by_parameter_order=True)
        return list(self.connection.execute(added, participants).scalars())

    def _append(self, study: int, answers: Sequence[Imported], participants: Mapping[str, int], last: int) -> None:
        """Append answers to the log, numbered from ``last + 1``."""
        if answers:
            check_room(self.connection, _ANSWER_BYTES * len(answers))
            ids = self._ask([_question(row, study, participants[row.participant]) for row in answers])
            numbered = enumerate(zip(answers, ids, strict=True), last + 1)
            values = [_answer(row, study, question, sequence) for sequence, (row, question) in numbered]
            self.connection.execute(insert(schema.answers), values)

    def _skip(self, study: int, n_objects: int, skips: Sequence[Skip], participants: Mapping[str, int]) -> None:
        if skips:
            triplets.check([skip[1:4] for skip in skips], n_objects)
            ids = self._ask([_skipped(skip, study, participants[skip.participant]) for skip in skips])
            reasons = [bounded_text(skip.reason, limits.SKIP_REASON) for skip in skips]
            values = [
                {"question_id": number, "reason": reason, "skipped_at": skip.skipped_at}
                for skip, reason, number in zip(skips, reasons, ids, strict=True)
            ]
            self.connection.execute(insert(schema.skips), values)

    def _ask(self, questions: Sequence[dict[str, Any]]) -> list[int]:
        """Add questions and return the numbers of their rows, found by token after one fast bulk insert."""
        t = schema.questions.c
        before = self.connection.execute(select(func.coalesce(func.max(t.id), 0))).scalar_one()
        self.connection.execute(insert(schema.questions), questions)
        added = select(t.token, t.id).where(t.id > before, t.study_id == questions[0]["study_id"])
        numbers = {token: number for [token, number] in self.connection.execute(added)}
        return [numbers[question["token"]] for question in questions]


def _checked(answers: Iterable[Imported], n_objects: int, at: int) -> list[Imported]:
    """Check the answers and fill in missing times."""
    given = [_checked_answer(number, Imported(*row), at) for number, row in enumerate(answers)]
    if given:
        triplets.check([row[1:4] for row in given], n_objects)
    return given


def _checked_answer(number: int, row: Imported, at: int) -> Imported:
    label = strict_text(row.participant, f"The participant of row {number}", limits.LABEL)
    if row.left not in (None, row.near, row.far):
        raise StoreError(f"In row {number}, left is {bounded_text(row.left, 40)}; pass the near or the far object.")
    kind = strict_member(row.kind, f"The kind of row {number}", Kind)
    answered = at if row.answered_at is None else _time(row.answered_at, number)
    issued = answered if row.issued_at is None else _time(row.issued_at, number)
    return row._replace(participant=label, kind=kind, answered_at=answered, issued_at=issued)


def _time(value: object, number: int) -> int:
    if type(value) is not int or not 0 <= value <= limits.LATEST:
        raise StoreError(f"A time in row {number} is {bounded_text(value, 40)}; pass microseconds since 1970.")
    return value


def _participant(study: int, participant: Participant) -> dict[str, Any]:
    # The standing before the exclusion is unknown; a completed participant gets no more questions.
    excluded = participant.standing == Standing.EXCLUDED
    standing = Standing.COMPLETED if excluded else participant.standing
    known = participant.parameters, standing, participant.joined_at, participant.identity
    return new_participant(study, *known, excluded=excluded, flagged=participant.flagged)


def _question(row: Imported, study: int, participant: int) -> dict[str, Any]:
    # If the left side is unknown, use the smaller id, so that the side does not depend on the answer.
    first, second = sorted((int(row.near), int(row.far)))
    left, strategy = first if row.left is None else int(row.left), bounded_text(row.strategy, limits.STRATEGY)
    at = row.issued_at or 0
    issued = Issued(new_token(), "", int(row.anchor), first, second, left, row.kind, strategy, at, at)
    return new_question(issued, study, participant)


def _skipped(skip: Skip, study: int, participant: int) -> dict[str, Any]:
    at = skip.skipped_at
    issued = Issued(new_token(), "", *skip[1:4], skip.first, Kind.CHOSEN, "imported", at, at)
    return new_question(issued, study, participant)


def _answer(row: Imported, study: int, question: int, sequence: int) -> dict[str, Any]:
    return {
        "study_id": study,
        "sequence": sequence,
        "question_id": question,
        "choice": int(row.near),
        "response_ms": response_time(row.response_ms),
        "client": bounded_json(row.client, limits.CLIENT),
        "answered_at": row.answered_at,
    }
