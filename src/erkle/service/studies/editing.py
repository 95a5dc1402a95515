"""What may be changed of a study, and whether it may be opened.

Of a draft everything may change; later, only what spoils no answers.
"""

from typing import Any

from erkle.service.studies import spec
from erkle.service.studies.spec import StudySettings
from erkle.store import NotAllowed, Object, State, Store, Study, Transaction

LATER = frozenset({"texts", "endings", "limits", "skipping", "target_error"})


def changed(study: Study, objects: list[Object], changes: dict[str, Any]) -> StudySettings:
    """The settings with some of them changed: mappings go into each other, all else takes the place of what was."""
    before = spec.checked(study.settings)
    after = spec.checked(_merged(before.model_dump(mode="json"), changes), objects)
    fixed = [name for name in StudySettings.model_fields if getattr(before, name) != getattr(after, name)]
    if study.state != State.DRAFT and (fixed := [name for name in fixed if name not in LATER]):
        raise NotAllowed(
            f"The study is {study.state}, so {' and '.join(fixed)} cannot change any more; "
            f"change {', '.join(sorted(LATER))}, or create another study."
        )
    return after


def change_state(store: Store, study: str, state: State) -> Study:
    """Open, pause or close a study.

    Raises
    ------
    Complaints
        If the study is to be opened and is not ready: its settings are invalid, or catch questions name objects that
        it does not have.
    """

    def change(transaction: Transaction) -> Study:
        if state == State.OPEN:
            spec.checked(transaction.studies.get(study).settings, transaction.studies.objects(study))
        return transaction.studies.change_state(study, state)

    return store.transact(change)


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
