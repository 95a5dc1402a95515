"""What may still be changed of a study: all of a draft, later only what spoils no answers."""

from typing import Any

from erkle.service.studies import spec
from erkle.service.studies.complaints import Complaints
from erkle.service.studies.spec import StudySettings
from erkle.service.web.errors import Problem
from erkle.store import NotAllowed, Object, State, Study

__all__ = ["LATER", "changed", "check_ready"]

LATER = frozenset({"texts", "endings", "limits", "skipping", "target_error"})


def changed(study: Study, objects: list[Object], changes: dict[str, Any]) -> StudySettings:
    """The settings with some of them changed: mappings go into each other, all else takes the place of what was."""
    before = spec.stored(study.settings)
    after = _checked(_merged(before.model_dump(mode="json"), changes), objects)
    fixed = [name for name in StudySettings.model_fields if getattr(before, name) != getattr(after, name)]
    if study.state != State.DRAFT and (fixed := [name for name in fixed if name not in LATER]):
        raise NotAllowed(
            f"The study is {study.state}, so {' and '.join(fixed)} cannot change any more; "
            f"change {', '.join(sorted(LATER))}, or create another study."
        )
    return after


def check_ready(study: Study, objects: list[Object]) -> None:
    """Nothing, if the study may be opened: its settings are valid and its objects are all there."""
    _checked(study.settings, objects)


def _checked(values: dict[str, Any], objects: list[Object]) -> StudySettings:
    try:
        settings = spec.checked(values)
        spec.check_objects(settings, [thing.name for thing in objects])
    except Complaints as complaints:
        raise Problem(422, "invalid", str(complaints)) from None
    return settings


def _merged(before: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """One mapping in the other.

    >>> _merged({"texts": {"consent": "", "thanks": "Bye."}}, {"texts": {"consent": "Yes?"}})
    {'texts': {'consent': 'Yes?', 'thanks': 'Bye.'}}
    """
    inner = {
        key: _merged(before[key], value)
        for key, value in changes.items()
        if isinstance(value, dict) and isinstance(before.get(key), dict)
    }
    return {**before, **changes, **inner}
