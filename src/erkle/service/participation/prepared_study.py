"""Everything that asking questions of a study needs, derived once from its settings and objects."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from erkle.service.learning import Chooser
from erkle.service.studies import spec
from erkle.service.studies.objects import ShownObject
from erkle.service.studies.spec import StudySettings
from erkle.store import Object, Study


class CatchAnswers:
    """The right answers to the catch questions of a study.

    Parameters
    ----------
    catches : iterable of (anchor, near, far)
        The right answer to each question is ``near``.

    Examples
    --------
    >>> right = CatchAnswers([(0, 1, 2), (0, 2, 3)])
    >>> right.is_failed((0, 2, 1), 1), right.is_failed((0, 2, 1), 2), right.is_failed((0, 3, 2), None)
    (False, True, True)
    """

    def __init__(self, catches: Iterable[tuple[int, int, int]]) -> None:
        self._near = {_catch_key(*catch): catch[1] for catch in catches}

    def is_failed(self, question: tuple[int, int, int], choice: int | None) -> bool:
        """Return whether this is a catch question that was answered wrongly or skipped (``choice`` is None).

        All three objects identify a catch question, because two catch questions may share an anchor and a candidate.
        For any other question the result is False. That includes former catch questions, if the settings have changed.
        """
        right = self._near.get(_catch_key(*question))
        return right is not None and choice != right


class PreparedStudy(NamedTuple):
    """A study's settings, its objects as pages show them, and the chooser of its questions.

    Attributes
    ----------
    raw : mapping
        The settings as they are stored. When they change, the study is prepared again.
    catches : list of (anchor, near, far)
        The catch questions, as ids of objects.
    catch_answers : CatchAnswers
        The right answers to the catch questions.
    """

    raw: Mapping[str, Any]
    settings: StudySettings
    objects: list[ShownObject]
    chooser: Chooser
    catches: list[tuple[int, int, int]]
    catch_answers: CatchAnswers

    @classmethod
    def of(cls, study: Study, objects: list[Object]) -> "PreparedStudy":
        """Prepare a study with these objects."""
        settings = spec.checked(study.settings)
        ids = {each.name: number for number, each in enumerate(objects)}
        catches = [(ids[catch.anchor], ids[catch.near], ids[catch.far]) for catch in settings.checks.catch]
        return cls(
            raw=study.settings,
            settings=settings,
            objects=[ShownObject.of(study.id, number, each) for number, each in enumerate(objects)],
            chooser=Chooser(study.n_objects, settings.strategy, catches),
            catches=catches,
            catch_answers=CatchAnswers(catches),
        )


def _catch_key(anchor: int, first: int, second: int) -> tuple[int, int, int]:
    return anchor, min(first, second), max(first, second)
