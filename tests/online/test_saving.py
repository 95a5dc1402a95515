"""Laws of saved learners: they come back to the last bit, run no code, and a damaged file is told from a whole one."""

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle import CKL, ERKLE, STE, Constant, LowRank, PassiveAggressiveI
from erkle.files import FileError, load_npz, save_npz
from parts import DIRECTIONS, KERNELS, LOSSES, PROJECTIONS, STEPS, Cooling, SquaredHinge, answers, state

T = answers(7, 200, flipped=0.2)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "learner.npz"


def assert_same(loaded, learner):
    assert state(loaded) == state(learner)
    np.testing.assert_array_equal(loaded.kernel_, learner.kernel_)
    loaded.partial_fit(T[:40])
    learner.partial_fit(T[:40])
    assert state(loaded) == state(learner)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_loaded_learner_goes_on_like_the_saved_one(loss, step, path):
    learner = ERKLE(7, loss=loss, step=step).fit(T)
    learner.save(path)
    loaded = ERKLE.load(path)
    assert (loaded.loss, loaded.step) == (loss, step)
    assert_same(loaded, learner)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_loaded_low_rank_learner_goes_on_like_the_saved_one(kernel, path):
    learner = ERKLE(7, kernel=kernel, random_state=3).fit(T)
    learner.save(path)
    loaded = ERKLE.load(path)
    assert loaded.kernel == kernel
    assert repr(loaded.selection_) == repr(learner.selection_)
    np.testing.assert_array_equal(loaded.predict_proba(T), learner.predict_proba(T))
    with np.load(path) as file:
        np.testing.assert_array_equal(file["kernel"], learner.kernel_)
        np.testing.assert_array_equal(file["map"], learner.embedding_)
    assert_same(loaded, learner)
    assert state(loaded.fit(T)) == state(learner.fit(T))


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_parameter_comes_back(direction, projection, passes, path):
    X = np.random.default_rng(0).normal(size=(7, 3))
    parameters = {
        "loss": CKL(mu=0.3),
        "step": PassiveAggressiveI(margin=2.0, C=0.7),
        "direction": direction,
        "passes": passes,
        "tol": 1e-5,
        "random_state": 11,
        "projection": projection,
    }
    learner = ERKLE(7, initial_kernel=X @ X.T, **parameters).fit(T).add_objects(2)
    learner.partial_fit(answers(9, 50))
    learner.save(path)
    loaded = ERKLE.load(path)
    assert {name: loaded.get_params()[name] for name in parameters} == parameters
    assert loaded.n_objects == 7
    assert loaded.n_objects_ == 9
    np.testing.assert_array_equal(loaded.initial_kernel, X @ X.T)
    assert_same(loaded, learner)
    assert state(loaded.fit(T)) == state(learner.fit(T))


@pytest.mark.parametrize("seed", [None, 5, np.int64(5), np.random.default_rng(5), np.random.RandomState(5)])
def test_the_draws_go_on_whatever_the_seed_was(seed, path):
    learner = ERKLE(7, passes=4, random_state=seed).fit(T)
    learner.save(path)
    loaded = ERKLE.load(path)
    assert loaded.random_state == (5 if isinstance(seed, int | np.integer) else None)
    assert_same(loaded, learner)


def test_numpy_numbers_as_parameters_come_back_as_plain_ones(path):
    ERKLE(np.int64(7), tol=np.float32(0.01), passes=np.int32(2), step=Constant(np.int64(2))).fit(T).save(path)
    loaded = ERKLE.load(path)
    assert type(loaded.n_objects) is type(loaded.passes) is int
    assert type(loaded.tol) is type(loaded.step.rate) is float


def test_a_learner_without_answers_can_be_saved(path):
    learner = ERKLE(7).fit([])
    learner.save(path)
    assert_same(ERKLE.load(path), learner)


def test_the_kernel_and_the_labels_are_plain_arrays(path):
    learner = ERKLE(7).fit(T)
    labels = ["apple", "Zürich", "日本", "", "a b", "c,d", "e"]
    learner.save(path, labels)
    with np.load(path) as file:
        np.testing.assert_array_equal(file["kernel"], learner.kernel_)
        assert file["labels"].tolist() == labels
    assert state(ERKLE.load(path)) == state(learner)


