"""Studies through the real application: they are created, changed, opened and deleted by their owner only."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from erkle.store import State
from erkle.store.studies import Studies
from people import Somebody, missing

THINGS = ["Paris", "Lyon", "Madrid", "Rome"]
EVIL = "<script>alert(1)</script>"


def create(client, **changes):
    return client.post("/api/studies", json={"title": "Cities", "objects": THINGS, **changes})


def test_a_study_is_created_shown_listed_and_deleted(researcher):
    created = create(researcher, settings={"holdout": 0.2})
    assert created.status_code == 201
    study = created.json()
    assert study["state"] == "draft"
    assert study["n_objects"] == 4
    assert study["link"] == f"/s/{study['id']}"
    assert study["settings"]["holdout"] == 0.2
    assert study["settings"]["limits"]["per_participant"] == 50
    assert researcher.get(f"/api/studies/{study['id']}").json() == study
    [listed] = researcher.get("/api/studies").json()
    shared = ("id", "title", "state", "n_objects", "created_at", "link")
    assert {key: listed[key] for key in shared} == {key: study[key] for key in shared}
    assert (listed["answers"], listed["participants"], listed["most_answers"]) == (0, 0, None)
    assert researcher.delete(f"/api/studies/{study['id']}").status_code == 204
    assert researcher.get(f"/api/studies/{study['id']}").status_code == 404
    assert researcher.get("/api/studies").json() == []


def test_objects_come_back_with_their_texts(researcher):
    study = create(researcher, objects=["a", {"name": "b", "text": "the second"}, "c"]).json()["id"]
    things = researcher.get(f"/api/studies/{study}/objects").json()
    assert [(thing["id"], thing["name"], thing["text"]) for thing in things] == [
        (0, "a", None),
        (1, "b", "the second"),
        (2, "c", None),
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"settings": {"holdout": 1.5}}, ["holdout", "1.5", "0 to 1"]),
        ({"settings": {"hold_out": 0.5}}, ["hold_out", "holdout?"]),
        (
            {"settings": {"checks": {"catch": [{"anchor": "Paris", "near": "Oslo", "far": "Rome"}]}}},
            ["checks.catch[0].near", "'Oslo'"],
        ),
        ({"objects": ["a", "a", "b"]}, ["'a'", "objects[0]"]),
        ({"objects": ["a", "  ", "b"]}, ["'  '"]),
        ({"objects": ["a", "b"]}, ["objects"]),
        ({"title": ""}, ["title"]),
        ({"colour": 1}, ["colour"]),
    ],
)
def test_an_invalid_study_is_refused_and_nothing_is_created(researcher, changes, words):
    answer = create(researcher, **changes)
    assert answer.status_code == 422
    assert missing(answer.json()["error"]["sentence"], words) == []
    assert researcher.get("/api/studies").json() == []


def test_studies_of_others_are_not_found(researcher, stranger, admin, draft):
    for method, path, body in [
        ("GET", "", None),
        ("GET", "/objects", None),
        ("GET", "/preview", None),
        ("PATCH", "", {"title": "Mine"}),
        ("POST", "/state", {"state": "open"}),
        ("DELETE", "", None),
    ]:
        answer = stranger.request(method, f"/api/studies/{draft}{path}", json=body)
        assert answer.status_code == 404, path
    assert stranger.get("/api/studies").json() == []
    assert [study["id"] for study in admin.get("/api/studies").json()] == [draft]
    assert researcher.get(f"/api/studies/{draft}").json()["title"] == "Cities"


def test_changes_need_a_session_and_its_csrf_token(client, researcher, draft):
    assert client.get("/api/studies").status_code == 401
    assert create(client).status_code == 401
    assert client.post("/api/studies/upload", files={"files": ("a.png", b"x")}).status_code == 401
    del researcher.headers["X-CSRF-Token"]
    assert create(researcher).status_code == 403
    assert researcher.delete(f"/api/studies/{draft}").status_code == 403
    assert researcher.patch(f"/api/studies/{draft}", json={"title": "x"}).status_code == 403
    assert researcher.get(f"/api/studies/{draft}").json()["title"] == "Cities"


def test_a_study_that_is_deleted_while_studies_are_listed_hides_no_other(researcher, store, monkeypatch):
    kept, gone = (create(researcher).json()["id"] for _ in range(2))
    listed = store.studies.all()
    researcher.delete(f"/api/studies/{gone}")
    monkeypatch.setattr(Studies, "all", lambda _: listed)
    assert [study["id"] for study in researcher.get("/api/studies").json()] == [kept]


def test_any_setting_of_a_draft_can_change_and_the_others_stay(researcher, draft):
    changes = {"strategy": "random", "texts": {"consent": "Yes?"}}
    answer = researcher.patch(f"/api/studies/{draft}", json={"title": "Towns", "settings": changes}).json()
    assert answer["title"] == "Towns"
    assert answer["settings"]["strategy"] == "random"
    assert answer["settings"]["texts"]["consent"] == "Yes?"
    assert answer["settings"]["texts"]["question"] == "Which of the two is more like this one?"
    whole = researcher.patch(f"/api/studies/{draft}", json={"settings": answer["settings"]})
    assert whole.json() == answer


def test_an_open_study_can_change_only_what_keeps_its_answers_valid(researcher, draft):
    assert researcher.post(f"/api/studies/{draft}/state", json={"state": "open"}).json()["state"] == "open"
    refused = researcher.patch(f"/api/studies/{draft}", json={"settings": {"strategy": "random", "holdout": 0.5}})
    assert refused.status_code == 409
    assert missing(refused.json()["error"]["sentence"], ["open", "strategy and holdout"]) == []
    same = {"strategy": "adaptive", "target_error": 0.2, "limits": {"answers": 100}}
    changed = researcher.patch(f"/api/studies/{draft}", json={"settings": same}).json()["settings"]
    assert (changed["target_error"], changed["limits"]["answers"]) == (0.2, 100)


def test_an_invalid_change_changes_nothing(researcher, draft):
    before = researcher.get(f"/api/studies/{draft}").json()
    for settings in ({"holdout": 2}, {"texts": 5}, {"texts": {"consents": ""}}, {"checks": {"catch": [{}]}}):
        assert researcher.patch(f"/api/studies/{draft}", json={"settings": settings}).status_code == 422
    assert researcher.get(f"/api/studies/{draft}").json() == before


def test_states_follow_each_other(researcher, draft):
    path = f"/api/studies/{draft}/state"
    assert researcher.post(path, json={"state": "paused"}).status_code == 409
    for state in ("open", "paused", "open", "closed"):
        assert researcher.post(path, json={"state": state}).json()["state"] == state
    assert researcher.post(path, json={"state": "open"}).status_code == 409
    assert researcher.post(path, json={"state": "ajar"}).status_code == 422


def test_a_study_with_invalid_settings_is_not_opened(researcher, store, draft):
    wrong = {"checks": {"catch": [{"anchor": "Paris", "near": "Lyon", "far": "Oslo"}]}}
    store.studies.revise(draft, lambda *_: (None, wrong))
    answer = researcher.post(f"/api/studies/{draft}/state", json={"state": "open"})
    assert answer.status_code == 422
    assert missing(answer.json()["error"]["sentence"], ["checks.catch[0].far", "'Oslo'"]) == []
    assert store.studies.get(draft).state == State.DRAFT


def test_a_preview_asks_questions_and_records_nothing(researcher, store, draft):
    questions = researcher.get(f"/api/studies/{draft}/preview").json()["questions"]
    assert questions
    assert all(question["token"] == "" for question in questions)
    assert all(len({question[part]["id"] for part in ("anchor", "left", "right")}) == 3 for question in questions)
    assert store.studies.counts(draft).answers == 0
    assert store.participants.all(draft) == []


def test_scripts_in_names_are_only_text(researcher):
    study = create(researcher, title=EVIL, objects=[EVIL, "b", "c"]).json()["id"]
    answer = researcher.get(f"/api/studies/{study}/objects")
    assert answer.json()[0]["name"] == EVIL
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


HALF = "\ud800"


@pytest.mark.parametrize(
    "body",
    [
        {"title": HALF, "objects": THINGS},
        {"title": "x\0y", "objects": THINGS},
        {"title": "x", "objects": [HALF, "b", "c"]},
        {"title": "x", "objects": ["a\0", "b", "c"]},
        {"title": "x", "objects": [{"name": "a", "text": HALF}, "b", "c"]},
        {"title": "x", "objects": THINGS, "settings": {HALF: 1}},
        {"title": "x", "objects": THINGS, "settings": {"a\0b\n": 1}},
        {"title": "x", "objects": THINGS, "settings": {"texts": {"consent": HALF}}},
        {"title": "x", "objects": THINGS, "settings": {"texts": {"consent": "\0"}}},
        {"title": "x", "objects": THINGS, "settings": {"strategy": HALF}},
        {"title": "x", "objects": THINGS, "settings": {"identify_by": ["\0"]}},
        {"title": "x", "objects": THINGS, "settings": {"holdout": 1e999}},
        {"title": "x", "objects": THINGS, "settings": {"limits": {"answers": 10**4000}}},
        {"title": "x", "objects": THINGS, "settings": {"": 1, "title": "y"}},
        {"title": "x", "objects": THINGS, HALF: 1},
    ],
)
def test_invalid_texts_and_numbers_are_refused_everywhere(researcher, body):
    text = json.dumps(body)
    kind = {"Content-Type": "application/json"}
    assert researcher.post("/api/studies", content=text, headers=kind).status_code in (400, 422)
    sent = researcher.post("/api/studies/upload", data={"spec": text})
    assert sent.status_code in (400, 422)
    assert sent.json()["error"]["sentence"]
    assert researcher.get("/api/studies").json() == []


def test_a_study_with_participants_can_be_deleted(researcher, client, study):
    reply = client.post(f"/api/take/{study}/join", json={"parameters": {}, "consent": True}).json()
    asked = reply["questions"][0]
    answer = {"participant": reply["participant"], "token": asked["token"], "choice": asked["left"]["id"]}
    assert client.post(f"/api/take/{study}/answer", json=answer).status_code == 200
    assert researcher.get(f"/api/studies/{study}/live").json()["state"] == "open"
    assert researcher.delete(f"/api/studies/{study}").status_code == 204
    assert researcher.get(f"/api/studies/{study}/live").status_code == 404
    assert client.get(f"/api/take/{study}").status_code == 404
    assert client.post(f"/api/take/{study}/answer", json=answer).status_code in (404, 409)


def test_simultaneous_changes_are_all_made(researcher, draft):
    texts = ["question", "consent", "instructions"] * 5

    def change(number):
        body = {"settings": {"texts": {texts[number]: f"text {number}"}}}
        return researcher.patch(f"/api/studies/{draft}", json=body).status_code

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(change, range(len(texts)))) == {200}
    kept = researcher.get(f"/api/studies/{draft}").json()["settings"]["texts"]
    assert all(kept[name].startswith("text ") for name in texts)


def test_a_study_that_is_opened_during_a_change_does_not_change(researcher, store, draft, monkeypatch):
    revise = store.studies.revise

    def opened_first(study, revision):
        store.studies.change_state(study, State.OPEN)
        return revise(study, revision)

    monkeypatch.setattr(store.studies, "revise", opened_first)
    before = store.studies.get(draft).settings
    answer = researcher.patch(f"/api/studies/{draft}", json={"settings": {"holdout": 0.5}})
    assert (answer.status_code, store.studies.get(draft).settings) == (409, before)


def test_a_study_is_listed_with_its_first_objects_and_how_far_it_is(researcher, client, store):
    most = {"limits": {"answers": 40, "participants": 8}, "checks": {"practice": 0}}
    study = create(researcher, objects=[f"object {number}" for number in range(9)], settings=most).json()["id"]
    store.studies.change_state(study, State.OPEN)
    Somebody(client, study).answer()
    [listed] = researcher.get("/api/studies").json()
    assert (listed["most_answers"], listed["most_participants"]) == (40, 8)
    assert (listed["answers"], listed["participants"], listed["active_participants"]) == (1, 1, 1)
    assert [each["name"] for each in listed["examples"]] == [f"object {number}" for number in range(6)]


def test_a_new_study_has_the_default_settings(researcher, draft):
    assert researcher.get("/api/studies/defaults").json() == researcher.get(f"/api/studies/{draft}").json()["settings"]


def test_whoever_stops_a_study_decides_what_happens_to_those_who_have_not_finished(researcher, store, draft):
    path = f"/api/studies/{draft}/state"
    researcher.post(path, json={"state": "open"})
    assert researcher.post(path, json={"state": "paused"}).json()["settings"]["unfinished"]["stopped"] == "finish"
    changed = researcher.post(path, json={"state": "closed", "stopped": "complete"}).json()
    assert (changed["state"], changed["settings"]["unfinished"]["stopped"]) == ("closed", "complete")
    assert researcher.post(path, json={"state": "closed", "stopped": "vanish"}).status_code == 422
    # A refused change of the state changes no setting either.
    assert researcher.post(path, json={"state": "open", "stopped": "finish"}).status_code == 409
    assert store.studies.get(draft).settings["unfinished"]["stopped"] == "complete"
