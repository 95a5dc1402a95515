"""The promise: an acknowledged answer is stored exactly once, however often the server is killed."""

import pytest
from benchmarks.service.killing import kill_and_check
from forked import ForkedServing


@pytest.fixture(autouse=True)
def forked(monkeypatch, compiled):
    monkeypatch.setattr("benchmarks.service.killing.Serving", ForkedServing)


def test_nothing_acknowledged_is_lost_when_the_server_is_killed_ten_times():
    survived = kill_and_check(n_kills=10, n_clients=16, longest=0.25)
    assert survived.kept_its_promise, survived
    assert survived.acknowledged > 50


def test_two_worker_processes_share_a_database_and_one_learner():
    survived = kill_and_check(n_kills=1, n_clients=8, longest=1.0, workers=2)
    assert survived.kept_its_promise, survived
    assert survived.acknowledged > 50
