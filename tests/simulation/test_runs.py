"""Many runs: their files, and the command that makes them, continues them and refuses what it cannot do."""

import csv
import json
import math
import shutil
import signal

import numpy as np
import pytest

from commands import interrupting
from erkle import AnswerModel
from erkle.active import Random
from erkle.cli.simulate import run_simulation
from erkle.files import FileError
from erkle.simulation import runs
from erkle.simulation.runs import Plan, Task, open_runs, read_run
from erkle.simulation.study import simulate
from erkle.simulation.worlds import Points

TINY = ["--objects", 12, "--per-object", 6, "--seeds", 2, "--jobs", 1]


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.fixture(scope="module")
def plan():
    world = Points(12)
    return Plan(world, world.record(), per_object=6)


@pytest.fixture(scope="module")
def finished(plan, tmp_path_factory):
    out = tmp_path_factory.mktemp("simulate")
    run_simulation(plan, ["adaptive", "random"], 2, 1, out)
    return out


@pytest.fixture
def out(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "out")


@pytest.fixture
def interruptible():
    """Handle Ctrl-C as Python does by default: a shell starts background jobs with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_table_has_the_means_of_the_runs(finished, plan):
    rows = table(finished / "curves.csv")
    assert [(row["strategy"], int(row["n_answers"])) for row in rows] == [
        (name, n) for name in ("adaptive", "random") for n in plan.moments
    ]
    runner = open_runs(finished, plan)
    for row in rows:
        both = [read_run(Task(row["strategy"], seed), runner) for seed in (0, 1)]
        place = plan.moments.index(int(row["n_answers"]))
        assert float(row["error"]) == pytest.approx(np.mean([run.errors[place] for run in both]), rel=1e-4)
        assert float(row["low"]) <= float(row["error"]) <= float(row["high"])
        assert float(row["per_object"]) == int(row["n_answers"]) / 12
        assert row["n_seeds"] == "2"
    assert float(rows[5]["error"]) < float(rows[0]["error"])


def test_the_summary_has_the_settings_and_the_results(finished, plan):
    summary = json.loads((finished / "summary.json").read_text(), parse_constant=pytest.fail)
    answers = {"sensitivity": "inf", "power": 1.0, "lapse": 0.0}
    assert summary["world"] == {"name": "points", "n_objects": 12, "n_components": 2, **answers}
    assert (summary["per_object"], summary["n_seeds"]) == (6, 2)
    [row] = [row for row in table(finished / "curves.csv") if (row["strategy"], row["n_answers"]) == ("adaptive", "60")]
    adaptive = summary["strategies"]["adaptive"]
    assert adaptive["error_at"]["5"] == pytest.approx(float(row["error"]), rel=1e-4)
    assert adaptive["error_at"]["40"] is None
    [found] = adaptive["compared_with_random"]
    assert found["random_at"] == 6
    assert found["error"] == summary["strategies"]["random"]["error"]
    assert 0 < adaptive["wait_ms"]["p50"] <= adaptive["wait_ms"]["p95"]


def test_a_run_is_read_from_its_file_as_it_was_made(finished, plan):
    kept = read_run(Task("random", 1), open_runs(finished, plan))
    run = simulate(plan.world, Random(), plan.moments, seed=1)
    assert kept.errors == run.errors
    assert kept.estimates == pytest.approx(run.estimates, nan_ok=True)
    assert len(kept.waits) == 72


def test_processes_make_the_same_runs_and_only_the_missing_ones(out, finished, plan):
    (out / "runs" / "adaptive-1.json").unlink()
    (out / "runs" / "random-0.json").unlink()
    before = times(out / "runs")
    tasks = [Task(name, seed) for seed in (0, 1) for name in ("adaptive", "random")]
    assert sorted(open_runs(out, plan).run(tasks, 2)) == [("adaptive", 1), ("random", 0)]
    after = times(out / "runs")
    assert len(after) == 4
    assert before.items() <= after.items()
    for task in tasks:
        kept, first = (read_run(task, open_runs(folder, plan)) for folder in (out, finished))
        assert kept.errors == first.errors


def test_the_command_continues_with_the_missing_runs(erkle, out):
    rows = (out / "curves.csv").read_text()
    (out / "runs" / "adaptive-0.json").unlink()
    for name in ("curves.csv", "curves.png", "curves.svg", "summary.json"):
        (out / name).unlink()
    before = times(out / "runs")
    result = erkle("simulate", *TINY, "--out", out)
    assert result.returncode == 0, result.stderr
    assert before.items() <= times(out / "runs").items()
    assert (out / "curves.csv").read_text() == rows
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "curves.svg").read_text().rstrip().endswith("</svg>")
    for values in ("12 points, d = 2", "2 runs", "72 answers"):
        assert values in result.stderr
    lines = {line.split()[0]: line for line in result.stdout.splitlines()}
    strategies = json.loads((out / "summary.json").read_text())["strategies"]
    for name, found in strategies.items():
        assert f"{100 * found['error_at']['5']:.1f} %" in lines[name]
    assert strategies["adaptive"]["compared_with_random"][0]["text"] in lines["adaptive"]


@pytest.mark.usefixtures("finished", "interruptible")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["interrupted", "terminated"])
def test_the_command_can_be_stopped_and_keeps_finished_runs(erkle, how, tmp_path, monkeypatch):
    # The compiled code is loaded by now, so the first call is the first run.
    interrupting(monkeypatch, runs, "simulate", 2, how)
    stopped = erkle("simulate", *TINY, "--out", tmp_path)
    assert stopped.returncode == 130
    assert "1 of 4 runs" in stopped.stderr
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["adaptive-0.json"]


def test_other_strategies_and_fewer_seeds_reuse_finished_runs(erkle, out):
    before = times(out / "runs")
    result = erkle("simulate", *TINY, "--seeds", 1, "--strategies", "balanced, adaptive", "--out", out)
    assert result.returncode == 0, result.stderr
    assert times(out / "runs").keys() - before.keys() == {"balanced-0.json"}
    assert {row["strategy"]: row["n_seeds"] for row in table(out / "curves.csv")} == {"balanced": "1", "adaptive": "1"}
    assert {row["low"] for row in table(out / "curves.csv")} == {""}
    assert "random to --strategies" in result.stderr


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"world": Points(12, answer_model=AnswerModel(3.0))}, "sensitivity"),
        ({"world": Points(12, answer_model=AnswerModel(math.inf, lapse=0.1))}, "lapse"),
        ({"per_object": 5}, "per object"),
        ({"world": Points(13), "rate": 2.0}, "n objects and rate"),
        ({"holdout": 0.2}, "holdout"),
    ],
    ids=["sensitivity", "lapse", "per_object", "two settings", "holdout"],
)
def test_runs_of_other_settings_are_not_mixed(finished, plan, changed, named):
    other = plan._replace(**changed)
    other = other._replace(record=other.world.record())
    before = times(finished / "runs")
    with pytest.raises(ValueError, match=rf"runs.* {named}.*--out"):
        open_runs(finished, other)
    assert times(finished / "runs") == before


def test_the_command_refuses_runs_of_another_version_of_erkle(erkle, finished, monkeypatch):
    before = times(finished / "runs")
    monkeypatch.setattr("erkle.runner.sources_stamp", lambda: "another version")
    result = erkle("simulate", *TINY, "--out", finished)
    assert result.returncode == 2
    assert "erkle sources" in result.stderr
    assert "--out" in result.stderr
    assert times(finished / "runs") == before


def test_the_command_simulates_people_who_slip(erkle, tmp_path):
    people = ["--sensitivity", 2, "--power", 0.5, "--lapse", 0.1]
    result = erkle("simulate", *TINY, "--seeds", 1, *people, "--out", tmp_path)
    assert result.returncode == 0, result.stderr
    assert "12 points, d = 2, sensitivity 2, power 0.5, 10 % slips" in result.stderr
    world = json.loads((tmp_path / "summary.json").read_text())["world"]
    assert (world["sensitivity"], world["power"], world["lapse"]) == (2.0, 0.5, 0.1)
    other = erkle("simulate", *TINY, "--seeds", 1, "--sensitivity", 2, "--out", tmp_path)
    assert other.returncode == 2
    assert "lapse and power" in other.stderr or "power and lapse" in other.stderr


@pytest.mark.filterwarnings("ignore:zappos85")
def test_the_command_says_where_the_answers_of_a_data_set_run_out(erkle, shoes, tmp_path):
    out = tmp_path / "out"
    result = erkle("simulate", "zappos85", "--seeds", 1, "--jobs", 1, "--data", shoes, "--out", out)
    assert result.returncode == 0, result.stderr
    last = int(table(out / "curves.csv")[-1]["n_answers"])
    assert last < 72
    assert f"{last} answers" in result.stderr
    assert "not reached" in result.stdout


def shoe_features(path, scale=1.0):
    rows = "".join(f"shoe {i},{scale * i},{i % 3}\n" for i in (*range(6), 9))
    path.write_text(f"name,size,kind\n{rows}")
    return path


@pytest.mark.filterwarnings("ignore:zappos85")
def test_the_command_lets_the_learner_know_features_of_a_data_set(erkle, shoes, tmp_path):
    command = ["simulate", "zappos85", "--seeds", 1, "--per-object", 5, "--jobs", 1, "--data", shoes]
    command += ["--out", tmp_path / "out"]
    size = shoe_features(tmp_path / "shoe.csv")
    result = erkle(*command, "--features", size)
    assert result.returncode == 0, result.stderr
    said = " ".join(result.stderr.split())
    assert "zappos85 with the features shoe" in said
    assert "1 name in the files of features is not one of the objects of zappos85: shoe 9; ignored." in said
    assert "1 of 7 objects has no features: shoe 6; only answers place it." in said
    world = json.loads((tmp_path / "out" / "summary.json").read_text())["world"]
    assert world["features"].startswith("shoe (2 columns, ")
    again = erkle(*command, "--features", size)
    assert again.returncode == 0
    for options in ([], ["--features", f"clip={size}"], ["--features", shoe_features(size, 2.0)]):
        other = erkle(*command, *options)
        assert other.returncode == 2, options
        assert "features" in other.stderr


REFUSED = [
    (["--features", "size.csv"], ["--features", "points"]),
    (["zappos85", "--features", "nowhere.csv", "--data", "."], ["nowhere.csv"]),
    (["--strategies", "best"], ["'best'", "adaptive, random, balanced, uncertainty, change, information"]),
    (["--strategies", "random,adaptive,random"], ["random twice"]),
    (["--strategies", ""], ["adaptive"]),
    (["--seeds", 0], ["--seeds is 0", "at least 1"]),
    (["--seeds", 10**14], ["--seeds is 100,000,000,000,000", "10,000."]),
    (["--per-object", 0], ["--per-object is 0"]),
    (["--per-object", 10**14], ["--per-object is 100,000,000,000,000", "100,000."]),
    (["--in-flight", 0], ["--in-flight is 0"]),
    (["--in-flight", 10**9], ["--in-flight is 1,000,000,000", "100,000."]),
    (["--rate", 0], ["--rate is 0"]),
    (["--rate", 1e-320], ["--rate", "1e-06"]),
    (["--rate", "inf"], ["--rate is inf"]),
    (["--objects", 3], ["--objects is 3", "at least 4"]),
    (["--objects", 2_000_001], ["--objects is 2,000,001", "2,000,000."]),
    (["--jobs", 0], ["--jobs is 0"]),
    (["--dimensions", 0], ["--dimensions is 0"]),
    (["--dimensions", 10**10], ["90 points", "10,000,000,000 dimensions", "4,807,200 GB"]),
    (["--objects", 10**6, "--dimensions", 2000], ["1,000,000 points", "2,000 dimensions", "17 GB"]),
    (["--sensitivity", 0], ["--sensitivity is 0", "above 0"]),
    (["--sensitivity", "nan"], ["--sensitivity is nan"]),
    (["--sensitivity", 2, "--power", 2], ["--power is 2", "0", "1"]),
    (["--power", "nan"], ["--power is nan"]),
    (["--power", 0.5], ["--power", "--sensitivity"]),
    (["--lapse", 0.7], ["--lapse is 0.7", "0.499"]),
    (["--lapse", -0.1], ["--lapse is -0.1"]),
    (["--lapse", "nan"], ["--lapse is nan"]),
    (["--holdout", -0.1], ["--holdout is -0.1"]),
    (["--data", "."], ["--data", "points"]),
    (["moon"], ["'moon'", "points", "aset400"]),
    *((["zappos85", option, 2], [option, "zappos85"]) for option in ("--objects", "--sensitivity", "--power")),
    *((["cars60", option, 1], [option, "cars60"]) for option in ("--dimensions", "--lapse")),
]


def test_bad_options_are_refused_with_one_line_that_names_them_and_leave_nothing(erkle, tmp_path):
    for options, values in REFUSED:
        result = erkle("simulate", *options, "--out", tmp_path / "out")
        assert result.returncode == 2, options
        assert all(value in result.stderr for value in values), (options, result.stderr)
        assert result.stderr.count("\n") == 1, options
    assert not (tmp_path / "out").exists()


def test_the_command_passes_on_why_a_data_set_is_missing(erkle, cache, tmp_path, monkeypatch):
    def fail(entry, folder):
        raise FileError(f"{entry.name}: could not be fetched; put it into {folder}.")

    monkeypatch.setattr("erkle.datasets.loading.fetch", fail)
    result = erkle("simulate", "nature", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert "nature: could not be fetched" in result.stderr
    assert not (tmp_path / "out").exists()
