"""The command as users run it: in a process of its own wherever signals, pipes or kills matter."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from commands import COMMAND, EXACT, FILES, answers_of, learned, listing, table, write
from erkle import ERKLE, Dense, LowRank, PassiveAggressiveI, triplets
from erkle.files import load_npz
from parts import SquaredHinge

# Every kind of learner: options, what Python says for them, and whether it ends with a last fit.
KINDS = {
    "default": ([], {}, True),
    "never fitted": (["--consolidate", "off"], {"kernel": LowRank(consolidate="off")}, False),
    "of rank 3": (
        ["--rank", "3", "--trace", "0.001", "--step", "pa1", "--passes", "2"],
        {"kernel": LowRank(3, 0.001), "step": PassiveAggressiveI(), "passes": 2},
        False,
    ),
    "of rank 3, fitted": (["--rank", "3", "--consolidate", "0.2"], {"kernel": LowRank(3, None, 0.2)}, True),
    "exact": (["--exact", "--passes", "2"], {"kernel": Dense(), "passes": 2}, False),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    return write(tmp_path_factory.mktemp("answers") / "answers.csv", answers_of(20, 3000))


MISFITS = [
    (["--loss", "ste"], "--loss was given without --exact"),
    (["--step", "pa1"], "--step was given without --exact"),
    (["--direction", "gradient"], "--direction was given without --exact"),
    (["--passes", "2", "--rank", "auto"], "--passes was given without --exact"),
    (["--tol", "0.1"], "--tol was given without --exact"),
    (["--tol", "0.1", "--rank", "3"], "--tol was given without --exact"),
    (["--trace", "0.1"], "--trace was given without a number for --rank"),
    (["--exact", "--rank", "3"], "--exact and --rank were both given"),
    (["--exact", "--trace", "0.1"], "--exact and --trace were both given"),
    (["--exact", "--consolidate", "off"], "--exact and --consolidate were both given"),
    (["--rank", "3", "--consolidate", "0.1", "--loss", "ste"], "--loss and --consolidate were both given"),
    (["--start", "kernel.npz", "--exact"], "--start and --exact were both given"),
    (["--start", "kernel.npz", "--rank", "3"], "--start and --rank were both given"),
]


@pytest.mark.parametrize(
    ("options", "said"), MISFITS, ids=lambda value: "" if isinstance(value, str) else " ".join(value)
)
def test_options_that_do_not_fit_the_learner_are_refused_in_a_sentence(erkle, options, said, answers, tmp_path):
    run = erkle("learn", answers, *options, "--out", tmp_path)
    assert run.returncode == 2
    assert run.stderr.startswith(f"erkle: {said}")
    assert len(run.stderr.splitlines()) == 1
    assert listing(tmp_path) == []


@pytest.mark.parametrize("kind", KINDS)
def test_learning_a_file_writes_every_result_and_equals_the_library(erkle, kind, answers, tmp_path):
    options, parameters, ends_with_a_fit = KINDS[kind]
    run = erkle("learn", answers, "--out", tmp_path, *options, "--seed", 3)
    assert run.returncode == 0, run.stderr
    T, labels = triplets.read(answers)
    expected = ERKLE(20, random_state=3, **parameters).fit(T)
    if ends_with_a_fit:
        expected.consolidate()
    assert listing(tmp_path) == (FILES if len(expected.selection_) > 1 else EXACT)
    assert np.array_equal(learned(tmp_path).kernel_matrix(), expected.kernel_matrix())
    assert load_npz(tmp_path / "kernel.npz")[0]["labels"].tolist() == labels.names
    rows = table(tmp_path / "embedding.csv")
    assert [row["object"] for row in rows] == labels.names
    assert np.allclose([[float(row["x"]), float(row["y"])] for row in rows], expected.embedding(2))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["n_learned"] == 3000
    assert summary["prequential_error"] == expected.prequential_error_
    assert summary["calibration_error"] == expected.reliability_.calibration_error


def test_held_out_questions_are_not_learned_and_measure_the_error(erkle, answers, tmp_path):
    assert erkle("learn", answers, "--exact", "--holdout", 0.3, "--out", tmp_path).returncode == 0
    T, _ = triplets.read(answers)
    train, test = triplets.split(T, 0.3, seed=0)
    expected = ERKLE(20, kernel=Dense()).fit(train)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["n_test"] == len(test)
    assert summary["test_error"] == pytest.approx(1 - expected.score(test))
    assert np.array_equal(learned(tmp_path).kernel_matrix(), expected.kernel_matrix())
    last = table(tmp_path / "errors.csv")[-1]
    assert int(last["answers"]) == len(train)
    assert float(last["test_error"]) == pytest.approx(summary["test_error"])


def test_a_test_file_may_name_objects_that_were_never_learned(erkle, answers, tmp_path):
    test = tmp_path / "test.csv"
    test.write_text("object 1,object 2,a stranger\n")
    assert erkle("learn", answers, "--exact", "--test", test, "--out", tmp_path / "out").returncode == 0
    assert learned(tmp_path / "out").n_objects_ == 21


def test_a_list_of_objects_gives_ids_their_names_and_order(erkle, tmp_path):
    (tmp_path / "objects.csv").write_text("id,name\n10,cat\n11,dog\n12,bus\n13,tram\n")
    (tmp_path / "answers.csv").write_text("12,13,10\n10,11,12\n")
    arguments = ["--objects", tmp_path / "objects.csv", "--out", tmp_path / "out"]
    assert erkle("learn", tmp_path / "answers.csv", *arguments).returncode == 0
    assert [row["object"] for row in table(tmp_path / "out" / "embedding.csv")] == ["cat", "dog", "bus", "tram"]
    assert learned(tmp_path / "out").predict_one((2, 3, 0))


def test_shuffled_learning_uses_the_same_answers_in_another_order(erkle, answers, tmp_path):
    assert erkle("learn", answers, "--exact", "--shuffle", "--seed", 5, "--out", tmp_path).returncode == 0
    T, _ = triplets.read(answers)
    expected = ERKLE(20, kernel=Dense()).fit(T[np.random.default_rng(5).permutation(len(T))])
    assert np.array_equal(learned(tmp_path).kernel_matrix(), expected.kernel_matrix())


def test_a_file_in_random_order_draws_no_remark(erkle, answers, tmp_path):
    said = erkle("learn", answers, "--exact", "--out", tmp_path).stderr
    assert "--shuffle" not in said
    assert "header" not in said


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


def test_a_run_that_was_refused_leaves_no_empty_folder_and_removes_none_that_was_there(erkle, tmp_path):
    (tmp_path / "empty.csv").touch()
    (tmp_path / "mine").mkdir()
    for out in ("new/and/deep", "mine"):
        assert erkle("learn", tmp_path / "empty.csv", "--out", tmp_path / out).returncode == 2
    assert listing(tmp_path) == ["empty.csv", "mine"]


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
        ("--rank", "many", "--rank is 'many'; pass auto or an integer"),
        ("--rank", "0", "--rank is 0"),
        ("--consolidate", "often", "--consolidate is 'often'; pass auto, off or a share"),
        ("--consolidate", "-1", "--consolidate is -1"),
        ("--holdout", "1", "--holdout"),
        ("--seed", "-1", "--seed"),
        ("--dimensions", "0", "--dimensions"),
        ("--checkpoint-every", "-1", "--checkpoint-every"),
    ],
)
def test_a_wrong_option_says_what_is_wanted(erkle, option, value, said, answers, tmp_path):
    exact = ["--exact"] if option[2:] in ("loss", "step", "direction", "passes", "tol") else []
    run = erkle("learn", answers, *exact, option, value, "--out", tmp_path)
    assert run.returncode == 2
    assert said in run.stderr
    assert listing(tmp_path) == []


def test_help_is_quick_because_no_command_imports_anything_heavy_before_it_runs():
    # The application imports the modules of all commands.
    heavy = ["fastapi", "joblib", "matplotlib", "numba", "numpy", "pooch", "pydantic", "scipy", "sklearn", "sqlalchemy"]
    code = f"import sys, erkle.cli.app; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


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
        "unavoidable error": "25.0 %",
    }
    assert erkle("learn", path, "--out", tmp_path / "out").returncode == 0
    assert "a, b, x" in erkle("info", tmp_path / "out" / "kernel.npz").stdout


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_file_sorted_by_any_column_is_noticed(erkle, column, tmp_path):
    T = answers_of(20, 2000)
    write(tmp_path / "sorted.csv", T[np.argsort(T[:, column], kind="stable")])
    said = erkle("learn", tmp_path / "sorted.csv", "--exact", "--out", tmp_path / "out").stderr
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
    ERKLE(3, kernel=Dense(), loss=SquaredHinge()).fit([(0, 1, 2)]).save(tmp_path / "own.npz")
    assert "SquaredHinge(1)" in erkle("info", tmp_path / "own.npz").stdout


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
    run = erkle("learn", path, "--exact", "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "600,000 objects need" in run.stderr
    assert "leave out --exact" in run.stderr


def test_a_pipe_given_by_its_path_is_refused_at_once(erkle, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    run = erkle("learn", tmp_path / "pipe", "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "learn - <" in run.stderr


def test_a_name_of_a_thousand_letters_is_learned_and_a_longer_one_is_refused(erkle, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("a,b,c\nx,y,z\n" + "n" * 1000 + ",b,c\n")
    assert erkle("learn", path, "--exact", "--out", tmp_path / "out").returncode == 0
    assert "n" * 1000 in [row["object"] for row in table(tmp_path / "out" / "embedding.csv")]
    path.write_text("a,b,c\nx,y,z\n" + "n" * 1001 + ",b,c\n")
    run = erkle("learn", path, "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "line 3" in run.stderr
    assert len(run.stderr) < 300


def test_what_was_chosen_is_told_and_listed(erkle, answers, tmp_path):
    said = " ".join(erkle("learn", answers, "--consolidate", "off", "--out", tmp_path).stderr.split())
    expected = learned(tmp_path).selection_
    rows = table(tmp_path / "selection.csv")
    assert [row["status"] for row in rows] == [candidate.status for candidate in expected]
    assert [float(row["rank"]) for row in rows] == [candidate.setting["rank"] for candidate in expected]
    assert [float(row["prequential_error"] or "nan") for row in rows] == pytest.approx(
        [candidate.error for candidate in expected], nan_ok=True
    )
    leader = next(candidate for candidate in expected if candidate.status == "leads")
    assert f"Chosen: rank {leader.setting['rank']}, trace {leader.setting['trace']:g}" in said
    chosen = json.loads((tmp_path / "summary.json").read_text())["chosen"]
    assert chosen["setting"] == leader.setting
    assert erkle("learn", answers, "--exact", "--out", tmp_path).returncode == 0
    assert listing(tmp_path) == EXACT  # the selection of the run before is gone


def test_the_least_error_of_any_kernel_is_told_and_who_disputes_what(erkle, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("a,b,x\n" * 3 + "a,x,b\nb,a,x\n")
    run = erkle("learn", path, "--rank", 2, "--out", tmp_path / "out")
    sentence = "so every kernel gets at least 20 % of the answers wrong."
    assert sentence in " ".join(run.stderr.split())
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["conflicts"]["floor"] == 0.2
    info = " ".join(erkle("info", tmp_path / "out" / "kernel.npz").stdout.split())
    assert sentence in info
    assert "Is a more like b (3) or x (1)?" in info


@pytest.mark.parametrize("kind", KINDS)
def test_info_tells_what_a_saved_learner_knows(erkle, kind, tmp_path):
    parameters = KINDS[kind][1]
    learner = ERKLE(20, random_state=0, **parameters).fit(answers_of(20, 300))
    learner.save(tmp_path / "kernel.npz")
    run = erkle("info", tmp_path / "kernel.npz")
    assert run.returncode == 0, run.stderr
    said = " ".join(run.stdout.split())
    assert "answers learned 300" in said
    assert f"on average {100 * learner.reliability_.calibration_error:.1f} % off" in said
    assert ("chosen rank" in said) == (len(learner.selection_) > 1)
    assert "of 300 answers" in said


def test_points_on_the_way_are_measured_on_some_test_answers_and_the_last_on_all(erkle, answers, tmp_path, monkeypatch):
    asked = []
    predict = ERKLE.predict
    monkeypatch.setattr("erkle.cli.learn.run._MOST_TESTED", 100)
    monkeypatch.setattr(ERKLE, "predict", lambda self, T: asked.append(len(T)) or predict(self, T))
    assert erkle("learn", answers, "--exact", "--holdout", 0.2, "--out", tmp_path).returncode == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert max(asked) <= 100
    in_the_end = math.ceil(summary["n_test"] / 100)
    assert sum(asked[-in_the_end:]) == summary["n_test"] > 500
    rows = table(tmp_path / "errors.csv")
    assert len({row["answers"] for row in rows}) == len(rows)
    assert float(rows[-1]["test_error"]) == summary["test_error"]
