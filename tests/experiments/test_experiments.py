"""The figures of the paper, at sizes that take seconds."""

import csv
import itertools
import shutil

import numpy as np
import pytest

from erkle import triplets
from erkle.batch import RCKL
from erkle.batch.objective import ByKernel, terms_of
from erkle.cli.reproduce import reproduce_figures
from erkle.datasets import make_gaussian
from erkle.experiments.curves import Curves
from erkle.experiments.figures import FIGURES, chosen_figures, units_for
from erkle.experiments.methods import Row, plain_descent
from erkle.experiments.protocol import Protocol
from erkle.experiments.report import Verdict, write_page
from erkle.experiments.tamuz import adaptively_chosen
from erkle.experiments.trials import DATASETS
from erkle.experiments.units import open_units, read_rows, units_of
from erkle.losses import GNMDS, STE
from erkle.runner import Runner

TINY = Protocol("tiny", 20, 300, 30, 300, 1000, 300, 200, 100, 100, 100, 2, 3, 20)
SYNTHETIC = ["1a", "1b", "1c", "2a", "2b"]


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("reproduce")
    reproduce_figures(SYNTHETIC, TINY, 2, 1, None, "erkle reproduce", out)
    return out


@pytest.mark.parametrize("name", SYNTHETIC)
def test_every_figure_has_all_its_curves_and_no_curve_is_a_copy_or_a_constant(name, run):
    figure = FIGURES[name]
    rows = table(run / f"figure-{name}.csv")
    curves = {method: [float(row[figure.y]) for row in rows if row["method"] == method] for method in figure.methods}
    for method, curve in curves.items():
        assert len(curve) >= 3, method
        assert len(set(curve)) > 1, method
    for one, other in itertools.combinations(curves, 2):
        assert curves[one] != curves[other], (one, other)
    assert (run / f"figure-{name}.png").stat().st_size > 10_000
    assert (run / f"figure-{name}.svg").read_text().rstrip().endswith("</svg>")


def test_the_page_shows_every_figure_and_every_claim(run):
    page = (run / "report.html").read_text()
    assert page.count("data:image/png;base64,") == len(SYNTHETIC)
    assert page.count("class=holds") + page.count("class=differs") == len(table_of_verdicts(run))
    # Nothing is loaded from elsewhere.
    assert "://" not in page
    assert "seeds [2015" in page


def table_of_verdicts(run):
    return (run / "verdicts.md").read_text().splitlines()[2:]


def test_trials_differ(run):
    runner = open_units(run, TINY)
    for unit in units_for(chosen_figures(["1a", "2b"], TINY), TINY, 1):
        ends = [read_rows(each, runner)[-1].test_error for each in (unit, unit._replace(trial=1))]
        assert ends[0] != ends[1] or unit.method == "popularity"


def test_a_unit_gives_the_same_rows_again_except_for_the_seconds(run, tmp_path):
    first, again = open_units(run, TINY), open_units(tmp_path, TINY)
    for unit in again.run(units_for(chosen_figures(["1b"], TINY), TINY, 1), 1):
        before, after = read_rows(unit, first), read_rows(unit, again)
        assert [row._replace(seconds=0.0) for row in before] == [row._replace(seconds=0.0) for row in after]


def test_the_setting_with_the_lowest_validation_error_is_shown(run):
    curves = Curves(open_units(run, TINY), TINY, 2)
    chosen = curves.of("small", "STE-Batch", "test_error")
    for trial, setting in enumerate(chosen.chosen):
        units = [
            unit
            for unit in units_for(chosen_figures(["1b"], TINY), TINY, 2)
            if unit[:3] == ("small", "STE-Batch", trial)
        ]
        errors = {unit.setting: read_rows(unit, open_units(run, TINY))[-1].validation_error for unit in units}
        assert errors[tuple(setting.items())] == min(errors.values())


