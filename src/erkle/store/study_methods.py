"""What a store does with studies."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection

from erkle.store import deleting, editing, importing, media, restoring, studies
from erkle.store.editing import Revision
from erkle.store.importing import Imported
from erkle.store.media import Medium
from erkle.store.opened import Opened
from erkle.store.restoring import Whole
from erkle.store.sanitising import Json
from erkle.store.studies import Object, State, Study

__all__ = ["StudyMethods"]


class StudyMethods(Opened):
    """Studies: some things to ask about, and whether people are asked now."""

    def create_study(
        self,
        title: str,
        objects: Sequence[Object | str],
        settings: Json | None = None,
        owner: str | None = None,
        media: Mapping[str, Medium] | None = None,
        answers: Iterable[Imported] = (),
    ) -> Study:
        """A new study, as a draft, about at least three objects with different names.

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
            What goes with the objects, kept in the same transaction.
        answers : iterable of Imported, optional
            Answers from elsewhere, as for `import_answers`: without them there is no study either.
        """
        given = list(answers)
        return self._write(
            lambda connection: _create(
                connection, (title, objects, settings or {}, owner, self._clock()), media or {}, given
            )
        )

    def studies(self) -> list[Study]:
        """All studies, the oldest first."""
        return self._read(studies.listed)

    def study(self, study: str) -> Study:
        """The study with this id."""
        return self._read(lambda connection: studies.get(connection, study))

    def objects(self, study: str) -> list[Object]:
        """What the study asks about; the place in the list is the object's id."""
        return self._read(lambda connection: studies.objects(connection, study))

    def change_state(self, study: str, state: State) -> Study:
        """Open, pause or close a study; a closed one stays closed."""
        return self._write(lambda connection: studies.change_state(connection, study, state))

    def edit_study(self, study: str, title: str | None = None, settings: Json | None = None) -> Study:
        """Give a study another title, other settings, or both."""
        return self._write(lambda connection: editing.edit(connection, study, title, settings))

    def revise(self, study: str, revision: Revision) -> Study:
        """Give a study the title and the settings that a function makes of the study and its objects.

        Nobody else changes the study between what the function is given and what it returns, where None changes
        nothing; what it raises changes nothing either. It may be called twice, and should be short.
        """
        return self._write(lambda connection: editing.revise(connection, study, revision))

    def replace_objects(self, study: str, objects: Sequence[Object | str]) -> Study:
        """Ask about other objects; refused once a question was asked, whose numbers would then mean others."""
        return self._write(lambda connection: editing.replace_objects(connection, study, objects))

    def delete_study(self, study: str) -> None:
        """Delete a study and everything of it, answers, too; there is no other way to delete an answer."""
        self._write(lambda connection: deleting.delete_study(connection, study))

    def add_media(self, study: str, added: Mapping[str, Medium]) -> None:
        """Keep media by their names; one that has the name of another replaces it."""
        self._write(lambda connection: media.add(connection, study, added))

    def medium(self, study: str, name: str) -> Medium:
        """The medium with this name."""
        return self._read(lambda connection: media.get(connection, study, name))

    def media(self, study: str) -> list[str]:
        """The names of all media of a study, in their order."""
        return self._read(lambda connection: media.listed(connection, study))

    def import_answers(self, study: str, rows: Iterable[Imported]) -> int:
        """Append answers from elsewhere to the log of a study that is not closed, all of them or none.

        Each different label is one participant, in later imports to the study, too. How many answers there were.
        """
        given = list(rows)
        return self._write(lambda connection: importing.import_answers(connection, study, given, self._clock()))

    def import_study(self, whole: Whole, owner: str | None = None) -> Study:
        """A study from elsewhere with all that belongs to it, or nothing; it is paused if it was open."""
        return self._write(lambda connection: restoring.import_study(connection, whole, owner, self._clock()))


def _create(
    connection: Connection,
    study: tuple[str, Sequence[Object | str], Json, str | None, int],
    files: Mapping[str, Medium],
    answers: Sequence[Imported],
) -> Study:
    created = studies.create(connection, *study)
    media.add(connection, created.id, files)
    if answers:
        importing.import_answers(connection, created.id, answers, created.created_at)
    return created
