"""The learner's thread: its kernel is a fold of the log, whichever process folds it, and whatever happens meanwhile."""

import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from erkle import ERKLE, LowRank
from erkle.files import FileError
from erkle.npz_files import npz_from_bytes, npz_to_bytes
from erkle.service.learning import Fold, View
from erkle.service.learning.fold import LEARNED
from erkle.service.learning.full_log import embedding, kernel_npz
from erkle.service.runtime import Runtimes
from erkle.store import Imported, Kind, NotAllowed, Query, State, Store

N = 12
# Two thirds of the answers are learned; the others are catch and practice answers.
N_ANSWERS, N_LEARNED, N_HELD_OUT = 120, 80, 20
KINDS = [Kind.CHOSEN, Kind.CHOSEN, Kind.HELD_OUT, Kind.REPEATED, Kind.CATCH, Kind.PRACTICE]
POSITIONS = np.random.default_rng(0).normal(size=(N, 2))


def answers(n, seed=0):
    """Answers of four participants, of all kinds."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        anchor, near, far = (int(x) for x in rng.choice(N, 3, replace=False))
        if np.linalg.norm(POSITIONS[anchor] - POSITIONS[near]) > np.linalg.norm(POSITIONS[anchor] - POSITIONS[far]):
            near, far = far, near
        found.append(Imported(f"p{i % 4}", anchor, near, far, kind=KINDS[i % len(KINDS)], response_ms=900))
    return found


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, new_database):
    """A database with a study and its answers: (file, id of the study)."""
    file = new_database(tmp_path_factory.mktemp("prepared") / "erkle.db")
    with Store(file) as store:
        study = store.studies.create("Twelve", [f"object {i}" for i in range(N)]).id
        store.studies.change_state(study, State.OPEN)
        store.imports.append(study, answers(N_ANSWERS))
    return file, study


@pytest.fixture
def database(tmp_path, prepared):
    """A copy of the prepared database, which two processes may open."""
    return Path(shutil.copy(prepared[0], tmp_path))


@pytest.fixture
def store(database):
    with Store(database) as store:
        yield store


@pytest.fixture
def study(prepared):
    """The id of the study."""
    return prepared[1]


@pytest.fixture(scope="module")
def log(prepared):
    """The answers of the study."""
    file, study = prepared
    with Store(file) as store:
        return list(store.answers.log(study))


@pytest.fixture(scope="module")
def whole(log):
    """A fold of all answers at once. Tests only read it."""
    return folded(log)


@pytest.fixture
def start():
    """Start the runtimes of a process; all of them are closed at the end."""
    started = []

    def start(store):
        started.append(Runtimes(store))
        return started[-1]

    yield start
    for runtimes in started:
        runtimes.close()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    """Poll the database often."""
    monkeypatch.setattr("erkle.service.learning.learning.POLL", 0.01)
    monkeypatch.setattr("erkle.service.learning.states.RETRY", 0.02)
    monkeypatch.setattr("erkle.service.learning.states.SNAPSHOT", 0.02)


def until(condition, seconds=120):
    """Wait for a condition, for as long as compiling on a busy machine may take."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


def has_read(learning, sequence):
    """A condition: the view has the answers up to a sequence number."""
    return lambda: learning.view is not None and learning.view.sequence == sequence


def folded(log):
    fold = Fold(N)
    fold.learn(log)
    return fold


def whole_log(store, study):
    return list(store.answers.log(study, include_excluded=True))


def kernel(fold):
    return fold.learner.kernel_matrix()


def people(fold):
    """What a fold says about how people answer, as text."""
    learner = fold.learner
    return str([learner.answer_model_, learner.lapse_, *(column.tolist() for column in learner.participants_)])


def kernel_of_view(view):
    return view.places @ view.places.T + np.diag(view.shifts)


def test_a_fold_is_the_learner_of_the_answers_that_are_learned(log, whole):
    learned = [a for a in log if a.kind not in (Kind.CATCH, Kind.PRACTICE)]
    rows = [(a.anchor, a.near, a.far) for a in learned]
    learner = ERKLE(N, kernel=LowRank(), random_state=0).partial_fit(
        rows, participants=[a.participant for a in learned]
    )
    assert whole.learner.n_triplets_seen_ == len(rows) == N_LEARNED
    np.testing.assert_array_equal(kernel(whole), learner.kernel_matrix())


@pytest.mark.parametrize("page", [1, 40])
def test_pages_of_any_size_and_snapshots_in_between_give_the_same_fold_to_the_last_bit(log, whole, page):
    fold = Fold(N)
    for start in range(0, len(log), page):
        fold.learn(log[start : start + page])
        if start % 40 == 0:
            fold, _ = Fold.from_bytes(fold.to_bytes())
    np.testing.assert_array_equal(kernel(fold), kernel(whole))
    assert fold.sequence == whole.sequence
    np.testing.assert_array_equal(fold.held_out.n_wrong, whole.held_out.n_wrong)
    assert people(fold) == people(whole)


