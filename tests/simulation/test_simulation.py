"""Laws of simulated people: what they answer, courses that can be repeated and resumed, and what is made of them."""

import csv
import json
import math
import shutil
import signal
from collections import Counter

import numpy as np
import pytest

from commands import interrupting
from erkle import ERKLE, LowRank, triplets
from erkle.active import STRATEGIES, Adaptive, Random
from erkle.active.asker import Asker
from erkle.cli.simulate import run_simulation
from erkle.files import FileError
from erkle.simulation import runs
from erkle.simulation.comparing import Curve, Ratio, answers_to, compare
from erkle.simulation.runs import Plan, Task, marks, open_runs, read_run
from erkle.simulation.report import curves_figure
from erkle.simulation.study import Run, simulate
from erkle.simulation.worlds import People, Points

TINY = ["--objects", 12, "--per-object", 6, "--seeds", 2, "--jobs", 1]
incomplete = pytest.mark.filterwarnings("ignore:zappos85")


def positions(n_objects, n_components, seed):
    """Where a scene of this seed puts its points."""
    return np.random.default_rng([seed, 2026]).spawn(3)[0].standard_normal((n_objects, n_components))


def distances(X, head, *others):
    return [float(np.linalg.norm(X[head] - X[i])) for i in others]


# Points


