"""What a store does with studies."""

from collections.abc import Sequence

from erkle.store import studies
from erkle.store.opened import Opened
from erkle.store.outside import Json
from erkle.store.studies import Object, State, Study

__all__ = ["StudyMethods"]


class StudyMethods(Opened):
    """Studies: some things to ask about, and whether people are asked now."""

    def create_study(
        self, title: str, objects: Sequence[Object | str], settings: Json | None = None, owner: str | None = None
    ) -> Study:
        """A new study, as a draft, about at least three objects with different names."""
        return self._write(
            lambda connection: studies.create(connection, title, objects, settings or {}, owner, self._clock())
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
