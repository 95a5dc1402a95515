"""Import of answers into a study; an import happens completely or not at all.

Answers are appended to the log in the given order. Each label stands for one participant, also in later imports into
the same study. Imported participants count as completed, so they get no questions.

A long import must not keep others from writing. `Imports.append` therefore works in two steps. First it checks the
answers and stores them as batches beside the log; if anything fails, the batches are deleted. Once all are there, one
transaction makes them ready, and from then on the import is certain: each batch is moved to the log in a transaction of
its own. If the process is killed meanwhile, `Imports.recover` moves the rest, and deletes batches that never became
ready.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import RowMapping, delete, insert, select, update

from erkle.store import limits
from erkle.store.answers import Answers
from erkle.store.database import rows, schema
from erkle.store.database.enumerations import Kind, Standing, State
from erkle.store.database.sqlite.room import check_room
from erkle.store.database.topics import Topic, reading, writing
from erkle.store.errors import NotAllowed, StoreError, Unavailable
from erkle.store.imports.rows import Imported, add_answers, checked, in_batches
from erkle.store.imports.unfinished import ABANDONED, interrupted, recover_each, written
from erkle.store.participants import bounded_identity, exclude, join_all, new_participant
from erkle.store.questions import new_token

_B, _P = schema.import_batches.c, schema.participants.c


class Imports(Topic):
    """Import of answers."""

    def append(self, study: str, answers: Iterable[Imported]) -> int:
        """Append answers to the log of a study that is not closed, in batches, and return their number.

        Either all answers are added or none. Others can write between the batches.
        """
        import_id, n_batches, n_staged = new_token(), 0, 0
        try:
            for batch in in_batches(answers):
                n_staged += self._stage(study, import_id, batch, n_staged)
                n_batches += 1
            self._make_ready(study, import_id, n_batches)
        except BaseException:
            with suppress(StoreError):
                self._discard(import_id)
            raise
        # The batches are on disk: if the database fails now, a server moves the rest to the log later.
        with suppress(Unavailable):
            while self._move(study):
                pass
        return n_staged

    def recover(self) -> bool:
        """Move one batch of each import whose process ended meanwhile; return whether there are more.

        Imports that their process has not completed are deleted.
        """
        for import_id in self._abandoned():
            self._discard(import_id)
        return recover_each(self._move, self._waiting())

    @writing
    def _stage(self, study: str, import_id: str, answers: Sequence[Imported], first: int) -> int:
        owner, at = _not_closed(rows.study(self.connection, study)), self.clock()
        given = checked(answers, owner["n_objects"], at, first)
        check_room(self.connection, limits.IMPORTED_ROW * (first + len(given)))
        values = {"study_id": owner["id"], "import_id": import_id, "ready": False, "staged_at": at}
        self.connection.execute(insert(schema.import_batches), {**values, "content": {"answers": given}})
        written(self.connection, owner["id"], at)
        return len(given)

    @writing
    def _make_ready(self, study: str, import_id: str, n_batches: int) -> None:
        _not_closed(rows.lock_study(self.connection, study))
        change = update(schema.import_batches).where(_B.import_id == import_id).values(ready=True)
        if self.connection.execute(change).rowcount != n_batches:
            raise interrupted()

    @writing
    def _move(self, study: str) -> bool:
        """Move the first batch that is ready to the log; return False if there is none."""
        number = rows.lock_study(self.connection, study)["id"]
        ready = select(_B.id, _B.content).where(_B.study_id == number, _B.ready).order_by(_B.id).limit(1)
        found = self.connection.execute(ready).one_or_none()
        if found is None:
            return False
        self._add(study, number, [_restored(row) for row in found.content["answers"]])
        self.connection.execute(delete(schema.import_batches).where(_B.id == found.id))
        written(self.connection, number, self.clock())
        return True

    @writing
    def _discard(self, import_id: str) -> None:
        self.connection.execute(delete(schema.import_batches).where(_B.import_id == import_id, ~_B.ready))

    @reading
    def _abandoned(self) -> list[str]:
        recent = select(_B.import_id).where(_B.staged_at >= self.clock() - ABANDONED)
        query = select(_B.import_id).where(~_B.ready, _B.import_id.not_in(recent)).distinct()
        return list(self.connection.execute(query).scalars())

    @reading
    def _waiting(self) -> list[str]:
        # The batches of an unfinished study are deleted with it.
        s, unfinished = schema.studies.c, select(schema.unfinished_studies.c.study_id)
        query = select(s.public_id).where(s.id.in_(select(_B.study_id).where(_B.ready)), s.id.not_in(unfinished))
        return list(self.connection.execute(query).scalars())

    def _add(self, study: str, number: int, answers: Sequence[Imported]) -> None:
        if answers:
            last = Answers(self.connection, self.clock).last(study)
            participants = self._labelled(number, answers)
            add_answers(self.connection, number, answers, [participants[row.participant] for row in answers], last)

    def _labelled(self, study: int, answers: Sequence[Imported]) -> dict[str, int]:
        """Return the row number of the participant for each label, and add the participants that are new.

        Whoever is excluded in one row is excluded, whether or not the other rows say so.
        """
        identities = {row.participant: bounded_identity(f"imported={row.participant}") for row in answers}
        known: dict[str | None, int] = {}
        for some in in_batches(identities.values()):
            query = select(_P.identity, _P.id).where(_P.study_id == study, _P.identity.in_(some))
            known |= {identity: number for [identity, number] in self.connection.execute(query)}
        excluded = {identities[row.participant] for row in answers if row.excluded}
        exclude(self.connection, study, [known[identity] for identity in excluded & known.keys()])
        new: dict[str, dict[str, Any]] = {}
        for row in answers:
            identity = identities[row.participant]
            if identity not in known and identity not in new:
                about = row.parameters or {"participant": row.participant}, Standing.COMPLETED, self.clock(), identity
                new[identity] = new_participant(study, *about, excluded=identity in excluded)
        known |= dict(zip(new, join_all(self.connection, [*new.values()]), strict=True))
        return {label: known[identity] for label, identity in identities.items()}


def _not_closed(study: RowMapping) -> RowMapping:
    if study["state"] == State.CLOSED:
        raise NotAllowed("The study is closed; import the answers into another study.")
    return study


def _restored(values: list[Any]) -> Imported:
    row = Imported(*values)
    return row._replace(kind=Kind(row.kind))
