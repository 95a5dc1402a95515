"""Whoever is in the middle when a study is paused, closed or full, or when they are excluded, gets the right ending."""

import pytest

from erkle.service.participation.endings import Ending
from erkle.store import Reason, Standing, State
from people import Somebody, reason

CODES = {ending: {"code": f"CODE-{ending}", "url": f"https://pay.example/{ending}?who={{puid}}"} for ending in Ending}
STOPPED = pytest.mark.parametrize("state", [State.PAUSED, State.CLOSED])


@pytest.fixture
def study_with(make):
    """Create an open study whose endings have different codes: ``study_with(unfinished={...})``."""

    def study_with(**changes):
        return make(**{"limits": {"per_participant": 4}, "checks": {"practice": 0}, "endings": CODES, **changes})

    return study_with


@pytest.fixture
def later(store, monkeypatch):
    """Move the clock forward by some seconds."""

    def later(seconds):
        at = store._clock() + seconds * 1_000_000
        for module in ("advancing", "participation"):
            monkeypatch.setattr(f"erkle.service.participation.{module}.now", lambda: at)
        monkeypatch.setattr(store, "_clock", lambda: at)

    return later


def finished(reply):
    """The outcome and the code of a reply, or None."""
    end = reply["finished"]
    return end and (end["outcome"], end["code"])


def expect(ending):
    return ending, f"CODE-{ending}"


def resumed(person):
    return person.post("resume", participant=person.id, parameters=person.parameters)


def told(client, study, **parameters):
    """What a visitor is told before joining."""
    found = client.get(f"/api/take/{study}", params=parameters)
    assert found.status_code == 200
    return found.json()


@STOPPED
def test_whoever_is_in_the_middle_finishes(client, store, study_with, state):
    study = study_with()
    ann, bob = Somebody(client, study, puid="ann"), Somebody(client, study, puid="bob")
    ann.answer()
    store.studies.change_state(study, state)
    assert ann.answer_all()["code"] == "CODE-completed"
    bob.reply = resumed(bob).json()
    assert bob.answer_all()["url"] == "https://pay.example/completed?who=bob"
    assert store.answers.last(study) == 8


@STOPPED
def test_whoever_is_in_the_middle_completes_at_once_if_the_study_says_so(client, store, study_with, state):
    study = study_with(unfinished={"stopped": "complete"})
    ann, bob = Somebody(client, study), Somebody(client, study)
    store.studies.change_state(study, state)
    assert ann.answer()["acknowledged"] == {"sequence": 1, "repeated": False}
    assert finished(ann.reply) == finished(resumed(bob).json()) == expect("completed")
    assert ann.reply["questions"] == []
    assert {store.participants.get(study, each.id).state for each in (ann, bob)} == {Standing.COMPLETED}


def test_a_participant_who_fails_the_checks_fails_also_in_a_closed_study(client, store, study_with):
    catch = [{"anchor": "a", "near": "b", "far": "c"}]
    study = study_with(checks={"practice": 0, "catch": catch, "catch_every": 1, "fail_after": 1})
    ann = Somebody(client, study)
    store.studies.change_state(study, State.CLOSED)
    assert finished(ann.answer(side="left" if ann.question["left"]["name"] == "c" else "right")) == expect("failed")


def test_whoever_comes_back_after_the_closing_gets_the_ending_of_a_closed_study(client, store, study_with, later):
    study = study_with()
    ann = Somebody(client, study, puid="ann")
    ann.answer()
    store.studies.change_state(study, State.CLOSED)
    later(2 * 3600)
    refused = ann.send()
    assert (refused.status_code, reason(refused)) == (409, Reason.EXPIRED)
    assert finished(refused.json()) == finished(resumed(ann).json()) == expect("closed")
    assert finished(Somebody(client, study, puid="ann").reply) == expect("closed")
    assert told(client, study, puid="ann")["ending"]["code"] == "CODE-closed"
    # So that participants.csv has the code that they were given.
    assert store.participants.get(study, ann.id).state == Standing.CLOSED


def test_whoever_comes_back_to_a_paused_study_waits_and_then_continues(client, store, study_with, later):
    study = study_with()
    ann = Somebody(client, study, puid="ann")
    ann.answer()
    store.studies.change_state(study, State.PAUSED)
    later(2 * 3600)
    assert (resumed(ann).status_code, reason(resumed(ann))) == (409, "study-paused")
    about = told(client, study, puid="ann")
    assert (about["waiting"], about["ending"]) == (True, None)
    store.studies.change_state(study, State.OPEN)
    ann.reply = resumed(ann).json()
    assert ann.answer_all()["outcome"] == "completed"


