"""The table beside cblearn, from made-up fits: cblearn itself is no part of the tests."""

import numpy as np
from benchmarks.comparison import report, table
from benchmarks.tuning import Fit, Task, compare, load, save

FITS = [
    Fit("theirs, tuned", "lambd 1", "3,000", 0, 0.2, 1.0, 4.0),
    Fit("theirs, tuned", "lambd 1", "3,000", 1, 0.3, 2.0, 4.0),
    Fit("theirs, tuned", "lambd 3", "10,000", 0, np.inf, 120.0, 250.0),
    Fit("ours", "defaults", "3,000", 0, 0.26, 0.001, 0.001),
    Fit("ours", "defaults", "3,000", 1, 0.26, 0.003, 0.001),
    Fit("ours", "defaults", "10,000", 0, 0.1, 0.5, 0.5),
]


def test_a_cell_is_the_mean_of_the_trials_and_the_lowest_error_is_bold_whoever_has_it():
    lines = table(FITS).splitlines()
    assert lines[0] == "| learner | 3,000 | 10,000 | CPU s, all settings |"
    assert lines[2] == "| theirs, tuned | **0.250** (1.50) | stopped at 120 s | 250 |"
    assert lines[3] == "| ours | 0.260 (< 0.01) | **0.100** (0.50) | 0.50 |"


def test_the_report_names_the_settings_that_were_chosen_and_the_number_of_trials():
    text = report(FITS)
    assert "- theirs, tuned: lambd 1; lambd 3" in text
    assert "- ours" not in text
    assert "2 trials" in text


def test_the_best_settings_of_the_first_trial_serve_every_trial():
    tasks = [Task("t", seed, np.zeros((1, 3), int), np.full((1, 3), seed)) for seed in (0, 1)]
    fitters = {"good at first": _fitter([0.1, 0.4]), "good at last": _fitter([0.2, 0.3])}
    fits = list(compare({"ours": fitters}, tasks))
    assert [(fit.settings, fit.error) for fit in fits] == [("good at first", 0.1), ("good at first", 0.4)]


def test_tasks_survive_the_way_to_the_other_environment(tmp_path):
    task = Task("10,000, 20 % flipped", 2, np.arange(6).reshape(2, 3), np.ones((1, 3), int))
    save(task, tmp_path, 0)
    (found,) = load(tmp_path)
    assert found[:2] == task[:2]
    assert all(np.array_equal(*arrays) for arrays in zip(found[2:], task[2:], strict=True))


def _fitter(errors):
    return lambda train, seed: lambda test: errors[test[0, 0]]
