"""Exactly one answer counts for each question, and the log lists these answers in order."""

import pytest

from erkle.store import (
    Acknowledged,
    Kind,
    NotAllowed,
    Query,
    Reason,
    Refused,
    Skip,
    Skipped,
    Standing,
    State,
    StoreError,
)
from erkle.store.errors import NotOpen
from refusals import refusals


def test_an_answer_counts_once_and_repeating_it_gets_the_same_acknowledgement(opened):
    first, second = opened.ask(2)
    assert opened.answer(first) == Acknowledged(1, repeated=False)
    assert opened.answer(second, choice=2) == Acknowledged(2, repeated=False)
    assert opened.answer(first) == Acknowledged(1, repeated=True)
    assert [(a.sequence, a.anchor, a.near, a.far) for a in opened.store.answers.log(opened.study)] == [
        (1, 0, 1, 2),
        (2, 0, 2, 1),
    ]


def test_a_different_second_answer_is_refused_and_recorded(opened):
    [asked] = opened.ask()
    opened.answer(asked)
    assert opened.answer(asked, choice=2) == Refused(Reason.ANSWERED)
    [refusal] = refusals(opened.store, opened.study)
    assert (refusal.reason, refusal.token, refusal.payload["choice"]) == (Reason.ANSWERED, asked.token, "2")
    assert [a.near for a in opened.store.answers.log(opened.study)] == [1]


def test_a_choice_of_neither_object_is_refused(opened):
    [asked] = opened.ask()
    for choice in (0, 3, -1, 10**30, True, "1", None, 1.0):
        assert opened.answer(asked, choice=choice) == Refused(Reason.OUT_OF_RANGE)
    assert opened.answer(asked).sequence == 1


def test_an_answer_to_a_question_of_another_participant_is_refused(opened):
    [asked] = opened.ask()
    store, study, ann = opened
    bob = store.participants.join(study).id
    other = store.studies.create("Other", list("ABC")).id
    assert store.answers.submit(study, ann, "never-asked", 1) == Refused(Reason.UNKNOWN_TOKEN)
    assert store.answers.submit(other, ann, asked.token, 1) == Refused(Reason.OTHER_STUDY)
    assert store.answers.submit(study, bob, asked.token, 1) == Refused(Reason.OTHER_PARTICIPANT)
    assert [r.reason for r in refusals(store, study)] == [Reason.OTHER_PARTICIPANT, Reason.UNKNOWN_TOKEN]
    assert [r.reason for r in refusals(store, other)] == [Reason.OTHER_STUDY]
    assert store.studies.counts(study).answers == 0


@pytest.mark.parametrize("state", [State.PAUSED, State.CLOSED])
def test_an_issued_question_can_be_answered_until_it_expires_also_in_a_study_that_is_not_open(opened, clock, state):
    first, second, third = opened.ask(3, lifetime=10)
    store, study, ann = opened
    store.studies.change_state(study, state)
    assert opened.answer(first) == Acknowledged(1, repeated=False)
    assert store.answers.skip(study, ann, second.token) == Skipped(repeated=False)
    assert opened.ask()
    clock.advance(10)
    assert opened.answer(third) == Refused(Reason.EXPIRED)
    assert opened.answer(first) == Acknowledged(1, repeated=True)


@pytest.mark.parametrize("state", [State.PAUSED, State.CLOSED])
def test_nobody_joins_a_study_that_is_not_open_but_participants_are_found(opened, state):
    store, study, _ = opened
    bob = store.participants.join(study, identity="puid=bob")
    store.studies.change_state(study, state)
    with pytest.raises(NotOpen, match=state):
        store.participants.join(study, identity="puid=eve")
    assert store.participants.join(study, identity="puid=bob") == bob
    assert store.participants.identified(study, "puid=bob") == bob
    assert store.participants.identified(study, "puid=eve") is None


