"""Laws of saved learners: they load to the last bit, run no code, and a damaged file is detected."""

import io
import json
import os
import pickle
import re
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle import ERKLE, SOE, STE, Constant, Dense, LowRank, PassiveAggressiveI
from erkle.files import FileError
from erkle.npz_files import VERSION, load_npz, save_npz
from parts import DIRECTIONS, KERNELS, PAIRS, PROJECTIONS, Cooling, SquaredHinge, answers, precise, state

T = answers(7, 200, flipped=0.2)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "learner.npz"


def assert_same(loaded, learner):
    assert state(loaded) == state(learner)
    np.testing.assert_array_equal(loaded.kernel_matrix(), learner.kernel_matrix())
    loaded.partial_fit(T[:40])
    learner.partial_fit(T[:40])
    assert state(loaded) == state(learner)


@pytest.mark.parametrize(("loss", "step"), PAIRS)
def test_a_loaded_learner_continues_like_the_saved_one(loss, step, path):
    learner = ERKLE(7, kernel=Dense(), loss=loss, step=step).fit(T)
    learner.save(path)
    loaded = ERKLE.load(path)
    assert (loaded.loss, loaded.step) == (loss, step)
    assert_same(loaded, learner)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_loaded_low_rank_learner_continues_like_the_saved_one(kernel, path):
    learner = ERKLE(7, kernel=kernel, random_state=3).fit(T)
    learner.save(path)
    loaded = ERKLE.load(path)
    assert loaded.kernel == kernel
    assert repr(loaded.selection_) == repr(learner.selection_)
    np.testing.assert_array_equal(loaded.predict_proba(T), learner.predict_proba(T))
    with np.load(path) as file:
        np.testing.assert_array_equal(file["kernel"], learner.kernel_matrix())
        np.testing.assert_array_equal(file["map"], learner.embedding())
    assert_same(loaded, learner)
    assert state(loaded.fit(T)) == state(learner.fit(T))


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_parameter_is_restored(direction, projection, passes, path):
    X = np.random.default_rng(0).normal(size=(7, 3))
    parameters = {
        "loss": SOE(margin=0.3),
        "step": Constant(0.7),
        "direction": direction,
        "passes": passes,
        "random_state": 11,
    }
    learner = ERKLE(7, kernel=precise(projection, X @ X.T), **parameters).fit(T).add_objects(2)
    learner.partial_fit(answers(9, 50))
    learner.save(path)
    loaded = ERKLE.load(path)
    assert {name: loaded.get_params()[name] for name in parameters} == parameters
    assert loaded.n_objects == 7
    assert loaded.n_objects_ == 9
    assert loaded.kernel[:2] == learner.kernel[:2]
    np.testing.assert_array_equal(loaded.kernel.initial, X @ X.T)
    assert_same(loaded, learner)
    assert state(loaded.fit(T)) == state(learner.fit(T))


@pytest.mark.parametrize("seed", [None, 5, np.int64(5), np.random.default_rng(5), np.random.RandomState(5)])
def test_random_draws_continue_after_loading(seed, path):
    learner = ERKLE(7, kernel=Dense(), passes=4, random_state=seed).fit(T)
    learner.save(path)
    loaded = ERKLE.load(path)
    assert loaded.random_state == (5 if isinstance(seed, int | np.integer) else None)
    assert_same(loaded, learner)


def test_numpy_numbers_as_parameters_are_restored_as_plain_numbers(path):
    kernel, step = Dense(tol=np.float32(0.01)), Constant(np.int64(2))
    ERKLE(np.int64(7), kernel=kernel, passes=np.int32(2), step=step).fit(T).save(path)
    loaded = ERKLE.load(path)
    assert type(loaded.n_objects) is type(loaded.passes) is int
    assert type(loaded.kernel.tol) is type(loaded.step.rate) is float


def test_a_learner_without_answers_can_be_saved(path):
    learner = ERKLE(7, kernel=Dense()).fit([])
    learner.save(path)
    assert_same(ERKLE.load(path), learner)


