"""Participants can make the server store only so many bytes, for each study and from each address."""

import pytest
from fastapi.testclient import TestClient

from erkle.service import Configuration
from erkle.service.configuration import Rate
from erkle.store import limits
from people import Somebody, reason

EMOJI = {"x": "🙂" * 4000}


@pytest.fixture
def configuration(data_folder):
    return Configuration(
        data=data_folder,
        study_bytes=20_000,
        stored_rate=Rate(per_second=1, burst=60_000),
        trusted_proxies=["10.0.0.0/8"],
    )


def coming_from(client, address):
    """A client behind a trusted proxy."""
    return TestClient(client.app, client=("10.0.0.1", 1234), headers={"X-Forwarded-For": address})


def join(client, study, parameters):
    return client.post(f"/api/take/{study}/join", json={"parameters": parameters, "consent": True})


def test_emoji_take_no_more_room_than_the_limit(client, store, study):
    before = store.usage.get(study)
    assert join(client, study, EMOJI).status_code == 200
    most = limits.PARTICIPANT_ROW + 2 * limits.QUESTION_ROW + limits.PARAMETERS
    assert 0.9 * most < store.usage.get(study) - before <= most


def test_a_study_over_its_quota_refuses_new_participants_with_a_sentence_and_keeps_answers(client, store, make):
    study = make(limits={"per_participant": 9}, checks={"practice": 0}, endings={"completed": {"code": "DONE"}})
    ann = Somebody(client, study, puid="ann")
    ann.answer()
    for number in range(20):
        if (answer := join(coming_from(client, f"192.0.2.{number}"), study, EMOJI)).status_code != 200:
            break
    assert (answer.status_code, reason(answer)) == (409, "quota")
    assert answer.json()["error"]["sentence"]
    assert number >= 3
    participants = len(store.participants.all(study))
    assert join(client, study, EMOJI).status_code == 409
    assert len(store.participants.all(study)) == participants
    # The questions that Ann already has can still be answered, and then she has completed the study.
    assert Somebody(client, study, puid="ann").id == ann.id
    assert ann.answer_all()["code"] == "DONE"
    assert store.answers.last(study) == 3
    assert store.usage.get(study) < 20_000 + 6000


def test_a_full_study_does_not_fill_others(client, make):
    full, other = make(), make()
    while join(client, full, EMOJI).status_code == 200:
        pass
    assert join(client, other, {}).status_code == 200


def test_one_address_can_store_only_so_many_bytes(client, make):
    studies = [make() for _ in range(20)]
    answers = [join(client, study, EMOJI) for study in studies]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert 5 <= len(refused) <= 12
    assert reason(refused[0]) == "too-often"
    assert int(refused[0].headers["retry-after"]) > 100
    assert join(coming_from(client, "192.0.2.9"), studies[-1], EMOJI).status_code == 200


def test_an_answer_over_the_limit_of_an_address_can_be_sent_again_later(client, store, make, app):
    ann = Somebody(client, make())
    while join(client, make(), EMOJI).status_code == 200:
        pass
    assert ann.send(client=EMOJI).status_code == 429
    # Later: the bucket is full again.
    app.state.buckets["stored_rate"]._full.clear()
    assert ann.send(client=EMOJI).json()["acknowledged"] == {"sequence": 1, "repeated": False}
