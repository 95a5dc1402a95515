"""While learning fails, the dashboard, the metrics and the exports say so, and all counts go on."""

import threading
import time

import pytest

from erkle.service.learning import Fold
from erkle.store import Imported
from people import THINGS, Somebody, reason

N = len(THINGS)
ANSWERS = [Imported(f"p{i % 3}", i % N, (i + 1 + i % 2) % N, (i + 4) % N) for i in range(90)]


@pytest.fixture
def failing(monkeypatch):
    """Let learning fail while ``failing.is_set()``."""
    learn, failing = Fold.learn, threading.Event()

    def learn_or_fail(fold, page):
        if page and failing.is_set():
            raise TypeError("the password is tomato")
        learn(fold, page)

    monkeypatch.setattr(Fold, "learn", learn_or_fail)
    monkeypatch.setattr("erkle.service.learning.learning.POLL", 0.01)
    monkeypatch.setattr("erkle.service.learning.learning.AFTER_FAILURE", 0.01)
    monkeypatch.setattr("erkle.service.learning.stall.FIRST_PAUSE", 0.1)
    failing.set()
    return failing


@pytest.fixture
def stalled(researcher, store, study, failing):
    """A study with answers that cannot be learned."""
    store.imports.append(study, ANSWERS)
    until(lambda: live(researcher, study)["learner"]["stall"])
    return study


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "the condition did not hold in time"
        time.sleep(0.005)
    return found


def live(researcher, study):
    return researcher.get(f"/api/studies/{study}/live").json()


def metric(admin, name):
    [line] = [line for line in admin.get("/metrics").text.splitlines() if line.startswith(f"{name} ")]
    return float(line.split()[1])


def test_answers_are_counted_as_soon_as_they_are_acknowledged(client, researcher, stalled):
    ann = Somebody(client, stalled)
    n_answers = len(ANSWERS)
    for _ in range(5):
        ann.answer()
        n_answers += 1
        seen = live(researcher, stalled)
        assert (seen["answers"], seen["learned"]) == (n_answers, 0)
        assert sum(seen["per_minute"]) == n_answers
    people = researcher.get(f"/api/studies/{stalled}/participants").json()
    assert sum(person["answers"] for person in people) == n_answers


def test_the_dashboard_says_since_when_and_why_without_the_text_of_the_error(researcher, stalled):
    response = researcher.get(f"/api/studies/{stalled}/live")
    stall = response.json()["learner"]["stall"]
    assert stall["reason"] == "error"
    assert 0 <= time.time() - stall["since"] / 1000 < 600
    assert "TypeError" in stall["sentence"]
    assert "tomato" not in response.text


def test_metrics_count_what_is_not_learned_and_for_how_long_learning_has_failed(client, admin, stalled):
    Somebody(client, stalled).answer()
    assert metric(admin, "erkle_learner_lag_answers") == len(ANSWERS) + 1
    assert metric(admin, "erkle_learner_stalled_seconds") > 0.0


@pytest.mark.parametrize("name", ["kernel.npz", "embedding.csv"])
def test_an_export_that_needs_the_model_is_refused_at_once(researcher, stalled, name, monkeypatch):
    monkeypatch.setattr("erkle.service.exchange.routes.kernel_npz", lambda *_: pytest.fail("the log was learned"))
    monkeypatch.setattr("erkle.service.exchange.routes.embedding", lambda *_: pytest.fail("the log was learned"))
    answer = researcher.get(f"/api/studies/{stalled}/export/{name}")
    assert (answer.status_code, reason(answer)) == (503, "learning")
    assert int(answer.headers["Retry-After"]) >= 1
    assert "TypeError" in answer.json()["error"]["sentence"]


@pytest.mark.parametrize("name", ["answers.csv", "answers.jsonl", "bundle.zip"])
def test_other_exports_work(researcher, stalled, name):
    assert researcher.get(f"/api/studies/{stalled}/export/{name}").status_code == 200


def test_an_export_that_fails_by_itself_is_refused_in_the_same_way(researcher, store, study, failing):
    store.imports.append(study, ANSWERS)
    answer = researcher.get(f"/api/studies/{study}/export/kernel.npz")
    assert (answer.status_code, reason(answer)) == (503, "learning")
    assert "tomato" not in answer.text


def test_everything_recovers_when_the_cause_is_gone(researcher, admin, stalled, failing):
    failing.clear()
    until(lambda: live(researcher, stalled)["learner"]["stall"] is None)
    assert live(researcher, stalled)["learned"] == len(ANSWERS)
    assert metric(admin, "erkle_learner_lag_answers") == 0
    assert metric(admin, "erkle_learner_stalled_seconds") == 0
    assert researcher.get(f"/api/studies/{stalled}/export/kernel.npz").status_code == 200
