"""One runtime per study: its parts start together, and nothing of it is kept after its end."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest

from erkle.service.learning import Fold
from erkle.service.runtime import Runtimes
from erkle.store import Imported, Replaced, State, Store, Unavailable
from people import THINGS, Somebody, settings

ANSWERS = [Imported(f"p{i % 3}", i % 6, (i + 1 + i % 2) % 6, (i + 4) % 6) for i in range(60)]


def until(condition, seconds=120):
    """Wait for a condition; compiling on a busy machine may take a minute."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not hold in time"
        time.sleep(0.01)


@pytest.fixture
def data(data_folder):
    with Store(data_folder / "erkle.db") as store:
        yield store


@pytest.fixture
def asked(data):
    """The id of an open study with answers."""
    study = data.studies.create("Cities", THINGS, settings()).id
    data.studies.change_state(study, State.OPEN)
    data.imports.append(study, ANSWERS)
    return study


@pytest.fixture
def runtimes(data):
    runtimes = Runtimes(data)
    yield runtimes
    runtimes.close()


def parts(runtime):
    """Weak references to everything that a runtime holds."""
    _, prepared = runtime._prepared
    kept = [runtime, runtime.learning, runtime.dashboard, runtime.learning.columns, prepared.chooser]
    return [weakref.ref(each) for each in kept]


def test_after_a_study_is_deleted_nothing_of_it_is_kept(client, researcher, study):
    ann = Somebody(client, study)
    ann.answer()
    for page in ("live", "participants", "disputed", "preview"):
        assert researcher.get(f"/api/studies/{study}/{page}").status_code == 200
    kept = parts(client.app.state.runtimes.of(study))
    assert researcher.delete(f"/api/studies/{study}").status_code == 204
    until(lambda: study not in {each.learning.study for each in client.app.state.runtimes.all()})
    gc.collect()
    assert [each() for each in kept] == [None] * len(kept)
    assert not [thread for thread in threading.enumerate() if study in thread.name]


def test_a_deletion_does_not_wait_for_a_busy_learner(client, researcher, study, monkeypatch):
    learning, busy = client.app.state.runtimes.of(study).learning, threading.Event()
    monkeypatch.setattr(learning, "_thread", threading.Thread(target=busy.wait))
    learning._thread.start()
    assert researcher.delete(f"/api/studies/{study}").status_code == 204
    assert learning._thread.is_alive()
    busy.set()


def test_after_another_process_deletes_a_study_nothing_of_it_is_kept(data, asked):
    runtimes = Runtimes(data, renewal_seconds=0.05)
    until(lambda: runtimes.of(asked).learning.ready)
    data.studies.delete(asked)
    until(lambda: not runtimes.all())
    runtimes.close()


def test_after_another_process_replaces_the_objects_of_a_draft_the_old_ones_are_not_used(runtimes, data):
    draft = data.studies.create("Cities", THINGS, settings())
    runtime = runtimes.of(draft.id)
    assert len(runtime.prepared(draft, data).objects) == len(THINGS)
    renamed = data.objects.replace(
        draft.id, lambda now, objects: Replaced(objects[::-1], now.settings, range(len(objects))[::-1])
    )
    assert runtime.prepared(renamed, data).objects[0].name == THINGS[-1]
    fewer = data.objects.replace(draft.id, lambda now, objects: Replaced(objects[:4], now.settings, range(4)))
    with pytest.raises(Unavailable):
        runtime.prepared(fewer, data)
    again = runtimes.of(draft.id)
    assert again is not runtime
    assert again.learning.n_objects == len(again.prepared(fewer, data).objects) == 4


def test_simultaneous_requests_share_one_runtime(runtimes, asked):
    found, begin = [], threading.Barrier(8)

    def ask():
        begin.wait()
        found.append(runtimes.of(asked))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_no_learner_starts_after_the_end(data, asked):
    runtimes = Runtimes(data)
    runtimes.close()
    with pytest.raises(Unavailable):
        runtimes.of(asked)


