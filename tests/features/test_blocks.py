"""Laws of blocks: what they keep of vectors, and which vectors they refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from erkle.features import Block, Features
from made_up_features import points, vectors

F = vectors(points())


def test_the_axes_of_embeddings_have_the_distances_of_the_prepared_vectors():
    block, rows = Block.of("clip", F)
    prepared = F - F.mean(axis=0)
    prepared /= np.linalg.norm(prepared, axis=1, keepdims=True)
    prepared -= prepared.mean(axis=0)
    assert block.unit
    np.testing.assert_allclose(rows.axes @ rows.axes.T, prepared @ prepared.T, atol=1e-9)
    np.testing.assert_allclose(rows.rest, 0.0, atol=1e-9)


def test_measurements_are_scaled_by_column_and_keep_their_length():
    measured = np.column_stack([np.arange(10.0), 1000.0 * np.arange(10.0) ** 2])
    block, rows = Block.of("sizes", measured)
    assert not block.unit
    assert np.mean(np.sum(rows.axes**2, axis=1)) == pytest.approx(1.0)
    other_units = Block.of("sizes", measured * [3.0, 0.001] + [5.0, -7.0])[1]
    np.testing.assert_allclose(other_units.axes, rows.axes, atol=1e-9)


def test_a_constant_column_changes_nothing():
    _, rows = Block.of("x", np.column_stack([F[:, :5], np.full(len(F), 7.0)]))
    np.testing.assert_allclose(rows.axes, Block.of("x", F[:, :5])[1].axes, atol=1e-9)


def test_what_the_axes_leave_out_is_kept_as_the_rest(monkeypatch):
    monkeypatch.setattr("erkle.features.blocks._MOST_AXES", 3)
    block, rows = Block.of("clip", F)
    assert rows.axes.shape == (len(F), 3)
    prepared = block.prepared(F)
    np.testing.assert_allclose(np.sum(rows.axes**2, axis=1) + rows.rest[:, 0], np.sum(prepared**2, axis=1))
    assert rows.rest.max() > 0.0


def test_subspace_iteration_finds_the_same_axes(monkeypatch):
    exact = Block.of("clip", F)[1].axes[:, :5]
    monkeypatch.setattr("erkle.features.blocks._EXACT_UP_TO", 10)
    monkeypatch.setattr("erkle.features.blocks._CHUNK", 7)
    found = Block.of("clip", F)[1].axes[:, :5]
    np.testing.assert_allclose(found @ found.T, exact @ exact.T, atol=0.02)


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 30), st.integers(1, 60), st.integers(0, 2**31))
def test_an_object_has_the_same_row_whether_it_comes_first_or_later(n, d, seed):
    vectors = np.random.default_rng(seed).standard_normal((n, d))
    block, rows = Block.of("x", vectors)
    later = block.rows(vectors[:2])
    np.testing.assert_allclose(later.axes, rows.axes[:2], atol=1e-9)
    np.testing.assert_allclose(later.rest, rows.rest[:2], atol=1e-9)


def test_objects_without_a_vector_have_zeros_and_do_not_move_the_others():
    gaps = np.concatenate([F, np.full((2, F.shape[1]), np.nan)])
    _, rows = Block.of("clip", gaps)
    np.testing.assert_array_equal(rows.known[:, 0], [True] * len(F) + [False] * 2)
    np.testing.assert_allclose(rows.axes[:-2], Block.of("clip", F)[1].axes, atol=1e-9)
    assert not rows.axes[-2:].any()


def test_a_masked_row_is_that_of_an_object_without_a_vector():
    masked = np.ma.masked_array(F, mask=np.zeros(F.shape, bool))
    masked[3] = np.ma.masked
    gaps = F.copy()
    gaps[3] = np.nan
    np.testing.assert_array_equal(Block.of("clip", masked)[1].axes, Block.of("clip", gaps)[1].axes)


@pytest.mark.parametrize(
    ("vectors", "parts"),
    [
        (np.zeros((5, 3)), ["clip", "same vector"]),
        (np.full((5, 3), np.nan), ["clip", "0 vectors"]),
        (np.where(np.eye(5, 3) == 1.0, np.nan, np.arange(15.0).reshape(5, 3)), ["clip", "row 0", "column 0"]),
        (np.where(np.eye(5, 3) == 1.0, np.inf, np.arange(15.0).reshape(5, 3)), ["clip", "row 0", "column 0"]),
        (np.array([["a", "b"], ["c", "d"]]), ["clip", "<U1"]),
        (np.arange(5.0), ["clip", "(5,)"]),
        (np.empty((5, 0)), ["clip", "(5, 0)"]),
        (np.where(np.eye(5, 3) == 1.0, 1e300, np.arange(15.0).reshape(5, 3)), ["clip", "row 0", "column 0", "1e+100"]),
        (np.full((5, 40), 1e300) * np.arange(5.0)[:, None], ["clip", "row 1", "1e+100"]),
        (np.longdouble("1e400") * np.eye(5, 3, dtype=np.longdouble), ["clip", "row 0", "1e+100"]),
        (1e-14 * np.arange(15.0).reshape(5, 3), ["clip", "up to rounding", "multiply"]),
        ([[1.0, 2.0], [3.0]], ["clip", "differ in length"]),
        (csr_array(np.eye(5, 3)), ["clip", "csr_array"]),
        (7.0, ["clip", "float"]),
        (np.ma.masked_less(np.arange(15.0).reshape(5, 3), 1.0), ["clip", "row 0", "NaN", "column 0"]),
    ],
    ids=[
        "constant",
        "all missing",
        "gap in a row",
        "infinity",
        "text",
        "one dimension",
        "no columns",
        "a huge number",
        "huge embeddings",
        "a number that no double can hold",
        "tiny",
        "rows of different lengths",
        "a sparse matrix",
        "a number",
        "a gap in a masked row",
    ],
)
def test_vectors_that_say_nothing_or_are_broken_are_refused(vectors, parts):
    with pytest.raises(ValueError, match=r".") as raised:
        Block.of("clip", vectors)
    for part in parts:
        assert part in str(raised.value)


def test_features_have_a_row_for_each_object_and_other_numbers_are_refused():
    with pytest.raises(ValueError, match="40 rows for 39 objects"):
        Features.of(F, 39)
    with pytest.raises(ValueError, match="empty"):
        Features.of({}, 39)
    # Files would lose the last character of some of them.
    for name in (3, "", " ", "a\0", "two\nlines", "\udce9"):
        with pytest.raises(ValueError, match="visible"):
            Features.of({name: F}, 40)


def test_further_objects_need_columns_of_the_same_kind():
    features = Features.of({"clip": F, "sizes": F[:, :2]}, len(F))
    with pytest.raises(ValueError, match="63 columns"):
        features.rows({"clip": F[:1, :63]})
    with pytest.raises(ValueError, match="colour"):
        features.rows({"colour": F[:1]})
    with pytest.raises(ValueError, match="2 rows for 1 objects"):
        features.rows({"clip": F[:1], "sizes": F[:2, :2]})
    with pytest.raises(ValueError, match=r"row 1 is .* times as long"):
        features.rows({"sizes": [[0.0, 1.0], [1e12, 1.0]]})
    for odd in (5.0, csr_array(F[:1]), [[1.0], [1.0, 2.0]]):
        with pytest.raises(ValueError, match="Features clip: got"):
            features.rows({"clip": odd})
    only = features.rows({"clip": F[:2]})
    np.testing.assert_array_equal(only.known, [[True, False], [True, False]])


def test_features_survive_arrays():
    features = Features.of({"clip": F, "sizes": F[:, :2]}, len(F))
    restored = Features.from_arrays(features.arrays())
    assert restored.names == features.names
    for name, array in features.arrays().items():
        np.testing.assert_array_equal(restored.arrays()[name], array)