@pytest.mark.parametrize("loss", [STE(), GNMDS()], ids=["STE", "GNMDS"])
def test_more_plain_steps_come_closer_to_the_optimum(loss):
    trial = DATASETS["small"](0, TINY)
    objective = ByKernel(terms_of(trial.train, loss), 1.0)
    optimum = objective(RCKL(trial.n_objects, loss, 1.0).fit(trial.train).kernel_)[0]
    above = []
    for most in (1, 20, 1000):
        K, n_steps = plain_descent(objective, trial.n_objects, most)
        assert n_steps <= most
        assert np.linalg.eigvalsh(K)[0] > -1e-9
        above.append(objective(K)[0] / optimum - 1.0)
    assert above == sorted(above, reverse=True)
    # The loss of GNMDS has kinks, where the objective rises five times in a row and the steps stop early.
    assert -1e-6 < above[-1] < (0.5 if isinstance(loss, GNMDS) else 1e-3)


def test_chosen_settings_at_the_end_of_the_grid_are_named(run, tmp_path):
    protocol, best = TINY._replace(n_traces=3), [0.03, 0.9487, 30.0, 30.0]

    def rows(unit):
        error = 0.1 if dict(unit.setting) == {"trace": best[unit.trial]} else 0.2
        return [Row(100, 1, error, error, error, 2, 0.0, 0, 1, 1)]

    runner = Runner(tmp_path, rows, {})
    assert len(list(runner.run((u for i in range(4) for u in units_of("small", "CKL-Batch", i, protocol)), 1))) == 12
    smallest, largest = Curves(runner, protocol, 4).bounds_chosen("small", "CKL-Batch")
    for sentence, values in ((smallest, ("0.03", "1 of 4 trials")), (largest, ("30", "2 of 4 trials"))):
        assert all(value in sentence for value in ("CKL-Batch", "trace", *values))
    [alone] = Curves(runner, protocol, 1).bounds_chosen("small", "CKL-Batch")
    assert "1 of 1 trial." in alone
    # With two values, nothing lies between the bounds.
    assert Curves(open_units(run, TINY), TINY, 2).bounds_chosen("small", "STE-Batch") == []


def test_the_page_shows_sentences_about_settings_below_the_figure(run, tmp_path):
    shutil.copy(run / "figure-1c.png", tmp_path)
    sentence = "STE-Batch by steps chose the largest rate tried (1) in 1 of 1 trial."
    write_page([Verdict(FIGURES["1c"], [], [sentence])], TINY, 1, "erkle reproduce", tmp_path)
    assert sentence in (tmp_path / "report.html").read_text().partition("<h2>Figure 1c")[2]


def test_intervals_are_those_of_students_t(run):
    curves = Curves(open_units(run, TINY), TINY, 2)
    curve = curves.of("small", "PA-ERKLE", "test_error")
    units = [unit for unit in units_for(chosen_figures(["1a"], TINY), TINY, 2) if unit.method == "PA-ERKLE"]
    ends = [read_rows(unit, open_units(run, TINY))[-1].test_error for unit in units]
    assert curve.last == pytest.approx(np.mean(ends))
    assert curve.half_width[-1] == pytest.approx(12.706 * np.std(ends, ddof=1) / np.sqrt(2), rel=1e-3)


def test_finished_units_are_not_repeated(run, tmp_path):
    units = shutil.copytree(run / "units", tmp_path / "units")
    before = times(units)
    reproduce_figures(["1c"], TINY, 2, 1, None, "erkle reproduce", tmp_path)
    assert times(units) == before


def test_results_of_other_sizes_are_not_mixed(run):
    with pytest.raises(ValueError, match=r"units.* measure every.* --out"):
        open_units(run, TINY._replace(measure_every=50))


def test_results_of_another_version_of_erkle_are_not_used(run, monkeypatch):
    monkeypatch.setattr("erkle.runner.sources_stamp", lambda: "another version")
    before = times(run / "units")
    with pytest.raises(ValueError, match=r"units.* erkle sources"):
        reproduce_figures(["1a"], TINY, 2, 1, None, "erkle reproduce", run)
    assert times(run / "units") == before