def test_questions_are_numbered_for_each_participant(opened):
    store, study, ann = opened
    bob = store.participants.join(study).id
    asked = [*opened.ask(2), *opened.ask(participant=bob), *opened.ask()]
    assert [each.position for each in asked] == [1, 2, 1, 3]
    store.answers.skip(study, ann, asked[0].token)
    for each in (asked[2], asked[3]):
        opened.answer(each)
    assert [(a.participant, a.position) for a in store.answers.log(study)] == [(bob, 1), (ann, 3)]
    assert [entry.issued.position for entry in store.questions.ledger(study, ann)] == [1, 2, 3]


def test_an_expired_question_refuses_answers_but_still_acknowledges_its_old_one(opened, clock):
    old, new = opened.ask(2, lifetime=10)
    opened.answer(old)
    clock.advance(10)
    assert opened.answer(new) == Refused(Reason.EXPIRED)
    assert opened.answer(old) == Acknowledged(1, repeated=True)


def test_answers_of_finished_and_excluded_participants_are_refused(opened):
    store, study, ann = opened
    [asked] = opened.ask()
    store.participants.exclude(study, [ann])
    assert opened.answer(asked) == Refused(Reason.EXCLUDED)
    store.participants.exclude(study, [ann], False)
    store.participants.finish(study, ann, Standing.COMPLETED)
    assert opened.answer(asked) == Refused(Reason.ENDED)
    with pytest.raises(NotAllowed, match="completed"):
        opened.ask()


def test_a_skipped_question_stays_skipped_and_an_answered_question_stays_answered(opened):
    skipped, answered = opened.ask(2)
    store, study, ann = opened
    assert store.answers.skip(study, ann, skipped.token, "cannot tell") == Skipped(repeated=False)
    assert store.answers.skip(study, ann, skipped.token, "cannot tell") == Skipped(repeated=True)
    assert opened.answer(skipped) == Refused(Reason.SKIPPED)
    opened.answer(answered)
    assert store.answers.skip(study, ann, answered.token) == Refused(Reason.ANSWERED)
    assert store.answers.skip(study, ann, "never-asked") == Refused(Reason.UNKNOWN_TOKEN)
    assert store.studies.counts(study) == (1, 2, 1, 0, 1, 3)


def test_the_log_is_complete_and_can_be_read_in_parts(opened):
    store, study, ann = opened
    queries = [Query(0, 1, 2, left=2, kind=kind, strategy="information gain") for kind in Kind]
    for asked in store.questions.issue(study, ann, queries):
        opened.answer(asked, response_ms=700, client={"keys": True})
    log = list(store.answers.log(study))
    assert [a.sequence for a in log] == [1, 2, 3, 4, 5]
    assert [a.kind for a in log] == list(Kind)
    assert {(a.participant, a.left, a.strategy, a.response_ms) for a in log} == {(ann, 2, "information gain", 700)}
    assert all(a.client == {"keys": True} and not a.excluded for a in log)
    for after in range(6):
        for limit in (0, 1, 2, 3, 9):
            assert list(store.answers.log(study, after, limit)) == log[after : after + limit]


def test_the_log_leaves_out_excluded_participants_until_they_are_included(opened):
    store, study, ann = opened
    bob = store.participants.join(study).id
    for participant in (ann, bob, ann):
        opened.answer(opened.ask(participant=participant)[0])
    assert store.participants.exclude(study, [ann])[0].excluded
    assert [a.sequence for a in store.answers.log(study)] == [2]
    assert [a.excluded for a in store.answers.log(study, include_excluded=True)] == [True, False, True]
    assert store.studies.counts(study).excluded_answers == 2
    opened.answer(opened.ask(participant=bob)[0])
    found = store.participants.exclude(study, [ann], False)[0]
    assert (found.state, found.excluded) == (Standing.ACTIVE, False)
    assert [a.sequence for a in store.answers.log(study)] == [1, 2, 3, 4]
    assert store.studies.get(study).roster == 2


def test_pending_questions_can_still_be_answered(opened, clock):
    store, study, ann = opened
    bob = store.participants.join(study).id
    answered, skipped, waiting = opened.ask(3)
    opened.ask(lifetime=1)
    [of_bob] = opened.ask(participant=bob)
    opened.answer(answered)
    store.answers.skip(study, ann, skipped.token)
    clock.advance(1)
    assert store.questions.pending(study) == [waiting, of_bob]
    store.participants.exclude(study, [ann])
    assert store.questions.pending(study) == [of_bob]