def test_the_held_out_curve_counts_the_random_questions(whole):
    assert whole.held_out.n_answers.sum() == N_HELD_OUT


def test_a_view_decides_as_its_learner_does(log, whole):
    view = View.of(whole.learner, whole.sequence, whole.held_out)
    rows = [(a.anchor, a.near, a.far) for a in log]
    np.testing.assert_allclose(view.decision_function(rows), whole.learner.decision_function(rows), atol=1e-9)
    np.testing.assert_allclose(view.predict_proba(rows), whole.learner.predict_proba(rows), atol=1e-9)


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


# Parts of a snapshot that earlier versions did not have.
NEW_PARTS = [
    "participants.names",
    "participants.likelihoods",
    "history_participants",
    "evidence.window",
    "answer_model",
]


@pytest.mark.parametrize("part", NEW_PARTS)
def test_snapshots_of_earlier_versions_are_refused_and_the_log_is_read(store, study, start, whole, part):
    arrays, meta = npz_from_bytes(whole.to_bytes(), "it")
    earlier = npz_to_bytes({name: array for name, array in arrays.items() if name != part}, meta)
    with pytest.raises(FileError):
        Fold.from_bytes(earlier)
    store.snapshots.save(study, N_ANSWERS, store.studies.get(study).roster, earlier)
    learning = start(store).of(study).learning
    until(has_read(learning, N_ANSWERS))
    np.testing.assert_array_equal(kernel_of_view(learning.view), kernel(whole))


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("participants.names", ["", "a", "a", "b", "c"]),
        ("participants.counts", [0, 20, 20, 20]),
        ("participants.likelihoods", np.zeros((5, 3))),
        ("history_participants", np.full(N_LEARNED, 5, np.int32)),
    ],
)
def test_snapshots_whose_participants_do_not_fit_are_refused(whole, part, values):
    arrays, meta = npz_from_bytes(whole.to_bytes(), "it")
    with pytest.raises(FileError):
        Fold.from_bytes(npz_to_bytes(arrays | {part: np.asarray(values)}, meta))


def test_bad_rows_are_not_learned_and_do_not_stop_the_learner(log):
    bad = [
        log[0]._replace(far=N),
        log[1]._replace(anchor=-1),
        log[2]._replace(near=log[2].far),
        log[3]._replace(anchor=10**9),
    ]
    np.testing.assert_array_equal(kernel(folded([*bad, *log[4:]])), kernel(folded(log[4:])))


def test_the_learner_follows_the_log_and_its_last_snapshot_is_a_fold_of_the_whole_log(store, study, start):
    runtimes = start(store)
    learning = runtimes.of(study).learning
    until(has_read(learning, N_ANSWERS))
    store.imports.append(study, answers(40, seed=1))
    learning.notify()
    until(has_read(learning, N_ANSWERS + 40))
    runtimes.close()
    [newest, *_] = store.snapshots.latest(study)
    saved, _ = Fold.from_bytes(newest.data)
    np.testing.assert_array_equal(kernel(saved), kernel(folded(whole_log(store, study))))


def test_a_learner_that_starts_from_a_snapshot_says_the_same_about_participants(store, study, start, monkeypatch):
    runtimes = start(store)
    learning = runtimes.of(study).learning
    until(has_read(learning, N_ANSWERS))
    before = learning.view
    runtimes.close()
    # All answers are in the snapshot, so the new learner learns nothing.
    monkeypatch.setattr(Fold, "learn", lambda fold, page: pytest.fail("the log was read") if page else None)
    learning = start(store).of(study).learning
    until(has_read(learning, N_ANSWERS))
    assert (learning.view.answer_model_, learning.view.lapse) == (before.answer_model_, before.lapse)
    for now, then in zip(learning.view.participants, before.participants, strict=True):
        np.testing.assert_array_equal(now, then)


def test_a_learner_continues_from_the_newest_snapshot_that_is_not_damaged(store, study, start):
    for _ in range(2):
        runtimes = start(store)
        learning = runtimes.of(study).learning
        until(lambda: learning.ready)  # noqa: B023
        # The columns have every answer, also those that are in the snapshot.
        assert len(learning.columns) == N_ANSWERS
        runtimes.close()
    store.snapshots.save(study, N_ANSWERS, store.studies.get(study).roster, b"PK\x03\x04 and nothing else")
    store.imports.append(study, answers(10, seed=2))
    learning = start(store).of(study).learning
    until(has_read(learning, N_ANSWERS + 10))
    np.testing.assert_array_equal(kernel_of_view(learning.view), kernel(folded(whole_log(store, study))))


def test_excluding_a_participant_learns_without_them_and_including_them_restores_the_kernel(store, study, start, whole):
    runtimes = start(store)
    learning = runtimes.of(study).learning
    until(lambda: learning.ready)
    [ann, *_] = store.participants.all(study)
    store.participants.exclude(study, [ann.id])
    n_others = sum(answer.kind in LEARNED for answer in store.answers.log(study))
    assert n_others < N_LEARNED
    learning.notify()
    until(lambda: learning.view.n_learned == n_others)
    assert ann.id not in learning.view.participants.names
    assert len(learning.view.participants.names) == 3
    store.participants.exclude(study, [ann.id], False)
    learning.notify()
    until(lambda: learning.view.n_learned == N_LEARNED)
    np.testing.assert_array_equal(kernel_of_view(learning.view), kernel(whole))
    np.testing.assert_array_equal(learning.view.participants.lapse, whole.learner.participants_.lapse)
    assert len(learning.columns) == N_ANSWERS


