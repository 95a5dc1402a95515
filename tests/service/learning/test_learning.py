"""The kernel is a fold over the log, whoever folds it, in whatever pieces, and whatever happens in between."""

import time

import numpy as np
import pytest

from erkle import ERKLE
from erkle.files import FileError, npz_from_bytes, npz_to_bytes
from erkle.service.learning import Fold, View
from erkle.service.learning.full_log import embedding, kernel_npz
from erkle.service.runtime import Runtimes
from erkle.store import Imported, Kind, NotAllowed, Query, State, Store

N = 12
PLACES = np.random.default_rng(0).normal(size=(N, 2))


def answers(n, participants=4, seed=0, kind=None):
    """Answers of several participants, of all kinds if none is given."""
    rng = np.random.default_rng(seed)
    kinds = [Kind.CHOSEN, Kind.CHOSEN, Kind.HELD_OUT, Kind.REPEATED, Kind.CATCH, Kind.PRACTICE]
    found = []
    for i in range(n):
        head, b, c = (int(x) for x in rng.choice(N, 3, replace=False))
        if np.linalg.norm(PLACES[head] - PLACES[b]) > np.linalg.norm(PLACES[head] - PLACES[c]):
            b, c = c, b
        found.append(Imported(f"p{i % participants}", head, b, c, kind=kind or kinds[i % len(kinds)], response_ms=900))
    return found


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "erkle.db") as store:
        yield store


@pytest.fixture
def study(store):
    study = store.studies.create("Twelve", [f"thing {i}" for i in range(N)]).id
    store.studies.change_state(study, State.OPEN)
    store.imports.answers(study, answers(300))
    return study


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def fresh(store, study):
    fold = Fold(N)
    fold.learn(list(store.answers.log(study, include_excluded=True)))
    return fold


def test_a_fold_is_the_learner_of_the_answers_that_are_learned(store, study):
    fold = fresh(store, study)
    rows = [(a.anchor, a.near, a.far) for a in store.answers.log(study) if a.kind not in (Kind.CATCH, Kind.PRACTICE)]
    learner = ERKLE(N, random_state=0).partial_fit(rows)
    assert fold.learner.n_triplets_seen_ == len(rows) == 200
    np.testing.assert_array_equal(fold.learner.kernel_matrix(), learner.kernel_matrix())


@pytest.mark.parametrize("pieces", [1, 7, 100])
def test_pieces_and_snapshots_in_between_give_the_same_fold_to_the_last_bit(store, study, pieces):
    log = list(store.answers.log(study))
    fold = Fold(N)
    for start in range(0, len(log), pieces * 10):
        fold.learn(log[start : start + pieces * 10])
        fold, _ = Fold.from_bytes(fold.to_bytes())
    whole = fresh(store, study)
    np.testing.assert_array_equal(fold.learner.kernel_matrix(), whole.learner.kernel_matrix())
    assert fold.sequence == whole.sequence
    np.testing.assert_array_equal(fold.held_out.n_wrong, whole.held_out.n_wrong)


def test_the_held_out_curve_counts_the_questions_drawn_at_random(store, study):
    held = sum(answer.kind == Kind.HELD_OUT for answer in store.answers.log(study))
    assert fresh(store, study).held_out.n_answers.sum() == held == 50


def test_a_view_decides_as_its_learner_does(store, study):
    fold = fresh(store, study)
    view = View.of(fold.learner, fold.sequence, fold.held_out)
    rows = [(a.anchor, a.near, a.far) for a in store.answers.log(study)]
    np.testing.assert_allclose(view.decision_function(rows), fold.learner.decision_function(rows), atol=1e-9)
    np.testing.assert_allclose(view.predict_proba(rows), fold.learner.predict_proba(rows), atol=1e-9)


def test_damaged_snapshots_are_refused():
    data = Fold(N).to_bytes()
    for damaged in (data[:-100], data[:4] + bytes(50)):
        with pytest.raises(FileError):
            Fold.from_bytes(damaged)


@pytest.mark.parametrize("bins", [None, np.zeros((3, 3), np.int64), np.zeros(3), np.full((2, 2), "x")])
def test_snapshots_with_other_records_are_refused(bins):
    arrays, meta = npz_from_bytes(Fold(N).to_bytes(), "it")
    arrays = {name: array for name, array in arrays.items() if name != "held.bins"}
    with pytest.raises(FileError):
        Fold.from_bytes(npz_to_bytes(arrays | ({} if bins is None else {"held.bins": bins}), meta))


