"""The command as users run it: in a process of its own wherever signals, pipes or kills matter."""

import csv
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from erkle import ERKLE, triplets
from erkle.cli.folder import results_folder
from erkle.cli.run import Run
from erkle.files import load_npz
from erkle.triplets import Labels
from parts import SquaredHinge

COMMAND = [sys.executable, "-m", "erkle"]
FILES = ["embedding.csv", "errors.csv", "errors.png", "kernel.npz", "map.png", "summary.json"]


def answers_of(n_objects, n_answers, seed=0):
    X = np.random.default_rng(seed).standard_normal((n_objects, 5))
    T = triplets.sample(n_objects, n_answers, seed)
    near, far = (np.linalg.norm(X[T[:, 0]] - X[T[:, i]], axis=1) for i in (1, 2))
    return triplets.orient(T, near < far)


def write(path, T, header="anchor,near,far"):
    path.write_text("\n".join([header, *(",".join(f"object {i}" for i in row) for row in T.tolist())]) + "\n")
    return path


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    return write(tmp_path_factory.mktemp("answers") / "answers.csv", answers_of(20, 3000))


def listing(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".erkle-lock")


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def learned(folder):
    return ERKLE.load(folder / "kernel.npz")


def test_learning_a_file_writes_every_result_and_equals_the_library(erkle, answers, tmp_path):
    run = erkle("learn", answers, "--out", tmp_path, "--passes", 2, "--seed", 3)
    assert run.returncode == 0, run.stderr
    assert listing(tmp_path) == FILES
    T, labels = triplets.read(answers)
    expected = ERKLE(20, passes=2, random_state=3).fit(T)
    assert np.array_equal(learned(tmp_path).kernel_, expected.kernel_)
    assert load_npz(tmp_path / "kernel.npz")[0]["labels"].tolist() == labels.names
    rows = table(tmp_path / "embedding.csv")
    assert [row["object"] for row in rows] == labels.names
    assert np.allclose([[float(row["x"]), float(row["y"])] for row in rows], expected.embedding(2))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["n_learned"] == 3000
    assert summary["prequential_error"] == expected.prequential_error_


def test_held_out_questions_are_not_learned_and_measure_the_error(erkle, answers, tmp_path):
    assert erkle("learn", answers, "--holdout", 0.3, "--out", tmp_path).returncode == 0
    T, _ = triplets.read(answers)
    train, test = triplets.split(T, 0.3, seed=0)
    expected = ERKLE(20).fit(train)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["n_test"] == len(test)
    assert summary["test_error"] == pytest.approx(1 - expected.score(test))
    assert np.array_equal(learned(tmp_path).kernel_, expected.kernel_)
    last = table(tmp_path / "errors.csv")[-1]
    assert int(last["answers"]) == len(train)
    assert float(last["test_error"]) == pytest.approx(summary["test_error"])


def test_a_test_file_may_name_objects_that_were_never_learned(erkle, answers, tmp_path):
    test = tmp_path / "test.csv"
    test.write_text("object 1,object 2,a stranger\n")
    assert erkle("learn", answers, "--test", test, "--out", tmp_path / "out").returncode == 0
    assert learned(tmp_path / "out").n_objects_ == 21


def test_a_list_of_objects_gives_ids_their_names_and_order(erkle, tmp_path):
    (tmp_path / "objects.csv").write_text("id,name\n10,cat\n11,dog\n12,bus\n13,tram\n")
    (tmp_path / "answers.csv").write_text("12,13,10\n10,11,12\n")
    arguments = ["--objects", tmp_path / "objects.csv", "--out", tmp_path / "out"]
    assert erkle("learn", tmp_path / "answers.csv", *arguments).returncode == 0
    assert [row["object"] for row in table(tmp_path / "out" / "embedding.csv")] == ["cat", "dog", "bus", "tram"]
    assert learned(tmp_path / "out").predict_one((2, 3, 0))


def test_shuffled_learning_uses_the_same_answers_in_another_order(erkle, answers, tmp_path):
    assert erkle("learn", answers, "--shuffle", "--seed", 5, "--out", tmp_path).returncode == 0
    T, _ = triplets.read(answers)
    expected = ERKLE(20).fit(T[np.random.default_rng(5).permutation(len(T))])
    assert np.array_equal(learned(tmp_path).kernel_, expected.kernel_)