@pytest.mark.parametrize("slope", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("query", [(0, 1, 2), (3, 4, 5)])
def test_points_answer_with_the_probability_that_the_slope_says(slope, query):
    scene = Points(6, slope=slope).instance(1)
    near, far = distances(positions(6, 2, 1), *query)
    share = np.mean([scene.answer(query) for _ in range(2000)])
    assert share == pytest.approx(1.0 / (1.0 + math.exp(slope * (near - far))), abs=0.045)


def test_points_are_always_right_by_default():
    scene, X = Points(8, n_components=3).instance(0), positions(8, 3, 0)
    for query in triplets.sample(8, 200, 0).tolist():
        near, far = distances(X, *query)
        assert scene.answer(tuple(query)) == (near < far)
    test = scene.test
    assert all(near < far for near, far in (distances(X, *row) for row in test[:500].tolist()))


def test_flipped_answers_are_as_many_as_asked_for():
    scene, right = Points(8, flipped=0.2).instance(0), Points(8).instance(0)
    queries = [tuple(query) for query in triplets.sample(8, 168, 0).tolist()] * 12
    assert np.mean([scene.answer(query) != right.answer(query) for query in queries]) == pytest.approx(0.2, abs=0.035)


def test_a_seed_is_a_world():
    one, again, other = (Points(6, slope=1.0).instance(seed) for seed in (0, 0, 1))
    assert np.array_equal(one.test, again.test)
    assert not np.array_equal(one.test, other.test)
    assert [one.answer((0, 1, 2)) for _ in range(50)] == [again.answer((0, 1, 2)) for _ in range(50)]


def test_points_that_no_memory_can_hold_are_refused_before_they_are_drawn():
    with pytest.raises(ValueError, match=r"^90 points in 10,000,000 dimensions take up to 4,807 GB .* at most 8 GB"):
        Points(90, 10**7).instance(0)


# People


@pytest.fixture
def shoes(tmp_path):
    """A folder with 90 answers about 7 objects, some of them repeated or contradicted, under the name of zappos85."""
    folder = tmp_path / "data" / "zappos85"
    folder.mkdir(parents=True)
    T = triplets.sample(7, 60, 0)
    T = np.concatenate([T, T[:20], T[:10, [0, 2, 1]]])
    (folder / "objects.csv").write_text("id,name\n" + "".join(f"{i},shoe {i}\n" for i in range(7)))
    (folder / "triplets.csv").write_text("anchor,near,far\n" + "".join(f"{a},{b},{c}\n" for a, b, c in T.tolist()))
    return folder.parent


def to_learn(shoes, seed):
    rows = np.loadtxt(shoes / "zappos85" / "triplets.csv", int, delimiter=",", skiprows=1)
    return triplets.split(rows, 0.2, seed)[0]


@incomplete
@pytest.mark.parametrize("strategy", [Adaptive(), Random()], ids=str)
def test_people_give_each_of_their_answers_once_and_are_asked_nothing_else(shoes, strategy):
    scene = People("zappos85", shoes).instance(3)
    learner = ERKLE(7, kernel=LowRank(), random_state=0)
    asker = Asker(scene.questions, strategy, random_state=0)
    given = []
    while found := asker.ask(learner):
        head, one, other = found[0].query
        nearer = scene.answer(found[0].query)
        asker.answer(learner, found[0], nearer)
        given.append((head, one, other) if nearer else (head, other, one))
    assert Counter(given) == Counter(map(tuple, to_learn(shoes, 3).tolist()))


@incomplete
def test_nobody_learns_from_test_questions(shoes):
    scene = People("zappos85", shoes).instance(0)
    listed = {scene.questions.key(row) for row in to_learn(shoes, 0)}
    assert len(scene.test)
    assert not listed & {scene.questions.key(row) for row in scene.test}


@incomplete
def test_the_record_of_people_follows_their_answers_and_not_their_folder(shoes, tmp_path):
    moved = shutil.copytree(shoes, tmp_path / "elsewhere")
    record = People("zappos85", shoes).record()
    assert (record["name"], record["n_objects"]) == ("zappos85", 7)
    assert People("zappos85", moved).record() == record
    with (moved / "zappos85" / "triplets.csv").open("a") as file:
        file.write("0,1,2\n")
    assert People("zappos85", moved).record() != record


# One course


@pytest.mark.parametrize("in_flight", [1, 4])
@pytest.mark.parametrize("name", ["adaptive", "random"])
def test_a_course_is_the_same_for_the_same_seed(name, in_flight):
    one, again, other = (run(Points(8, slope=3.0), STRATEGIES[name], [20, 40], s, in_flight) for s in (0, 0, 1))
    assert one.errors == again.errors
    assert one.estimates == pytest.approx(again.estimates, nan_ok=True)
    assert one.errors != other.errors
    assert len(one.waits) == 40
    assert min(one.waits) > 0.0


def test_a_course_learns():
    errors = run(Points(10), Adaptive(), [10, 150]).errors
    assert errors[1] < 0.1 < errors[0]


def test_a_course_ends_when_nothing_is_left_to_ask():
    told = []
    course = run(Points(4), Adaptive(), [5, 10, 15, 20], tell=told.append)
    assert course.n_answers == [5, 10]  # four objects have twelve questions
    assert told == list(range(1, 13))


@incomplete
def test_there_may_be_more_people_than_questions(shoes):
    T = to_learn(shoes, 0)
    n, n_questions = len(T), len(np.unique(triplets.question_keys(T)))
    course = run(People("zappos85", shoes), Adaptive(), [7, n, n + 1], in_flight=n_questions + 3, holdout=0.0)
    assert course.n_answers == [7, n]


@incomplete
def test_nobody_is_asked_the_same_twice_but_others_are(shoes):
    T = to_learn(shoes, 0)
    times = np.unique(triplets.question_keys(T), return_counts=True)[1]
    for in_flight, n in ((1, len(times)), (max(times), len(T))):
        told = []
        run(People("zappos85", shoes), Adaptive(), [len(T)], in_flight=in_flight, holdout=0.0, tell=told.append)
        assert told[-1] == n


def test_all_questions_tell_the_error_where_all_are_random():
    assert not np.isnan(run(Points(6), Random(), list(range(1, 30)), holdout=0.0).estimates).any()
    assert np.isnan(run(Points(6), Adaptive(), [10, 20], holdout=0.0).estimates).all()


@pytest.mark.parametrize(("options", "words"), [({"rate": 0.0}, "rate is 0"), ({"in_flight": 0}, "in_flight is 0")])
def test_a_course_without_people_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        run(Points(6), Random(), [5], **options)


# Curves


def falling(half_life, factors=(1.0, 0.8, 1.1), n_objects=10, most=40, floor=0.0):
    """Courses whose errors halve every so many answers an object, a factor for each seed."""
    n = [n_objects * mark for mark in marks(most)]
    course = [max(floor, 0.4 * 0.5 ** (i / n_objects / half_life)) for i in n]
    return Curve.of([Run(n, [factor * error for error in course], len(n) * [0.1], [1.0]) for factor in factors], 10)


def test_a_strategy_twice_as_fast_needs_half_the_answers():
    at_20, at_40 = compare(falling(20.0), falling(10.0))
    for ratio, mark in ((at_20, 20.0), (at_40, 40.0)):
        assert ratio.per_object == mark
        assert ratio.error == pytest.approx(0.4 * np.mean([1.0, 0.8, 1.1]) * 0.5 ** (mark / 20))
        # Seeds are as good for the one as for the other, so chance is no part of it.
        assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2.0, 2.0, 2.0))


