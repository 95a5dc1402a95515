"""The table that compares learners with cblearn, made from invented fits: the tests do not need cblearn."""

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


def test_a_cell_is_the_mean_over_trials_and_the_lowest_error_of_a_column_is_bold():
    lines = table(FITS).splitlines()
    assert lines[0] == "| learner | 3,000 | 10,000 | CPU s, all settings |"
    assert lines[2] == "| theirs, tuned | **0.250** (1.50) | stopped at 120 s | 250 |"
    assert lines[3] == "| ours | 0.260 (< 0.01) | **0.100** (0.50) | 0.50 |"


def test_the_report_names_the_chosen_settings_and_the_number_of_trials():
    text = report(FITS)
    assert "- theirs, tuned: lambd 1; lambd 3" in text
    assert "- ours" not in text
    assert "2 trials" in text


def test_the_best_settings_of_the_first_trial_are_used_for_all_trials():
    tasks = [Task("t", seed, np.zeros((1, 3), int), np.full((1, 3), seed)) for seed in (0, 1)]
    fitters = {"good first": _fitter([0.1, 0.4]), "good later": _fitter([0.2, 0.3])}
    fits = list(compare({"ours": fitters}, tasks))
    assert [(fit.settings, fit.error) for fit in fits] == [("good first", 0.1), ("good first", 0.4)]


def test_tasks_are_loaded_as_they_were_saved(tmp_path):
    task = Task("10,000, 20 % flipped", 2, np.arange(6).reshape(2, 3), np.ones((1, 3), int))
    save(task, tmp_path, 0)
    (found,) = load(tmp_path)
    assert found[:2] == task[:2]
    assert all(np.array_equal(*arrays) for arrays in zip(found[2:], task[2:], strict=True))


def _fitter(errors):
    return lambda train, seed: lambda test: errors[test[0, 0]]
