"""Studies, participants, snapshots and leases."""

import itertools

import pytest

from erkle.store import NotAllowed, Object, Standing, State, StoreError, Unknown
from erkle.store.studies import TRANSITIONS

NPZ = b"PK\x03\x04"


def test_a_study_is_what_was_created(store, clock):
    objects = [Object("Paris", {"image": "paris.png"}), "Lyon", "Zoë's 'Tab\"le'; DROP TABLE answers; --"]
    study = store.create_study("Cities", objects, {"strategy": "adaptive", "share": 0.1})
    assert study[1:] == ("Cities", {"strategy": "adaptive", "share": 0.1}, State.DRAFT, 3, 0, clock.time, None)
    assert store.studies() == [study] == [store.study(study.id)]
    assert store.objects(study.id) == [objects[0], Object(objects[1]), Object(objects[2])]
    assert len(study.id) >= 16


def test_only_legal_transitions_happen(store):
    ways = {State.DRAFT: [], State.OPEN: [State.OPEN], State.PAUSED: [State.OPEN, State.PAUSED]}
    for start, end in itertools.product(State, State):
        study = store.create_study("A", list("ABC")).id
        for state in ways.get(start, [State.CLOSED]):
            store.change_state(study, state)
        if end == start or end in TRANSITIONS[start]:
            assert store.change_state(study, end).state == end
        else:
            with pytest.raises(NotAllowed, match=f"The study is {start} and cannot become {end}"):
                store.change_state(study, end)
            assert store.study(study).state == start


IMPOSSIBLE = [
    ("", list("ABC"), {}, "The title is ''"),
    ("A" * 501, list("ABC"), {}, "1 to 500 characters"),
    ("A\0", list("ABC"), {}, "which is no text"),
    ("\ud800", list("ABC"), {}, "which is no text"),
    ("A", list("AB"), {}, "a question needs three objects"),
    ("A", list("ABA"), {}, "Objects 0 and 2 are both called 'A'"),
    ("A", ["A", "B", Object("C", {"x": b""})], {}, "What goes with object 2 cannot be written as JSON"),
    ("A", list("ABC"), {"x": float("inf")}, "The settings cannot be written"),
    ("A", list("ABC"), {"x": "\0"}, "no text"),
    ("A", list("ABC"), [1], "pass a dictionary"),
]


def test_a_study_that_cannot_be_kept_as_it_is_is_refused(store):
    for title, objects, settings, wanted in IMPOSSIBLE:
        with pytest.raises(ValueError, match=wanted):
            store.create_study(title, objects, settings)
    assert store.studies() == []


def test_an_unknown_state_is_refused(opened):
    with pytest.raises(StoreError, match="The state is 'ajar'; pass one of draft, open, paused, closed"):
        opened.store.change_state(opened.study, "ajar")


def test_participants_end_once(opened):
    store, study, ann = opened
    assert store.participant(study, ann).parameters == {"PROLIFIC_PID": "ann"}
    assert store.finish(study, ann, Standing.FAILED).standing == Standing.FAILED
    assert store.finish(study, ann, Standing.FAILED).standing == Standing.FAILED
    with pytest.raises(NotAllowed, match="is failed already"):
        store.finish(study, ann, Standing.COMPLETED)
    with pytest.raises(StoreError, match="The ending is 'excluded'"):
        store.finish(study, ann, Standing.EXCLUDED)


def test_who_is_included_again_is_as_before(opened):
    store, study, ann = opened
    store.finish(study, ann, Standing.SCREENED)
    store.exclude(study, ann)
    store.exclude(study, ann)
    assert [p.standing for p in store.participants(study)] == [Standing.EXCLUDED]
    assert store.include(study, ann).standing == Standing.SCREENED
    assert store.study(study).roster == 2


def test_the_last_two_snapshots_of_the_roster_are_kept(opened):
    store, study, ann = opened
    for asked in opened.ask(3):
        opened.answer(asked)
    assert store.snapshots(study) == []
    for sequence in range(4):
        assert store.save_snapshot(study, sequence, 0, NPZ + bytes([sequence]))
    assert [(s.sequence, s.data) for s in store.snapshots(study)] == [(3, NPZ + b"\3"), (2, NPZ + b"\2")]
    store.exclude(study, ann)
    assert store.snapshots(study) == []
    assert not store.save_snapshot(study, 3, 0, NPZ)
    assert store.save_snapshot(study, 3, 1, NPZ)
    assert [s.roster for s in store.snapshots(study)] == [1]


def test_a_snapshot_is_an_npz_file_of_answers_that_there_are(opened):
    with pytest.raises(StoreError, match="pass the bytes of an npz file"):
        opened.store.save_snapshot(opened.study, 0, 0, b"\x80\x04pickle")
    with pytest.raises(StoreError, match="is of answer 1, which there is not"):
        opened.store.save_snapshot(opened.study, 1, 0, NPZ)


def test_a_lease_has_one_owner_until_it_ends(opened, clock):
    store, study, _ = opened
    assert store.acquire(study, "one", 10)
    assert not store.acquire(study, "two", 10)
    assert not store.release(study, "two")
    clock.advance(9)
    assert store.renew(study, "one", 10)
    clock.advance(9)
    assert not store.acquire(study, "two", 10)
    clock.advance(1)
    assert not store.renew(study, "one", 10)
    assert store.acquire(study, "two", 10)
    assert not store.renew(study, "one", 10)
    assert store.release(study, "two")
    assert store.acquire(study, "one", 10)


NAUGHTY = ["", "x", "\0", "\ud800", "' OR 1=1 --", "A" * 100_000, -1, 10**40, None, b"x", 1.5, ["x"]]


def test_whatever_is_passed_for_an_id_is_only_unknown(opened):
    store, study, ann = opened
    [asked] = opened.ask()
    for value in NAUGHTY:
        for call in (store.study, store.objects, store.join, store.counts, store.snapshots, store.participants):
            with pytest.raises(Unknown, match="There is no study"):
                call(value)
        with pytest.raises(Unknown, match="There is no participant"):
            store.participant(study, value)
        with pytest.raises(Unknown, match="There is no study"):
            list(store.log(value))
        for arguments in ((value, study, ann), (asked.token, value, ann), (asked.token, study, value)):
            assert store.answer(*arguments, 1).sentence
            assert store.skip(*arguments).sentence
    assert store.counts(study).answers == 0


def test_whatever_a_browser_sends_along_costs_no_answer_and_stays_small(opened):
    values = [*NAUGHTY, {"x": "\0\ud800"}, {1: {2: float("nan")}}, {"x": "y" * 10**6}]
    for sequence, (asked, value) in enumerate(zip(opened.ask(len(values)), values, strict=True), 1):
        assert opened.answer(asked, client=value, response_ms=value).sequence == sequence
        assert opened.answer(asked, choice=value, client=value).sentence
        assert opened.store.skip(asked.token, opened.study, opened.ann, value).sentence
        opened.store.join(opened.study, value)
    log = list(opened.store.log(opened.study))
    assert {answer.response_ms for answer in log} == {None}
    assert all(len(str(answer.client)) < 3000 for answer in log)
    assert all(len(str(refusal)) < 2000 for refusal in opened.store.refusals(opened.study))
    assert all(len(str(one)) < 5000 for one in opened.store.participants(opened.study))
