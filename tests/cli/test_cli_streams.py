"""`erkle learn -`: lines are learned as they arrive, and what was learned is never lost."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from commands import COMMAND, FILES, answers_of, interrupting, learned, listing, write
from erkle import ERKLE, Dense, triplets
from erkle.cli.learn.run import Run
from erkle.files import load_npz
from erkle.triplets import Labels


def test_a_stream_is_learned_as_its_lines_arrive(tmp_path):
    T = answers_of(12, 200)
    lines = [",".join(f"object {i}" for i in row) + "\n" for row in T.tolist()]
    process = subprocess.Popen(
        [*COMMAND, "learn", "-", "--exact", "--checkpoint-every", "1", "--out", str(tmp_path)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdin.write("".join(lines[:3]))
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not (tmp_path / "checkpoint.npz").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    process.stdin.write("".join(lines[3:]))
    process.communicate(timeout=60)
    assert process.returncode == 0
    labels = Labels()
    expected = labels.encode([[f"object {i}" for i in row] for row in T.tolist()])
    kernel = ERKLE(len(labels), kernel=Dense(tol=1e-2)).fit(expected).kernel_matrix()
    assert np.allclose(learned(tmp_path).kernel_matrix(), kernel, atol=1e-3)
    assert learned(tmp_path).n_triplets_seen_ == 200


def test_an_interrupted_stream_and_one_with_a_wrong_line_still_give_results(erkle, tmp_path):
    process = subprocess.Popen(
        [*COMMAND, "learn", "-", "--checkpoint-every", "1", "--out", str(tmp_path / "a")],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdin.write("cat,dog,bus\nbus,tram,cat\n")
    process.stdin.flush()
    while not (tmp_path / "a" / "checkpoint.npz").exists():
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert learned(tmp_path / "a").n_triplets_seen_ == 2

    command = [*COMMAND, "learn", "-", "--out", str(tmp_path / "b")]
    run = subprocess.run(command, input="cat,dog,bus\nbus,tram,cat\nbus,bus,cat\n", capture_output=True, text=True)
    assert run.returncode == 2
    assert "standard input, line 3" in run.stderr
    assert learned(tmp_path / "b").n_triplets_seen_ == 2


@contextmanager
def fed(monkeypatch, chunks):
    """Standard input that brings each chunk when the one before has been looked at, and stays open."""
    looked = threading.Semaphore(1)
    hold_out = Run.hold_out
    monkeypatch.setattr(Run, "hold_out", lambda run, T: (looked.release(), hold_out(run, T))[1])
    reader, writer = os.pipe()
    feeder = threading.Thread(target=lambda: [looked.acquire(timeout=300) and os.write(writer, c) for c in chunks])
    with os.fdopen(reader) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        feeder.start()
        yield
        feeder.join()
    os.close(writer)


CHUNKS = [b"cat,dog,bus\nbus,dog,cat\n", b"new,newer,cat\n"]


def test_a_stream_interrupted_between_reading_and_learning_keeps_what_it_has(erkle, tmp_path, monkeypatch):
    with fed(monkeypatch, CHUNKS):
        interrupting(monkeypatch, Run, "hold_out", 2)
        run = erkle("learn", "-", "--out", tmp_path)
    assert run.returncode == 130, run.stderr
    assert learned(tmp_path).n_triplets_seen_ == 2


def test_a_stream_goes_on_when_a_checkpoint_cannot_be_written(erkle, tmp_path, monkeypatch):
    def fails(*arguments):
        raise OSError(28, "checkpoint.npz: cannot be written (No space left on device); free some space.")

    monkeypatch.setattr("erkle.cli.learn.run.save_npz", fails)
    (tmp_path / "answers.csv").write_text("cat,dog,bus\nbus,dog,cat\n")
    with (tmp_path / "answers.csv").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        run = erkle("learn", "-", "--checkpoint-every", 1, "--out", tmp_path / "out")
    assert run.returncode == 0
    assert "Learning goes on" in run.stderr
    assert listing(tmp_path / "out") == FILES


def test_a_stream_that_names_one_object_too_many_keeps_what_it_has(erkle, tmp_path, monkeypatch):
    def refuses(n_objects):
        if n_objects > 4:
            raise ValueError(f"{n_objects} objects do not fit; learn fewer objects at once.")

    monkeypatch.setattr("erkle.cli.learn.run._check_memory", refuses)
    with fed(monkeypatch, CHUNKS):
        run = erkle("learn", "-", "--exact", "--holdout", 0.01, "--out", tmp_path)
    assert run.returncode == 2
    assert "5 objects do not fit" in run.stderr
    assert learned(tmp_path).n_triplets_seen_ == 2
    assert learned(tmp_path).n_objects_ == 3


def test_a_resumed_stream_keeps_what_it_held_out(tmp_path):
    T = answers_of(12, 400)
    lines = [",".join(f"object {i}" for i in row) + "\n" for row in T.tolist()]
    command = [*COMMAND, "learn", "-", "--holdout", "0.3", "--checkpoint-every", "1", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    process.stdin.write("".join(lines[:200]))
    process.stdin.flush()
    labels = Labels()
    rows = labels.encode([[f"object {i}" for i in row] for row in T.tolist()])
    wanted = int((~triplets.held_out(rows[:200], 0.3)).sum())
    deadline = time.monotonic() + 60
    while not (tmp_path / "checkpoint.npz").exists() or n_saved(tmp_path) < wanted:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.communicate()
    done = subprocess.run([*command, "--resume"], input="".join(lines[200:]), text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "summary.json").read_text())["n_test"] == int(triplets.held_out(rows, 0.3).sum())


def n_saved(folder):
    return load_npz(folder / "checkpoint.npz", format="erkle checkpoint")[1]["curve"]["n_answers"]


@pytest.mark.parametrize("options", [[], ["--consolidate", "off"], ["--rank", "3"]], ids=["default", "never", "rank"])
def test_a_stream_of_new_objects_is_what_the_library_learns(erkle, options, tmp_path, monkeypatch):
    T = answers_of(30, 300)
    path = write(tmp_path / "answers.csv", T)
    with path.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert erkle("learn", "-", *options, "--out", tmp_path / "stream").returncode == 0
    assert erkle("learn", path, *options, "--out", tmp_path / "file").returncode == 0
    assert np.array_equal(learned(tmp_path / "stream").kernel_matrix(), learned(tmp_path / "file").kernel_matrix())


@pytest.mark.parametrize("options", [[], ["--consolidate", "off"], ["--rank", "3"]], ids=["default", "never", "rank"])
def test_a_resumed_stream_has_room_for_objects_that_are_new_again(options, tmp_path):
    lines = [",".join(f"object {i}" for i in row) + "\n" for row in answers_of(30, 60).tolist()]
    command = [*COMMAND, "learn", "-", *options, "--checkpoint-every", "1", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    process.stdin.write("".join(lines[:5]))
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not (tmp_path / "checkpoint.npz").exists() or n_saved(tmp_path) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.communicate()
    done = subprocess.run([*command, "--resume"], input="".join(lines[5:]), text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert learned(tmp_path).n_triplets_seen_ == 60
    assert learned(tmp_path).n_objects_ == len({name for line in lines for name in line.strip().split(",")})


def test_a_stream_is_not_read_twice_for_its_participants(erkle, tmp_path):
    run = erkle("learn", "-", "--participant", "who", "--out", tmp_path)
    assert run.returncode == 2
    assert "--participant" in run.stderr
