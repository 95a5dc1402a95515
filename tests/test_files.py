"""Writing a file is atomic."""

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

from erkle.files import remove_drafts, write_atomically, write_text
from erkle.npz_files import save_npz


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
from erkle.npz_files import save_npz

resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    save_npz(sys.argv[1], {"K": np.zeros((500, 500))}, {})
except OSError as error:
    print(error.strerror)
"""


def test_an_error_while_an_array_is_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.npz"
    save_npz(path, {"K": np.eye(3)}, {})
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