def test_the_kernel_and_the_labels_are_plain_arrays(path):
    learner = ERKLE(7, kernel=Dense()).fit(T)
    labels = ["apple", "Zürich", "日本", "", "a b", "c,d", "e"]
    learner.save(path, labels)
    with np.load(path) as file:
        np.testing.assert_array_equal(file["kernel"], learner.kernel_matrix())
        assert file["labels"].tolist() == labels
    assert state(ERKLE.load(path)) == state(learner)


def test_a_wrong_number_of_labels_is_refused(path):
    with pytest.raises(ValueError, match="2 labels for 7 objects"):
        ERKLE(7, kernel=Dense()).fit(T).save(path, ["a", "b"])
    assert not path.exists()


def test_the_same_learner_gives_the_same_bytes(path, tmp_path):
    learner = ERKLE(7, kernel=Dense(), passes=2, random_state=0).fit(T)
    learner.save(path)
    learner.save(tmp_path / "again.npz")
    ERKLE.load(path).save(tmp_path / "loaded.npz")
    assert path.read_bytes() == (tmp_path / "again.npz").read_bytes() == (tmp_path / "loaded.npz").read_bytes()


def test_a_users_loss_and_step_must_be_passed_to_load(path):
    learner = ERKLE(7, kernel=Dense(), loss=SquaredHinge(2.0), step=Cooling()).fit(T)
    learner.save(path)
    with pytest.raises(FileError, match="loss=SquaredHinge"):
        ERKLE.load(path)
    with pytest.raises(FileError, match="step=Cooling"):
        ERKLE.load(path, loss=SquaredHinge(2.0))
    with pytest.raises(TypeError, match=r"SquaredHinge\(\)"):
        ERKLE.load(path, loss=SquaredHinge, step=Cooling())
    assert_same(ERKLE.load(path, loss=SquaredHinge(2.0), step=Cooling()), learner)


def test_another_loss_and_step_can_be_passed_to_load(path):
    ERKLE(7, kernel=Dense()).fit(T).save(path)
    loaded = ERKLE.load(path, loss=STE(), step=Constant(0.1))
    assert (loaded.loss, loaded.step) == (STE(), Constant(0.1))
    assert loaded.partial_fit(T).n_triplets_seen_ == 400


@pytest.mark.parametrize(
    "changed",
    [
        {"passes": 3},
        {"n_objects": 50},
        {"kernel": Dense(1e-3)},
        {"kernel": Dense(projection="eigh")},
        {"step": PassiveAggressiveI()},
        {"random_state": 9},
        {"kernel": LowRank(2)},
    ],
    ids=str,
)
@pytest.mark.parametrize("passes", [1, 2])
def test_a_learner_with_changed_parameters_can_be_loaded(changed, passes, path):
    learner = ERKLE(7, kernel=Dense(), passes=passes, random_state=0).fit(T).set_params(**changed)
    learner.save(path)
    loaded = ERKLE.load(path)
    assert loaded.get_params() == learner.get_params()
    assert_same(loaded, learner)


def test_a_learner_with_bad_parameters_is_refused_before_anything_is_written(path):
    learner = ERKLE(7, kernel=Dense()).fit(T)
    learner.save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"^passes is 0"):
        learner.set_params(passes=0).save(path)
    assert path.read_bytes() == before


def test_a_subclass_loads_instances_of_itself(path):
    class Mine(ERKLE):
        pass

    ERKLE(7, kernel=Dense()).fit(T).save(path)
    assert type(Mine.load(path)) is Mine


# Damage.


def assert_refused(path):
    """Loading raises a FileError or an OSError of one line that names the file."""
    with pytest.raises((FileError, OSError)) as info:
        ERKLE.load(path)
    assert path.name in str(info.value)
    assert "\n" not in str(info.value)


def whole_file(path):
    ERKLE(7, kernel=Dense(), passes=2, random_state=0).fit(T).save(path)
    return path.read_bytes()


def test_a_truncated_file_is_refused_at_any_length(path):
    content = whole_file(path)
    for length in range(0, len(content), 101):
        path.write_bytes(content[:length])
        assert_refused(path)


