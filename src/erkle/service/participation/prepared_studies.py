"""Desks: what is needed at hand to ask about a study, kept while its settings stay as they are."""

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from erkle.service.learning import Chooser
from erkle.service.participation.asking import Plan
from erkle.service.participation.shown_objects import Thing, thing_of
from erkle.service.studies import markup, spec
from erkle.service.studies.spec import StudySettings
from erkle.store import Object, State, Store, Study, Transaction

__all__ = ["Desk", "Desks"]


class Desk(NamedTuple):
    """A study's settings, its things as pages show them (``shown`` as JSON holds them), and who chooses."""

    raw: Mapping[str, Any]
    settings: StudySettings
    things: list[Thing]
    shown: list[dict[str, Any]]
    plan: Plan
    thanks_html: str


class Desks:
    """One desk for each study that somebody takes part in."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._desks: dict[str, Desk] = {}

    def desk(self, study: Study, transaction: Transaction | None = None) -> Desk:
        """The desk of a study as it is now; inside a transaction nothing may be read but through it."""
        found = self._desks.get(study.id)
        if found is None or found.raw != study.settings:
            found = self._set_up(study, (transaction or self._store).studies.objects(study.id))
            if study.state != State.DRAFT:
                # Drafts may still get other objects.
                with self._lock:
                    self._desks[study.id] = found
        return found

    def forget(self, study: str) -> None:
        """The study has been deleted."""
        with self._lock:
            self._desks.pop(study, None)

    def _set_up(self, study: Study, objects: list[Object]) -> Desk:
        settings = spec.checked(study.settings)
        ids = {each.name: number for number, each in enumerate(objects)}
        catches = [(ids[catch.head], ids[catch.near], ids[catch.far]) for catch in settings.checks.catch]
        chooser = Chooser(study.n_objects, settings.strategy, catches)
        things = [thing_of(study.id, number, each) for number, each in enumerate(objects)]
        return Desk(
            raw=study.settings,
            settings=settings,
            things=things,
            shown=[thing.model_dump() for thing in things],
            plan=Plan.of(settings, chooser, catches),
            thanks_html=markup.html(settings.texts.thanks),
        )