def test_each_study_numbers_its_own_answers(opened):
    store = opened.store
    other = store.studies.create("Other", list("ABC")).id
    store.studies.change_state(other, State.OPEN)
    eve = store.participants.join(other).id
    opened.answer(opened.ask()[0])
    [asked] = store.questions.issue(other, eve, [Query(2, 1, 0)])
    assert store.answers.submit(other, eve, asked.token, 0) == Acknowledged(1, repeated=False)
    assert [(a.anchor, a.near, a.far) for a in store.answers.log(other)] == [(2, 0, 1)]


def test_an_invalid_question_is_not_issued(opened):
    for query, values in (
        (Query(0, 1, 5), "object 5"),
        (Query(0, 1, 1), "object 1"),
        (Query(-1, 1, 2), "-1"),
        (Query(0, 1, 2, left=0), "left is 0.*1 and 2"),
        (Query(0, 1, 2, kind="odd"), "'odd'"),
    ):
        with pytest.raises(ValueError, match=values):
            opened.store.questions.issue(opened.study, opened.ann, [Query(0, 1, 2), query])
    assert opened.store.studies.counts(opened.study).questions == 0


def test_a_lifetime_must_be_a_positive_number(opened):
    with pytest.raises(StoreError, match="nan seconds"):
        opened.ask(lifetime=float("nan"))


def test_skips_are_listed_with_their_reasons(opened, clock):
    store, study, ann = opened
    first, second, _ = opened.ask(3)
    assert store.answers.skips(study) == []
    for one in (second, first):
        clock.advance(1)
        store.answers.skip(study, ann, one.token, f"reason {one is first}")
    assert store.answers.skips(study) == [
        Skip(ann, 0, 1, 2, "reason False", clock.time - 1_000_000),
        Skip(ann, 0, 1, 2, "reason True", clock.time),
    ]


def test_strategies_are_listed_with_their_questions_and_answers(opened):
    store, study, ann = opened
    assert store.questions.strategies(study) == []
    queries = [Query(0, 1, 2, strategy="random")] * 2 + [Query(0, 1, 2, strategy="adaptive")] * 3
    asked = store.questions.issue(study, ann, [*queries, Query(0, 1, 2, kind=Kind.CATCH, strategy="random")])
    for one in asked[1:4]:
        opened.answer(one)
    assert store.questions.strategies(study) == [
        ("adaptive", "chosen", 3, 2),
        ("random", "chosen", 2, 1),
        ("random", "catch", 1, 0),
    ]


def test_the_number_of_recorded_refusals_is_limited_for_each_study(opened, monkeypatch):
    monkeypatch.setattr("erkle.store.limits.REFUSALS", 6)
    store, study, ann = opened
    other = store.studies.create("Other", list("ABC")).id
    for each in (study, other, "no-study"):
        for _ in range(5):
            assert isinstance(store.answers.submit(each, ann, "never-asked", 1), Refused)
    assert [len(refusals(store, each)) for each in (study, other, None)] == [3, 3, 3]


def test_forged_tokens_do_not_displace_second_answers(opened, monkeypatch):
    monkeypatch.setattr("erkle.store.limits.REFUSALS", 6)
    store, study, ann = opened
    [asked] = opened.ask()
    opened.answer(asked, choice=1)
    for _ in range(9):
        assert isinstance(store.answers.submit(study, ann, "never-asked", 1), Refused)
        assert isinstance(store.answers.submit(study, "somebody-else", asked.token, 1), Refused)
    for _ in range(9):
        assert isinstance(opened.answer(asked, choice=2), Refused)
    reasons = [refusal.reason for refusal in refusals(store, study)]
    assert reasons[:3] == [Reason.ANSWERED] * 3
    assert (len(reasons), Reason.ANSWERED in reasons[3:]) == (6, False)