@settings(max_examples=100)
@given(position=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_changed_byte_is_refused_or_harmless(position, flip, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    original, damaged = folder / "original.npz", folder / "damaged.npz"
    content = original.read_bytes() if original.exists() else whole_file(original)
    place = int(position * len(content))
    damaged.write_bytes(content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :])
    try:
        loaded = ERKLE.load(damaged)
    except (FileError, OSError):
        return
    # Some bytes, such as the dates in a zip file, do not matter.
    assert state(loaded) == state(ERKLE.load(original))


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04", b"\x93NUMPY", b"anchor,near,far\n0,1,2\n", bytes(1000)])
def test_a_file_of_another_kind_is_refused(content, path):
    path.write_bytes(content)
    assert_refused(path)


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    assert_refused(tmp_path)
    assert_refused(tmp_path / "missing.npz")
    assert_refused(tmp_path / "missing" / "learner.npz")


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


@pytest.mark.parametrize("name", ["kernel.K", "extra", "labels", "initial_kernel"])
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
    """Replace the bytes of a member of a zip file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, old in {**members, member: content}.items():
            archive.writestr(name, content if name == member else old)


# Arrays that are written for readers without this library, and not loaded.
UNUSED = {"kernel", "map"}


@pytest.mark.parametrize("kernel", [pytest.param(Dense(), id="dense"), *KERNELS])
def test_a_missing_or_malformed_array_is_refused(kernel, path):
    ERKLE(7, kernel=kernel, random_state=0).fit(T, participants=np.arange(len(T)) % 3).save(path)
    arrays, meta = load_npz(path)
    for name in set(arrays) - UNUSED:
        without = {other: array for other, array in arrays.items() if other != name}
        own = arrays[name]
        numbers = [np.full(own.shape, np.nan, own.dtype)] if own.dtype.kind == "f" else []
        for array in (None, own[None], np.concatenate([own, own], axis=-1), np.full(own.shape, "x"), *numbers):
            if array is not None and array.dtype == own.dtype and np.array_equal(array, own):
                continue  # a dense kernel keeps no answers, and twice none is none
            save_npz(path, without if array is None else {**arrays, name: array}, meta)
            assert_refused(path)


@pytest.mark.parametrize("version", [0, VERSION - 1, 99, str(VERSION), None])
def test_a_file_of_another_version_is_refused(version, path):
    whole_file(path)
    arrays, meta = load_npz(path)
    save_npz(path, arrays, meta | {"version": version})
    with pytest.raises(FileError, match=f"version {version} .* version {VERSION}"):
        ERKLE.load(path)


@pytest.mark.parametrize("meta", [{"kind": "RCKL"}, {"kind": None}, {"format": "other"}])
def test_a_file_that_holds_no_learner_is_refused(meta, path):
    whole_file(path)
    arrays, own = load_npz(path)
    save_npz(path, arrays, own | meta)
    assert_refused(path)


def test_every_byte_of_the_arrays_is_covered_by_a_checksum(path):
    content = whole_file(path)
    arrays, _ = load_npz(path)
    data = arrays["kernel.K"].tobytes()
    start = content.index(data)
    for place in range(start, start + len(data), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert_refused(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "5", json.dumps({"format": "erkle"}), "[" * 5000])
def test_malformed_metadata_is_refused(text, path):
    whole_file(path)
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array(text))
    replaced(path, "meta.npy", buffer.getvalue())
    assert_refused(path)


# Failed saves.


@pytest.mark.parametrize("place", ["missing/learner.npz", "."])
def test_an_error_names_the_path_that_cannot_be_written(place, tmp_path):
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        ERKLE(7, kernel=Dense()).fit(T).save(tmp_path / place)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_error_names_the_folder_without_write_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        ERKLE(7, kernel=Dense()).fit(T).save(tmp_path / "learner.npz")
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


@pytest.mark.parametrize(
    "changed", [{"next_review": 0}, {"replay_passes": 0}, {"n_triplets_seen": -5}, {"n_mistakes": "x"}], ids=str
)
def test_impossible_counts_are_refused(changed, path):
    ERKLE(7, random_state=0).fit(T).save(path)
    arrays, meta = load_npz(path)
    save_npz(path, arrays, meta | changed)
    assert_refused(path)


def test_a_loss_that_does_not_fit_the_saved_kernel_is_refused_without_blaming_the_file(path):
    ERKLE(7, random_state=0).fit(T).save(path)
    with pytest.raises(ValueError, match=r"^loss is STE\(\)") as info:
        ERKLE.load(path, loss=STE())
    assert not isinstance(info.value, FileError)
