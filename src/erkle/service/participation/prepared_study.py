"""What is needed to ask about a study, derived once from its settings and objects."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from erkle.service.learning import Chooser
from erkle.service.participation.asking import Plan
from erkle.service.studies import markup, spec
from erkle.service.studies.objects import ShownObject
from erkle.service.studies.spec import StudySettings
from erkle.store import Object, Study

__all__ = ["PreparedStudy"]


class PreparedStudy(NamedTuple):
    """A study's settings, its objects as pages show them, and what chooses its questions.

    Attributes
    ----------
    raw : mapping
        The settings as the store has them; a study with other settings must be prepared again.
    """

    raw: Mapping[str, Any]
    settings: StudySettings
    objects: list[ShownObject]
    plan: Plan
    thanks_html: str

    @classmethod
    def of(cls, study: Study, objects: list[Object]) -> "PreparedStudy":
        """Prepare a study that has these objects."""
        settings = spec.checked(study.settings)
        ids = {each.name: number for number, each in enumerate(objects)}
        catches = [(ids[catch.head], ids[catch.near], ids[catch.far]) for catch in settings.checks.catch]
        chooser = Chooser(study.n_objects, settings.strategy, catches)
        return cls(
            raw=study.settings,
            settings=settings,
            objects=[ShownObject.of(study.id, number, each) for number, each in enumerate(objects)],
            plan=Plan.of(settings, chooser, catches),
            thanks_html=markup.html(settings.texts.thanks),
        )