def test_a_file_in_random_order_draws_no_remark(erkle, answers, tmp_path):
    said = erkle("learn", answers, "--out", tmp_path).stderr
    assert "--shuffle" not in said
    assert "header" not in said


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("options", [["--holdout", "0.1"], ["--shuffle", "--passes", "3"]], ids=["plain", "shuffled"])
def test_a_stopped_run_resumes_to_the_same_kernel(erkle, how, options, tmp_path):
    path = write(tmp_path / "answers.csv", answers_of(100, 30_000))
    command = ["learn", str(path), "--checkpoint-every", "500", *options, "--out"]
    process = subprocess.Popen([*COMMAND, *command, str(tmp_path / "out")], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "out" / "checkpoint.npz").exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(how)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (130 if how != signal.SIGKILL else -signal.SIGKILL)
    assert ("--resume" in said) == (how != signal.SIGKILL)
    assert listing(tmp_path / "out") == ["checkpoint.npz"]

    refused = erkle(*command, tmp_path / "out")
    assert refused.returncode == 2
    assert "--resume" in refused.stderr
    assert erkle(*command, tmp_path / "out", "--resume").returncode == 0
    assert erkle(*command, tmp_path / "whole").returncode == 0
    assert listing(tmp_path / "out") == FILES
    assert np.array_equal(learned(tmp_path / "out").kernel_, learned(tmp_path / "whole").kernel_)
    for name in ("errors.csv", "embedding.csv", "summary.json"):
        assert (tmp_path / "out" / name).read_text() == (tmp_path / "whole" / name).read_text()


@pytest.fixture
def checkpointed(tmp_path):
    """A run of 40,000 answers stopped on its way."""
    path = write(tmp_path / "answers.csv", answers_of(100, 40_000))
    arguments = ["learn", str(path), "--checkpoint-every", "300", "--out", str(tmp_path / "out")]
    process = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.DEVNULL)
    while not (tmp_path / "out" / "checkpoint.npz").exists():
        time.sleep(0.01)
    process.kill()
    process.wait()
    return arguments