def test_the_snapshot_after_an_exclusion_and_an_export_are_without_the_participant(store, study, start, tmp_path):
    runtimes = start(store)
    learning = runtimes.of(study).learning
    until(lambda: learning.ready)
    store.participants.exclude(study, [store.participants.all(study)[0].id])
    expected = folded(whole_log(store, study))
    # The export does not wait for the learner.
    (tmp_path / "kernel.npz").write_bytes(kernel_npz(store, store.studies.get(study)))
    np.testing.assert_array_equal(ERKLE.load(tmp_path / "kernel.npz").kernel_matrix(), kernel(expected))
    learning.notify()
    until(lambda: learning.view.n_learned == expected.learner.n_triplets_seen_)
    runtimes.close()
    [newest, *_] = store.snapshots.latest(study)
    np.testing.assert_array_equal(kernel(Fold.from_bytes(newest.data)[0]), kernel(expected))


def test_one_process_owns_the_learner_and_another_watches_and_takes_over(store, study, database, start, whole):
    first = start(store)
    until(lambda: first.of(study).learning.ready)
    with Store(database) as other:
        second = start(other)
        watcher = second.of(study).learning
        until(lambda: len(watcher.columns) == N_ANSWERS)
        assert first.of(study).learning.owns
        assert not watcher.owns
        # Both processes export the same kernel.
        assert kernel_npz(other, other.studies.get(study)) == kernel_npz(store, store.studies.get(study))
        # The first process saves a snapshot and releases its lease.
        first.close()
        until(lambda: watcher.owns and has_read(watcher, N_ANSWERS)())
        np.testing.assert_array_equal(watcher.view.n_anchored_, whole.learner.n_anchored_)
        second.close()


def test_a_question_that_another_process_asked_is_pending_until_it_is_answered(store, study, database, start):
    first = start(store)
    until(lambda: first.of(study).learning.ready)
    with Store(database) as other:
        second = start(other)
        watcher = second.of(study).learning
        ann = store.participants.join(study).id
        [asked] = store.questions.issue(study, ann, [Query(0, 1, 2)])
        watcher.pending.add([asked])
        assert len(watcher.pending) == 1
        store.answers.submit(study, ann, asked.token, 1)
        until(lambda: len(watcher.columns) == N_ANSWERS + 1)
        until(lambda: len(watcher.pending) == 0)
        assert has_read(watcher, N_ANSWERS + 1)() or (0, 1, 2) in watcher.not_learned_yet()
        second.close()


def test_the_kernel_as_a_file_has_the_names_and_can_be_loaded(store, study, tmp_path, whole):
    (tmp_path / "kernel.npz").write_bytes(kernel_npz(store, store.studies.get(study)))
    np.testing.assert_array_equal(ERKLE.load(tmp_path / "kernel.npz").kernel_matrix(), kernel(whole))
    assert np.load(tmp_path / "kernel.npz")["labels"][3] == "object 3"


def test_a_study_without_answers_has_no_kernel(store):
    study = store.studies.create("Three", ["a", "b", "c"])
    for export in (kernel_npz, embedding):
        with pytest.raises(NotAllowed):
            export(store, study)


def test_the_learner_of_a_deleted_study_ends(store, study, start):
    runtimes = start(store)
    learning = runtimes.of(study).learning
    until(lambda: learning.ready)
    store.studies.delete(study)
    learning.notify()
    until(lambda: not learning.alive)
    with pytest.raises(LookupError):
        runtimes.of(study)


def test_an_idle_learner_ends_and_a_later_request_starts_a_new_one(store, study, start, monkeypatch):
    monkeypatch.setattr("erkle.service.learning.learning.IDLE", 0.02)
    runtimes = start(store)
    learning = runtimes.of(study).learning
    until(lambda: not learning.alive)
    monkeypatch.setattr("erkle.service.learning.learning.IDLE", 60.0)
    again = runtimes.of(study).learning
    assert again is not learning
    until(has_read(again, N_ANSWERS))


def test_the_log_is_never_read_while_the_columns_are_locked(store, study, start):
    runtimes = start(store)
    until(lambda: runtimes.of(study).learning.ready)
    runtimes.close()
    # The new learner starts from a snapshot, so its columns must read the whole log.
    learning = start(store).of(study).learning
    read, locked = learning.page, []

    def page(after):
        locked.append(learning.columns.lock.locked())
        return read(after)

    learning.page = page
    store.imports.append(study, answers(30, seed=8))
    until(lambda: len(learning.columns) == N_ANSWERS + 30 and locked)
    assert not any(locked)
