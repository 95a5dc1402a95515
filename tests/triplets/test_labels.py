"""Tests of `Labels`: names and their ids."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle.triplets import Labels

names = st.lists(st.text("abc é,\"'", min_size=1).map(str.strip).filter(bool), min_size=3, unique=True)


@st.composite
def named_rows(draw):
    pool = draw(names)
    return draw(st.lists(st.permutations(pool).map(lambda order: order[:3]), max_size=20))


@given(named_rows())
def test_decode_undoes_encode(rows):
    labels = Labels()
    T = labels.encode(rows)
    assert T.shape == (len(rows), 3)
    assert labels.decode(T).tolist() == rows


@given(named_rows())
def test_ids_are_given_in_order_of_first_appearance(rows):
    labels = Labels()
    labels.encode(rows)
    assert labels.names == list(dict.fromkeys(name for row in rows for name in row))
    assert labels.ids == {name: i for i, name in enumerate(labels.names)}
    assert len(labels) == len(labels.names)


@given(named_rows(), st.integers(0, 20))
def test_any_split_of_the_rows_gives_the_same_ids(rows, cut):
    whole, parts = Labels(), Labels()
    T = whole.encode(rows)
    assert np.concatenate([parts.encode(rows[:cut]), parts.encode(rows[cut:])]).tolist() == T.tolist()
    assert parts.names == whole.names


@given(named_rows(), st.lists(st.sampled_from("abc"), max_size=3))
def test_codes_of_names_are_encoded_as_the_names(rows, known):
    names = list(dict.fromkeys(name for row in rows for name in row))
    codes = np.array([names.index(name) for row in rows for name in row], dtype=np.int64)
    coded, named = Labels(dict.fromkeys(known)), Labels(dict.fromkeys(known))
    assert coded.encode_codes(codes, names).tolist() == named.encode(rows).tolist()
    assert coded.names == named.names
    with pytest.raises(ValueError, match="repeated"):
        coded.encode_codes(np.array([0, 1, 0]), ["new", "newer"])
    with pytest.raises(ValueError, match="unknown"):
        coded.encode_codes(np.array([0, 1, 2]), ["new", "newer", "newest"], frozen=True)
    assert coded.names == named.names
    assert coded.ids == named.ids


def test_rows_may_be_arrays_or_iterators():
    rows = [["cat", "dog", "bus"], ["bus", "tram", "cat"]]
    expected = Labels().encode(rows).tolist()
    assert Labels().encode(np.array(rows)).tolist() == expected
    assert Labels().encode(iter([np.array(row) for row in rows])).tolist() == expected
    assert Labels().encode([]).shape == (0, 3)


def test_names_become_plain_str():
    labels = Labels(np.array(["cat", "dog"]))
    labels.encode([np.array(["cat", "bus", "dog"])])
    assert {type(name) for name in [*labels.names, *labels.ids]} == {str}


def test_decode_keeps_the_shape_of_the_ids():
    labels = Labels(["cat", "dog"])
    assert labels.decode(1).tolist() == "dog"
    assert labels.decode([[[1, 0]]]).tolist() == [[["dog", "cat"]]]
    assert labels.decode([]).shape == (0,)


REFUSED = [
    (["cat", "dog"], r"\['cat', 'dog'\]"),
    ("cat", "'cat'"),
    (7, "7"),
    (["cat", 3, "bus"], "the near object is 3"),
    ([["x"], "dog", "bus"], r"the anchor object is \['x'\]"),
    (["cat", "dog", ""], r"the far object is missing \(''\)"),
    (["NaN", "dog", "bus"], r"the anchor object is missing \('NaN'\)"),
    (["cat", "-17", "bus"], r"the near object is a negative number \('-17'\)"),
    (["cat", "dog", " bus"], "the far object .*' bus'"),
    (["cat", "a\nb", "bus"], r"the near object .*'a\\nb'"),
    (["cat", "\ud800", "bus"], r"the near object .*ud800"),
    (["new", "new", "bus"], "the anchor and the near object are both 'new'"),
    (["new", "bus", "new"], "the anchor and the far object are both 'new'"),
    (["bus", "new", "new"], "the near and the far object are both 'new'"),
]


@pytest.mark.parametrize(("row", "words"), REFUSED)
def test_a_refused_row_is_named_and_adds_no_names(row, words):
    labels = Labels(["cat", "dog"])
    with pytest.raises(ValueError, match=f"^Row 1: .*{words}") as caught:
        labels.encode([["one", "two", "three"], row])
    assert str(caught.value).endswith(".")
    assert labels.names == ["cat", "dog"]
    assert labels.ids == {"cat": 0, "dog": 1}


def test_frozen_labels_do_not_grow_and_suggest_the_nearest_name():
    labels = Labels(["cat", "dog", "bus"])
    assert labels.encode([["bus", "cat", "dog"]], frozen=True).tolist() == [[2, 0, 1]]
    with pytest.raises(ValueError, match=r"^Row 0: the near object 'catt' .* 3 objects.*'cat'\?$"):
        labels.encode([["bus", "catt", "dog"]], frozen=True)
    with pytest.raises(ValueError, match=r"'zebra' .* 3 objects"):
        labels.encode([["zebra", "cat", "dog"]], frozen=True)
    assert len(labels) == 3


def test_a_declared_name_may_look_like_a_missing_value():
    labels = Labels(["NA", "DE", "-1"])
    assert labels.encode([["NA", "-1", "DE"]]).tolist() == [[0, 2, 1]]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["cat", "dog", "cat"], "Names 0 and 2 .*'cat'"),
        (["cat", ""], "Name 1 .*''"),
        (["cat", " dog"], "Name 1 .*' dog'"),
        (["a\tb"], r"Name 0 .*'a\\tb'"),
        (["cat", 3], "Name 1 is 3"),
    ],
)
def test_duplicate_and_unusable_names_are_refused(names, words):
    with pytest.raises(ValueError, match=words):
        Labels(names)


@pytest.mark.parametrize("ids", [[0.5], ["cat"], [None], [True]])
def test_ids_that_are_not_integers_are_refused(ids):
    with pytest.raises(ValueError, match=f"type {np.asarray(ids).dtype}"):
        Labels(["cat", "dog"]).decode(ids)


@pytest.mark.parametrize("ids", [[2], [-1], [[0, 1, 99]]])
def test_ids_without_a_name_are_refused(ids):
    with pytest.raises(ValueError, match=r"2 names.* from 0 to 1"):
        Labels(["cat", "dog"]).decode(ids)


def test_labels_can_be_pickled():
    labels = Labels(["cat", "dog"])
    copy = pickle.loads(pickle.dumps(labels))
    assert (copy.names, copy.ids, repr(copy)) == (labels.names, labels.ids, "Labels(2 names)")
