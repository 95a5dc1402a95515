"""A transaction happens completely or not at all; the ledger and the participants are as they were written."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from erkle.store import Acknowledged, Entry, Full, Kind, NotAllowed, Query, Reason, Refused, Standing, State, Unknown


def test_an_answer_and_the_next_question_share_a_transaction(opened):
    store, study, ann = opened
    [asked] = opened.ask()

    def work(transaction):
        result = transaction.answers.submit(study, ann, asked.token, 1, response_ms=700)
        transaction.questions.issue(study, ann, [Query(3, 1, 2, kind=Kind.CATCH)])
        return result, transaction.answers.last(study), transaction.questions.ledger(study, ann)

    result, last, ledger = store.transact(work)
    assert (result, last) == (Acknowledged(1, repeated=False), 1)
    assert ledger == store.questions.ledger(study, ann)
    assert ledger[0] == Entry(asked, 1, False, 700)
    assert (ledger[1].issued.kind, ledger[1].choice, ledger[1].skipped) == (Kind.CATCH, None, False)


def test_an_exception_undoes_the_whole_transaction(opened):
    store, study, ann = opened
    [asked] = opened.ask()

    def work(transaction):
        transaction.answers.submit(study, ann, asked.token, 1)
        transaction.participants.finish(study, ann, Standing.COMPLETED)
        transaction.questions.issue(study, ann, [Query(0, 1, 2)])

    with pytest.raises(NotAllowed, match="completed"):
        store.transact(work)
    assert store.answers.last(study) == 0
    found = store.participants.get(study, ann)
    assert (found.state, found.excluded) == (Standing.ACTIVE, False)
    assert opened.answer(asked) == Acknowledged(1, repeated=False)


def test_a_refused_answer_does_not_undo_its_transaction(opened):
    store, study, ann = opened
    refused = store.transact(
        lambda t: (t.answers.submit(study, ann, "never-asked", 1), t.questions.issue(study, ann, [Query(0, 1, 2)]))
    )
    assert refused[0] == Refused(Reason.UNKNOWN_TOKEN)
    assert store.studies.counts(study)[1:] == (1, 0, 0, 0, 1)


def test_an_exception_does_not_affect_other_threads_in_the_same_group_commit(opened):
    store, study, ann = opened
    asked, barrier = opened.ask(6), threading.Barrier(6)

    def submit(number):
        barrier.wait()

        def work(transaction):
            result = transaction.answers.submit(study, ann, asked[number].token, 1)
            if number % 2:
                raise LookupError(number)
            return result

        try:
            return store.transact(work)
        except LookupError:
            return None

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(submit, range(6)))
    assert [result is None for result in results] == [False, True] * 3
    assert [answer.sequence for answer in store.answers.log(study)] == [1, 2, 3]


def test_a_ledger_lists_all_questions_with_their_outcomes_in_order(opened):
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
    for arguments, missing in (((study, "x"), "no participant 'x'"), (("x", ann), "no study 'x'")):
        with pytest.raises(Unknown, match=missing):
            store.questions.ledger(*arguments)


def test_a_participant_of_another_study_is_unknown(opened):
    other = opened.store.studies.create("Other", list("ABC")).id
    with pytest.raises(Unknown, match=opened.ann):
        opened.store.questions.ledger(other, opened.ann)
    with pytest.raises(Unknown, match=opened.ann):
        opened.store.questions.issue(other, opened.ann, [Query(0, 1, 2)])


def test_an_identity_can_join_a_study_once(opened):
    store, study, _ = opened
    first = store.participants.join(study, {"PROLIFIC_PID": "x", "visit": "1"}, identity="PROLIFIC_PID=x")
    assert first.identity == "PROLIFIC_PID=x"
    store.participants.exclude(study, [first.id])
    store.studies.change_state(study, State.PAUSED)
    again = store.participants.join(study, {"PROLIFIC_PID": "x", "visit": "2"}, identity="PROLIFIC_PID=x")
    assert again == first._replace(excluded=True)
    with pytest.raises(NotAllowed, match="paused"):
        store.participants.join(study, {}, identity="PROLIFIC_PID=y")


def test_an_identity_can_join_several_studies(opened):
    store, study, _ = opened
    other = store.studies.create("Other", list("ABC")).id
    store.studies.change_state(other, State.OPEN)
    joined = [store.participants.join(each, {}, identity=name) for each in (study, other) for name in ("a", "b")]
    assert len({participant.id for participant in joined}) == 4


def test_threads_that_join_with_one_identity_get_one_participant(opened):
    with ThreadPoolExecutor(8) as pool:
        joined = list(
            pool.map(lambda _: opened.store.participants.join(opened.study, {}, identity="same").id, range(8))
        )
    assert len({*joined}) == 1


def test_odd_identities_stay_different(opened):
    identities = ["", "\0", "\0\0", "\ud800", "A" * 100_000, "A" * 99_999, "é" * 5000, 7, b"x", {"x": 1}]
    ids = [opened.store.participants.join(opened.study, {}, identity=each).id for each in identities]
    assert ids == [opened.store.participants.join(opened.study, {}, identity=each).id for each in identities]
    assert len({*ids}) == len(identities)


def test_a_flag_changes_nothing_else(opened):
    store, study, ann = opened
    before = store.participants.get(study, ann)
    assert not before.flagged
    [flagged] = store.participants.flag(study, [ann], True)
    assert flagged == store.participants.get(study, ann) == before._replace(flagged=True)
    assert store.participants.flag(study, [ann], False) == [before]
    assert store.studies.get(study).roster == 0


def test_a_full_study_refuses_new_participants_until_one_is_excluded(opened):
    store, study, ann = opened
    bob = store.participants.join(study, {}, "bob", most=2)
    with pytest.raises(Full, match="2 participants"):
        store.participants.join(study, {}, "eve", most=2)
    assert store.participants.join(study, {}, "bob", most=2) == bob
    store.participants.exclude(study, [ann])
    found = store.participants.join(study, {}, "eve", most=2)
    assert (found.state, found.excluded) == (Standing.ACTIVE, False)