def test_the_engine_learns_the_log_and_the_kernel_is_a_fresh_fold(store, study):
    runtimes = Runtimes(store)
    learning = runtimes.of(study).learning
    until(lambda: learning.view is not None and learning.view.sequence == 300)
    store.imports.answers(study, answers(40, seed=1))
    learning.notify()
    until(lambda: learning.view.sequence == 340)
    runtimes.close()
    [newest, *_] = store.snapshots.latest(study)
    kept, _ = Fold.from_bytes(newest.data)
    np.testing.assert_array_equal(kept.learner.kernel_matrix(), fresh(store, study).learner.kernel_matrix())


def test_an_engine_goes_on_from_the_snapshot_and_past_a_damaged_one(store, study):
    for _ in range(2):
        runtimes = Runtimes(store)
        learning = runtimes.of(study).learning
        until(lambda: learning.ready)  # noqa: B023
        # From a snapshot, too, and without a new answer, the tables know every answer.
        assert len(learning.columns) == 300
        runtimes.close()
    roster = store.studies.get(study).roster
    store.snapshots.save(study, 300, roster, b"PK\x03\x04 and nothing else")
    store.imports.answers(study, answers(10, seed=2))
    runtimes = Runtimes(store)
    learning = runtimes.of(study).learning
    until(lambda: learning.view is not None and learning.view.sequence == 310)
    np.testing.assert_array_equal(learning.view.places @ learning.view.places.T + np.diag(learning.view.shifts),
                                  fresh(store, study).learner.kernel_matrix())  # fmt: skip
    runtimes.close()


def test_to_exclude_somebody_learns_anew_without_them_and_to_include_them_brings_it_back(store, study):
    runtimes = Runtimes(store)
    learning = runtimes.of(study).learning
    until(lambda: learning.ready)
    n_learned = learning.view.n_learned
    [ann, *_] = store.participants.all(study)
    store.participants.exclude(study, ann.id)
    learning.notify()
    until(
        lambda: (
            learning.view.n_learned
            == sum(a.kind in ("chosen", "held out", "repeated") for a in store.answers.log(study))
        )
    )
    assert learning.view.n_learned < n_learned
    store.participants.exclude(study, ann.id, False)
    learning.notify()
    until(lambda: learning.view.n_learned == n_learned)
    assert len(learning.columns) == 300
    runtimes.close()


def test_one_engine_owns_the_learner_and_the_other_follows_and_takes_over(store, study, tmp_path):
    first, second = Runtimes(store), None
    try:
        until(lambda: first.of(study).learning.ready)
        with Store(tmp_path / "erkle.db") as other:
            second = Runtimes(other)
            follower = second.of(study).learning
            until(lambda: len(follower.columns) == 300)
            assert first.of(study).learning.owns
            assert not follower.owns
            # It keeps a snapshot as it ends, and gives up its lease.
            first.close()
            until(lambda: follower.owns and follower.view is not None and follower.view.sequence == 300)
            np.testing.assert_array_equal(follower.view.n_anchored_, fresh(store, study).learner.n_anchored_)
            second.close()
    finally:
        first.close()


def test_who_does_not_own_the_learner_gives_the_same_kernel(store, study, tmp_path):
    first = Runtimes(store)
    until(lambda: first.of(study).learning.ready)
    with Store(tmp_path / "erkle.db") as other:
        second = Runtimes(other)
        store.imports.answers(study, answers(25, seed=4))
        first.of(study).learning.notify()
        assert kernel_npz(other, other.studies.get(study)) == kernel_npz(store, store.studies.get(study))
        assert not second.of(study).learning.owns
        second.close()
    first.close()


def test_one_bad_row_does_not_end_all_learning(store, study):
    log = list(store.answers.log(study))
    bad = [
        log[0]._replace(far=N),
        log[1]._replace(anchor=-1),
        log[2]._replace(near=log[2].far),
        log[3]._replace(anchor=10**9),
    ]
    fold = Fold(N)
    fold.learn([*bad, *log[4:]])
    whole = Fold(N)
    whole.learn(log[4:])
    np.testing.assert_array_equal(fold.learner.kernel_matrix(), whole.learner.kernel_matrix())


