"""What participants are asked over HTTP, and how their participation ends."""

from collections import Counter

import numpy as np
import pytest

from erkle.service.participation.asking import is_catch_due
from erkle.service.participation.prepared_study import CatchAnswers
from erkle.store import Kind
from people import Somebody

CATCH = {"practice": 0, "catch": [{"anchor": "a", "near": "b", "far": "c"}], "catch_every": 2, "fail_after": 2}


def kinds(store, study, person):
    return [entry.issued.kind for entry in store.questions.ledger(study, person.id)]


def test_without_consent_a_participant_has_declined_and_nothing_is_saved(client, store, make):
    study = make(endings={"declined": {"code": "NO"}})
    bob = Somebody(client, study, consent=False, PROLIFIC_PID="bob")
    assert bob.reply["finished"]["outcome"] == "declined"
    assert bob.reply["finished"]["code"] == "NO"
    assert store.participants.all(study) == []


def test_a_full_study_turns_away_new_participants_but_not_returning_ones(client, make):
    study = make(limits={"per_participant": 4, "participants": 1}, endings={"full": {"code": "FULL"}})
    ann = Somebody(client, study, workerId="ann")
    assert Somebody(client, study, workerId="bob").reply["finished"]["code"] == "FULL"
    assert Somebody(client, study, workerId="ann").id == ann.id


def test_a_study_with_all_its_answers_asks_no_more_questions(client, store, make):
    study = make(limits={"per_participant": 50, "answers": 3}, checks={"practice": 0})
    assert Somebody(client, study).answer_all()["outcome"] == "completed"
    assert 3 <= store.answers.last(study) <= 4
    late = Somebody(client, study)
    assert (late.id, late.reply["finished"]["outcome"]) == (None, "full")
    assert len(store.participants.all(study)) == 1


@pytest.mark.parametrize(("skips", "outcome"), [(2, "completed"), (3, "failed"), (4, "failed")])
def test_a_participant_who_skips_more_than_half_fails(client, make, skips, outcome):
    ann = Somebody(client, make(limits={"per_participant": 4}, checks={"practice": 0}))
    for _ in range(skips):
        ann.reply = ann.post("skip", participant=ann.id, token=ann.question["token"]).json()
    if not ann.reply["finished"]:
        ann.answer_all()
    assert ann.reply["finished"]["outcome"] == outcome


def test_a_skipped_catch_question_counts_as_wrong(client, make):
    ann = Somebody(client, make(limits={"per_participant": 10}, checks=CATCH))
    while not ann.reply["finished"]:
        ann.reply = ann.post("skip", participant=ann.id, token=ann.question["token"]).json()
    assert ann.reply["finished"]["outcome"] == "failed"
    # One of two questions is a catch question, at a random place.
    assert ann.reply["progress"]["done"] in (3, 4)


@pytest.mark.parametrize("attentive", [True, False])
def test_a_participant_fails_after_too_many_wrong_catch_answers(client, store, make, attentive):
    study = make(
        limits={"per_participant": 10}, checks=CATCH, endings={"completed": {"code": "YES"}, "failed": {"code": "NO"}}
    )
    ann = Somebody(client, study)
    while not ann.reply["finished"]:
        question = ann.question
        wanted = "b" if attentive else "c"
        side = "left" if question["left"]["name"] == wanted else "right"
        ann.answer(side=side)
    assert ann.reply["finished"]["code"] == ("YES" if attentive else "NO")
    if attentive:
        is_catch = [kind == Kind.CATCH for kind in kinds(store, study, ann)]
        assert [sum(is_catch[start : start + 2]) for start in range(0, 10, 2)] == [1] * 5


def test_catch_questions_may_share_an_anchor_and_a_candidate():
    right = CatchAnswers([(0, 1, 2), (0, 2, 3)])
    assert [right.is_failed((0, 1, 2), choice) for choice in (1, 2, None)] == [False, True, True]
    assert [right.is_failed((0, 3, 2), choice) for choice in (2, 3, None)] == [False, True, True]


def test_other_questions_never_count_as_failed_catch_questions():
    assert not any(CatchAnswers([(0, 1, 2)]).is_failed((0, 1, 3), choice) for choice in (1, 3, None))


def test_repeated_questions_are_shown_with_sides_swapped(client, store, make):
    study = make(limits={"per_participant": 30}, checks={"practice": 0, "repeat_share": 0.5})
    ann = Somebody(client, study)
    ann.answer_all()
    entries = [entry.issued for entry in store.questions.ledger(study, ann.id)]
    repeated = [issued for issued in entries if issued.kind == Kind.REPEATED]
    assert repeated
    for again in repeated:
        [before, *_] = [
            e for e in entries if (e.anchor, e.first, e.second) == (again.anchor, again.first, again.second)
        ]
        assert before.kind in (Kind.CHOSEN, Kind.HELD_OUT)
        assert {before.left, again.left} == {again.first, again.second}


