"""`erkle learn` that was stopped, killed or continued: nothing is lost, and no file is half written."""

import json
import resource
import signal
import subprocess
import time

import numpy as np
import pytest

from commands import COMMAND, EXACT, FILES, answers_of, interrupting, killed, learned, listing, n_saved, write
from erkle import ERKLE, Dense, triplets
from erkle.cli.learn import report
from erkle.cli.learn.run import Run
from erkle.cli.options import results_folder
from erkle.npz_files import load_npz
from erkle.triplets import Labels

pytestmark = pytest.mark.usefixtures("without_pictures")

# How a run is stopped, and its options.
STOPPED = {
    "exact, interrupted": (signal.SIGINT, ["--exact", "--holdout", "0.1"]),
    "exact, terminated": (signal.SIGTERM, ["--exact", "--shuffle", "--passes", "3"]),
    "exact, killed": (signal.SIGKILL, ["--exact", "--shuffle", "--passes", "3"]),
    "default, interrupted": (signal.SIGINT, ["--holdout", "0.1"]),
    "default, killed": (signal.SIGKILL, ["--shuffle"]),
    "never fitted, killed": (signal.SIGKILL, ["--consolidate", "off"]),
    "of rank 5, killed": (signal.SIGKILL, ["--rank", "5", "--passes", "2"]),
    "of rank 5 and fitted, killed": (signal.SIGKILL, ["--rank", "5", "--consolidate", "0.05"]),
}


@pytest.mark.parametrize("case", STOPPED)
def test_a_stopped_run_resumes_to_the_same_kernel(erkle, case, tmp_path, monkeypatch):
    how, options = STOPPED[case]
    path = write(tmp_path / "answers.csv", answers_of(30, 1000))
    command = ["learn", path, "--checkpoint-every", 200, *options, "--out"]
    if how == signal.SIGKILL:
        killed(erkle, monkeypatch, 2, *command, tmp_path / "out")
    else:
        with monkeypatch.context() as patch:
            interrupting(patch, Run, "add_point", 20, how)
            run = erkle(*command, tmp_path / "out")
        assert run.returncode == 130
        assert "--resume" in run.stderr
    assert listing(tmp_path / "out") == ["checkpoint.npz"]
    assert 0 < n_saved(tmp_path / "out") < 900
    resumes_to_the_same_kernel(erkle, command, tmp_path)


@pytest.mark.parametrize("options", [["--exact"], ["--exact", "--passes", "3"], ["--holdout", "0.2"]])
def test_ctrl_c_takes_effect_within_a_piece_and_loses_nothing(erkle, options, tmp_path, monkeypatch):
    monkeypatch.setattr("erkle.kernels.dense._BLOCK_ENTRIES", 1)
    monkeypatch.setattr("erkle.kernels.kernel._BLOCK", 3)
    path = write(tmp_path / "answers.csv", answers_of(30, 1000))
    command = ["learn", path, *options, "--out"]
    with monkeypatch.context() as patch:
        # Call 57 is within a piece: pieces end at the points of the error curve.
        interrupting(patch, ERKLE, "_learn", 57)
        assert erkle(*command, tmp_path / "out").returncode == 130
    assert n_saved(tmp_path / "out") % 10 != 0
    resumes_to_the_same_kernel(erkle, command, tmp_path)


def test_a_process_that_was_killed_resumes_to_the_same_kernel(erkle, tmp_path):
    path = write(tmp_path / "answers.csv", answers_of(100, 20_000))
    command = ["learn", str(path), "--exact", "--checkpoint-every", "500", "--out"]
    process = subprocess.Popen([*COMMAND, *command, str(tmp_path / "out")], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "out" / "checkpoint.npz").exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.communicate(timeout=60)
    # The kill may come while the next checkpoint is being written; the next run deletes such a draft.
    assert [name for name in listing(tmp_path / "out") if not name.startswith(".erkle-")] == ["checkpoint.npz"]
    resumes_to_the_same_kernel(erkle, command, tmp_path)


