"""Laws of damaged files of learners that choose: one that no learner can have written is refused, whatever is wrong."""

import numpy as np
import pytest

from erkle import ERKLE, LowRank
from erkle.files import FileError, load_npz, save_npz
from parts import KERNELS, answers

T = answers(7, 120, flipped=0.2)
IDS = [parameter.id for parameter in KERNELS]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What is in the file of each kind of learner."""
    path = tmp_path_factory.mktemp("saved") / "learner.npz"
    files = {}
    for parameter in KERNELS:
        ERKLE(7, kernel=parameter.values[0], random_state=0).fit(T).save(path)
        files[parameter.id] = load_npz(path)
    return files


def assert_refused(path, arrays, meta):
    """One sentence in a FileError, and never another exception."""
    save_npz(path, arrays, meta)
    with pytest.raises(FileError) as info:
        ERKLE.load(path)
    assert path.name in str(info.value)
    assert "\n" not in str(info.value)


def damaged(array):
    """All that can be wrong with an array of numbers, without regard to what it means."""
    yield "text", np.full(array.shape, "x")
    yield "integers", np.ones(array.shape, int)
    yield "single precision", array.astype(np.float32)
    yield "one number", np.array(1.0)
    yield "another axis", array[None]
    yield "too long", np.concatenate([array, array])
    yield "nothing", array[:0]
    yield "nan", np.where(np.arange(array.size).reshape(array.shape) == 0, np.nan, array)
    yield "infinite", np.where(np.arange(array.size).reshape(array.shape) == 0, np.inf, array)


# What is written beside the model, for others to read.
FOR_OTHERS = {"kernel", "map"}


@pytest.mark.parametrize("kind", IDS)
def test_no_array_may_be_missing_or_of_another_kind(kind, whole, tmp_path):
    arrays, meta = whole[kind]
    for name in sorted(set(arrays) - FOR_OTHERS - {"history"}):
        without = {other: array for other, array in arrays.items() if other != name}
        assert_refused(tmp_path / "missing.npz", without, meta)
        for trouble, array in damaged(arrays[name]):
            # One kernel of more objects is a kernel, too.
            if (kind, name, trouble) != ("one", "B", "too long"):
                assert_refused(tmp_path / "damaged.npz", {**arrays, name: array}, meta)
    for history in (arrays["history"][:-1], arrays["history"].astype(float), arrays["history"] + 5):
        assert_refused(tmp_path / "damaged.npz", {**arrays, "history": history}, meta)


def replaced(meta, place, value):
    """The description with something else at a place, given by names and positions."""
    if not place:
        return value
    copied = dict(meta) if isinstance(meta, dict) else list(meta)
    copied[place[0]] = replaced(copied[place[0]], place[1:], value)
    return copied


FIELD = {
    ("field",): [None, [], {}, 5],
    ("field", "candidates"): [None, [], {}, [[1]], [["x", 1.0, 1.0]]],
    ("field", "candidates", 0): [None, [], [0, 0.002, 0.3], ["2", 0.3], [2.5, 0.3], [10**9, 0.3], [2, -1.0], [2, "x"]],
    ("field", "leader"): [None, -1, 99, "0", 0.0, True],
    ("field", "retired"): [None, 5, [5], [[[2, 0.3], "x"]], [[[[2], 0.3], 5]], [[[2, 0.3], -1]]],
    ("next_review",): [None, "5", -1, 5, 119, 150.5, float("nan")],
}
FITS = {
    ("seed",): [None, -1, "x", 1.5],
    ("share",): ["x", -1.0, float("nan"), [0.1]],
    ("next_start",): [None, "x", float("nan"), -1.0],
    ("replay_keep",): [0, 5, 10**6],
}
WRONG_META = {
    "one": {("model",): ["dense", "race", "consolidation", "x", None, ["race"]]},
    "race": {
        **FIELD,
        ("shares",): [None, [], [1.0], ["x"] * 5, [float("nan")] * 5, [-1.0] * 5],
        ("field", "candidates", 0, 1): [0.123, None],
        ("field", "candidates", 0, 2): [0.7, "x"],
        ("model",): ["dense", "low rank", "consolidation"],
    },
    "fits": {**FIELD, **FITS, ("fixed",): [True, None, "x"], ("model",): ["dense", "low rank", "race"]},
    "fits of one": {**FIELD, **FITS, ("model",): ["dense", "low rank", "race"]},
}


@pytest.mark.parametrize(
    ("kind", "place"),
    [(kind, place) for kind, places in WRONG_META.items() for place in places],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value)),
)
def test_no_part_of_the_description_may_be_nonsense(kind, place, whole, tmp_path):
    arrays, meta = whole[kind]
    for value in WRONG_META[kind][place]:
        assert_refused(tmp_path / "damaged.npz", arrays, replaced(meta, place, value))


@pytest.mark.parametrize("kind", IDS)
def test_nothing_in_the_description_may_be_missing(kind, whole, tmp_path):
    arrays, meta = whole[kind]
    for name in set(meta) - {"format", "version"}:
        assert_refused(tmp_path / "missing.npz", arrays, {key: value for key, value in meta.items() if key != name})


@pytest.mark.parametrize("kind", IDS)
def test_a_kernel_of_fewer_objects_than_the_answers_name_is_refused(kind, whole, tmp_path):
    arrays, meta = whole[kind]
    fewer = {name: array[:6] if array.shape[:1] == (7,) else array for name, array in arrays.items()}
    assert_refused(tmp_path / "damaged.npz", fewer, meta)


@pytest.mark.parametrize("kind", IDS)
def test_candidates_of_different_sizes_are_refused(kind, whole, tmp_path):
    arrays, meta = whole[kind]
    for name, array in arrays.items():
        if array.shape[:1] == (7,) and name not in FOR_OTHERS and kind != "one":
            larger = np.concatenate([array, np.zeros((1, *array.shape[1:]))])
            assert_refused(tmp_path / "damaged.npz", {**arrays, name: larger}, meta)


def test_a_loss_step_or_direction_that_fits_never_heeded_is_left_behind(tmp_path):
    fits = ERKLE(7, kernel=LowRank(2, consolidate=0.1), random_state=0).fit(T[:60])
    fits.save(tmp_path / "fits.npz")
    arrays, meta = load_npz(tmp_path / "fits.npz")
    meta |= {"loss": ["STE"], "step": ["Constant", 0.5]}
    meta["parameters"]["direction"] = "gradient"
    save_npz(tmp_path / "older.npz", arrays, meta)
    older = ERKLE.load(tmp_path / "older.npz")
    assert older.get_params()["direction"] == "canonical"
    assert np.array_equal(older.partial_fit(T[60:]).kernel_, fits.partial_fit(T[60:]).kernel_)
