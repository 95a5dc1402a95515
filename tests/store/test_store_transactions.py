"""What is done together is done as a whole, and a ledger tells what became of each question."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from erkle.store import Acknowledged, Entry, Full, Kind, NotAllowed, Query, Reason, Refused, Standing, State, Unknown


def test_a_turn_is_one_transaction(opened):
    store, study, ann = opened
    [asked] = opened.ask()

    def turn(transaction):
        said = transaction.answers.submit(study, ann, asked.token, 1, response_ms=700)
        transaction.questions.issue(study, ann, [Query(3, 1, 2, kind=Kind.CATCH)])
        return said, transaction.answers.last(study), transaction.questions.ledger(study, ann)

    said, last, ledger = store.transact(turn)
    assert (said, last) == (Acknowledged(1, repeated=False), 1)
    assert ledger == store.questions.ledger(study, ann)
    assert ledger[0] == Entry(asked, 1, False, 700)
    assert (ledger[1].issued.kind, ledger[1].choice, ledger[1].skipped) == (Kind.CATCH, None, False)


def test_an_error_undoes_everything_that_was_done_together(opened):
    store, study, ann = opened
    [asked] = opened.ask()

    def turn(transaction):
        transaction.answers.submit(study, ann, asked.token, 1)
        transaction.participants.finish(study, ann, Standing.COMPLETED)
        transaction.questions.issue(study, ann, [Query(0, 1, 2)])

    with pytest.raises(NotAllowed, match="participant is completed"):
        store.transact(turn)
    assert store.answers.last(study) == 0
    assert store.participants.get(study, ann).standing == Standing.ACTIVE
    assert opened.answer(asked) == Acknowledged(1, repeated=False)


def test_what_is_refused_is_kept_with_what_was_done_together(opened):
    store, study, ann = opened
    refused = store.transact(
        lambda t: (t.answers.submit(study, ann, "never-asked", 1), t.questions.issue(study, ann, [Query(0, 1, 2)]))
    )
    assert refused[0] == Refused(Reason.UNKNOWN_TOKEN)
    assert store.studies.counts(study)[1:] == (1, 0, 0, 0, 1)


def test_any_error_of_one_is_no_trouble_of_those_who_share_its_transaction(opened):
    store, study, ann = opened
    asked, barrier = opened.ask(6), threading.Barrier(6)

    def turn(number):
        barrier.wait()

        def work(transaction):
            said = transaction.answers.submit(study, ann, asked[number].token, 1)
            if number % 2:
                raise LookupError(number)
            return said

        try:
            return store.transact(work)
        except LookupError:
            return None

    with ThreadPoolExecutor(6) as pool:
        said = list(pool.map(turn, range(6)))
    assert [each is None for each in said] == [False, True] * 3
    assert [answer.sequence for answer in store.answers.log(study)] == [1, 2, 3]


def test_a_ledger_tells_answers_skips_and_what_is_open_in_the_order_of_asking(opened):
    store, study, ann = opened
    bob = store.participants.join(study).id
    assert store.questions.ledger(study, bob) == []
    asked = opened.ask(4)
    opened.ask(participant=bob)
    opened.answer(asked[2], choice=2, response_ms=5)
    store.answers.skip(study, ann, asked[1].token, "cannot decide")
    assert store.questions.ledger(study, ann) == [
        Entry(asked[0], None, False, None),
        Entry(asked[1], None, True, None),
        Entry(asked[2], 2, False, 5),
        Entry(asked[3], None, False, None),
    ]
    for arguments, wanted in (((study, "x"), "There is no participant"), (("x", ann), "There is no study")):
        with pytest.raises(Unknown, match=wanted):
            store.questions.ledger(*arguments)


def test_a_ledger_is_of_the_study_that_is_asked_for(opened):
    other = opened.store.studies.create("Other", list("ABC")).id
    with pytest.raises(Unknown, match="There is no participant"):
        opened.store.questions.ledger(other, opened.ann)
    with pytest.raises(Unknown, match="There is no participant"):
        opened.store.questions.issue(other, opened.ann, [Query(0, 1, 2)])


def test_an_identity_joins_once(opened):
    store, study, _ = opened
    first = store.participants.join(study, {"PROLIFIC_PID": "x", "visit": "1"}, identity="PROLIFIC_PID=x")
    assert first.identity == "PROLIFIC_PID=x"
    store.participants.exclude(study, first.id)
    store.studies.change_state(study, State.PAUSED)
    again = store.participants.join(study, {"PROLIFIC_PID": "x", "visit": "2"}, identity="PROLIFIC_PID=x")
    assert again == first._replace(standing=Standing.EXCLUDED)
    with pytest.raises(NotAllowed, match="people can join when it is open"):
        store.participants.join(study, {}, identity="PROLIFIC_PID=y")


def test_an_identity_is_one_of_its_study(opened):
    store, study, _ = opened
    other = store.studies.create("Other", list("ABC")).id
    store.studies.change_state(other, State.OPEN)
    people = [store.participants.join(of, {}, identity=one) for of in (study, other) for one in ("a", "b")]
    assert len({one.id for one in people}) == 4


def test_of_many_who_join_with_one_identity_there_is_one(opened):
    with ThreadPoolExecutor(8) as pool:
        joined = list(
            pool.map(lambda _: opened.store.participants.join(opened.study, {}, identity="same").id, range(8))
        )
    assert len({*joined}) == 1


def test_whatever_is_passed_for_an_identity_stays_small_and_different(opened):
    naughty = ["", "\0", "\0\0", "\ud800", "A" * 100_000, "A" * 99_999, "é" * 5000, 7, b"x", {"x": 1}]
    ids = [opened.store.participants.join(opened.study, {}, identity=one).id for one in naughty]
    assert ids == [opened.store.participants.join(opened.study, {}, identity=one).id for one in naughty]
    assert len({*ids}) == len(naughty)


def test_a_flag_changes_nothing_but_itself(opened):
    store, study, ann = opened
    before = store.participants.get(study, ann)
    assert not before.flagged
    assert (
        store.participants.flag(study, ann, True) == store.participants.get(study, ann) == before._replace(flagged=True)
    )
    assert store.participants.flag(study, ann, False) == before
    assert store.studies.get(study).roster == 0


def test_a_full_study_takes_those_who_have_joined_and_those_for_whom_others_make_room(opened):
    store, study, ann = opened
    bob = store.participants.join(study, {}, "bob", most=2)
    with pytest.raises(Full, match="has 2 participants, which is all that it takes"):
        store.participants.join(study, {}, "eve", most=2)
    assert store.participants.join(study, {}, "bob", most=2) == bob
    store.participants.exclude(study, ann)
    assert store.participants.join(study, {}, "eve", most=2).standing == Standing.ACTIVE
