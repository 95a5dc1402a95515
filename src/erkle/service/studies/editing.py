"""New studies, and changes to the settings and the state of a study.

All settings of a draft may change. Once a study has been open, only settings that leave its answers valid may change.
"""

from typing import Any

from erkle.service.studies import spec
from erkle.service.studies.reading import Draft
from erkle.service.studies.spec import StudySettings
from erkle.store import NotAllowed, Object, State, Store, Study, Transaction
from erkle.store.features import Blocks

# Settings that may change once a study has been open.
LATER = frozenset({"texts", "endings", "identity_proof", "limits", "skipping", "target_error", "unfinished"})


def created(store: Store, draft: Draft, owner: str | None) -> Study:
    """Create the study of a draft; others can write while its media are stored."""
    settings = draft.settings.model_dump(mode="json")
    with store.unfinished.create(draft.title, draft.objects, settings, owner, draft.media.size) as study:
        store.unfinished.add_media(study.id, draft.media)
        _add_features(store, study, draft.features.blocks)
    return store.studies.get(study.id)


def duplicated(store: Store, study: str, owner: str, title: str | None = None) -> Study:
    """Create a draft with the objects, media, features and settings of another study, and without its answers.

    Participants see the title, so without another one the copy has that of the study.
    """

    def read(transaction: Transaction) -> tuple[Study, list[Object], int, Blocks]:
        n_bytes, features = sum(transaction.media.sizes(study).values()), transaction.features.all(study)
        return transaction.studies.get(study), transaction.studies.objects(study), n_bytes, features

    source, objects, n_bytes, features = store.transact(read)
    with store.unfinished.create(title or source.title, objects, source.settings, owner, n_bytes) as copy:
        store.unfinished.copy_media(study, copy.id)
        _add_features(store, copy, features)
    return store.studies.get(copy.id)


def _add_features(store: Store, study: Study, features: Blocks) -> None:
    if features:
        store.features.add(study.id, features)


def changed(study: Study, objects: list[Object], changes: dict[str, Any]) -> StudySettings:
    """Return the settings with changes: mappings are merged, and all other values are replaced."""
    before = spec.checked(study.settings)
    after = spec.checked(_merged(before.model_dump(mode="json"), changes), objects)
    fixed = [name for name in StudySettings.model_fields if getattr(before, name) != getattr(after, name)]
    if study.state != State.DRAFT and (fixed := [name for name in fixed if name not in LATER]):
        raise NotAllowed(
            f"The study is {study.state}, so {' and '.join(fixed)} can no longer change; "
            f"change {', '.join(sorted(LATER))}, or create another study."
        )
    return after


def change_state(store: Store, study: str, state: State, stopped: str | None = None) -> Study:
    """Open, pause or close a study. ``stopped`` changes what happens to participants who have not finished.

    Raises
    ------
    Complaints
        If the study cannot be opened, because its settings are invalid or its catch questions name objects that it
        does not have.
    """

    def change(transaction: Transaction) -> Study:
        if stopped is not None:
            changes = {"unfinished": {"stopped": stopped}}
            transaction.studies.revise(
                study, lambda now, objects: (None, changed(now, objects, changes).model_dump(mode="json"))
            )
        if state == State.OPEN:
            spec.checked(transaction.studies.get(study).settings, transaction.studies.objects(study))
        return transaction.studies.change_state(study, state)

    return store.transact(change)


def _merged(before: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Merge changes into a mapping, at all levels.

    >>> _merged({"texts": {"consent": "", "question": "Which?"}}, {"texts": {"consent": "Yes?"}})
    {'texts': {'consent': 'Yes?', 'question': 'Which?'}}
    """
    inner = {
        key: _merged(before[key], value)
        for key, value in changes.items()
        if isinstance(value, dict) and isinstance(before.get(key), dict)
    }
    return {**before, **changes, **inner}
