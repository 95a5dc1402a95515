"""`erkle learn`: what it writes equals what the library learns."""

import json
import math

import numpy as np
import pytest

from commands import EXACT, FILES, KINDS, answers_of, learned, listing, table, write
from erkle import ERKLE, Dense, metrics, triplets
from erkle.answer_models import in_words
from erkle.datasets import city_answers
from erkle.files import load_npz

pytestmark = pytest.mark.usefixtures("without_pictures")


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
    assert summary["n_learned"] == len(T)
    assert summary["prequential_error"] == expected.prequential_error_
    assert summary["calibration_error"] == expected.reliability_.calibration_error


def test_held_out_questions_are_not_learned_and_measure_the_error(erkle, answers, tmp_path):
    assert erkle("learn", answers, "--exact", "--holdout", 0.3, "--out", tmp_path).returncode == 0
    T, _ = triplets.read(answers)
    train, test = triplets.split(T, 0.3, random_state=0)
    expected = ERKLE(20, kernel=Dense()).fit(train)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["n_test"] == len(test)
    assert summary["test_error"] == pytest.approx(1 - expected.score(test))
    assert np.array_equal(learned(tmp_path).kernel_matrix(), expected.kernel_matrix())
    last = table(tmp_path / "errors.csv")[-1]
    assert int(last["answers"]) == len(train)
    assert float(last["test_error"]) == pytest.approx(summary["test_error"])


def test_points_before_the_last_are_measured_on_some_test_answers(erkle, answers, tmp_path, monkeypatch):
    asked = []
    predict = ERKLE.predict
    monkeypatch.setattr("erkle.cli.learn.run.MOST_TESTED", 50)
    monkeypatch.setattr(ERKLE, "predict", lambda self, T: asked.append(len(T)) or predict(self, T))
    assert erkle("learn", answers, "--exact", "--holdout", 0.2, "--out", tmp_path).returncode == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert max(asked) <= 50
    n_last = math.ceil(summary["n_test"] / 50)
    assert sum(asked[-n_last:]) == summary["n_test"] > 150
    rows = table(tmp_path / "errors.csv")
    assert len({row["answers"] for row in rows}) == len(rows)
    assert float(rows[-1]["test_error"]) == summary["test_error"]


def test_a_test_file_may_name_objects_that_were_never_learned(erkle, answers, tmp_path):
    test = tmp_path / "test.csv"
    test.write_text("object 1,object 2,a new object\n")
    assert erkle("learn", answers, "--exact", "--test", test, "--out", tmp_path / "out").returncode == 0
    assert learned(tmp_path / "out").n_objects_ == 21


def test_a_list_of_objects_gives_ids_their_names_and_order(erkle, tmp_path):
    (tmp_path / "objects.csv").write_text("id,name\n10,cat\n11,dog\n12,bus\n13,tram\n")
    (tmp_path / "answers.csv").write_text("12,13,10\n10,11,12\n")
    arguments = ["--objects", tmp_path / "objects.csv", "--out", tmp_path / "out"]
    assert erkle("learn", tmp_path / "answers.csv", *arguments).returncode == 0
    assert [row["object"] for row in table(tmp_path / "out" / "embedding.csv")] == ["cat", "dog", "bus", "tram"]
    assert learned(tmp_path / "out").predict_one((2, 3, 0))


@pytest.mark.parametrize("measured_on", ["test answers", "learned answers"])
def test_a_map_of_more_than_two_dimensions_says_how_well_it_predicts(erkle, measured_on, answers, tmp_path):
    options = ["--holdout", 0.2] if measured_on == "test answers" else []
    run = erkle("learn", answers, "--rank", 5, *options, "--out", tmp_path)
    assert run.returncode == 0, run.stderr
    learner = learned(tmp_path)
    T = triplets.split(triplets.read(answers).triplets, 0.2, random_state=0)[1] if options else learner.history_
    X = learner.embedding(2)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["map_error"] == pytest.approx(metrics.triplet_error(X @ X.T, T))
    said = " ".join(run.stderr.split())
    assert "2 of 5 dimensions" in said
    assert f"{100 * (1 - summary['map_error']):.1f} % of the {measured_on}" in said
    assert f"{100 * learner.score(T):.1f} %" in said