def test_each_place_in_a_block_is_equally_likely_for_its_one_catch_question():
    rng, every = np.random.default_rng(0), 5
    places = []
    for _ in range(2000):
        kinds = []
        while len(kinds) < 4 * every:
            kinds.append(Kind.CATCH if is_catch_due(kinds, every, rng.random()) else Kind.CHOSEN)
        found = [number for number, kind in enumerate(kinds) if kind == Kind.CATCH]
        assert [place // every for place in found] == [0, 1, 2, 3]
        places += [place % every for place in found]
    counts = np.bincount(places, minlength=every)
    # Chi-squared with 4 degrees of freedom: 18.5 is exceeded once in a thousand.
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 18.5


def test_all_catch_questions_are_asked_equally_often(client, store, make):
    catch = [{"anchor": "a", "near": near, "far": "f"} for near in "bcd"]
    study = make(limits={"per_participant": 6}, checks={"practice": 0, "catch": catch, "catch_every": 1})
    ann = Somebody(client, study)
    while not ann.reply["finished"]:
        ann.answer(side="left" if ann.question["right"]["name"] == "f" else "right")
    near = Counter(entry.issued.first for entry in store.questions.ledger(study, ann.id))
    assert near == {1: 2, 2: 2, 3: 2}


def shown(store, study, person, kinds=tuple(Kind)):
    """How often each object was on the left and on the right."""
    asked = [entry.issued for entry in store.questions.ledger(study, person.id) if entry.issued.kind in kinds]
    left = Counter(issued.left for issued in asked)
    return left, Counter(issued.first + issued.second - issued.left for issued in asked)


@pytest.mark.parametrize("repeat_share", [0.0, 0.3])
def test_each_participant_sees_each_object_about_equally_often_on_both_sides(client, store, make, repeat_share):
    study = make(limits={"per_participant": 60}, checks={"practice": 2, "repeat_share": repeat_share})
    for number in range(3):
        ann = Somebody(client, study, puid=str(number))
        ann.answer_all()
        left, right = shown(store, study, ann)
        assert max(abs(left[each] - right[each]) for each in range(6)) <= (3 if repeat_share == 0 else 7)


def test_the_right_answer_to_a_catch_question_changes_sides(client, store, make):
    checks = {"practice": 0, "catch": [{"anchor": "a", "near": "b", "far": "c"}], "catch_every": 2, "fail_after": 100}
    study = make(limits={"per_participant": 40}, checks=checks)
    ann = Somebody(client, study)
    ann.answer_all()
    left, right = shown(store, study, ann, [Kind.CATCH])
    assert left[1] + right[1] == 20
    assert 5 <= left[1] <= 15


def test_the_first_side_is_a_coin_toss(client, store, make):
    study = make(limits={"per_participant": 1}, checks={"practice": 0, "catch": CATCH["catch"], "catch_every": 1})
    people = [Somebody(client, study, puid=str(number)) for number in range(40)]
    assert 6 < sum(person.question["left"]["name"] == "b" for person in people) < 34


def test_a_skipped_question_is_saved_and_counts_as_done(client, store, study):
    ann = Somebody(client, study)
    ann.answer()
    reply = ann.post("skip", participant=ann.id, token=ann.question["token"], reason="I cannot decide").json()
    assert reply["skipped"]
    assert reply["progress"]["done"] == 1
    assert [skip.reason for skip in store.answers.skips(study)] == ["I cannot decide"]
    assert ann.send().status_code == 409


def test_skipping_is_refused_if_it_is_not_allowed(client, make):
    ann = Somebody(client, make(skipping={"allowed": False}))
    assert ann.post("skip", participant=ann.id, token=ann.question["token"]).status_code == 409


def test_fast_answers_are_reported_and_count(client, store, make):
    ann = Somebody(client, make(checks={"too_fast_ms": 300}))
    assert ann.answer(response_ms=100)["too_fast"]
    assert not ann.answer(response_ms=301)["too_fast"]
    assert store.answers.last(ann.study) == 2


def test_a_participation_is_complete_when_all_questions_have_been_asked(client, store, make):
    study = make(things=("a", "b", "c"), limits={"per_participant": 50}, checks={"practice": 0})
    assert Somebody(client, study).answer_all()["outcome"] == "completed"
    assert store.answers.last(study) == 3


def test_questions_do_not_reveal_why_they_are_asked(client, make):
    ann = Somebody(client, make(checks=CATCH))
    assert set(ann.question) == {"token", "practice", "anchor", "left", "right", "expires_at"}
