"""Who takes part in a study now: active participants, and those who have not finished."""

import pytest

from erkle.store import Query, Standing, State

LIFETIME = 3600.0


@pytest.fixture
def study(store):
    study = store.studies.create("Cities", ["Paris", "Lyon", "Madrid", "Rome"]).id
    store.studies.change_state(study, State.OPEN)
    return study


def asked(store, study, lifetime=LIFETIME):
    person = store.participants.join(study).id
    return store.questions.issue(study, person, [Query(0, 1, 2)], lifetime)[0]


def test_whoever_is_asked_answers_or_skips_is_active_for_a_while(store, study, clock):
    assert store.participants.presence(study, 300) == (0, 0)
    store.participants.join(study)
    assert store.participants.presence(study, 300) == (0, 0)
    first, second = asked(store, study), asked(store, study)
    assert store.participants.presence(study, 300) == (2, 2)
    clock.advance(400)
    assert store.participants.presence(study, 300) == (0, 2)
    store.answers.submit(study, first.participant, first.token, 1)
    assert store.participants.presence(study, 300) == (1, 1)
    store.answers.skip(study, second.participant, second.token, "")
    assert store.participants.presence(study, 300) == (2, 0)
    clock.advance(400)
    assert store.participants.presence(study, 300) == (0, 0)


def test_a_question_that_has_expired_cannot_be_finished(store, study, clock):
    asked(store, study, lifetime=10)
    assert store.participants.presence(study, 300) == (1, 1)
    clock.advance(11)
    assert store.participants.presence(study, 300) == (1, 0)


def test_whoever_is_excluded_or_has_finished_takes_part_no_more(store, study):
    excluded, finished = asked(store, study).participant, asked(store, study).participant
    store.participants.exclude(study, [excluded], True)
    assert store.participants.presence(study, 300) == (1, 1)
    store.participants.finish(study, finished, Standing.COMPLETED)
    assert store.participants.presence(study, 300) == (0, 0)
    store.participants.exclude(study, [excluded], False)
    assert store.participants.presence(study, 300) == (1, 1)
