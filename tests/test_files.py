"""Tests of files: writing is atomic, and damaged or foreign files are refused."""

import errno
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle.files import (
    FileError,
    load_npz,
    npz_from_bytes,
    npz_to_bytes,
    remove_drafts,
    save_npz,
    write_atomically,
    write_text,
)

ARRAYS = {
    "K": np.eye(3),
    "T": np.arange(6).reshape(2, 3),
    "names": np.array(["cat", "Zoë"]),
    "file": np.array(True),
    "empty": np.empty((0, 3)),
}


def files_in(folder):
    return [path.name for path in folder.iterdir()]


def fail(path, error):
    with write_atomically(path) as file:
        file.write(b"new")
        raise error


def test_a_file_is_replaced_when_the_block_ends(tmp_path):
    path = tmp_path / "model"
    path.write_text("old")
    with write_atomically(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert files_in(tmp_path) == ["model"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, FileNotFoundError])
def test_any_error_leaves_the_old_file_and_nothing_else(error, tmp_path):
    (tmp_path / "model").write_text("old")
    with pytest.raises(error):
        fail(tmp_path / "model", error)
    assert (tmp_path / "model").read_text() == "old"
    assert files_in(tmp_path) == ["model"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    def fsync(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write_text(tmp_path / "model", "old")
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=r"model: .*\(No space left on device\)") as caught:
        write_text(tmp_path / "model", "new")
    assert caught.value.errno == errno.ENOSPC
    assert (tmp_path / "model").read_text() == "old"
    assert files_in(tmp_path) == ["model"]


LIMITED_FILE_SIZE = """
import resource, sys
import numpy as np
from erkle.files import save_npz

resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    save_npz(sys.argv[1], {"K": np.zeros((500, 500))}, {})
except OSError as error:
    print(error.strerror)
"""


def test_an_error_while_an_array_is_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.npz"
    save_npz(path, ARRAYS, {})
    old = path.read_bytes()
    run = subprocess.run([sys.executable, "-c", LIMITED_FILE_SIZE, path], capture_output=True, text=True, check=True)
    assert run.stdout.startswith(f"{path}: cannot be written (File too large)")
    assert run.stderr == ""
    assert path.read_bytes() == old
    assert files_in(tmp_path) == ["model.npz"]


def test_paths_that_cannot_be_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere") as caught:
        write_text(tmp_path / "nowhere" / "model", "new")
    assert caught.value.strerror.endswith(".")
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        write_text(tmp_path, "new")
    with pytest.raises(OSError, match="/dev/null"):
        write_text("/dev/null", "new")
    with pytest.raises(OSError, match=r"xxx.* shorter"):
        write_text(tmp_path / ("x" * 300), "new")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="model: "):
        write_text(tmp_path / "model", "new")


def test_errors_about_other_files_are_not_reworded(tmp_path):
    with pytest.raises(FileNotFoundError, match="elsewhere"), write_atomically(tmp_path / "model"):
        (tmp_path / "elsewhere").open()


def test_permissions_and_links_are_kept(tmp_path):
    write_text(tmp_path / "model", "old")
    fresh = (tmp_path / "model").stat().st_mode
    assert fresh & 0o777 == 0o666 & ~current_umask()
    (tmp_path / "model").chmod(0o640)
    (tmp_path / "link").symlink_to("model")
    write_text(tmp_path / "link", "new\r\n")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "model").read_bytes() == b"new\r\n"
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o640


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_the_drafts_of_killed_processes_are_removed_at_the_next_write(tmp_path):
    for name in (".erkle-0123.tmp", ".erkle-0123.tmp-journal"):
        (tmp_path / name).write_text("left by a kill")
    write_text(tmp_path / "model", "new")
    assert files_in(tmp_path) == ["model"]


def test_a_draft_that_is_being_written_is_not_removed(tmp_path):
    with write_atomically(tmp_path / "slow") as file:
        file.write(b"begun")
        write_text(tmp_path / "quick", "new")
        remove_drafts(tmp_path)
        file.write(b" and ended")
    assert (tmp_path / "slow").read_text() == "begun and ended"
    assert sorted(files_in(tmp_path)) == ["quick", "slow"]


KILLED = """
import os, signal, sys
from erkle.files import write_atomically

with write_atomically(sys.argv[1]) as file:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_a_draft_that_does_not_stay(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, tmp_path / "model"], check=False)
    assert len(files_in(tmp_path)) == 1
    write_text(tmp_path / "model", "new")
    assert files_in(tmp_path) == ["model"]


def test_arrays_and_description_are_read_back_unchanged(tmp_path):
    save_npz(tmp_path / "model.npz", ARRAYS, {"loss": "STE", "n": [1, None, 0.5]})
    arrays, meta = load_npz(tmp_path / "model.npz")
    assert meta == {"format": "erkle", "version": 5, "loss": "STE", "n": [1, None, 0.5]}
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)


def test_numpy_alone_can_read_the_file(tmp_path):
    save_npz(tmp_path / "model.npz", ARRAYS, {})
    with np.load(tmp_path / "model.npz") as archive:
        assert np.array_equal(archive["K"], ARRAYS["K"])
        assert str(archive["meta"]) == '{"format": "erkle", "version": 5}'


def test_the_same_arrays_give_the_same_bytes(tmp_path, monkeypatch):
    save_npz(tmp_path / "one.npz", ARRAYS, {})
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2030, 1, 1, 0, 0, 0, 0, 0, 0))
    save_npz(tmp_path / "two.npz", ARRAYS, {})
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_other_formats_can_be_used_and_other_versions_are_refused(tmp_path):
    save_npz(tmp_path / "model.npz", {}, {"format": "erkle checkpoint"})
    assert load_npz(tmp_path / "model.npz", "erkle checkpoint")[1]["version"] == 5
    save_npz(tmp_path / "model.npz", {}, {"format": "erkle checkpoint", "version": 9})
    with pytest.raises(FileError, match=r"version 9 .*erkle checkpoint.* version 5"):
        load_npz(tmp_path / "model.npz", "erkle checkpoint")
    with pytest.raises(FileError, match="format 'erkle'"):
        load_npz(tmp_path / "model.npz")


@pytest.mark.parametrize("arrays", [{"meta": [1]}, {"K": [None]}])
def test_arrays_that_cannot_be_read_back_are_not_written(arrays, tmp_path):
    with pytest.raises(FileError, match=r"^model.npz: .*; .*\.$"):
        save_npz(tmp_path / "model.npz", arrays, {})
    assert files_in(tmp_path) == []


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
    "old version": ("has version 1 .* version 5", lambda path: save_npz(path, {}, {"version": 1})),
    "objects": (
        "holds Python objects",
        lambda path: np.savez(path, meta=np.array('{"format": "erkle", "version": 5}'), K=np.array([None])),
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
