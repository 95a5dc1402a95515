"""The tables that compare learners with cblearn, made from invented fits: the tests do not need cblearn."""

import numpy as np
from benchmarks import compare_people
from benchmarks.comparison import report, table
from benchmarks.people.streams import Stream
from benchmarks.tuning import Fit, Task, compare, load, save

FITS = [
    Fit("theirs, tuned", "lambd 1", "3,000", 0, 0.2, 1.0, 4.0),
    Fit("theirs, tuned", "lambd 1", "3,000", 1, 0.3, 2.0, 4.0),
    Fit("theirs, tuned", "lambd 3", "10,000", 0, np.inf, 120.0, 250.0),
    Fit("ours", "defaults", "3,000", 0, 0.26, 0.001, 0.001),
    Fit("ours", "defaults", "3,000", 1, 0.26, 0.003, 0.001),
    Fit("ours", "defaults", "10,000", 0, 0.1, 0.5, 0.5),
]
PEOPLE = [
    Fit("theirs, λ in hindsight", "λ 0.01", "eggs300, 3,000", 0, 0.17, 1.0, 9.0),
    Fit("ours", "defaults", "eggs300, 3,000", 0, 0.18, 0.5, 0.5),
]
TASKS = [Task("t", seed, 1, np.zeros((1, 3), int), np.full((1, 3), seed)) for seed in (0, 1)]


def test_a_cell_is_the_mean_over_trials_and_the_lowest_error_of_a_column_is_bold():
    lines = table(FITS, "10,000").splitlines()
    assert lines[0] == "| learner | 3,000 | 10,000 | CPU s, all settings |"
    assert lines[2] == "| theirs, tuned | **0.250** (1.50) | stopped at 120 s | 250 |"
    assert lines[3] == "| ours | 0.260 (< 0.01) | **0.100** (0.50) | 0.50 |"


def test_the_report_names_the_chosen_settings_and_the_number_of_trials():
    text = report(FITS, PEOPLE)
    assert "- theirs, tuned: lambd 1; lambd 3" in text
    assert "- theirs, λ in hindsight: λ 0.01" in text
    assert "- ours" not in text
    assert "2 trials" in text


def test_the_report_has_a_second_table_of_peoples_answers():
    text = report(FITS, PEOPLE)
    assert "| theirs, λ in hindsight | **0.170** (1.00) | 9.00 |" in text
    assert "| ours | 0.180 (0.50) | 0.50 |" in text
    assert "ERKLE_DATA" not in text


def test_without_peoples_answers_the_report_says_so_and_has_one_table():
    text = report(FITS, [])
    assert text.count("| --- ") == table(FITS, "10,000").count("| --- ")
    assert "ERKLE_DATA" in text.splitlines()[-1]


def test_the_best_settings_of_the_first_trial_are_used_for_all_trials():
    fitters = {"good first": _fitter([0.1, 0.4]), "good later": _fitter([0.2, 0.25])}
    fits = list(compare({"ours": fitters}, TASKS))
    assert [(fit.settings, fit.error) for fit in fits] == [("good first", 0.1), ("good first", 0.4)]


def test_the_best_settings_in_hindsight_have_the_lowest_mean_error_of_all_trials():
    fitters = {"good first": _fitter([0.1, 0.4]), "good later": _fitter([0.2, 0.25]), "stopped": _fitter([0, np.inf])}
    fits = list(compare({"ours": fitters}, TASKS, in_hindsight=True))
    assert [(fit.settings, fit.seed, fit.error) for fit in fits] == [("good later", 0, 0.2), ("good later", 1, 0.25)]


def test_without_a_data_folder_there_are_no_tasks_of_people(monkeypatch):
    monkeypatch.delenv("ERKLE_DATA", raising=False)
    assert compare_people.tasks() == []


def test_tasks_of_people_are_the_first_answers_of_each_split_and_all_held_out_ones(monkeypatch):
    train, test = np.arange(12_000).reshape(4_000, 3), np.zeros((5, 3), int)
    monkeypatch.setenv("ERKLE_DATA", "a folder")
    monkeypatch.setattr(compare_people, "stream", lambda name, seed: Stream(85, train + seed, test))
    tasks = compare_people.tasks()
    assert [(task.name, task.seed) for task in tasks[:4]] == [
        *(("zappos85, 1,700", seed) for seed in range(3)),
        ("zappos85, 3,400", 0),
    ]
    assert all(task.n_objects == 85 and task.test is test for task in tasks)
    assert np.array_equal(tasks[1].train, train[:1_700] + 1)


def test_tasks_are_loaded_as_they_were_saved(tmp_path):
    task = Task("10,000, 20 % flipped", 2, 7, np.arange(6).reshape(2, 3), np.ones((1, 3), int))
    save(task, tmp_path, 0)
    (found,) = load(tmp_path)
    assert found[:3] == task[:3]
    assert all(np.array_equal(*arrays) for arrays in zip(found[3:], task[3:], strict=True))


def _fitter(errors):
    return lambda task: lambda test: errors[test[0, 0]]
