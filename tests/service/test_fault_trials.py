"""The trials of ``make faults``: one that fails counts as harm, and one that the machine does not allow does not."""

from contextlib import contextmanager, nullcontext

import pytest
from benchmarks.faults import __main__ as table
from benchmarks.faults.trial import Fault, Outcome, Skipped, run
from benchmarks.service.comparing import Kept


class Failing(Fault):
    """It cannot be measured."""

    error = RuntimeError("no | server\nat all")

    @contextmanager
    def serving(self, folder):
        raise self.error
        yield


class NotAllowed(Failing):
    """The machine does not allow it."""

    error = Skipped("only root can do this")


def cells(row):
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_a_trial_that_fails_is_not_good_and_has_no_counts():
    outcome = run(Failing())
    name, *counts, seen = cells(table._row(outcome))
    assert (outcome.is_good, name, counts) == (False, "It cannot be measured", [""] * 4)
    assert seen.startswith("FAILED")


def test_a_trial_that_the_machine_does_not_allow_is_good_and_has_no_counts():
    outcome = run(NotAllowed())
    _, *counts, seen = cells(table._row(outcome))
    assert (outcome.is_good, counts) == (True, [""] * 4)
    assert "only root can do this" in seen


@pytest.mark.parametrize("kept", [Kept(9, 1, 0, 0), Kept(9, 0, 1, 0), Kept(9, 0, 0, 1)])
def test_an_answer_that_is_lost_altered_or_doubled_is_not_good(kept):
    found = Outcome("A fault", "nothing", acknowledged=9, kept=Kept(9, 0, 0, 0), seconds=0.1)
    assert found.is_good
    assert not found._replace(kept=kept).is_good
    assert not found._replace(seconds=None).is_good


@pytest.mark.parametrize("fault", [Failing(), NotAllowed()])
def test_the_table_is_written_only_if_no_trial_failed(fault, monkeypatch, tmp_path):
    monkeypatch.setattr(table, "_FAULTS", (fault,))
    monkeypatch.setattr(table, "compile_first", lambda learner: None)
    monkeypatch.setattr(table, "_FILE", tmp_path / "faults.md")
    monkeypatch.setattr("sys.argv", ["faults"])
    with nullcontext() if isinstance(fault, NotAllowed) else pytest.raises(SystemExit):
        table.main()
    assert (tmp_path / "faults.md").exists() == isinstance(fault, NotAllowed)