def test_a_strategy_against_itself_needs_as_many_answers():
    assert [ratio[2:] for ratio in compare(falling(15.0), falling(15.0))] == [(1.0, 1.0, 1.0)] * 2


def test_the_interval_of_a_ratio_is_around_it_and_the_same_again():
    better = falling(8.0, factors=(0.9, 1.3, 0.7))
    [ratio, _] = found = compare(falling(16.0), better)
    assert ratio.low < ratio.value < ratio.high
    assert found == compare(falling(16.0), better)
    # A single seed tells nothing of chance.
    [alone, _] = compare(falling(16.0, (1.0,)), falling(8.0, (1.0,)))
    assert alone.value == pytest.approx(2.0)
    assert math.isnan(alone.low)
    assert alone.words == "2.00"


def test_an_error_that_is_never_reached_is_said_so():
    slow = falling(15.0, floor=0.35)
    assert answers_to(slow, 0.1) == math.inf
    assert [ratio.words for ratio in compare(falling(15.0), slow)] == ["not reached", "not reached"]
    assert Ratio(20.0, 0.1, 1.1, 0.0, 1.4).words == "1.10 (up to 1.40)"


def test_a_short_study_is_compared_at_its_end():
    [ratio] = compare(falling(4.0, most=8), falling(2.0, most=8))
    assert ratio.per_object == 8.0
    assert ratio.value == pytest.approx(2.0)


def test_answers_are_counted_up_to_the_first_time_that_the_error_is_reached():
    courses = [Run([10, 20, 30, 40], [0.4, 0.1, 0.2, 0.0], 4 * [math.nan], [])]
    curve = Curve.of(courses, 10)
    assert answers_to(curve, 0.5) == 10
    assert answers_to(curve, 0.2) == pytest.approx(15.0)  # 0.4, 0.2, 0.1: halfway on the logarithm
    assert answers_to(curve, 0.05) == pytest.approx(37.5)  # on the way to 0 there is no logarithm


def test_curves_have_means_and_students_intervals_where_all_courses_have_been():
    long = Run([10, 20, 30], [0.4, 0.3, 0.2], [0.5, math.nan, 0.1], [])
    short = Run([10, 20], [0.2, 0.3], [math.nan, math.nan], [])
    curve = Curve.of([long, short], 10)
    assert curve.error == pytest.approx([0.3, 0.3])
    low, high = curve.interval
    half = 12.706 * np.std([0.4, 0.2], ddof=1) / np.sqrt(2)
    assert low == pytest.approx([max(0.0, 0.3 - half), 0.3], rel=1e-3)
    assert high == pytest.approx([min(1.0, 0.3 + half), 0.3], rel=1e-3)
    assert curve.estimate == pytest.approx([0.5, math.nan], nan_ok=True)
    assert curve.at(2) == pytest.approx(0.3)
    assert math.isnan(curve.at(3))
    with pytest.raises(ValueError, match="fewer answers than the 10 objects"):
        Curve.of([Run([], [], [], [])], 10)


@pytest.mark.parametrize("per_object", range(1, 50))
def test_errors_are_measured_often_first_then_evenly_and_at_the_end(per_object):
    places = marks(per_object)
    assert places[:5] == list(range(1, min(5, per_object) + 1))
    assert places[-1] == per_object
    assert set(np.diff(places[4:-1])) <= {2.5}
    assert all(0 < step <= 2.5 for step in np.diff(places))


@pytest.mark.parametrize(
    ("errors", "n_seeds"), [([0.3, 0.0], 3), ([0.0, 0.0], 1), ([0.31, 0.3], 1), ([1.0, 1e-4], 3)], ids=str
)
def test_any_errors_can_be_drawn(errors, n_seeds):
    curve = Curve.of([Run([10, 20], errors, errors, [])] * n_seeds, 10)
    figure = curves_figure({"adaptive": curve, "random": curve}, "points")
    figure.set_dpi(20)
    figure.canvas.draw()
    [axes] = figure.axes
    assert [line.get_xdata().tolist() for line in axes.lines] == [[1.0, 2.0]] * 4
    assert len(axes.collections) == (2 if n_seeds > 1 else 0)
    assert [text.get_text().split()[0] for text in axes.texts] == ["adaptive", "random"]
    assert axes.get_yscale() == "log"


