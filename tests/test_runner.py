"""Tests of the runner: results are saved at once and used again, but not results of other versions or settings."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from erkle import sources
from erkle.runner import Runner


class Number(NamedTuple):
    value: int

    @property
    def name(self):
        return f"number-{self.value}"


def squared(unit):
    return {"square": unit.value**2}


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


NUMBERS = [Number(value) for value in range(4)]


@pytest.fixture
def runner(tmp_path):
    return Runner(tmp_path / "units", squared, {"size": 3})


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_unit_runs_once_and_its_result_can_be_read(runner, jobs):
    assert sorted(runner.run([*NUMBERS, *NUMBERS], jobs)) == NUMBERS
    assert [runner.result(unit)["square"] for unit in NUMBERS] == [0, 1, 4, 9]
    assert list(runner.run(NUMBERS, jobs)) == []


def test_a_result_is_saved_before_its_unit_is_yielded(runner):
    yielded = [runner.result(unit) for unit in runner.run(NUMBERS, 1)]
    assert yielded == list(map(squared, NUMBERS))


def test_a_second_run_continues_where_the_first_one_stopped(runner, tmp_path):
    assert len(list(runner.run(NUMBERS[:2], 1))) == 2
    before = times(tmp_path / "units")
    again = Runner(tmp_path / "units", squared, {"size": 3})
    assert again.missing(NUMBERS) == NUMBERS[2:]
    assert list(again.run(NUMBERS, 1)) == NUMBERS[2:]
    assert before.items() <= times(tmp_path / "units").items()


def test_results_with_other_settings_are_refused_and_kept(runner, tmp_path):
    assert len(list(runner.run(NUMBERS, 1))) == 4
    before = times(tmp_path / "units")
    with pytest.raises(ValueError, match=r"units .* size;"):
        Runner(tmp_path / "units", squared, {"size": 4})
    assert times(tmp_path / "units") == before


@pytest.mark.parametrize("what", ["erkle.runner.__version__", "erkle.runner.sources_stamp"])
def test_results_of_another_version_of_erkle_are_refused(runner, tmp_path, monkeypatch, what):
    assert len(list(runner.run(NUMBERS, 1))) == 4
    monkeypatch.setattr(what, "0.0.0" if what.endswith("version__") else lambda: "other")
    with pytest.raises(ValueError, match=r"erkle (version|sources)"):
        Runner(tmp_path / "units", squared, {"size": 3})


def test_a_worker_with_another_version_of_erkle_is_refused(runner, tmp_path, monkeypatch):
    monkeypatch.setattr("erkle.runner.sources_stamp", lambda: "other")
    with pytest.raises(ValueError, match="another version"):
        list(runner.run(NUMBERS, 1))
    assert times(tmp_path / "units") == {}


def test_the_stamp_changes_only_with_sources_that_affect_results(tmp_path, monkeypatch):
    for name in ("runner.py", "losses.py", "cli/app.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    monkeypatch.setattr(sources, "__file__", str(tmp_path / "sources.py"))
    stamps = []
    for changed in (None, "cli/app.py", "losses.py"):
        if changed:
            (tmp_path / changed).write_text("2")
        stamps.append(sources.sources_stamp.__wrapped__())
    assert stamps[0] == stamps[1] != stamps[2]


@pytest.mark.parametrize("text", ["", "[]", "3", '{"made_by": 3}', '{"made_by": {}}', "[" * 100_000], ids=len)
def test_a_file_that_is_not_a_result_is_refused(runner, tmp_path, text):
    (tmp_path / "units" / "number-1.json").write_text(text)
    with pytest.raises(ValueError, match=r"number-1\.json"):
        Runner(tmp_path / "units", squared, {"size": 3})


def test_a_result_in_the_file_of_another_unit_is_refused(runner, tmp_path):
    assert list(runner.run(NUMBERS[:1], 1)) == NUMBERS[:1]
    kept = json.loads((tmp_path / "units" / "number-0.json").read_text())
    (tmp_path / "units" / "number-1.json").write_text(json.dumps(kept))
    with pytest.raises(ValueError, match="different unit"):
        Runner(tmp_path / "units", squared, {"size": 3})


SLOW_RUN = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_runner import Number, Runner

def slow(unit):
    time.sleep(0.05)
    return unit.value

list(Runner(Path(sys.argv[2]), slow, {}).run([Number(value) for value in range(100)], 2))
"""


def test_after_a_killed_run_only_unfinished_units_run_again(tmp_path):
    units = [Number(value) for value in range(100)]
    arguments = [str(Path(__file__).parent), str(tmp_path)]
    process = subprocess.Popen([sys.executable, "-c", SLOW_RUN, *arguments], start_new_session=True)
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("*.json"))) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(0.2)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    assert 5 <= len(before) < len(units)
    runner = Runner(tmp_path, lambda unit: unit.value, {})
    assert len(list(runner.run(units, 1))) == len(units) - len(before)
    assert [runner.result(unit) for unit in units] == list(range(100))
    assert before.items() <= times(tmp_path).items()