def test_an_unknown_figure_is_refused():
    with pytest.raises(ValueError, match=r"'5a'.* 1a, 1b"):
        chosen_figures(["5a"], TINY)


def test_the_same_units_run_on_a_dask_cluster(tmp_path):
    distributed = pytest.importorskip("dask.distributed")
    units = units_for(chosen_figures(["1a"], TINY), TINY, 1)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        runner = open_units(tmp_path, TINY)
        done = list(runner.run(units, 2, cluster.scheduler_address))
    assert sorted(done) == sorted(units)
    assert all(read_rows(unit, runner) for unit in units)


def own_scenes(path, n_answers):
    T = make_gaussian(30, 5, n_answers, random_state=0).triplets
    path.write_text("".join(f"scene {a},scene {b},scene {c}\n" for a, b, c in T))
    return TINY._replace(scenes=str(path))


def test_figures_of_the_users_own_scenes_name_the_file_and_need_no_other_data(tmp_path, monkeypatch):
    # A folder without zappos85.
    monkeypatch.setenv("ERKLE_DATA", str(tmp_path))
    protocol = own_scenes(tmp_path / "osr.csv", 1900)
    reproduce_figures(["4a", "4b"], protocol, 1, 1, None, "erkle reproduce", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    for name in ("4a", "4b"):
        assert "osr.csv" in page.partition(f"<h2>Figure {name}")[2].partition("</h2>")[0]
    assert "zappos85" not in page
    with pytest.raises(ValueError, match="scenes"):
        open_units(tmp_path / "out", TINY)


def test_each_trial_splits_the_users_own_scenes_differently(tmp_path):
    protocol = own_scenes(tmp_path / "osr.csv", 1750)
    trials = [DATASETS["scenes"](number, protocol) for number in (0, 1)]
    for trial in trials:
        assert trial.n_objects == 30
        assert [len(T) for T in trial[1:]] == [150, 600, 1000]
        together = np.concatenate(trial[1:])
        assert np.array_equal(np.unique(together, axis=0), np.unique(triplets.read(protocol.scenes)[0], axis=0))
    assert not np.array_equal(trials[0].test, trials[1].test)
    assert len(DATASETS["scenes"](0, own_scenes(tmp_path / "more.csv", 1900)).train) == TINY.n_train_scenes


def test_too_few_scenes_are_refused_before_any_work(tmp_path):
    protocol = own_scenes(tmp_path / "osr.csv", 1699)
    with pytest.raises(ValueError, match=r"osr.csv.* 1,699 answers.* 1,000 .* 600 .* 100 "):
        reproduce_figures(["1a", "4a"], protocol, 1, 1, None, "erkle reproduce", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore:(aset400|zappos85)")  # fewer answers than the published ones
def test_figures_of_published_answers_use_the_local_copies(tmp_path, monkeypatch):
    for name in ("aset400", "zappos85"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        (folder / "objects.csv").write_text("id,name\n" + "".join(f"{i},object {i}\n" for i in range(30)))
        rows = make_gaussian(30, 5, 2500, random_state=0).triplets.tolist()
        (folder / "triplets.csv").write_text("anchor,near,far\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    monkeypatch.setenv("ERKLE_DATA", str(tmp_path / "data"))
    out = tmp_path / "out"
    reproduce_figures(["3a", "3b", "3c", "4a", "4b"], TINY._replace(max_iter=5), 1, 1, None, "erkle reproduce", out)
    assert len(list(out.glob("figure-*.png"))) == 5
    assert "zappos85" in (out / "report.html").read_text()


def test_adaptively_chosen_answers_are_different_ones_and_begin_with_six_per_anchor():
    answers = make_gaussian(10, 2, random_state=0).triplets
    chosen = adaptively_chosen(answers, 10, 75, np.random.default_rng(0))
    assert len(chosen) == len(np.unique(chosen, axis=0)) == 75
    assert set(map(tuple, chosen.tolist())) <= set(map(tuple, answers.tolist()))
    assert np.bincount(chosen[:60, 0]).tolist() == [6] * 10
    assert sorted(chosen[60:70, 0]) == list(range(10))
