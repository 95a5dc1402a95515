"""Answers and whole studies from elsewhere: in one transaction there is all of it, or nothing.

Answers are appended to the log in the order in which they are given. Each label stands for one participant, in every
later import to the same study too. Imported participants have completed the study: nobody asks them anything.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, insert, select, update

from erkle import triplets
from erkle.store import limits
from erkle.store.answers import Answers, Skip, response_time
from erkle.store.database import rows, schema
from erkle.store.database.enumerations import Kind, Standing, State
from erkle.store.database.topics import Topic, writing
from erkle.store.errors import NotAllowed, StoreError
from erkle.store.media import Medium
from erkle.store.participants import Participant, bounded_identity, new_participant
from erkle.store.questions import Issued, new_question, new_token
from erkle.store.sanitising import Json, bounded_json, bounded_text, strict_member, strict_text
from erkle.store.studies import Object, Studies, Study


class Imported(NamedTuple):
    """An answer from elsewhere: the anchor is more like ``near`` than like ``far``. Times are in microseconds."""

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


class Whole(NamedTuple):
    """A study as it was elsewhere; answers and skips name participants by the ids that these had there."""

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
    """Answers and whole studies from elsewhere."""

    @writing
    def answers(self, study: str, answers: Sequence[Imported]) -> int:
        """Append answers from elsewhere to the log of a study that is not closed, all of them or none.

        Each different label is one participant, in later imports to the study too. Returns how many answers there were.
        """
        owner = rows.lock_study(self.connection, study)
        if owner["state"] == State.CLOSED:
            raise NotAllowed("The study is closed and takes no answers; import them into another one.")
        given = _checked(answers, owner["n_objects"], self.clock())
        last = Answers(self.connection, self.clock).last(study)
        self._append(owner["id"], given, self._labelled(owner["id"], given), last)
        return len(given)

    @writing
    def study(self, whole: Whole, owner: str | None = None) -> Study:
        """A study from elsewhere with all that belongs to it and a new id; it is paused if it was open."""
        state, at = strict_member(whole.state, "The state", State), self.clock()
        studies = Studies(self.connection, self.clock)
        study = studies.create(whole.title, whole.objects, whole.settings, owner, whole.media)
        number = rows.lock_study(self.connection, study.id)["id"]
        numbers = self._join([_participant(number, each) for each in whole.participants])
        people = {each.id: joined for each, joined in zip(whole.participants, numbers, strict=True)}
        given = _checked(whole.answers, study.n_objects, at)
        for label in {row.participant for row in given} | {skip.participant for skip in whole.skips}:
            if label not in people:
                known = f"pass one of the {len(people)} ids"
                raise StoreError(f"There is no participant {bounded_text(label, 40)!r}; {known}.")
        self._append(number, given, people, last=0)
        self._skip(number, study.n_objects, whole.skips, people)
        # Nobody is asked anything before somebody here has opened the study.
        state = State.PAUSED if state == State.OPEN else state
        values = {"state": state, "created_at": min(whole.created_at, at)}
        self.connection.execute(update(schema.studies).where(schema.studies.c.id == number).values(values))
        return studies.get(study.id)

    def _labelled(self, study: int, answers: Sequence[Imported]) -> dict[str, int]:
        """The number of the participant's row for each label; some of them may be new."""
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
        """Add participants; the numbers of their rows."""
        if not participants:
            return []
        t = schema.participants
        added = insert(t).returning(t.c.id, sort_by_parameter_order=True)
        return list(self.connection.execute(added, participants).scalars())

    def _append(self, study: int, answers: Sequence[Imported], people: Mapping[str, int], last: int) -> None:
        """Number answers on from the last one."""
        if answers:
            ids = self._ask([_question(row, study, people[row.participant]) for row in answers])
            numbered = enumerate(zip(answers, ids, strict=True), last + 1)
            values = [_answer(row, study, question, sequence) for sequence, (row, question) in numbered]
            self.connection.execute(insert(schema.answers), values)

    def _skip(self, study: int, n_objects: int, skips: Sequence[Skip], people: Mapping[str, int]) -> None:
        if skips:
            triplets.check([skip[1:4] for skip in skips], n_objects)
            ids = self._ask([_skipped(skip, study, people[skip.participant]) for skip in skips])
            reasons = [bounded_text(skip.reason, limits.SKIP_REASON) for skip in skips]
            values = [
                {"question_id": number, "reason": reason, "skipped_at": skip.skipped_at}
                for skip, reason, number in zip(skips, reasons, ids, strict=True)
            ]
            self.connection.execute(insert(schema.skips), values)

    def _ask(self, questions: Sequence[dict[str, Any]]) -> list[int]:
        """Add questions; the numbers of their rows, which databases return for one at a time only."""
        t = schema.questions.c
        before = self.connection.execute(select(func.coalesce(func.max(t.id), 0))).scalar_one()
        self.connection.execute(insert(schema.questions), questions)
        added = select(t.token, t.id).where(t.id > before, t.study_id == questions[0]["study_id"])
        numbers = {token: number for [token, number] in self.connection.execute(added)}
        return [numbers[question["token"]] for question in questions]


def _checked(answers: Iterable[Imported], n_objects: int, at: int) -> list[Imported]:
    """The same answers with all of their times, if each of them can be one."""
    given = [_checked_answer(number, Imported(*row), at) for number, row in enumerate(answers)]
    if given:
        triplets.check([row[1:4] for row in given], n_objects)
    return given


def _checked_answer(number: int, row: Imported, at: int) -> Imported:
    label = strict_text(row.participant, f"The participant of row {number}", limits.LABEL)
    if row.left not in (None, row.near, row.far):
        raise StoreError(f"In row {number} object {bounded_text(row.left, 40)} is on the left; pass near or far.")
    kind = strict_member(row.kind, f"The kind of row {number}", Kind)
    answered = at if row.answered_at is None else _time(row.answered_at, number)
    issued = answered if row.issued_at is None else _time(row.issued_at, number)
    return row._replace(participant=label, kind=kind, answered_at=answered, issued_at=issued)


def _time(value: object, number: int) -> int:
    if type(value) is not int or not 0 <= value <= limits.LATEST:
        raise StoreError(f"A time of row {number} is {bounded_text(value, 40)}; pass microseconds since 1970.")
    return value


def _participant(study: int, person: Participant) -> dict[str, Any]:
    # The standing from before an exclusion is not known; nobody asks them anything more.
    excluded = person.standing == Standing.EXCLUDED
    standing = Standing.COMPLETED if excluded else person.standing
    known = person.parameters, standing, person.joined_at, person.identity
    return new_participant(study, *known, excluded=excluded, flagged=person.flagged)


def _question(row: Imported, study: int, participant: int) -> dict[str, Any]:
    # Where nobody knows what was on the left, the smaller number says nothing about the answer.
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
