"""Objects are replaced and added completely or not at all, and media and features are those of the objects."""

import numpy as np
import pytest

from erkle.store import Imported, Medium, NotAllowed, Object, Replaced, State, StoreError, Unknown
from with_media import study_with_media

CAT, DOG = (Medium("image/webp", kind) for kind in (b"cat", b"dog" * 200_000))
MEDIA = {"cat.webp": CAT, "dog.webp": DOG}
OBJECTS = [Object("cat", {"image": "cat.webp"}), Object("dog", {"image": "dog.webp"}), Object("word")]


@pytest.fixture
def draft(store):
    return study_with_media(store, "Animals", OBJECTS, {"holdout": 0.2}, media=MEDIA).id


def test_objects_settings_and_media_are_replaced_together(store, draft):
    bird = Medium("image/webp", b"bird")
    store.objects.add_media(draft, {"bird.webp": bird, "cat.webp": CAT}, 0)
    new = [Object("bird", {"image": "bird.webp"}), OBJECTS[0], Object("one"), Object("two")]
    kept = [None, 0, None, None]
    changed = store.objects.replace(
        draft, lambda now, before: Replaced(new, {**now.settings, "strategy": "random"}, kept)
    )
    assert changed == store.studies.get(draft)
    assert (changed.n_objects, changed.settings) == (4, {"holdout": 0.2, "strategy": "random"})
    assert store.studies.objects(draft) == new
    assert {name: store.media.get(draft, name) for name in store.media.names(draft)} == {
        "bird.webp": bird,
        "cat.webp": CAT,
    }


def test_whatever_was_learned_of_the_old_objects_counts_as_old(store, draft):
    before = store.studies.get(draft).roster
    store.objects.replace(draft, unchanged)
    assert store.studies.get(draft).roster > before


def test_a_failed_replacement_changes_nothing(store, draft):
    def fail(now, objects):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.objects.replace(draft, fail)
    more = [*OBJECTS, Object("x", {"image": "gone.webp"})]
    with pytest.raises(NotAllowed, match="same time"):
        store.objects.replace(draft, lambda *_: Replaced(more, {}, [0, 1, 2, None]))
    assert store.studies.objects(draft) == OBJECTS
    assert store.media.names(draft) == sorted(MEDIA)


@pytest.mark.parametrize("how", ["opened", "answered"])
def test_a_study_that_was_opened_or_answered_keeps_its_objects(store, draft, how):
    if how == "opened":
        store.studies.change_state(draft, State.OPEN)
    else:
        store.imports.append(draft, [Imported("ann", 0, 1, 2)])
    with pytest.raises(NotAllowed, match="duplicate"):
        store.objects.replace(draft, unchanged)
    assert store.studies.objects(draft) == OBJECTS
    assert store.media.names(draft) == sorted(MEDIA)


def unchanged(now, objects):
    return Replaced(objects, now.settings, range(len(objects)))


@pytest.mark.parametrize("state", [State.DRAFT, State.OPEN, State.PAUSED])
def test_objects_are_added_with_the_next_numbers(store, draft, state):
    for each in {State.OPEN: [State.OPEN], State.PAUSED: [State.OPEN, State.PAUSED]}.get(state, []):
        store.studies.change_state(draft, each)
    store.imports.append(draft, [Imported("ann", 0, 1, 2)])
    bird, before = Object("bird", {"image": "bird.webp"}), store.studies.get(draft)
    with pytest.raises(NotAllowed, match="again"):
        store.objects.add(draft, [bird])
    store.objects.add_media(draft, {"bird.webp": CAT}, 0)
    after = store.objects.add(draft, [bird, Object("fish")])
    assert store.studies.objects(draft) == [*OBJECTS, bird, Object("fish")]
    assert after.n_objects == 5
    assert after.roster > before.roster
    store.imports.append(draft, [Imported("ann", 4, 3, 2)])
    assert [answer.anchor for answer in store.answers.log(draft)] == [0, 4]


def test_objects_with_names_that_exist_and_objects_of_closed_studies_are_refused(store, draft):
    with pytest.raises(StoreError, match="named 'cat'"):
        store.objects.add(draft, [Object("cat")])
    store.studies.change_state(draft, State.CLOSED)
    with pytest.raises(NotAllowed, match="closed"):
        store.objects.add(draft, [Object("bird")])
    with pytest.raises(NotAllowed, match="closed"):
        store.objects.add_media(draft, {"bird.webp": CAT}, 0)
    assert store.studies.objects(draft) == OBJECTS