def resumes_to_the_same_kernel(erkle, command, tmp_path):
    """Resume the run in the folder ``out``, and compare it with a run that was never stopped."""
    refused = erkle(*command, tmp_path / "out")
    assert refused.returncode == 2
    assert "--resume" in refused.stderr
    assert erkle(*command, tmp_path / "out", "--resume").returncode == 0
    assert erkle(*command, tmp_path / "whole").returncode == 0
    assert listing(tmp_path / "out") == listing(tmp_path / "whole")
    assert np.array_equal(learned(tmp_path / "out").kernel_matrix(), learned(tmp_path / "whole").kernel_matrix())
    for name in ("errors.csv", "embedding.csv", "summary.json"):
        assert (tmp_path / "out" / name).read_text() == (tmp_path / "whole" / name).read_text()


@pytest.fixture
def checkpointed(erkle, tmp_path, monkeypatch):
    """The command of a run of 1,000 answers that was killed after its second checkpoint."""
    path = write(tmp_path / "answers.csv", answers_of(100, 1000))
    command = ["learn", path, "--exact", "--checkpoint-every", 300, "--out", tmp_path / "out"]
    killed(erkle, monkeypatch, 2, *command)
    return command


def test_a_checkpoint_that_does_not_fit_is_refused(erkle, checkpointed, tmp_path):
    def refusal(*more):
        run = erkle(*checkpointed, "--resume", *more)
        assert run.returncode == 2
        assert len(run.refusal) == 1
        return run.stderr

    assert "loss" in refusal("--loss", "ste")
    another = erkle(*(option for option in checkpointed if option != "--exact"), "--resume")
    assert another.returncode == 2
    assert "kernel Dense" in another.stderr
    path = tmp_path / "answers.csv"
    original = path.read_text()
    path.write_text(original.replace("object 7", "object 8x", 1))
    assert "checkpoint.npz" in refusal()
    path.write_text(original[: len(original) // 100])
    refusal()
    path.write_text(original)
    checkpoint = tmp_path / "out" / "checkpoint.npz"
    whole = checkpoint.read_bytes()
    checkpoint.write_bytes(whole[: len(whole) // 2])
    assert "checkpoint.npz" in refusal()
    checkpoint.write_bytes(whole)
    path.write_text(original + "object 1,object 2,a new object\n")
    assert erkle(*checkpointed, "--resume").returncode == 0
    assert learned(tmp_path / "out").n_triplets_seen_ == 1001
    assert learned(tmp_path / "out").n_objects_ == 101


def test_resuming_without_a_checkpoint_starts_with_the_first_answer(erkle, answers, tmp_path):
    run = erkle("learn", answers, "--exact", "--resume", "--out", tmp_path)
    assert run.returncode == 0
    assert "no checkpoint" in run.stderr.replace("\n", " ")


def test_a_full_disk_leaves_the_results_of_the_earlier_run(erkle, answers, tmp_path):
    assert erkle("learn", answers, "--exact", "--out", tmp_path).returncode == 0
    before = (tmp_path / "kernel.npz").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        run = erkle("learn", answers, "--exact", "--passes", 2, "--out", tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert run.returncode == 2
    assert "kernel.npz" in run.stderr
    assert (tmp_path / "kernel.npz").read_bytes() == before
    assert listing(tmp_path) == EXACT


def test_a_shuffled_run_does_not_resume_with_a_file_that_has_grown(erkle, tmp_path, monkeypatch):
    path = write(tmp_path / "answers.csv", answers_of(20, 500))
    command = ["learn", path, "--exact", "--shuffle", "--checkpoint-every", 100, "--out", tmp_path / "out"]
    killed(erkle, monkeypatch, 1, *command)
    with path.open("a") as file:
        file.write("object 1,object 2,object 3\n")
    run = erkle(*command, "--resume")
    assert run.returncode == 2
    assert "answers.csv" in run.stderr


STARTED = {"exact": ["--exact", "--passes", 2, "--step", "pa1"], "default": [], "of rank 3": ["--rank", 3]}


@pytest.mark.parametrize("kind", STARTED)
def test_a_finished_run_can_be_continued(erkle, kind, tmp_path):
    T = answers_of(30, 600)
    write(tmp_path / "first.csv", T[:400])
    write(tmp_path / "second.csv", T[400:])
    options = STARTED[kind]
    assert erkle("learn", tmp_path / "first.csv", *options, "--out", tmp_path / "a").returncode == 0
    continued = ["learn", tmp_path / "second.csv", "--start", tmp_path / "a" / "kernel.npz", "--out", tmp_path / "b"]
    assert erkle(*continued).returncode == 0
    expected = learned(tmp_path / "a")
    rows, _ = triplets.read(
        tmp_path / "second.csv", Labels(load_npz(tmp_path / "a" / "kernel.npz")[0]["labels"].tolist())
    )
    expected.partial_fit(rows)
    if kind == "default":
        expected.consolidate()
    assert np.array_equal(learned(tmp_path / "b").kernel_matrix(), expected.kernel_matrix())
    before, after = (json.loads((tmp_path / folder / "summary.json").read_text())["settings"] for folder in "ab")
    assert {**before, "start": after["start"]} == after


def test_a_start_that_cannot_be_continued_is_refused(erkle, tmp_path):
    path = write(tmp_path / "answers.csv", answers_of(30, 100))
    refused = erkle("learn", path, "--start", tmp_path / "none.npz", "--out", tmp_path / "d")
    assert refused.returncode == 2
    assert "none.npz" in refused.stderr
    ERKLE(3, kernel=Dense()).fit([(0, 1, 2)]).save(tmp_path / "nameless.npz")
    refused = erkle("learn", path, "--start", tmp_path / "nameless.npz", "--out", tmp_path / "d")
    assert refused.returncode == 2
    assert "names" in refused.stderr
    assert (
        "--passes"
        in erkle("learn", path, "--start", tmp_path / "none.npz", "--passes", 2, "--out", tmp_path / "d").stderr
    )


def test_one_run_at_a_time_writes_to_a_folder(erkle, answers, tmp_path):
    with results_folder(tmp_path):
        run = erkle("learn", answers, "--exact", "--out", tmp_path)
    assert run.returncode == 2
    assert str(tmp_path) in run.stderr
    (tmp_path / ".erkle-0123.tmp").write_text("a draft of a run that was killed")
    assert erkle("learn", answers, "--exact", "--out", tmp_path).returncode == 0
    assert listing(tmp_path) == EXACT


def test_an_interruption_before_the_first_answer_is_no_error(erkle, answers, tmp_path, monkeypatch):
    interrupting(monkeypatch, Run, "learn", 1)
    run = erkle("learn", answers, "--out", tmp_path)
    assert run.returncode == 130
    assert "0 answers" in run.stderr
    assert listing(tmp_path) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["interrupted", "terminated"])
def test_an_interrupted_last_fit_is_skipped(erkle, how, tmp_path, monkeypatch):
    path = write(tmp_path / "answers.csv", answers_of(20, 100))
    interrupting(monkeypatch, ERKLE, "consolidate", 1, how)
    run = erkle("learn", path, "--out", tmp_path / "out")
    assert run.returncode == 0
    assert listing(tmp_path / "out") == FILES
    rows, _ = triplets.read(path)
    expected = ERKLE(20, random_state=0).fit(rows)
    assert np.array_equal(learned(tmp_path / "out").kernel_matrix(), expected.kernel_matrix())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["interrupted", "terminated"])
def test_an_interruption_while_results_are_written_loses_none_of_them(erkle, how, tmp_path, monkeypatch):
    path = write(tmp_path / "answers.csv", answers_of(20, 100))
    interrupting(monkeypatch, report, "map_figure", 1, how)
    assert erkle("learn", path, "--out", tmp_path / "out").returncode == 130
    assert listing(tmp_path / "out") == FILES


def test_a_stream_does_not_resume_the_run_of_a_file(erkle, tmp_path, monkeypatch):
    path = write(tmp_path / "answers.csv", answers_of(30, 1000))
    killed(erkle, monkeypatch, 2, "learn", path, "--exact", "--checkpoint-every", 200, "--out", tmp_path / "out")
    before = (tmp_path / "out" / "checkpoint.npz").read_bytes()
    run = erkle("learn", "-", "--exact", "--out", tmp_path / "out", "--resume")
    assert run.returncode == 2
    assert "checkpoint.npz was made from a file" in run.stderr
    assert (tmp_path / "out" / "checkpoint.npz").read_bytes() == before