def test_a_map_of_two_dimensions_and_a_learner_without_answers_have_no_error_of_the_map(erkle, answers, tmp_path):
    for options, dimensions in ((["--rank", 2], False), (["--exact"], True)):
        run = erkle("learn", answers, *options, "--out", tmp_path)
        assert json.loads((tmp_path / "summary.json").read_text())["map_error"] is None
        assert ("The map shows" in run.stderr) == dimensions


@pytest.mark.parametrize("kind", [["--exact"], ["--rank", 3]])
def test_objects_in_no_answer_are_counted(erkle, kind, tmp_path):
    (tmp_path / "objects.txt").write_text("\n".join("abcdef"))
    (tmp_path / "answers.csv").write_text("anchor,near,far\na,b,c\nb,a,d\n")
    arguments = ["--objects", tmp_path / "objects.txt", "--out", tmp_path / "out"]
    run = erkle("learn", tmp_path / "answers.csv", *kind, *arguments)
    assert run.returncode == 0, run.stderr
    assert "2 of 6 objects" in run.stderr


def test_shuffled_learning_uses_the_same_answers_in_another_order(erkle, answers, tmp_path):
    assert erkle("learn", answers, "--exact", "--shuffle", "--seed", 5, "--out", tmp_path).returncode == 0
    T, _ = triplets.read(answers)
    expected = ERKLE(20, kernel=Dense()).fit(T[np.random.default_rng(5).permutation(len(T))])
    assert np.array_equal(learned(tmp_path).kernel_matrix(), expected.kernel_matrix())


def test_sorted_answers_and_an_unknown_header_cause_warnings(erkle, answers, tmp_path):
    T = answers_of(20, 1000)
    for column, name in enumerate(("anchor", "near", "far")):
        path = write(tmp_path / "sorted.csv", T[np.argsort(T[:, column], kind="stable")])
        said = erkle("learn", path, "--exact", "--out", tmp_path / "out").stderr
        assert "--shuffle" in said
        assert f"same {name}" in " ".join(said.split())
    path = write(tmp_path / "answers.csv", T[:100], header="target,chosen,other")
    assert "header" in erkle("learn", path, "--exact", "--out", tmp_path / "out").stderr
    said = erkle("learn", answers, "--exact", "--out", tmp_path / "out").stderr
    assert "--shuffle" not in said
    assert "header" not in said


def test_the_choice_is_printed_and_listed(erkle, answers, tmp_path):
    said = " ".join(erkle("learn", answers, "--consolidate", "off", "--out", tmp_path).stderr.split())
    expected = learned(tmp_path).selection_
    rows = table(tmp_path / "selection.csv")
    assert [row["status"] for row in rows] == [candidate.status for candidate in expected]
    assert [float(row["rank"]) for row in rows] == [candidate.setting["rank"] for candidate in expected]
    assert [float(row["prequential_error"] or "nan") for row in rows] == pytest.approx(
        [candidate.error for candidate in expected], nan_ok=True
    )
    for row, candidate in zip(rows, expected, strict=True):
        numbers = [row[name] for name in ("sensitivity", "power", "lapse")]
        assert numbers == ([""] * 3 if candidate.answer_model is None else [str(x) for x in candidate.answer_model])
    leader = next(candidate for candidate in expected if candidate.status == "leads")
    assert f"rank {leader.setting['rank']}, trace {leader.setting['trace']:g}" in said
    chosen = json.loads((tmp_path / "summary.json").read_text())["chosen"]
    assert chosen["setting"] == leader.setting
    assert chosen["answer_model"] == leader.answer_model._asdict()
    assert erkle("learn", answers, "--exact", "--out", tmp_path).returncode == 0
    assert listing(tmp_path) == EXACT  # the selection of the earlier run is gone