def vectors(*rows):
    return np.array(rows, np.float32)


SIZE, NONE = vectors([1, 2], [3, 4], [np.nan, np.nan]), [np.nan, np.nan]


def test_features_follow_the_objects_of_a_draft(store, draft):
    store.features.add(draft, {"size": SIZE, "only a cat": vectors([7])})
    new = [Object("new"), OBJECTS[2], OBJECTS[1], Object("other")]
    store.objects.replace(draft, lambda now, before: Replaced(new, now.settings, [None, 2, 1, None]))
    found = store.features.all(draft)
    assert list(found) == ["size"]
    np.testing.assert_array_equal(found["size"], vectors(NONE, NONE, [3, 4], NONE))


def test_features_are_added_replaced_and_removed_and_each_change_counts(store, draft):
    rosters = [store.studies.get(draft).roster]
    for change in (
        lambda: store.features.add(draft, {"size": SIZE, "age": vectors([1], [2])}),
        lambda: store.features.add(draft, {"age": vectors([5], [6], [7])}),
        lambda: store.features.remove(draft, "size"),
    ):
        change()
        rosters.append(store.studies.get(draft).roster)
    assert rosters == sorted(set(rosters))
    found = store.features.all(draft)
    assert list(found) == ["age"]
    np.testing.assert_array_equal(found["age"], vectors([5], [6], [7]))
    with pytest.raises(Unknown, match="size"):
        store.features.remove(draft, "size")


def test_new_objects_bring_features_of_the_kinds_that_the_study_has(store, draft):
    store.features.add(draft, {"size": SIZE[:2], "age": vectors([1], [2], [3])})
    store.objects.add(draft, [Object("bird"), Object("fish")], {"size": vectors(NONE, [9, 9])})
    found = store.features.all(draft)
    np.testing.assert_array_equal(found["size"], vectors([1, 2], [3, 4], NONE, NONE, [9, 9]))
    np.testing.assert_array_equal(found["age"], vectors([1], [2], [3], [np.nan], [np.nan]))
    for odd in ({"size": vectors([1])}, {"colour": vectors([1, 2])}):
        for change in (store.objects.add, store.objects.check_addition):
            with pytest.raises(StoreError, match="same kind"):
                change(draft, [Object("cow")], odd)
    assert store.studies.get(draft).n_objects == 5


def test_features_of_objects_that_somebody_else_has_changed_are_refused(store, draft):
    with pytest.raises(NotAllowed, match="again"):
        store.features.add(draft, {"size": SIZE}, ["cat", "word", "dog"])
    assert store.features.all(draft) == {}
    # Objects that were added meanwhile have no vectors.
    store.objects.add(draft, [Object("bird")])
    store.features.add(draft, {"size": SIZE}, ["cat", "dog", "word"])
    assert np.isnan(store.features.all(draft)["size"][3]).all()


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ({"size": vectors([1], [2], [3], [4])}, "3 objects"),
        ({"size": vectors([1, np.nan])}, "gaps"),
        ({"size": vectors([np.inf])}, "infinite"),
        ({"": SIZE}, "name"),
        ({"n" * 101: SIZE}, "name"),
        ({"size": np.zeros((3, 0), np.float32)}, "shape"),
        ({"size": np.zeros((1, 9_000_000), np.float32)}, "at most"),
        ({str(number): SIZE for number in range(21)}, "at most 20"),
    ],
)
def test_features_that_do_not_fit_are_refused(store, draft, blocks, words):
    with pytest.raises(StoreError, match=words):
        store.features.add(draft, blocks)
    assert store.features.all(draft) == {}


def test_media_are_copied_to_an_unfinished_study(store, draft):
    with store.unfinished.create("Copy", OBJECTS) as copy:
        store.unfinished.copy_media(draft, copy.id)
    assert {name: store.media.get(copy.id, name) for name in store.media.names(copy.id)} == MEDIA
    store.studies.delete(draft)
    assert store.media.get(copy.id, "dog.webp") == DOG