# Many courses


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


def test_the_table_has_the_means_of_the_courses(finished, plan):
    rows = table(finished / "curves.csv")
    assert [(row["strategy"], int(row["n_answers"])) for row in rows] == [
        (name, n) for name in ("adaptive", "random") for n in plan.moments
    ]
    for row in rows:
        courses = [read_run(Task(row["strategy"], seed), open_runs(finished, plan)) for seed in (0, 1)]
        place = plan.moments.index(int(row["n_answers"]))
        assert float(row["error"]) == pytest.approx(np.mean([course.errors[place] for course in courses]), rel=1e-4)
        assert float(row["low"]) <= float(row["error"]) <= float(row["high"])
        assert float(row["per_object"]) == int(row["n_answers"]) / 12
        assert row["n_seeds"] == "2"
    assert float(rows[5]["error"]) < float(rows[0]["error"])


def test_the_summary_says_what_was_done_and_found(finished, plan):
    summary = json.loads((finished / "summary.json").read_text(), parse_constant=pytest.fail)
    assert summary["world"] == {"name": "points", "n_objects": 12, "n_components": 2, "slope": "inf", "flipped": 0.0}
    assert (summary["per_object"], summary["n_seeds"]) == (6, 2)
    [row] = [row for row in table(finished / "curves.csv") if (row["strategy"], row["n_answers"]) == ("adaptive", "60")]
    adaptive = summary["strategies"]["adaptive"]
    assert adaptive["error_at"]["5"] == pytest.approx(float(row["error"]), rel=1e-4)
    assert adaptive["error_at"]["40"] is None
    [found] = adaptive["compared_with_random"]
    assert found["random_at"] == 6
    assert found["error"] == summary["strategies"]["random"]["error"]
    assert 0 < adaptive["wait_ms"]["p50"] <= adaptive["wait_ms"]["p95"]


def test_a_course_in_a_file_is_the_course_that_was_run(finished, plan):
    kept = read_run(Task("random", 1), open_runs(finished, plan))
    course = run(plan.world, Random(), plan.moments, seed=1)
    assert kept.errors == course.errors
    assert kept.estimates == pytest.approx(course.estimates, nan_ok=True)
    assert len(kept.waits) == 72


def test_processes_run_the_same_courses_and_only_those_that_are_missing(out, finished, plan):
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


def test_the_command_goes_on_where_it_was_stopped(erkle, out):
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
    assert "12 points, d = 2: 2 courses for each strategy, each of up to 72 answers" in result.stderr
    lines = {line.split()[0]: line for line in result.stdout.splitlines()}
    at_5 = [100 * float(row["error"]) for row in table(out / "curves.csv") if row["per_object"] == "5"]
    for name, error in zip(("adaptive", "random"), at_5, strict=True):
        assert f"{error:.1f} %" in lines[name]
    ratio = json.loads((out / "summary.json").read_text())["strategies"]["adaptive"]["compared_with_random"][0]
    assert ratio["words"] in lines["adaptive"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["interrupted", "terminated"])
def test_the_command_can_be_stopped(erkle, how, tmp_path, monkeypatch):
    monkeypatch.setattr(courses, "_compile", lambda: None)
    interrupting(monkeypatch, courses, "run", 2, how)
    stopped = erkle("simulate", *TINY, "--out", tmp_path)
    assert stopped.returncode == 130
    assert stopped.stderr.endswith("Stopped after 1 of 4 courses; the same command goes on there.\n")
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["adaptive-0.json"]


def test_more_strategies_and_fewer_seeds_use_what_is_there(erkle, out):
    before = times(out / "runs")
    result = erkle("simulate", *TINY, "--seeds", 1, "--strategies", "balanced, adaptive", "--out", out)
    assert result.returncode == 0, result.stderr
    assert times(out / "runs").keys() - before.keys() == {"balanced-0.json"}
    assert {row["strategy"]: row["n_seeds"] for row in table(out / "curves.csv")} == {"balanced": "1", "adaptive": "1"}
    assert {row["low"] for row in table(out / "curves.csv")} == {""}
    assert "Add random to --strategies" in result.stderr