def test_labels_must_be_as_many_as_the_objects(path):
    with pytest.raises(ValueError, match=r"^There are 2 labels for 7 objects; pass one for each\.$"):
        ERKLE(7).fit(T).save(path, ["a", "b"])
    assert not path.exists()


def test_the_same_learner_gives_the_same_bytes(path, tmp_path):
    learner = ERKLE(7, passes=2, random_state=0).fit(T)
    learner.save(path)
    learner.save(tmp_path / "again.npz")
    ERKLE.load(path).save(tmp_path / "loaded.npz")
    assert path.read_bytes() == (tmp_path / "again.npz").read_bytes() == (tmp_path / "loaded.npz").read_bytes()


def test_parts_of_the_users_own_must_be_given_again(path):
    learner = ERKLE(7, loss=SquaredHinge(2.0), step=Cooling()).fit(T)
    learner.save(path)
    with pytest.raises(
        FileError, match=r"learned with the loss SquaredHinge, which is your own; pass loss=SquaredHinge"
    ):
        ERKLE.load(path)
    with pytest.raises(
        FileError, match=r"learned with the step Cooling, which is your own; pass step=Cooling\(\.\.\.\) to"
    ):
        ERKLE.load(path, loss=SquaredHinge(2.0))
    with pytest.raises(TypeError, match=r"^The loss is the class SquaredHinge; pass a value, SquaredHinge\(\)\.$"):
        ERKLE.load(path, loss=SquaredHinge, step=Cooling())
    assert_same(ERKLE.load(path, loss=SquaredHinge(2.0), step=Cooling()), learner)


def test_another_loss_and_step_may_be_given(path):
    ERKLE(7).fit(T).save(path)
    loaded = ERKLE.load(path, loss=STE(), step=Constant(0.1))
    assert (loaded.loss, loaded.step) == (STE(), Constant(0.1))
    assert loaded.partial_fit(T).n_triplets_seen_ == 400


@pytest.mark.parametrize(
    "changed",
    [
        {"passes": 3},
        {"n_objects": 50},
        {"tol": 1e-3},
        {"projection": "eigh"},
        {"step": Constant()},
        {"random_state": 9},
        {"kernel": LowRank(2)},
    ],
    ids=lambda changed: next(iter(changed)),
)
@pytest.mark.parametrize("passes", [1, 2])
def test_parameters_set_anew_do_not_make_the_file_unreadable(changed, passes, path):
    learner = ERKLE(7, passes=passes, random_state=0).fit(T).set_params(**changed)
    learner.save(path)
    loaded = ERKLE.load(path)
    assert loaded.get_params() == learner.get_params()
    assert_same(loaded, learner)


def test_a_learner_whose_parameters_are_wrong_is_refused_before_anything_is_written(path):
    learner = ERKLE(7).fit(T)
    learner.save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"^passes is 0"):
        learner.set_params(passes=0).save(path)
    assert path.read_bytes() == before


def test_a_subclass_loads_as_itself(path):
    class Mine(ERKLE):
        pass

    ERKLE(7).fit(T).save(path)
    assert type(Mine.load(path)) is Mine


# Damage.


def assert_refused(path):
    """One sentence in a FileError or OSError, and never another exception."""
    with pytest.raises((FileError, OSError)) as info:
        ERKLE.load(path)
    assert path.name in str(info.value)
    assert "\n" not in str(info.value)


def whole_file(path, **parameters):
    ERKLE(7, passes=2, random_state=0, **parameters).fit(T).save(path)
    return path.read_bytes()


def test_a_file_cut_short_is_refused_wherever_it_was_cut(path):
    content = whole_file(path)
    for length in range(0, len(content), 53):
        path.write_bytes(content[:length])
        assert_refused(path)


