"""`erkle info` and `erkle demo`, and the progress that commands print."""

import io
import itertools
import json
import time

import numpy as np
import pytest
from rich.console import Console
from scipy.spatial import procrustes

from commands import KINDS, answers_of, learned, listing, write
from erkle import ERKLE, Dense
from erkle.answer_models import in_words
from erkle.cli.learn.curve import ErrorCurve
from erkle.cli.screen import learning_bar, waiting
from erkle.datasets import city_answers, flip, load_cities
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


def test_info_says_how_people_answer_and_who_answers_at_random(erkle, tmp_path):
    T = city_answers(4000)
    who = np.arange(4000) % 10
    T[who == 7] = flip(T[who == 7], 0.5, random_state=0)
    learner = ERKLE(65, random_state=0).fit(T, participants=who)
    learner.save(tmp_path / "kernel.npz")
    said = " ".join(erkle("info", tmp_path / "kernel.npz").stdout.split())
    assert f"people {in_words(learner.answer_model_, learner.lapse_)}" in said
    assert "1 of 10 participants seems to answer at random: 7 (400 answers," in said
    ERKLE(65, random_state=0).fit(T[:100]).save(tmp_path / "few.npz")
    said = erkle("info", tmp_path / "few.npz").stdout
    assert "people " not in said
    assert "participants" not in said


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


def test_the_demo_finds_the_map_and_the_wrong_answers(erkle, tmp_path):
    run = erkle("demo", "--out", tmp_path)
    assert run.returncode == 0, run.stderr
    learner = learned(tmp_path)
    assert learner.score(city_answers(20_000, 0.0, 1)) >= 0.98
    assert procrustes(load_cities().positions, learner.embedding(2))[2] <= 0.005
    assert learner.lapse_.low <= 0.1 <= learner.lapse_.high
    said = " ".join(run.stderr.split())
    assert f"{learner.lapse_}. In fact, 10.0 % are" in said
    assert "Half of the cities are within" in said


def test_waiting_prints_a_line_now_and_then_if_the_output_is_not_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("erkle.cli.screen.SECONDS_BETWEEN_LINES", 0.01)
    with waiting("Compiling"):
        deadline = time.monotonic() + 10
        said = ""
        while said.count("Compiling") < 3:
            assert time.monotonic() < deadline
            time.sleep(0.01)
            said += capsys.readouterr().err


def test_the_rank_of_a_very_large_exact_kernel_is_left_out(erkle, tmp_path, monkeypatch):
    for module in ("kernels.dense", "cli.learn.map_quality"):
        monkeypatch.setattr(f"erkle.{module}.LARGEST_MATRIX_SAVED", 9)
    path = write(tmp_path / "answers.csv", answers_of(10, 200))
    assert erkle("learn", path, "--exact", "--holdout", 0.2, "--out", tmp_path / "out").returncode == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["kernel_rank"] is None
    assert 0 < summary["map_error"] < 1
    facts = erkle("info", tmp_path / "out" / "kernel.npz").stdout
    assert "updates" in facts
    assert "rank" not in facts


@pytest.mark.parametrize("gets_slower", [True, False])
def test_the_time_left_is_a_lower_bound_while_answers_get_slower(gets_slower, monkeypatch):
    times = itertools.count(0.0, 0.1)
    screen = Console(file=io.StringIO(), force_terminal=True, width=200, get_time=lambda: next(times))
    monkeypatch.setattr("erkle.cli.screen.console", screen)
    curve = ErrorCurve()
    with learning_bar(100) as show:
        for _ in range(5):
            curve.add(np.ones(10))
            show(curve, gets_slower=gets_slower)
    shown = screen.file.getvalue()
    assert "0:00:" in shown
    assert ("> 0:00:" in shown) == gets_slower