@pytest.mark.parametrize(
    ("options", "other"),
    [
        (["--slope", 3], "slope"),
        (["--per-object", 5], "per object"),
        (["--objects", 13, "--rate", 2], "n objects and rate"),
        (["--holdout", 0.2], "holdout"),
    ],
)
def test_courses_of_other_settings_are_not_mixed(erkle, out, options, other):
    before = times(out / "runs")
    result = erkle("simulate", *TINY, *options, "--out", out)
    assert result.returncode == 2
    assert f"courses holds results of another {other}; choose another --out" in result.stderr
    assert times(out / "runs") == before


def test_courses_of_another_erkle_are_not_used(erkle, out, monkeypatch):
    before = times(out / "runs")
    monkeypatch.setattr("erkle.runner.sources_stamp", lambda: "of another erkle")
    result = erkle("simulate", *TINY, "--out", out)
    assert result.returncode == 2
    assert "courses holds results of another erkle sources; choose another --out" in result.stderr
    assert times(out / "runs") == before


@incomplete
def test_people_who_have_no_more_answers_are_told_of(erkle, shoes, tmp_path):
    out = tmp_path / "out"
    result = erkle("simulate", "zappos85", "--seeds", 1, "--jobs", 1, "--data", shoes, "--out", out)
    assert result.returncode == 0, result.stderr
    last = int(table(out / "curves.csv")[-1]["n_answers"])
    assert last < 72
    assert f"random was measured up to {last} answers: not enough was left to ask." in result.stderr
    assert "not reached" in result.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--strategies", "best"], "'best'; choose from adaptive, random, balanced, uncertainty, change, information"),
        (["--strategies", "random,adaptive,random"], "random twice"),
        (["--strategies", ""], "choose from adaptive"),
        (["--seeds", 0], "--seeds is 0; pass an integer of at least 1"),
        (["--seeds", 10**14], "--seeds is 100,000,000,000,000; pass at most 10,000."),
        (["--per-object", 10**14], "--per-object is 100,000,000,000,000; pass at most 100,000."),
        (["--in-flight", 10**9], "--in-flight is 1,000,000,000; pass at most 100,000."),
        (["--rate", 1e-320], "pass the number of answers a second, at least 1e-06."),
        (["--objects", 2_000_001], "--objects is 2,000,001; pass at most 2,000,000."),
        (["--jobs", 0], "--jobs is 0"),
        (["--objects", 3], "--objects is 3; pass an integer of at least 4"),
        (["--dimensions", 0], "--dimensions is 0"),
        (["--dimensions", 10**10], "90 points in 10,000,000,000 dimensions take up to 4,807,200 GB of memory; pass"),
        (["--objects", 10**6, "--dimensions", 2000], "1,000,000 points in 2,000 dimensions take up to 17 GB of memory"),
        (["--slope", -1], "--slope is -1; pass at least 0"),
        (["--slope", "nan"], "--slope is nan"),
        (["--flipped", 1.5], "--flipped is 1.5; pass a share"),
        (["--per-object", 0], "--per-object is 0"),
        (["--in-flight", 0], "--in-flight is 0"),
        (["--rate", 0], "--rate is 0"),
        (["--rate", "inf"], "--rate is inf"),
        (["--holdout", -0.1], "--holdout is -0.1; pass a share"),
        (["--data", "."], "--data means nothing to points"),
        (["moon"], "no world 'moon'; pass points, or a data set: aset400"),
        *((["zappos85", option, 2], f"{option} means nothing to zappos85") for option in ("--objects", "--slope")),
        *((["cars60", option, 1], f"{option} means nothing to cars60") for option in ("--dimensions", "--flipped")),
    ],
    ids=str,
)
def test_bad_options_are_one_sentence_and_leave_nothing(erkle, tmp_path, options, words):
    result = erkle("simulate", *options, "--out", tmp_path / "out")
    assert result.returncode == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_data_that_cannot_be_had_is_told_in_the_words_of_the_data_set(erkle, cache, tmp_path, monkeypatch):
    def fail(entry, folder):
        raise FileError(f"{entry.name}: could not be fetched; put it into {folder}.")

    monkeypatch.setattr("erkle.datasets.loading.fetch", fail)
    result = erkle("simulate", "nature", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert result.stderr.startswith("erkle: nature: could not be fetched")
    assert not (tmp_path / "out").exists()