@settings(max_examples=200)
@given(position=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_byte_changed_is_refused_or_harmless(position, flip, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    original, damaged = folder / "original.npz", folder / "damaged.npz"
    content = original.read_bytes() if original.exists() else whole_file(original)
    place = int(position * len(content))
    damaged.write_bytes(content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :])
    try:
        loaded = ERKLE.load(damaged)
    except (FileError, OSError):
        return
    # Some bytes, such as the dates inside a zip file, mean nothing.
    assert state(loaded) == state(ERKLE.load(original))


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04", b"\x93NUMPY", b"anchor,near,far\n0,1,2\n", bytes(1000)])
def test_what_is_no_npz_file_is_refused(content, path):
    path.write_bytes(content)
    assert_refused(path)


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    assert_refused(tmp_path)
    assert_refused(tmp_path / "missing.npz")
    assert_refused(tmp_path / "missing" / "learner.npz")


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


@pytest.mark.parametrize("name", ["K", "extra", "labels", "initial_kernel"])
def test_a_pickle_inside_is_refused_and_not_run(name, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole_file(path)
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array([Bomb()], dtype=object), allow_pickle=True)
    replaced(path, f"{name}.npy", buffer.getvalue())
    assert_refused(path)
    replaced(path, f"{name}.npy", pickle.dumps(Bomb()))
    assert_refused(path)
    assert not (tmp_path / "exploded").exists()


def replaced(path, member, content):
    """Put other bytes in the place of a member of a zip file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, old in {**members, member: content}.items():
            archive.writestr(name, content if name == member else old)


def changed(path, arrays=None, meta=None, without=()):
    """A file with other arrays or another description, written as a whole one is."""
    whole_file(path)
    old_arrays, old_meta = load_npz(path)
    kept = {name: array for name, array in {**old_arrays, **(arrays or {})}.items() if name not in without}
    save_npz(path, kept, {name: value for name, value in {**old_meta, **(meta or {})}.items() if name not in without})


def with_entry(array, index, value):
    array = np.array(array)
    array[index] = value
    return array


history = np.tile(np.array([[0, 1, 2]], np.int32), (200, 1))
memory = np.ones(11)
WRONG_ARRAYS = {
    "K not square": {"K": np.eye(7)[:5]},
    "K of another size": {"K": np.eye(6)},
    "K too small": {"K": np.eye(2), "P": np.eye(2), "history": history[:0]},
    "K empty": {"K": np.empty((0, 0)), "P": np.empty((0, 0)), "history": history[:0]},
    "K one number": {"K": np.array(1.0)},
    "K a vector": {"K": np.ones(7)},
    "K integers": {"K": np.eye(7, dtype=int)},
    "K single precision": {"K": np.eye(7, dtype=np.float32)},
    "K text": {"K": np.full((7, 7), "x")},
    "K complex": {"K": np.eye(7, dtype=complex)},
    "K nan": {"K": with_entry(np.eye(7), (3, 2), np.nan)},
    "K infinite": {"K": with_entry(np.eye(7), (3, 2), np.inf)},
    "P of another size": {"P": np.eye(6)},
    "P text": {"P": np.full((7, 7), "x")},
    "P nan": {"P": with_entry(np.eye(7), (3, 2), np.nan)},
    "memory too short": {"memory": memory[:-1]},
    "memory too long": {"memory": np.ones(12)},
    "memory one number": {"memory": np.array(1.0)},
    "memory text": {"memory": np.full(11, "x")},
    "memory nan": {"memory": with_entry(memory, 4, np.nan)},
    "memory huge": {"memory": with_entry(memory, 4, 1e300)},
    "memory without a shift": {"memory": np.zeros(11)},
    "history too short": {"history": history[:-1]},
    "history too long": {"history": np.vstack([history, history])},
    "history out of range": {"history": with_entry(history, (5, 1), 7)},
    "history negative": {"history": with_entry(history, (5, 1), -1)},
    "history of floats": {"history": history.astype(float)},
    "history of four columns": {"history": np.zeros((200, 4), np.int32)},
    "history flat": {"history": history.ravel()},
    "history text": {"history": np.full((200, 3), "x")},
    "initial kernel of another size": {"initial_kernel": np.eye(3)},
    "initial kernel text": {"initial_kernel": np.full((7, 7), "x")},
    "initial kernel indefinite": {"initial_kernel": -np.eye(7)},
}


@pytest.mark.parametrize("arrays", WRONG_ARRAYS.values(), ids=WRONG_ARRAYS)
def test_arrays_that_are_no_learner_are_refused(arrays, path):
    changed(path, arrays)
    assert_refused(path)


good = {"n_objects": 7, "direction": "canonical", "passes": 2, "tol": 0.01, "projection": "inverse"}
WRONG_META = {
    "another kind": {"kind": "RCKL"},
    "no kind": {"kind": None},
    "another format": {"format": "other"},
    "newer version": {"version": 99},
    "unknown parameter": {"parameters": {**good, "rank": 3}},
    "parameters missing": {"parameters": {"n_objects": 7}},
    "parameters a list": {"parameters": [1, 2]},
    "parameters null": {"parameters": None},
    "n_objects negative": {"parameters": {**good, "n_objects": -7}},
    "n_objects text": {"parameters": {**good, "n_objects": "7"}},
    "n_objects enormous": {"parameters": {**good, "n_objects": 10**9}},
    "passes zero": {"parameters": {**good, "passes": 0}},
    "tol null": {"parameters": {**good, "tol": None}},
    "direction unknown": {"parameters": {**good, "direction": "up"}},
    "projection unknown": {"parameters": {**good, "projection": "up"}},
    "loss null": {"loss": None},
    "loss empty": {"loss": []},
    "loss unknown": {"loss": ["Nonsense"]},
    "loss negative": {"loss": ["GNMDS", -1.0]},
    "loss with too many fields": {"loss": ["GNMDS", 1.0, 2.0]},
    "loss with text": {"loss": ["GNMDS", "x"]},
    "step a number": {"step": 5},
    "generator null": {"generator": None},
    "generator of another kind": {"generator": np.random.MT19937(0).state["bit_generator"]},
    "generator damaged": {"generator": {"bit_generator": "PCG64", "state": {}}},
    "replay passes zero": {"replay_passes": 0},
    "replay passes text": {"replay_passes": "2"},
    "seen negative": {"n_triplets_seen": -1},
    "seen too many": {"n_triplets_seen": 10**30},
    "seen infinite": {"n_triplets_seen": float("inf")},
    "seen null": {"n_triplets_seen": None},
    "mistakes too many": {"n_mistakes": 201},
    "mistakes nan": {"n_mistakes": float("nan")},
    "seed text": {"random_state": "x"},
    "seed negative": {"random_state": -1},
    "model unknown": {"model": "sparse"},
    "model a list": {"model": ["dense"]},
    "model of another kind": {"model": "low rank"},
    "kernel a number": {"kernel": 3},
    "kernel of too many fields": {"kernel": [3, None, "off", 1]},
    "kernel of rank 0": {"kernel": [0, None, "off"]},
    "nothing kept": {"replay_keep": 0},
    "kept null": {"replay_keep": None},
}


@pytest.mark.parametrize("meta", WRONG_META.values(), ids=WRONG_META)
def test_a_description_that_is_no_learners_is_refused(meta, path):
    changed(path, meta=meta)
    assert_refused(path)


@pytest.mark.parametrize("name", ["K", "P", "memory", "history", "kind", "parameters", "loss", "step", "generator"])
def test_a_file_that_lacks_something_is_refused(name, path):
    changed(path, without=(name,))
    assert_refused(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "5", json.dumps({"format": "erkle"}), "[" * 5000])
def test_a_description_that_is_no_description_is_refused(text, path):
    whole_file(path)
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array(text))
    replaced(path, "meta.npy", buffer.getvalue())
    assert_refused(path)


# Failed saves.


@pytest.mark.parametrize("place", ["missing/learner.npz", "."])
def test_a_place_that_cannot_be_written_to_is_named(place, tmp_path):
    with pytest.raises(OSError, match=r"cannot be written .*; .*\.$"):
        ERKLE(7).fit(T).save(tmp_path / place)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match=r"cannot be written .*; choose a place you may write to\.$"):
        ERKLE(7).fit(T).save(tmp_path / "learner.npz")
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("trouble", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
def test_the_old_file_survives_a_failed_save(trouble, path, monkeypatch):
    before = whole_file(path)
    learner = ERKLE.load(path).partial_fit(T)

    def fail(*arguments, **options):
        raise trouble

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(type(trouble)):
        learner.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    monkeypatch.undo()
    learner.save(path)
    assert state(ERKLE.load(path)) == state(learner)
