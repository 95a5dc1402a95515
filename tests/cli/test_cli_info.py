"""`erkle info` and `erkle demo`, and the progress that commands print."""

import time

import pytest

from commands import KINDS, answers_of, learned, listing
from erkle import ERKLE, Dense
from erkle.cli.screen import waiting
from parts import Cooling, SquaredHinge


def test_info_describes_an_answer_file(erkle, tmp_path):
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
        "identical answers": "1",
        "answers in conflict": "3 on 1 questions",
        "unavoidable error": "25.0 %",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_info_describes_every_kind_of_saved_learner(erkle, kind, tmp_path):
    learner = ERKLE(4, random_state=0, **KINDS[kind][1]).fit(answers_of(4, 200))
    learner.save(tmp_path / "kernel.npz", labels=["a", "b", "c", "d"])
    run = erkle("info", tmp_path / "kernel.npz")
    assert run.returncode == 0, run.stderr
    said = " ".join(run.stdout.split())
    assert "names a, b, c, d" in said
    assert "answers learned 200" in said
    assert f"confidence {100 * learner.reliability_.calibration_error:.1f} %" in said
    assert ("chosen rank" in said) == (len(learner.selection_) > 1)
    assert ("conflicts" in said) == (learner.history_ is not None)


def test_info_describes_a_learner_with_a_custom_loss(erkle, tmp_path):
    ERKLE(3, kernel=Dense(), loss=SquaredHinge(), step=Cooling()).fit([(0, 1, 2)]).save(tmp_path / "own.npz")
    assert "SquaredHinge(1)" in erkle("info", tmp_path / "own.npz").stdout


def test_the_demo_draws_europe_and_says_what_it_learned(erkle, tmp_path):
    run = erkle("demo", "--answers", 1000, "--wrong", 0.2, "--out", tmp_path)
    assert run.returncode == 0, run.stderr
    assert listing(tmp_path) == ["kernel.npz", "map.png"]
    assert learned(tmp_path).n_triplets_seen_ == 1000
    for value in ("1,000 answers", "200 of the answers", "rank", " km", "Paris is nearer to Lyon", "map.png"):
        assert value in " ".join(run.stderr.split())
    assert "--answers is 0" in erkle("demo", "--answers", 0, "--out", tmp_path).stderr
    assert "--wrong is 2" in erkle("demo", "--wrong", 2, "--out", tmp_path).stderr


def test_waiting_prints_a_line_now_and_then_if_the_output_is_not_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("erkle.cli.screen.SECONDS_BETWEEN_LINES", 0.01)
    with waiting("Compiling"):
        deadline = time.monotonic() + 10
        said = ""
        while said.count("Compiling") < 3:
            assert time.monotonic() < deadline
            time.sleep(0.01)
            said += capsys.readouterr().err
