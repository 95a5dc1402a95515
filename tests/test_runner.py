"""Laws of work in units: what is done is saved at once and used again, and what something else made never is."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from erkle.runner import Runner, sources_stamp


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
def test_every_unit_is_run_once_and_its_result_can_be_read(runner, jobs):
    assert sorted(runner.run([*NUMBERS, *NUMBERS], jobs)) == NUMBERS
    assert [runner.result(unit)["square"] for unit in NUMBERS] == [0, 1, 4, 9]
    assert list(runner.run(NUMBERS, jobs)) == []


def test_a_result_is_saved_when_its_unit_is_yielded(runner):
    yielded = [runner.result(unit) for unit in runner.run(NUMBERS, 1)]
    assert yielded == list(map(squared, NUMBERS))


def test_a_second_run_goes_on_where_the_first_one_stopped(runner, tmp_path):
    assert len(list(runner.run(NUMBERS[:2], 1))) == 2
    before = times(tmp_path / "units")
    again = Runner(tmp_path / "units", squared, {"size": 3})
    assert again.missing(NUMBERS) == NUMBERS[2:]
    assert list(again.run(NUMBERS, 1)) == NUMBERS[2:]
    assert before.items() <= times(tmp_path / "units").items()


def test_results_of_other_settings_are_refused_and_stay(runner, tmp_path):
    assert len(list(runner.run(NUMBERS, 1))) == 4
    before = times(tmp_path / "units")
    with pytest.raises(ValueError, match="units holds results of another size; choose another --out"):
        Runner(tmp_path / "units", squared, {"size": 4})
    assert times(tmp_path / "units") == before


@pytest.mark.parametrize("what", ["erkle.runner.__version__", "erkle.runner.sources_stamp"])
def test_results_of_another_erkle_are_refused(runner, tmp_path, monkeypatch, what):
    assert len(list(runner.run(NUMBERS, 1))) == 4
    monkeypatch.setattr(what, "0.0.0" if what.endswith("version__") else lambda: "other")
    with pytest.raises(ValueError, match=r"results of another erkle (version|sources)"):
        Runner(tmp_path / "units", squared, {"size": 3})


def test_a_worker_with_another_erkle_runs_nothing(runner, tmp_path, monkeypatch):
    monkeypatch.setattr("erkle.runner.sources_stamp", lambda: "other")
    with pytest.raises(ValueError, match="install the same one"):
        list(runner.run(NUMBERS, 1))
    assert times(tmp_path / "units") == {}


def test_the_stamp_follows_sources_that_results_depend_on_and_no_others(tmp_path, monkeypatch):
    import erkle.runner

    for name in ("runner.py", "losses.py", "cli/app.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    monkeypatch.setattr(erkle.runner, "__file__", str(tmp_path / "runner.py"))
    stamps = []
    for changed in (None, "cli/app.py", "losses.py"):
        if changed:
            (tmp_path / changed).write_text("2")
        stamps.append(sources_stamp.__wrapped__())
    assert stamps[0] == stamps[1] != stamps[2]


@pytest.mark.parametrize("text", ["", "[]", "3", '{"made_by": 3}', '{"made_by": {}}', "[" * 100_000], ids=len)
def test_a_file_that_is_no_result_is_named(runner, tmp_path, text):
    (tmp_path / "units" / "number-1.json").write_text(text)
    with pytest.raises(ValueError, match=r"number-1\.json is no result .* delete it"):
        Runner(tmp_path / "units", squared, {"size": 3})


def test_a_result_counts_for_its_own_unit_whatever_its_file_is_called(runner, tmp_path):
    assert list(runner.run(NUMBERS[:1], 1)) == NUMBERS[:1]
    kept = json.loads((tmp_path / "units" / "number-0.json").read_text())
    (tmp_path / "units" / "number-1.json").write_text(json.dumps(kept))
    with pytest.raises(ValueError, match="results of another unit"):
        Runner(tmp_path / "units", squared, {"size": 3})


KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_runner import Number, Runner

def slow(unit):
    time.sleep(0.05)
    return unit.value

list(Runner(Path(sys.argv[2]), slow, {}).run([Number(value) for value in range(200)], 2))
"""


def test_a_killed_run_redoes_only_what_was_in_flight(tmp_path):
    units = [Number(value) for value in range(200)]
    arguments = [str(Path(__file__).parent), str(tmp_path)]
    process = subprocess.Popen([sys.executable, "-c", KILLED, *arguments], start_new_session=True)
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
    assert [runner.result(unit) for unit in units] == list(range(200))
    assert before.items() <= times(tmp_path).items()
