"""The `erkle` command: an expected error is one sentence, and nothing heavy is imported too early."""

import io
import os
import subprocess
import sys

import pytest

from commands import listing

HOSTILE = {
    "empty.csv": (b"", "empty"),
    "binary.csv": (bytes(range(256)) * 10, "text"),
    "short-row.csv": (b"anchor,near,far\n1,2,3\n1,2\n", "line 3"),
    "broken.jsonl": (b'{"anchor": 1, "near": 2, "far": 3}\n{"anchor": 1\n', "line 2"),
    "long-line.csv": (b"a" * 3_000_000, "line 1"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_cannot_be_read_is_refused_with_its_line(erkle, name, tmp_path):
    content, value = HOSTILE[name]
    (tmp_path / name).write_bytes(content)
    run = erkle("learn", tmp_path / name, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert len(run.refusal) == 1
    assert run.refusal[0].startswith(f"erkle: {name}")
    assert value in run.stderr


def test_unknown_objects_missing_files_and_folders_are_refused(erkle, answers, tmp_path):
    objects = tmp_path / "objects.txt"
    objects.write_text("".join(f"object {i}\n" for i in range(19)))
    for arguments, value in [
        (["learn", answers, "--objects", objects], "object 19"),
        (["learn", tmp_path / "nowhere.csv"], "nowhere.csv"),
        (["learn", tmp_path], "folder"),
        (["info", tmp_path / "nowhere.npz"], "nowhere.npz"),
        (["info", answers.parent], "folder"),
        (["learn", answers, "--objects", tmp_path / "none.txt"], "none.txt"),
        (["learn", answers, "--test", tmp_path / "none.csv"], "none.csv"),
    ]:
        run = erkle(*arguments, *(["--out", tmp_path / "out"] if arguments[0] == "learn" else []))
        assert run.returncode == 2, arguments
        assert value in run.stderr
        assert len(run.refusal) == 1


def test_a_refused_run_leaves_no_new_folder_and_keeps_existing_ones(erkle, tmp_path):
    (tmp_path / "empty.csv").touch()
    (tmp_path / "mine").mkdir()
    for out in ("new/and/deep", "mine"):
        assert erkle("learn", tmp_path / "empty.csv", "--out", tmp_path / out).returncode == 2
    assert listing(tmp_path) == ["empty.csv", "mine"]


def test_an_out_that_is_a_file_is_refused(erkle, answers, tmp_path):
    (tmp_path / "file").write_text("")
    for arguments in (["learn", answers], ["demo"]):
        run = erkle(*arguments, "--out", tmp_path / "file")
        assert run.returncode == 2
        assert str(tmp_path / "file") in run.stderr


def test_a_named_pipe_is_refused_at_once(erkle, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    run = erkle("learn", tmp_path / "pipe", "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "learn - <" in run.stderr


def test_names_that_the_terminal_cannot_show_are_no_error(erkle, tmp_path, monkeypatch):
    path = tmp_path / "answers.csv"
    path.write_text("Zoë,Łódź,東京\n", encoding="utf-8")
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))
    assert erkle("info", path).returncode == 0
    sys.stdout.flush()
    assert b"Zo?" in shown.getvalue()


def test_no_command_imports_anything_heavy_before_it_runs():
    # This module imports the modules of all commands.
    heavy = ["fastapi", "joblib", "matplotlib", "numba", "numpy", "pooch", "pydantic", "scipy", "sklearn", "sqlalchemy"]
    code = f"import sys, erkle.cli.app; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