@pytest.mark.parametrize(("excluded", "state"), [("complete", Standing.COMPLETED), ("fail", Standing.FAILED)])
def test_an_excluded_participant_gets_an_ending_at_once(client, store, study_with, excluded, state):
    study = study_with(unfinished={"excluded": excluded})
    ann, bob = Somebody(client, study, puid="ann"), Somebody(client, study)
    for person in (ann, bob):
        store.participants.exclude(study, [person.id])
    assert told(client, study, puid="ann")["ending"]["outcome"] == state
    refused = ann.send()
    assert (refused.status_code, reason(refused)) == (409, Reason.EXCLUDED)
    assert finished(refused.json()) == finished(resumed(bob).json()) == expect(state)
    for person in (ann, bob):
        found = store.participants.get(study, person.id)
        assert (found.state, found.excluded) == (state, True)
    assert finished(Somebody(client, study, puid="ann").reply) == expect(state)


def test_a_participant_who_is_included_again_before_coming_back_continues(client, store, study_with):
    study = study_with()
    ann = Somebody(client, study)
    store.participants.exclude(study, [ann.id])
    store.participants.exclude(study, [ann.id], False)
    assert ann.answer_all()["outcome"] == "completed"


def test_a_participant_who_has_finished_keeps_their_ending_when_excluded(client, store, study_with):
    study = study_with(unfinished={"excluded": "fail"})
    ann = Somebody(client, study)
    ann.answer_all()
    store.participants.exclude(study, [ann.id])
    assert finished(resumed(ann).json()) == expect("completed")


def test_newcomers_are_told_before_they_join(client, store, study_with):
    study = study_with(limits={"per_participant": 4, "participants": 1})
    about = told(client, study, puid="new")
    assert (about["waiting"], about["ending"], about["refused"]) == (False, None, "")
    ann = Somebody(client, study, puid="ann")
    full = told(client, study, puid="new")["ending"]
    assert (full["code"], full["url"]) == ("CODE-full", "https://pay.example/full?who=new")
    assert told(client, study, puid="ann")["ending"] is None

    store.studies.change_state(study, State.PAUSED)
    assert (told(client, study, puid="new")["waiting"], told(client, study, puid="ann")["waiting"]) == (True, False)
    store.studies.change_state(study, State.CLOSED)
    assert told(client, study, puid="new")["ending"]["code"] == "CODE-closed"
    assert finished(Somebody(client, study, puid="new").reply) == expect("closed")
    assert told(client, study, puid="ann")["ending"] is None
    ann.answer_all()
    assert told(client, study, puid="ann")["ending"]["url"] == "https://pay.example/completed?who=ann"
    assert len(store.participants.all(study)) == 1


def test_nobody_joins_a_study_that_has_all_its_answers(client, store, study_with):
    study = study_with(limits={"per_participant": 4, "answers": 2})
    ann, idle = Somebody(client, study, puid="ann"), Somebody(client, study, puid="idle")
    assert ann.answer_all()["outcome"] == "completed"
    assert told(client, study)["ending"]["outcome"] == "full"
    assert finished(Somebody(client, study).reply) == expect("full")
    # Whoever has questions already may answer them.
    assert idle.answer_all()["outcome"] == "completed"
    assert len(store.participants.all(study)) == 2


def test_a_visitor_without_proof_is_told_why_and_gets_the_ending_of_screened_people(client, store, study_with):
    study = study_with(identity_proof="signature", identify_by=["puid"])
    about = told(client, study, puid="ann")
    assert about["ending"]["code"] == "CODE-screened"
    join = client.post(f"/api/take/{study}/join", json={"parameters": {"puid": "ann"}, "consent": True})
    assert (join.status_code, join.json()["error"]["sentence"]) == (403, about["refused"])


def test_being_told_stores_nothing(client, store, study_with):
    study = study_with()
    for _ in range(3):
        told(client, study, puid="ann")
    assert store.participants.all(study) == []


def test_the_preview_has_every_ending_with_its_unfilled_address(researcher, study):
    researcher.patch(f"/api/studies/{study}", json={"settings": {"endings": CODES}})
    endings = researcher.get(f"/api/studies/{study}/preview").json()["endings"]
    assert [each["outcome"] for each in endings] == list(Ending)
    for each in endings:
        assert (each["code"], each["url"]) == (f"CODE-{each['outcome']}", CODES[each["outcome"]]["url"])
        assert each["text_html"].startswith("<p>")
