"""Leases have one owner at a time, and only the owner saves snapshots of a learner."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from erkle.store import StoreError

NPZ = b"PK\x03\x04"


def test_the_last_two_snapshots_of_the_current_roster_are_kept(opened):
    store, study, ann = opened
    for asked in opened.ask(3):
        opened.answer(asked)
    assert store.snapshots.latest(study) == []
    for sequence in range(4):
        assert store.snapshots.save(study, sequence, 0, NPZ + bytes([sequence]))
    assert [(s.sequence, s.data) for s in store.snapshots.latest(study)] == [(3, NPZ + b"\3"), (2, NPZ + b"\2")]
    store.participants.exclude(study, [ann])
    assert store.snapshots.latest(study) == []
    assert not store.snapshots.save(study, 3, 0, NPZ)
    assert store.snapshots.save(study, 3, 1, NPZ)
    assert [s.roster for s in store.snapshots.latest(study)] == [1]


def test_a_snapshot_must_be_an_npz_file_of_existing_answers(opened):
    with pytest.raises(StoreError, match="npz"):
        opened.store.snapshots.save(opened.study, 0, 0, b"\x80\x04pickle")
    with pytest.raises(StoreError, match="answer 1"):
        opened.store.snapshots.save(opened.study, 1, 0, NPZ)


def test_a_lease_has_one_owner_until_it_expires(opened, clock):
    store, study, _ = opened
    assert store.leases.acquire(study, "one", 10)
    assert not store.leases.acquire(study, "two", 10)
    assert not store.leases.release(study, "two")
    clock.advance(9)
    assert store.leases.renew(study, "one", 10)
    clock.advance(9)
    assert not store.leases.acquire(study, "two", 10)
    clock.advance(1)
    assert not store.leases.renew(study, "one", 10)
    assert store.leases.acquire(study, "two", 10)
    assert not store.leases.renew(study, "one", 10)
    assert store.leases.release(study, "two")
    assert store.leases.acquire(study, "one", 10)


def test_a_former_owner_of_the_lease_cannot_save_a_snapshot(opened, clock):
    store, study, _ = opened
    one = store.leases.acquire(study, "one", 10)
    assert store.leases.acquire(study, "one", 10) == store.leases.renew(study, "one", 10) == one
    assert store.snapshots.save(study, 0, 0, NPZ + b"1", fence=one)
    clock.advance(10)
    two = store.leases.acquire(study, "two", 10)
    assert two > one
    assert not store.snapshots.save(study, 0, 0, NPZ + b"2", fence=one)
    assert store.snapshots.save(study, 0, 0, NPZ + b"3", fence=two)
    assert store.leases.release(study, "two")
    assert store.snapshots.save(study, 0, 0, NPZ + b"4", fence=two)
    assert store.leases.acquire(study, "one", 10) > two
    assert not store.snapshots.save(study, 0, 0, NPZ + b"5", fence=two)
    assert [snapshot.data[-1:] for snapshot in store.snapshots.latest(study)] == [b"4", b"3"]


def test_a_lease_that_would_last_too_long_has_expired(opened, clock):
    leases, study = opened.store.leases, opened.study
    fence = leases.acquire(study, "one", 60)
    # The clock that granted the lease was wrong and has been set back since.
    clock.advance(-1)
    assert leases.acquire(study, "two", 60) == fence + 1
    assert leases.acquire(study, "one", 60) is None


def test_a_lease_lasts_at_most_a_minute(opened):
    for call in (opened.store.leases.acquire, opened.store.leases.renew):
        for seconds in (0, -1, 61):
            with pytest.raises(StoreError, match=f"{seconds} seconds.* 60"):
                call(opened.study, "one", seconds)


def test_only_one_of_many_threads_gets_the_lease(opened):
    def acquire(number):
        return opened.store.leases.acquire(opened.study, f"owner {number}", 60)

    with ThreadPoolExecutor(8) as pool:
        fences = list(pool.map(acquire, range(8)))
    assert sum(fence is not None for fence in fences) == 1
