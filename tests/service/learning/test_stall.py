"""A learner that fails: everything but the model goes on, it says so, and it recovers when the cause is gone."""

import threading
import time

import numpy as np
import pytest

from erkle.service.learning import Fold
from erkle.service.learning.stall import Stall
from erkle.service.runtime import Runtimes
from erkle.store import Imported, State, Store, StoreError, Unavailable

N = 8
N_ANSWERS = 60


def answers(n, seed=0):
    rng = np.random.default_rng(seed)
    rows = [rng.choice(N, 3, replace=False).tolist() for _ in range(n)]
    return [Imported(f"p{number % 3}", *row) for number, row in enumerate(rows)]


def until(condition, seconds=120):
    """Wait for a condition; compiling on a busy machine may take a minute."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not hold in time"
        time.sleep(0.002)


@pytest.fixture
def database(tmp_path, new_database):
    return new_database(tmp_path / "erkle.db")


@pytest.fixture
def store(database):
    with Store(database) as store:
        yield store


@pytest.fixture
def study(store):
    """The id of a study with answers."""
    study = store.studies.create("Eight", [f"object {i}" for i in range(N)]).id
    store.studies.change_state(study, State.OPEN)
    store.imports.append(study, answers(N_ANSWERS))
    return study


@pytest.fixture
def start(monkeypatch):
    """Start the runtimes of another process; short pauses make the tests fast."""
    monkeypatch.setattr("erkle.service.learning.learning.POLL", 0.01)
    monkeypatch.setattr("erkle.service.learning.learning.AFTER_FAILURE", 0.01)
    monkeypatch.setattr("erkle.service.learning.states.RETRY", 0.05)
    monkeypatch.setattr("erkle.service.learning.states.SNAPSHOT", 0.05)
    started = []

    def start(store):
        started.append(Runtimes(store))
        return started[-1]

    yield start
    for runtimes in started:
        runtimes.close()


@pytest.fixture
def failing(monkeypatch):
    """Let learning fail while ``failing.is_set()``."""
    learn, failing = Fold.learn, threading.Event()

    def learn_or_fail(fold, page):
        if page and failing.is_set():
            raise MemoryError("not now")
        learn(fold, page)

    monkeypatch.setattr(Fold, "learn", learn_or_fail)
    monkeypatch.setattr("erkle.service.learning.stall.FIRST_PAUSE", 0.01)
    failing.set()
    return failing


def test_a_learner_that_fails_reads_all_answers_and_learns_them_when_the_cause_is_gone(store, study, start, failing):
    learning = start(store).of(study).learning
    until(lambda: learning.stall is not None and learning.stall.n_failures > 2)
    assert (learning.stall.reason, learning.stall.sequence) == ("memory", 0)
    since = learning.stall.since
    store.imports.append(study, answers(600, seed=1))
    learning.notify()
    until(lambda: len(learning.columns) == N_ANSWERS + 600)
    assert learning.columns.sequence_number.tolist() == list(range(1, N_ANSWERS + 601))
    assert learning.lag() == N_ANSWERS + 600
    assert learning.stall.since == since
    failing.clear()
    until(lambda: learning.stall is None and learning.lag() == 0)
    fold = Fold(N)
    fold.learn(list(store.answers.log(study)))
    np.testing.assert_array_equal(learning.view.places, fold.learner.coordinates(np.arange(N)))


def test_a_model_that_learned_before_stays_published_and_the_stall_says_where_it_stands(store, study, start, failing):
    failing.clear()
    learning = start(store).of(study).learning
    until(lambda: learning.sequence == N_ANSWERS)
    view = learning.view
    failing.set()
    store.imports.append(study, answers(10, seed=1))
    learning.notify()
    until(lambda: learning.stall is not None and learning.stall.n_failures > 1)
    assert learning.view is view
    assert (learning.stall.sequence, learning.lag()) == (N_ANSWERS, 10)


def test_a_stall_lasts_until_a_change_of_the_roster_is_learned(store, study, start, failing):
    failing.clear()
    learning = start(store).of(study).learning
    until(lambda: learning.sequence == N_ANSWERS)
    failing.set()
    store.participants.exclude(study, [store.participants.all(study)[0].id])
    learning.notify()
    # There are no new answers, so the model only has to be learned again.
    until(lambda: learning.stall is not None and learning.stall.n_failures > 3)
    assert learning.lag() == 0
    failing.clear()
    until(lambda: learning.stall is None)
    assert learning.view.n_learned < N_ANSWERS


def test_when_one_process_fails_another_learns_and_the_first_shows_its_model(
    store, study, database, start, monkeypatch
):
    learn, failed = Fold.learn, []

    def fail_in_first_thread(fold, page):
        thread = threading.current_thread()
        # Learners of earlier tests may still be running; they have other studies.
        if not failed and thread.name.endswith(study):
            failed.append(thread)
        if page and thread in failed:
            raise MemoryError("not now")
        learn(fold, page)

    monkeypatch.setattr(Fold, "learn", fail_in_first_thread)
    first = start(store).of(study).learning
    until(lambda: first.stall is not None)
    with Store(database) as other:
        runtimes = start(other)
        second = runtimes.of(study).learning
        until(lambda: second.sequence == N_ANSWERS)
        until(lambda: first.stall is None and first.sequence == N_ANSWERS)
        assert second.owns
        assert not first.owns
        runtimes.close()


def test_a_full_disk_keeps_snapshots_from_being_saved_but_not_the_model_from_learning(store, study, start, monkeypatch):
    tried = []

    def full(*_):
        tried.append(True)
        raise Unavailable("The disk is full.")

    monkeypatch.setattr(store.snapshots, "save", full)
    runtimes = start(store)
    learning = runtimes.of(study).learning
    until(lambda: learning.sequence == N_ANSWERS and tried)
    store.imports.append(study, answers(10, seed=1))
    learning.notify()
    until(lambda: learning.sequence == N_ANSWERS + 10)
    assert learning.stall is None
    runtimes.close()
    # Its lease was released, although its last snapshot could not be saved.
    assert store.leases.acquire(study, "another process", 1.0) is not None


def test_a_database_that_fails_when_a_learner_starts_does_not_end_the_learner(store, study, start, monkeypatch):
    read, troubles = store.questions.pending, iter([True, True])

    def pending(name):
        if next(troubles, False):
            raise Unavailable("The disk is gone.")
        return read(name)

    monkeypatch.setattr(store.questions, "pending", pending)
    learning = start(store).of(study).learning
    until(lambda: learning.sequence == N_ANSWERS)
    assert learning.alive


def test_pauses_double_up_to_two_minutes_and_a_stall_keeps_its_beginning():
    stall = Stall.of(MemoryError("secret"), 7, 1_000_000)
    pauses = []
    for _ in range(2000):
        pauses.append(stall.pause)
        stall = stall.again(MemoryError("secret"))
    assert pauses[:4] == [5.0, 10.0, 20.0, 40.0]
    assert max(pauses) == pauses[-1] == 120.0
    assert (stall.since, stall.sequence, stall.reason, stall.n_failures) == (1_000_000, 7, "memory", 2001)


def test_pauses_start_again_when_the_reason_changes_but_the_beginning_stays():
    stall = Stall.of(Unavailable("secret"), 7, 1_000_000)
    for _ in range(60):
        stall = stall.again(Unavailable("secret"))
    stall = stall.again(ValueError("secret"))
    assert (stall.pause, stall.reason, stall.since, stall.sequence) == (5.0, "error", 1_000_000, 7)


@pytest.mark.parametrize(
    ("error", "reason"),
    [(Unavailable("secret"), "database"), (StoreError("secret"), "database"), (MemoryError("secret"), "memory"),
     (ValueError("secret"), "error")],
)  # fmt: skip
def test_a_stall_has_a_reason_and_a_sentence_without_the_text_of_the_error(error, reason):
    stall = Stall.of(error, 0, 1_000_000)
    assert stall.reason == reason
    assert stall.sentence in str(stall)
    assert "1970-01-01 00:00" in str(stall)
    assert "secret" not in str(stall)
