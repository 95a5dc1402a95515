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

from commands import COMMAND, FILES, answers_of, interrupting, killed, learned, lines, listing, n_saved, write
from erkle import ERKLE, Dense, triplets
from erkle.cli.learn.run import Run
from erkle.triplets import Labels

pytestmark = pytest.mark.usefixtures("without_pictures")


def test_a_stream_is_learned_as_its_lines_arrive(tmp_path):
    T = answers_of(12, 200)
    process = subprocess.Popen(
        [*COMMAND, "learn", "-", "--exact", "--checkpoint-every", "1", "--out", str(tmp_path)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdin.write("".join(lines(T[:3])))
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not (tmp_path / "checkpoint.npz").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    process.stdin.write("".join(lines(T[3:])))
    process.communicate(timeout=60)
    assert process.returncode == 0
    # The process has drawn real pictures.
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    labels = Labels()
    expected = labels.encode([[f"object {i}" for i in row] for row in T.tolist()])
    kernel = ERKLE(len(labels), kernel=Dense(tol=1e-2)).fit(expected).kernel_matrix()
    assert np.allclose(learned(tmp_path).kernel_matrix(), kernel, atol=1e-3)
    assert learned(tmp_path).n_triplets_seen_ == 200


@contextmanager
def standard_input(monkeypatch, path, text):
    """Read standard input from a file."""
    path.write_text(text)
    with path.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        yield


@contextmanager
def open_stream(monkeypatch, *actions):
    """Standard input that stays open.

    The first action runs at once, each further one after the stream has been read once more. An action that is bytes
    is written to the stream; any other action is called.
    """
    reading = threading.Semaphore(1)
    hold_out = Run.hold_out
    monkeypatch.setattr(Run, "hold_out", lambda run, T: (hold_out(run, T), reading.release())[0])
    reader, writer = os.pipe()

    def act():
        for action in actions:
            reading.acquire(timeout=300)
            if isinstance(action, bytes):
                os.write(writer, action)
            else:
                action()

    feeder = threading.Thread(target=act)
    with os.fdopen(reader) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        feeder.start()
        yield reading
        feeder.join()
    os.close(writer)


CHUNKS = [b"cat,dog,bus\nbus,dog,cat\n", b"new,newer,cat\n"]


def test_a_stream_that_is_interrupted_while_waiting_gives_results(erkle, tmp_path, monkeypatch):
    def interrupt():
        deadline = time.monotonic() + 60
        while not (tmp_path / "checkpoint.npz").exists() or n_saved(tmp_path) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    with open_stream(monkeypatch, CHUNKS[0], interrupt):
        run = erkle("learn", "-", "--exact", "--checkpoint-every", 1, "--out", tmp_path)
    assert run.returncode == 130, run.stderr
    assert learned(tmp_path).n_triplets_seen_ == 2


def test_what_a_stream_has_brought_is_saved_soon_even_if_no_more_arrives(erkle, tmp_path, monkeypatch):
    monkeypatch.setattr("erkle.cli.learn.run.STREAM_SECONDS", 0.05)
    saved = []

    def wait_for_checkpoint():
        # A process that was killed now would be resumed from this checkpoint.
        deadline = time.monotonic() + 60
        while not (tmp_path / "checkpoint.npz").exists() or n_saved(tmp_path) < len(saved) + 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        saved.append(n_saved(tmp_path))

    def go_on():
        wait_for_checkpoint()
        reading.release()

    def interrupt():
        wait_for_checkpoint()
        os.kill(os.getpid(), signal.SIGINT)

    with open_stream(monkeypatch, CHUNKS[0], go_on, CHUNKS[1], interrupt) as reading:
        run = erkle("learn", "-", "--exact", "--out", tmp_path)
    assert run.returncode == 130, run.stderr
    assert saved == [2, 3]


def test_a_stream_without_checkpoints_makes_none_by_time(erkle, tmp_path, monkeypatch):
    monkeypatch.setattr("erkle.cli.learn.run.STREAM_SECONDS", 0.0)
    monkeypatch.setattr(Run, "save", lambda *_: pytest.fail("a checkpoint was made"))
    with standard_input(monkeypatch, tmp_path / "stream", "cat,dog,bus\nbus,dog,cat\n"):
        assert erkle("learn", "-", "--checkpoint-every", 0, "--out", tmp_path / "out").returncode == 0


def test_a_stream_that_is_interrupted_before_learning_keeps_what_it_has(erkle, tmp_path, monkeypatch):
    with open_stream(monkeypatch, *CHUNKS):
        interrupting(monkeypatch, Run, "hold_out", 2)
        run = erkle("learn", "-", "--out", tmp_path)
    assert run.returncode == 130, run.stderr
    assert learned(tmp_path).n_triplets_seen_ == 2


def test_a_wrong_line_ends_a_stream_with_results(erkle, tmp_path, monkeypatch):
    with standard_input(monkeypatch, tmp_path / "stream", "cat,dog,bus\nbus,tram,cat\nbus,bus,cat\n"):
        run = erkle("learn", "-", "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "standard input, line 3" in run.stderr
    assert learned(tmp_path / "out").n_triplets_seen_ == 2


def test_a_stream_continues_when_a_checkpoint_cannot_be_written(erkle, tmp_path, monkeypatch):
    def fails(*arguments):
        raise OSError(28, "checkpoint.npz: cannot be written (No space left on device); free some space.")

    monkeypatch.setattr("erkle.cli.learn.run.save_npz", fails)
    with standard_input(monkeypatch, tmp_path / "stream", "cat,dog,bus\nbus,dog,cat\n"):
        run = erkle("learn", "-", "--checkpoint-every", 1, "--out", tmp_path / "out")
    assert run.returncode == 0
    assert "checkpoint.npz" in run.stderr
    assert listing(tmp_path / "out") == FILES


def test_a_stream_that_names_too_many_objects_keeps_what_it_has(erkle, tmp_path, monkeypatch):
    def refuses(n_objects, tol):
        if n_objects > 4:
            raise ValueError(f"{n_objects} objects do not fit into memory.")

    monkeypatch.setattr("erkle.cli.learn.run.check_room", refuses)
    with open_stream(monkeypatch, *CHUNKS):
        run = erkle("learn", "-", "--exact", "--holdout", 0.01, "--out", tmp_path)
    assert run.returncode == 2
    assert "5 objects" in run.stderr
    assert learned(tmp_path).n_triplets_seen_ == 2
    assert learned(tmp_path).n_objects_ == 3


@pytest.mark.parametrize(
    "options", [[], ["--consolidate", "off"], ["--rank", "3"], ["--exact"]], ids=["default", "never", "rank", "exact"]
)
def test_a_stream_can_be_resumed_with_held_out_answers_and_new_objects(erkle, options, tmp_path, monkeypatch):
    T = answers_of(30, 120)
    command = ["learn", "-", *options, "--holdout", 0.3, "--checkpoint-every", 5, "--out", tmp_path / "out"]
    with standard_input(monkeypatch, tmp_path / "stream", "".join(lines(T[:20]))):
        killed(erkle, monkeypatch, 1, *command)
    rows = Labels().encode([[f"object {i}" for i in row] for row in T.tolist()])
    is_test = triplets.held_out(rows, 0.3)
    # The checkpoint contains the test answers of all 20 lines, but not every line was learned before it.
    n_learned = n_saved(tmp_path / "out")
    with standard_input(monkeypatch, tmp_path / "stream", "".join(lines(T[20:]))):
        assert erkle(*command, "--resume").returncode == 0
    assert learned(tmp_path / "out").n_triplets_seen_ == n_learned + int((~is_test[20:]).sum())
    assert learned(tmp_path / "out").n_objects_ == len(np.unique(T))
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["n_test"] == int(is_test.sum())


@pytest.mark.parametrize("options", [[], ["--consolidate", "off"], ["--rank", "3"]], ids=["default", "never", "rank"])
def test_a_stream_is_learned_like_a_file(erkle, options, tmp_path, monkeypatch):
    path = write(tmp_path / "answers.csv", answers_of(30, 300))
    with path.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert erkle("learn", "-", *options, "--out", tmp_path / "stream").returncode == 0
    assert erkle("learn", path, *options, "--out", tmp_path / "file").returncode == 0
    assert np.array_equal(learned(tmp_path / "stream").kernel_matrix(), learned(tmp_path / "file").kernel_matrix())
