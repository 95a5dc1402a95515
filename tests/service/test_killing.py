"""The promise: what was acknowledged is there exactly once, however often the server is killed."""

from benchmarks.service.killing import kill_and_check
from forking import Forking


def test_nothing_acknowledged_is_lost_when_the_server_is_killed_twenty_times(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setattr("benchmarks.service.killing.Serving", Forking)
    survived = kill_and_check(n_kills=20, n_clients=16, longest=0.5)
    assert survived.kept_its_promise, survived
    assert survived.acknowledged > 100


def test_two_processes_share_a_database_and_one_learner():
    survived = kill_and_check(n_kills=1, n_clients=8, longest=2.0, workers=2)
    assert survived.kept_its_promise, survived
    assert survived.acknowledged > 100