def test_the_kernel_as_a_file_has_the_names_and_loads(store, study, tmp_path):
    (tmp_path / "kernel.npz").write_bytes(kernel_npz(store, store.studies.get(study)))
    loaded = ERKLE.load(tmp_path / "kernel.npz")
    np.testing.assert_array_equal(loaded.kernel_matrix(), fresh(store, study).learner.kernel_matrix())
    assert np.load(tmp_path / "kernel.npz")["labels"][3] == "thing 3"


def test_of_a_study_without_answers_there_is_no_kernel(store):
    study = store.studies.create("Three", ["a", "b", "c"])
    for learned in (kernel_npz, embedding):
        with pytest.raises(NotAllowed):
            learned(store, study)


def test_the_learner_of_a_deleted_study_ends(store, study):
    runtimes = Runtimes(store)
    learning = runtimes.of(study).learning
    until(lambda: learning.ready)
    store.studies.delete(study)
    learning.notify()
    until(lambda: not learning.alive)
    with pytest.raises(LookupError):
        runtimes.of(study)
    runtimes.close()


def test_a_learner_that_fails_begins_anew(store, study, monkeypatch):
    monkeypatch.setattr("erkle.service.learning.learning.AFTER_FAILURE", 0.05)
    learn, failures = Fold.learn, iter([True, True, False])

    def fail_twice(fold, page):
        if next(failures, False):
            raise MemoryError("not now")
        learn(fold, page)

    monkeypatch.setattr(Fold, "learn", fail_twice)
    runtimes = Runtimes(store)
    learning = runtimes.of(study).learning
    until(lambda: learning.view is not None and learning.view.sequence == 300)
    assert learning.alive
    runtimes.close()


def test_right_after_an_exclusion_the_kernel_is_without_them(store, study, tmp_path):
    runtimes = Runtimes(store)
    until(lambda: runtimes.of(study).learning.ready)
    store.participants.exclude(study, store.participants.all(study)[0].id)
    (tmp_path / "kernel.npz").write_bytes(kernel_npz(store, store.studies.get(study)))
    np.testing.assert_array_equal(
        ERKLE.load(tmp_path / "kernel.npz").kernel_matrix(), fresh(store, study).learner.kernel_matrix()
    )
    runtimes.close()


def test_what_another_process_has_heard_is_not_pending_here_nor_asked_again(store, study, tmp_path):
    first = Runtimes(store)
    until(lambda: first.of(study).learning.ready)
    with Store(tmp_path / "erkle.db") as other:
        second = Runtimes(other)
        follower = second.of(study).learning
        until(lambda: follower.view is not None)
        ann = store.participants.join(study).id
        [asked] = store.questions.issue(study, ann, [Query(0, 1, 2)])
        follower.pending.add([asked])
        store.answers.submit(study, ann, asked.token, 1)
        until(lambda: len(follower.columns) == 301)
        until(lambda: len(follower.pending) == 0)
        assert follower.view.sequence == 301 or (0, 1, 2) in follower.not_learned_yet()
        second.close()
    first.close()


def test_a_learner_that_nobody_wants_ends_and_begins_again(store, study, monkeypatch):
    monkeypatch.setattr("erkle.service.learning.learning.IDLE", 0.2)
    runtimes = Runtimes(store)
    learning = runtimes.of(study).learning
    until(lambda: not learning.alive)
    again = runtimes.of(study).learning
    until(lambda: again.view is not None and again.view.sequence == 300)
    runtimes.close()


def test_after_an_exclusion_the_snapshot_is_of_the_new_roster(store, study):
    runtimes = Runtimes(store)
    learning = runtimes.of(study).learning
    until(lambda: learning.ready)
    store.participants.exclude(study, store.participants.all(study)[0].id)
    learning.notify()
    until(lambda: learning.view.n_learned < 200)
    runtimes.close()
    [newest, *_] = store.snapshots.latest(study)
    assert Fold.from_bytes(newest.data)[0].learner.n_triplets_seen_ == learning.view.n_learned


def test_the_log_is_never_read_while_the_columns_are_locked(store, study):
    runtimes = Runtimes(store)
    until(lambda: runtimes.of(study).learning.ready)
    runtimes.close()
    # From a snapshot, so that the columns have all of the log to read.
    runtimes = Runtimes(store)
    learning = runtimes.of(study).learning
    read, locked = learning.page, []

    def page(after):
        locked.append(learning.columns.lock.locked())
        return read(after)

    learning.page = page
    store.imports.answers(study, answers(30, seed=8))
    until(lambda: len(learning.columns) == 330 and locked)
    assert not any(locked)
    runtimes.close()