def test_the_database_is_never_read_under_the_lock_that_every_request_takes(runtimes, data, asked, monkeypatch):
    read, locked = data.studies.get, []

    def study(name):
        # The learner's own thread may read the study at any time.
        if threading.current_thread() is threading.main_thread():
            locked.append(runtimes._lock.locked())
        return read(name)

    monkeypatch.setattr(data.studies, "get", study)
    runtimes.of(asked)
    assert locked
    assert not any(locked)


def test_reading_the_dashboard_does_not_change_the_snapshot(tmp_path, new_database):
    saved = []
    for watched in (False, True):
        with Store(new_database(tmp_path / f"{watched}.db")) as store:
            study = store.studies.create("Cities", THINGS, settings()).id
            runtimes = Runtimes(store)
            for start in range(0, 60, 20):
                store.imports.append(study, ANSWERS[start : start + 20])
                runtime = runtimes.of(study)
                runtime.learning.notify()
                until(lambda: runtime.learning.view and runtime.learning.view.sequence == start + 20)  # noqa: B023
                # The first run reads no maps, the second reads two of three.
                if watched and start != 20:
                    assert runtime.dashboard.live(0.1).map.sequence == start + 20
            runtimes.close()
            saved.append(Fold.from_bytes(store.snapshots.latest(study)[0].data)[1])
    assert saved[0] is not None
    np.testing.assert_array_equal(*saved)


def test_a_learner_waits_for_the_database_and_continues(runtimes, data, asked, monkeypatch):
    monkeypatch.setattr("erkle.service.learning.learning.AFTER_FAILURE", 0.05)
    read, troubles = data.answers.log, iter([True, True, True])

    def log(*given, **options):
        if next(troubles, False):
            raise Unavailable("The disk is full.")
        return read(*given, **options)

    monkeypatch.setattr(data.answers, "log", log)
    learning = runtimes.of(asked).learning
    until(lambda: learning.view is not None and learning.view.sequence == 60)
    assert learning.owns


def test_a_learner_that_loses_its_lease_follows_and_takes_over_again(runtimes, data, asked, monkeypatch):
    monkeypatch.setattr("erkle.service.learning.states.RETRY", 0.05)
    learning = runtimes.of(asked).learning
    until(lambda: learning.ready)
    data.leases.release(asked, learning._owner)
    assert data.leases.acquire(asked, "another process", 30.0) is not None
    learning.renew()
    until(lambda: not learning.owns)
    data.imports.append(asked, ANSWERS[:10])
    # It still reads the answers, but learns nothing.
    until(lambda: len(learning.columns) == 70)
    assert learning.view.sequence == 60
    data.leases.release(asked, "another process")
    until(lambda: learning.owns and learning.view.sequence == 70)


def test_close_waits_for_a_learner_that_is_saving_its_snapshot(data, asked, monkeypatch):
    runtimes = Runtimes(data, renewal_seconds=0.01)
    learning = runtimes.of(asked).learning
    until(lambda: learning.ready)
    end, saving = learning._end, threading.Event()

    def slowly():
        saving.wait(0.3)
        end()

    monkeypatch.setattr(learning, "_end", slowly)
    learning.stop()
    time.sleep(0.1)
    assert [each.learning for each in runtimes.all()] == [learning]
    runtimes.close()
    assert learning.ended


def test_when_everybody_is_excluded_the_last_map_is_kept(runtimes, data, asked):
    learning = runtimes.of(asked).learning
    until(lambda: learning.published is not None and learning.published.map is not None)
    before = learning.map
    everybody = [participant.id for participant in data.participants.all(asked)]
    for participant in everybody:
        data.participants.exclude(asked, [participant])
    learning.notify()
    until(lambda: learning.published.map is None)
    np.testing.assert_array_equal(learning.map, before)