def test_resuming_with_other_settings_another_file_or_a_damaged_checkpoint_is_refused(erkle, checkpointed, tmp_path):
    def refusal(*more):
        run = erkle(*checkpointed, "--resume", *more)
        assert run.returncode == 2
        assert len(run.stderr.strip().splitlines()) == 1
        return run.stderr

    assert "loss" in refusal("--loss", "ste")
    path = tmp_path / "answers.csv"
    original = path.read_text()
    path.write_text(original.replace("object 7", "object 8x", 1))
    assert "not the file" in refusal() or "other objects" in refusal()
    path.write_text(original[: len(original) // 1000])
    refusal()
    path.write_text(original)
    checkpoint = tmp_path / "out" / "checkpoint.npz"
    whole = checkpoint.read_bytes()
    checkpoint.write_bytes(whole[: len(whole) // 2])
    assert "checkpoint.npz" in refusal()
    checkpoint.write_bytes(whole)
    path.write_text(original + "object 1,object 2,somebody new\n")
    assert erkle(*checkpointed, "--resume").returncode == 0
    assert learned(tmp_path / "out").n_triplets_seen_ == 40_001
    assert learned(tmp_path / "out").n_objects_ == 101


def test_resuming_without_a_checkpoint_starts_at_the_beginning(erkle, answers, tmp_path):
    run = erkle("learn", answers, "--resume", "--out", tmp_path)
    assert run.returncode == 0
    assert "no checkpoint" in run.stderr.replace("\n", " ")


def test_a_stream_is_learned_as_its_lines_arrive(tmp_path):
    T = answers_of(12, 200)
    lines = [",".join(f"object {i}" for i in row) + "\n" for row in T.tolist()]
    process = subprocess.Popen(
        [*COMMAND, "learn", "-", "--checkpoint-every", "1", "--out", str(tmp_path)],
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
    kernel = ERKLE(len(labels), tol=1e-2).fit(expected).kernel_
    assert np.allclose(learned(tmp_path).kernel_, kernel, atol=1e-3)
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


HOSTILE = {
    "empty": (b"", "empty"),
    "header only": (b"anchor,near,far\n", "no answers"),
    "binary": (bytes(range(256)) * 10, "text"),
    "wrong columns": (b"x,y\n1,2\n", "column"),
    "unknown header": (b"anchor,positive,negative\n1,2,3\n", "line 1"),
    "short row": (b"anchor,near,far\n1,2,3\n1,2\n", "line 3"),
    "anchor is near": (b"1,2,3\n4,4,5\n", "line 2"),
    "nan": (b"1,2,3\n4,nan,5\n", "line 2"),
    "negative id": (b"1,2,3\n4,5,-6\n", "line 2"),
    "missing cell": (b"1,2,3\n4,,5\n", "line 2"),
    "broken json": (b'{"anchor": 1, "near": 2, "far": 3}\n{"anchor": 1\n', "line 2"),
    "one long line": (b"a" * 3_000_000, "line 1"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_gets_one_sentence_with_its_line(erkle, name, tmp_path):
    content, said = HOSTILE[name]
    path = tmp_path / ("answers.jsonl" if "json" in name else "answers.csv")
    path.write_bytes(content)
    run = erkle("learn", path, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
    assert run.stderr.startswith(f"erkle: {path.name}")
    assert said in run.stderr


def test_unknown_objects_missing_files_and_folders_are_refused_in_a_sentence(erkle, answers, tmp_path):
    objects = tmp_path / "objects.txt"
    objects.write_text("".join(f"object {i}\n" for i in range(19)))
    for arguments, said in [
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
        assert said in run.stderr
        assert len(run.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--loss", "hinge", "ste, gnmds, ckl, tste"),
        ("--loss", "ste:mu=1", "no settings"),
        ("--step", "pa1:C=x", "name=number"),
        ("--step", "pa1:D=1", "margin, C, probability"),
        ("--step", "pa:probability=0.4", "0.5"),
        ("--step", "pa:margin=2,probability=0.9", "twice"),
        ("--step", "constant:rate=-1", "positive"),
        ("--direction", "up", "canonical"),
        ("--passes", "0", "passes"),
        ("--tol", "0", "tol"),
        ("--holdout", "1", "--holdout"),
        ("--seed", "-1", "--seed"),
        ("--dimensions", "0", "--dimensions"),
        ("--checkpoint-every", "-1", "--checkpoint-every"),
    ],
)
def test_a_wrong_option_says_what_is_wanted(erkle, option, value, said, answers, tmp_path):
    run = erkle("learn", answers, option, value, "--out", tmp_path)
    assert run.returncode == 2
    assert said in run.stderr
    assert listing(tmp_path) == []


def test_help_is_quick_because_it_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['erkle', '--help']\nfrom erkle.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    )
    code += "print([name for name in ('numba', 'numpy', 'sklearn', 'scipy', 'matplotlib') if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip().endswith("[]")


def test_the_demo_draws_europe(erkle, tmp_path):
    run = erkle("demo", "--answers", 3000, "--out", tmp_path)
    assert run.returncode == 0, run.stderr
    assert listing(tmp_path) == ["kernel.npz", "map.png"]
    assert learned(tmp_path).n_triplets_seen_ == 3000
    assert erkle("demo", "--answers", 0, "--out", tmp_path).returncode == 2
    assert erkle("demo", "--wrong", 2, "--out", tmp_path).returncode == 2


def test_info_describes_answers_and_kernels(erkle, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("a,b,x\na,b,x\na,x,b\nb,a,x\n")
    run = erkle("info", path)
    assert run.returncode == 0
    facts = dict(line.split("  ", 1) for line in run.stdout.splitlines()[1:])
    assert {name: fact.strip() for name, fact in facts.items()} == {
        "objects": "3",
        "names": "a, b, x",
        "answers": "4",
        "different questions": "2",
        "repeated answers": "1",
        "answers in conflict": "3 on 1 questions",
        "wrong whatever the kernel": "25.0 %",
    }
    assert erkle("learn", path, "--out", tmp_path / "out").returncode == 0
    assert "a, b, x" in erkle("info", tmp_path / "out" / "kernel.npz").stdout


def test_results_are_written_whole_or_not_at_all(erkle, answers, tmp_path):
    out = tmp_path / "out"
    assert erkle("learn", answers, "--out", out).returncode == 0
    before = (out / "kernel.npz").read_bytes()
    limit = f"ulimit -f 4; exec {' '.join(COMMAND)} learn {answers} --passes 2 --out {out}"
    run = subprocess.run(["bash", "-c", limit], capture_output=True, text=True, timeout=60)
    assert run.returncode not in (0, None)
    assert (out / "kernel.npz").read_bytes() == before
    assert listing(out) == FILES


def test_a_shuffled_run_does_not_resume_with_a_file_that_has_grown(erkle, tmp_path):
    path = write(tmp_path / "answers.csv", answers_of(100, 40_000))
    arguments = ["learn", str(path), "--shuffle", "--checkpoint-every", "300", "--out", str(tmp_path / "out")]
    process = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.DEVNULL)
    while not (tmp_path / "out" / "checkpoint.npz").exists():
        time.sleep(0.01)
    process.kill()
    process.wait()
    with path.open("a") as file:
        file.write("object 1,object 2,object 3\n")
    run = erkle(*arguments, "--resume")
    assert run.returncode == 2
    assert "not the file" in run.stderr


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_file_sorted_by_any_column_is_noticed(erkle, column, tmp_path):
    T = answers_of(20, 2000)
    write(tmp_path / "sorted.csv", T[np.argsort(T[:, column], kind="stable")])
    said = erkle("learn", tmp_path / "sorted.csv", "--out", tmp_path / "out").stderr
    assert "--shuffle" in said
    assert ("anchor", "near", "far")[column] in said


def test_a_header_in_unknown_words_is_remarked_on(erkle, tmp_path):
    path = write(tmp_path / "answers.csv", answers_of(20, 100), header="target,chosen,other")
    assert "If it is a header" in erkle("learn", path, "--out", tmp_path / "out").stderr.replace("\n", " ")


def test_an_out_that_is_a_file_is_refused(erkle, answers, tmp_path):
    (tmp_path / "file").write_text("")
    for arguments in (["learn", answers], ["demo"]):
        run = erkle(*arguments, "--out", tmp_path / "file")
        assert run.returncode == 2
        assert "is a file; pass a folder" in run.stderr


def test_names_that_the_terminal_cannot_show_are_no_error(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("Zoë,Łódź,東京\n", encoding="utf-8")
    for command in (["info", str(path)], ["learn", str(path), "--out", str(tmp_path / "out")]):
        run = subprocess.run([*COMMAND, *command], capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
        assert run.returncode == 0, run.stderr


def test_a_kernel_learned_with_a_loss_of_ones_own_can_be_described(erkle, tmp_path):
    ERKLE(3, loss=SquaredHinge()).fit([(0, 1, 2)]).save(tmp_path / "own.npz")
    assert "SquaredHinge(1)" in erkle("info", tmp_path / "own.npz").stdout


def test_a_finished_run_can_be_gone_on_with(erkle, tmp_path):
    T = answers_of(30, 2000)
    write(tmp_path / "first.csv", T[:1200])
    write(tmp_path / "second.csv", T[1200:])
    write(tmp_path / "both.csv", T)
    options = ["--passes", 2, "--step", "pa1"]
    assert erkle("learn", tmp_path / "first.csv", *options, "--out", tmp_path / "a").returncode == 0
    going_on = ["learn", tmp_path / "second.csv", "--start", tmp_path / "a" / "kernel.npz", "--out", tmp_path / "b"]
    assert erkle(*going_on).returncode == 0
    assert erkle("learn", tmp_path / "both.csv", *options, "--out", tmp_path / "c").returncode == 0
    assert np.array_equal(learned(tmp_path / "b").kernel_, learned(tmp_path / "c").kernel_)
    settings = json.loads((tmp_path / "b" / "summary.json").read_text())["settings"]
    assert settings["passes"] == 2
    assert "PassiveAggressiveI" in settings["step"]
    assert "--passes" in erkle(*going_on, "--passes", 2).stderr
    assert (
        erkle("learn", tmp_path / "both.csv", "--start", tmp_path / "none.npz", "--out", tmp_path / "d").returncode == 2
    )
    ERKLE(3).fit([(0, 1, 2)]).save(tmp_path / "nameless.npz")
    refused = erkle("learn", tmp_path / "both.csv", "--start", tmp_path / "nameless.npz", "--out", tmp_path / "d")
    assert refused.returncode == 2
    assert "names" in refused.stderr


def test_names_and_paths_are_printed_as_they_are(erkle, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("[/x],[bold]b,$c_2\n" + "p,q,r\n" * 20)
    run = erkle("learn", path, "--out", tmp_path / "o[/y]")
    assert run.returncode == 0
    assert "[/x]" in run.stderr
    assert "o[/y]" in run.stderr.replace("\n", "")


def test_more_objects_than_fit_into_memory_are_refused(erkle, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("".join(f"a{i},b{i},c{i}\n" for i in range(200_000)))
    run = erkle("learn", path, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "600,000 objects need" in run.stderr


def test_one_run_at_a_time_writes_to_a_folder(erkle, answers, tmp_path):
    with results_folder(tmp_path):
        run = erkle("learn", answers, "--out", tmp_path)
    assert run.returncode == 2
    assert "Another erkle" in run.stderr
    (tmp_path / ".erkle-0123.tmp").write_text("left by a run that was killed")
    assert erkle("learn", answers, "--out", tmp_path).returncode == 0
    assert listing(tmp_path) == FILES


def test_a_pipe_given_by_its_path_is_refused_at_once(erkle, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    run = erkle("learn", tmp_path / "pipe", "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "learn - <" in run.stderr


def test_a_name_of_a_thousand_letters_is_enough(erkle, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("a,b,c\nx,y,z\n" + "n" * 1001 + ",b,c\n")
    run = erkle("learn", path, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "line 3" in run.stderr
    assert len(run.stderr) < 300


def interrupting(monkeypatch, owner, name, at_call):
    """Ctrl-C in the middle of some function, at its so-manieth call."""
    original, calls = getattr(owner, name), itertools.count(1)

    def interrupted(*arguments, **options):
        if next(calls) == at_call:
            os.kill(os.getpid(), signal.SIGINT)
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, interrupted)


def test_an_interruption_before_the_first_answer_is_no_error(erkle, answers, tmp_path, monkeypatch):
    interrupting(monkeypatch, Run, "learn", 1)
    run = erkle("learn", answers, "--out", tmp_path)
    assert run.returncode == 130
    assert "Stopped after 0 answers." in run.stderr
    assert listing(tmp_path) == []


def test_a_stream_interrupted_between_reading_and_learning_keeps_what_it_has(erkle, tmp_path, monkeypatch):
    chunks = [b"cat,dog,bus\nbus,dog,cat\n", b"new,newer,cat\n"]
    reader, writer = os.pipe()
    interrupting(monkeypatch, Run, "hold_out", 2)
    feeder = threading.Thread(target=lambda: [os.write(writer, chunk) and time.sleep(0.5) for chunk in chunks])
    with os.fdopen(reader) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        feeder.start()
        run = erkle("learn", "-", "--out", tmp_path)
        feeder.join()
    os.close(writer)
    assert run.returncode == 130, run.stderr
    assert learned(tmp_path).n_triplets_seen_ == 2


def test_a_stream_goes_on_when_a_checkpoint_cannot_be_written(erkle, tmp_path, monkeypatch):
    def fails(*arguments):
        raise OSError(28, "checkpoint.npz: cannot be written (No space left on device); free some space.")

    monkeypatch.setattr("erkle.cli.run.save_checkpoint", fails)
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

    monkeypatch.setattr("erkle.cli.run._check_memory", refuses)
    reader, writer = os.pipe()
    chunks = [b"cat,dog,bus\nbus,dog,cat\n", b"new,newer,cat\n"]
    feeder = threading.Thread(target=lambda: [os.write(writer, chunk) and time.sleep(0.5) for chunk in chunks])
    with os.fdopen(reader) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        feeder.start()
        run = erkle("learn", "-", "--holdout", 0.01, "--out", tmp_path)
        feeder.join()
    os.close(writer)
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
