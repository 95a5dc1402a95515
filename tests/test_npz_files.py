"""Arrays are read back as they were written, and damaged or foreign files are refused."""

import os
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle.files import FileError
from erkle.npz_files import VERSION, load_npz, npz_from_bytes, npz_to_bytes, save_npz

ARRAYS = {
    "K": np.eye(3),
    "T": np.arange(6).reshape(2, 3),
    "names": np.array(["cat", "Zoë"]),
    "file": np.array(True),
    "empty": np.empty((0, 3)),
}


def test_arrays_and_description_are_read_back_unchanged(tmp_path):
    save_npz(tmp_path / "model.npz", ARRAYS, {"loss": "STE", "n": [1, None, 0.5]})
    arrays, meta = load_npz(tmp_path / "model.npz")
    assert meta == {"format": "erkle", "version": VERSION, "loss": "STE", "n": [1, None, 0.5]}
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)


def test_numpy_alone_can_read_the_file(tmp_path):
    save_npz(tmp_path / "model.npz", ARRAYS, {})
    with np.load(tmp_path / "model.npz") as archive:
        assert np.array_equal(archive["K"], ARRAYS["K"])
        assert str(archive["meta"]) == f'{{"format": "erkle", "version": {VERSION}}}'


def test_the_same_arrays_give_the_same_bytes(tmp_path, monkeypatch):
    save_npz(tmp_path / "one.npz", ARRAYS, {})
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2030, 1, 1, 0, 0, 0, 0, 0, 0))
    save_npz(tmp_path / "two.npz", ARRAYS, {})
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_other_formats_can_be_used_and_other_versions_are_refused(tmp_path):
    save_npz(tmp_path / "model.npz", {}, {"format": "erkle checkpoint"})
    assert load_npz(tmp_path / "model.npz", "erkle checkpoint")[1]["version"] == VERSION
    save_npz(tmp_path / "model.npz", {}, {"format": "erkle checkpoint", "version": 99})
    with pytest.raises(FileError, match=rf"version 99 .*erkle checkpoint.* version {VERSION}"):
        load_npz(tmp_path / "model.npz", "erkle checkpoint")
    with pytest.raises(FileError, match="format 'erkle'"):
        load_npz(tmp_path / "model.npz")


@pytest.mark.parametrize("arrays", [{"meta": [1]}, {"K": [None]}])
def test_arrays_that_cannot_be_read_back_are_not_written(arrays, tmp_path):
    with pytest.raises(FileError, match=r"^model.npz: .*; .*\.$"):
        save_npz(tmp_path / "model.npz", arrays, {})
    assert list(tmp_path.iterdir()) == []


def npy(path):
    with path.open("wb") as file:
        np.save(file, np.eye(3))


def not_arrays(path):
    save_npz(path, {}, {})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("K.npy", b"not an array")


def nothing(path):
    pass


REFUSED = {
    "no file": ("there is no such file", nothing),
    "folder": ("is a folder", os.mkdir),
    "npy": ("is not an npz file", npy),
    "empty": ("is not an npz file", lambda path: path.write_bytes(b"")),
    "pickle": ("is not an npz file", lambda path: path.write_bytes(pickle.dumps([1]))),
    "no description": ("has no description", lambda path: np.savez(path, K=np.eye(3))),
    "no format": (".* format 'erkle'", lambda path: np.savez(path, meta=np.array("{}"))),
    "description is a list": (".* format 'erkle'", lambda path: np.savez(path, meta=np.array("[]"))),
    "description is not JSON": ("is cut short or damaged", lambda path: np.savez(path, meta=np.array("{"))),
    "no version": ("has version None", lambda path: save_npz(path, {}, {"version": None})),
    "old version": (f"has version 1 .* version {VERSION}", lambda path: save_npz(path, {}, {"version": 1})),
    "objects": (
        "holds Python objects",
        lambda path: np.savez(path, meta=np.array(f'{{"format": "erkle", "version": {VERSION}}}'), K=np.array([None])),
    ),
    "description is an object": (
        "holds Python objects .meta",
        lambda path: np.savez(path, meta=np.array([None])),
    ),
    "not an array": ("holds K, which is not an array", not_arrays),
}


@pytest.mark.parametrize(("words", "make"), REFUSED.values(), ids=REFUSED)
def test_a_file_of_another_kind_is_refused(words, make, tmp_path):
    make(tmp_path / "model.npz")
    with pytest.raises(FileError, match=rf"^model.npz: {words}.*\.$"):
        load_npz(tmp_path / "model.npz")


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(keep, tmp_path):
    path = tmp_path / "model.npz"
    save_npz(path, ARRAYS, {})
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])
    with pytest.raises(FileError, match="is cut short or damaged"):
        load_npz(path)


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
@settings(max_examples=150)
def test_a_damaged_file_is_refused_or_gives_the_same_arrays(place, patch):
    content = npz_to_bytes(ARRAYS, {})
    place %= len(content)
    try:
        arrays, _ = npz_from_bytes(content[:place] + patch + content[place + len(patch) :], "damaged.npz")
    except FileError as error:
        assert str(error).startswith("damaged.npz: ")  # noqa: PT017
    else:
        for name in arrays.keys() & ARRAYS.keys():
            assert np.array_equal(arrays[name], ARRAYS[name])
