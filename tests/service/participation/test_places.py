"""Who has a place in a study with a maximum number of participants, and who may see a draft."""

import pytest

from people import Somebody, reason


@pytest.fixture
def later(store, monkeypatch):
    """Move the clock forward by some seconds: ``later(600)``."""

    def later(seconds):
        at = store._clock() + seconds * 1_000_000
        monkeypatch.setattr("erkle.service.participation.advancing.now", lambda: at)
        monkeypatch.setattr(store, "_clock", lambda: at)

    return later


LIMITS = {"per_participant": 4, "participants": 2, "idle_s": 600.0}


def outcome(person):
    return person.reply["finished"] and person.reply["finished"]["outcome"]


def test_places_of_people_who_answer_nothing_become_free(client, make, later):
    study = make(limits=LIMITS)
    idle = [Somebody(client, study, puid=f"idle {number}") for number in range(2)]
    assert outcome(Somebody(client, study, puid="bob")) == "full"
    later(601)
    bob, eve = Somebody(client, study, puid="bob"), Somebody(client, study, puid="eve")
    assert [bob.answer_all()["outcome"], eve.answer_all()["outcome"]] == ["completed", "completed"]
    back = idle[0].post("resume", participant=idle[0].id).json()
    assert (back["finished"]["outcome"], back["questions"]) == ("full", [])
    assert outcome(Somebody(client, study, puid="idle 1")) == "full"


def test_whoever_has_answered_keeps_their_place_however_long_they_are_away(client, make, later):
    study = make(limits=LIMITS)
    ann, bob = Somebody(client, study, puid="ann"), Somebody(client, study, puid="bob")
    ann.answer()
    bob.post("skip", participant=bob.id, token=bob.question["token"])
    later(100_000)
    assert outcome(Somebody(client, study, puid="eve")) == "full"
    assert Somebody(client, study, puid="ann").answer_all()["outcome"] == "completed"


def test_an_idle_participant_continues_while_there_are_places(client, make, later):
    study = make(limits=LIMITS)
    ann = Somebody(client, study, puid="ann")
    Somebody(client, study, puid="bob")
    later(601)
    ann.reply = ann.post("resume", participant=ann.id).json()
    assert ann.answer_all()["outcome"] == "completed"


def test_a_participant_who_has_lost_their_place_can_come_back_when_there_is_one(client, store, make, later):
    study = make(limits={**LIMITS, "participants": 1})
    ann = Somebody(client, study, puid="ann")
    later(601)
    bob = Somebody(client, study, puid="bob")
    bob.answer()
    assert outcome(Somebody(client, study, puid="ann")) == "full"
    store.participants.exclude(study, bob.id)
    again = Somebody(client, study, puid="ann")
    assert again.id == ann.id
    assert again.answer_all()["outcome"] == "completed"


def requests(client, study):
    """The replies to everything that somebody without an account can send."""
    path, token = f"/api/take/{study}", "x" * 32
    return [
        client.get(path),
        client.post(f"{path}/join", json={"parameters": {}, "consent": True}),
        client.post(f"{path}/join", json={"parameters": {}, "consent": False}),
        client.post(f"{path}/resume", json={"participant": "nobody"}),
        client.post(f"{path}/answer", json={"participant": "nobody", "token": token, "choice": 1}),
        client.post(f"{path}/skip", json={"participant": "nobody", "token": token}),
    ]


def test_a_draft_looks_like_a_study_that_does_not_exist(client, stranger, researcher, draft):
    settings = {"skipping": {"allowed": False}, "texts": {"consent": "A secret consent text."}}
    assert researcher.patch(f"/api/studies/{draft}", json={"settings": settings}).status_code == 200
    for who in (client, stranger):
        for hidden, missing in zip(requests(who, draft), requests(who, "nowhere"), strict=True):
            assert hidden.status_code == missing.status_code
            assert hidden.text.replace(draft, "nowhere") == missing.text


def test_the_researchers_of_a_draft_can_preview_it(researcher, admin, draft):
    for who in (researcher, admin):
        assert who.get(f"/api/take/{draft}").json()["title"] == "Cities"
    assert len(researcher.get(f"/api/studies/{draft}/preview").json()["questions"]) > 3


def test_everybody_can_see_a_study_that_has_been_opened(client, researcher, draft):
    for state in ("open", "paused", "closed"):
        researcher.post(f"/api/studies/{draft}/state", json={"state": state})
        assert client.get(f"/api/take/{draft}").json()["state"] == state


def test_a_paused_study_says_why_nobody_can_join(client, researcher, study):
    researcher.post(f"/api/studies/{study}/state", json={"state": "paused"})
    answer = client.post(f"/api/take/{study}/join", json={"parameters": {}, "consent": True})
    assert (answer.status_code, reason(answer)) == (409, "study-paused")
