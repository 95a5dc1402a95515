"""The objects of a draft are replaced completely or not at all, and its media are those of its objects."""

import pytest

from erkle.store import Imported, Medium, NotAllowed, Object, State
from with_media import study_with_media

CAT, DOG = (Medium("image/webp", kind) for kind in (b"cat", b"dog" * 200_000))
MEDIA = {"cat.webp": CAT, "dog.webp": DOG}
OBJECTS = [Object("cat", {"image": "cat.webp"}), Object("dog", {"image": "dog.webp"}), Object("word")]


@pytest.fixture
def draft(store):
    return study_with_media(store, "Animals", OBJECTS, {"holdout": 0.2}, media=MEDIA).id


def test_objects_settings_and_media_are_replaced_together(store, draft):
    bird = Medium("image/webp", b"bird")
    store.drafts.add_media(draft, {"bird.webp": bird, "cat.webp": CAT}, 0)
    new = [Object("bird", {"image": "bird.webp"}), OBJECTS[0], Object("one"), Object("two")]
    changed = store.drafts.replace_objects(draft, lambda now, before: (new, {**now.settings, "strategy": "random"}))
    assert changed == store.studies.get(draft)
    assert (changed.n_objects, changed.settings) == (4, {"holdout": 0.2, "strategy": "random"})
    assert store.studies.objects(draft) == new
    assert {name: store.media.get(draft, name) for name in store.media.names(draft)} == {
        "bird.webp": bird,
        "cat.webp": CAT,
    }


def test_whatever_was_learned_of_the_old_objects_counts_as_old(store, draft):
    before = store.studies.get(draft).roster
    store.drafts.replace_objects(draft, lambda now, objects: (objects, now.settings))
    assert store.studies.get(draft).roster > before


def test_a_failed_replacement_changes_nothing(store, draft):
    def fail(now, objects):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.drafts.replace_objects(draft, fail)
    with pytest.raises(NotAllowed, match="same time"):
        store.drafts.replace_objects(draft, lambda *_: ([*OBJECTS, Object("x", {"image": "gone.webp"})], {}))
    assert store.studies.objects(draft) == OBJECTS
    assert store.media.names(draft) == sorted(MEDIA)


@pytest.mark.parametrize("how", ["opened", "answered"])
def test_a_study_that_was_opened_or_answered_keeps_its_objects(store, draft, how):
    if how == "opened":
        store.studies.change_state(draft, State.OPEN)
    else:
        store.imports.append(draft, [Imported("ann", 0, 1, 2)])
    with pytest.raises(NotAllowed, match="duplicate"):
        store.drafts.add_media(draft, {"new.webp": CAT}, 0)
    with pytest.raises(NotAllowed, match="duplicate"):
        store.drafts.replace_objects(draft, lambda now, objects: (objects[::-1], now.settings))
    assert store.studies.objects(draft) == OBJECTS
    assert store.media.names(draft) == sorted(MEDIA)


def test_media_are_copied_to_an_unfinished_study(store, draft):
    with store.unfinished.create("Copy", OBJECTS) as copy:
        store.unfinished.copy_media(draft, copy.id)
    assert {name: store.media.get(copy.id, name) for name in store.media.names(copy.id)} == MEDIA
    store.studies.delete(draft)
    assert store.media.get(copy.id, "dog.webp") == DOG