def test_the_default_learner_lists_how_each_setting_takes_answers(erkle, answers, tmp_path):
    assert erkle("learn", answers, "--out", tmp_path).returncode == 0
    rows = table(tmp_path / "selection.csv")
    for row in rows:
        assert {row[name] == "" for name in ("sensitivity", "power", "lapse")} == {"eliminated" in row["status"]}
        assert row["answers"] != "ratio" or row["power"] in ("", "0.0")


@pytest.mark.parametrize("wrong", [0.0, 0.1])
def test_how_people_answer_is_said_in_words(erkle, wrong, tmp_path):
    path = write(tmp_path / "answers.csv", city_answers(3000, wrong))
    said = " ".join(erkle("learn", path, "--out", tmp_path).stderr.split())
    learner = learned(tmp_path)
    assert in_words(learner.answer_model_, learner.lapse_) in said
    assert learner.lapse_.low <= wrong + 0.01
    assert learner.lapse_.high >= wrong
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["answer_model"] == learner.answer_model_._asdict()
    assert summary["lapse"] == learner.lapse_._asdict()


@pytest.mark.parametrize(("n_answers", "wrong"), [(150, 0.0), (1000, 0.3)], ids=["few answers", "many slips"])
def test_how_people_answer_is_not_said_before_the_answers_tell(erkle, n_answers, wrong, tmp_path):
    path = write(tmp_path / "answers.csv", city_answers(n_answers, wrong))
    assert "People seem" not in erkle("learn", path, "--out", tmp_path).stderr
    assert json.loads((tmp_path / "summary.json").read_text())["lapse"] is None


@pytest.mark.parametrize(("n_answers", "kind"), [(3000, "forecast"), (60, "too-early")])
def test_the_forecast_is_that_of_the_library(erkle, n_answers, kind, tmp_path):
    path = write(tmp_path / "answers.csv", city_answers(n_answers, 0.1))
    said = " ".join(erkle("learn", path, "--out", tmp_path).stderr.split())
    expected = learned(tmp_path).answers_needed()
    assert json.loads((tmp_path / "summary.json").read_text())["forecast"] == expected.record()
    assert expected.record()["kind"] == kind
    assert str(expected)[1:] in said
    shown = " ".join(erkle("info", tmp_path / "kernel.npz").stdout.split())
    assert str(expected)[1:] in shown


def test_the_unavoidable_error_and_disputed_questions_are_reported(erkle, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("a,b,x\n" * 3 + "a,x,b\nb,a,x\n")
    run = erkle("learn", path, "--rank", 2, "--out", tmp_path / "out")
    assert "20 %" in run.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["conflicts"]["floor"] == 0.2
    info = " ".join(erkle("info", tmp_path / "out" / "kernel.npz").stdout.split())
    assert "20 %" in info
    assert "b (3) or x (1)" in info


def test_names_and_paths_are_printed_as_they_are(erkle, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("[/x],[bold]b,$c_2\n" + "p,q,r\n" * 20)
    run = erkle("learn", path, "--exact", "--out", tmp_path / "o[/y]")
    assert run.returncode == 0
    assert "[/x]" in run.stderr
    assert "o[/y]" in run.stderr.replace("\n", "")


def test_a_name_may_have_a_thousand_letters_but_no_more(erkle, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("a,b,c\nx,y,z\n" + "n" * 1000 + ",b,c\n")
    assert erkle("learn", path, "--exact", "--out", tmp_path / "out").returncode == 0
    assert "n" * 1000 in [row["object"] for row in table(tmp_path / "out" / "embedding.csv")]
    path.write_text("a,b,c\nx,y,z\n" + "n" * 1001 + ",b,c\n")
    run = erkle("learn", path, "--exact", "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "line 3" in run.stderr
    assert len(run.stderr) < 300


def test_more_objects_than_fit_into_memory_are_refused(erkle, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("".join(f"a{i},b{i},c{i}\n" for i in range(200_000)))
    run = erkle("learn", path, "--exact", "--out", tmp_path / "out")
    assert run.returncode == 2
    assert "600,000 objects" in run.stderr
    assert "low-rank" in run.stderr
