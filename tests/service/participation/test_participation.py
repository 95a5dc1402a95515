"""Taking part over HTTP: an acknowledged answer counts exactly once, and the server decides what is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle.service.participation.endings import filled
from erkle.store import Kind, Reason, Standing, State, limits
from erkle.store.sanitising import json_bytes
from people import Somebody
from refusals import refusals


def test_a_participant_joins_practises_answers_and_gets_the_code(client, store, make):
    study = make(
        limits={"per_participant": 4}, endings={"completed": {"code": "DONE7", "url": "https://example.org/?cc=DONE7"}}
    )
    ann = Somebody(client, study, PROLIFIC_PID="ann", STUDY_ID="x")
    assert ann.question["practice"]
    assert ann.reply["progress"] == {"done": 0, "total": 4}
    assert len(ann.reply["questions"]) == 2
    finished = ann.answer_all()
    assert finished == {
        "outcome": "completed",
        "text_html": "<p>Thank you for taking part.</p>\n",
        "code": "DONE7",
        "url": "https://example.org/?cc=DONE7",
    }
    assert store.questions.ledger(study, ann.id)[0].issued.kind == Kind.PRACTICE
    assert store.answers.last(study) == 5
    found = store.participants.get(study, ann.id)
    assert (found.state, found.excluded) == (Standing.COMPLETED, False)
    assert store.participants.get(study, ann.id).parameters == {"PROLIFIC_PID": "ann", "STUDY_ID": "x"}
    assert ann.post("resume", participant=ann.id).json()["finished"] == finished


def test_the_url_of_an_ending_is_filled_with_parameters_of_the_link(client, make):
    url = "https://school.example.org/credit?token=1&survey_code={survey_code}"
    study = make(limits={"per_participant": 1}, endings={"completed": {"url": url}, "declined": {"url": url}})
    ann = Somebody(client, study, survey_code="7&x=//evil.example.org")
    right = url.replace("{survey_code}", "7%26x%3D%2F%2Fevil.example.org")
    assert ann.answer_all()["url"] == right
    assert ann.post("resume", participant=ann.id, parameters=ann.parameters).json()["finished"]["url"] == right
    assert Somebody(client, study, consent=False).reply["finished"]["url"] == url.replace("{survey_code}", "")


@pytest.mark.parametrize("consent", [True, False])
@pytest.mark.parametrize("value", ['"\\ud800"', '"a\\u0000b"', "1" * 4000, "null", '{"\\udfff": ["\\ud800"]}'])
def test_no_text_in_a_link_breaks_an_ending(client, make, value, consent):
    url = "https://school.example.org/credit?code={code}"
    study = make(limits={"participants": 1}, endings={"screened": {"url": url}})
    Somebody(client, study)
    body = f'{{"parameters": {{"code": {value}, "PROLIFIC_PID": {value}}}, "consent": {str(consent).lower()}}}'
    answer = client.post(f"/api/take/{study}/join", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200
    assert answer.json()["finished"]["url"].isascii()


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec=None)), inner),
)


@given(_json)
def test_any_value_in_a_link_gives_a_valid_url(value):
    url = filled("https://example.org/?code={code}", {"code": value})
    assert url.isascii()
    assert url.isprintable()


def test_the_next_question_is_issued_in_advance_and_no_question_is_asked_twice(client, store, make):
    ann = Somebody(client, make(limits={"per_participant": 12}, checks={"practice": 0}))
    while not ann.reply["finished"]:
        following = ann.reply["questions"][1]["token"] if len(ann.reply["questions"]) > 1 else None
        ann.answer()
        if following:
            assert ann.question["token"] == following
    asked = [
        (e.issued.anchor, *sorted((e.issued.first, e.issued.second))) for e in store.questions.ledger(ann.study, ann.id)
    ]
    assert len(set(asked)) == len(asked) == 12


def test_a_retry_gets_the_same_acknowledgement_and_counts_once(client, store, study):
    ann = Somebody(client, study)
    question = ann.question
    first, again = ann.send(question).json(), ann.send(question).json()
    assert first["acknowledged"] == {"sequence": 1, "repeated": False}
    assert again["acknowledged"] == {"sequence": 1, "repeated": True}
    assert [q["token"] for q in again["questions"]] == [q["token"] for q in first["questions"]]
    assert store.answers.last(study) == 1


def test_a_second_different_answer_is_refused_and_the_refusal_is_saved(client, store, study):
    ann = Somebody(client, study)
    question = ann.question
    ann.send(question, side="left")
    refused = ann.send(question, side="right")
    assert refused.status_code == 409
    assert refused.json()["error"]["reason"] == Reason.ANSWERED
    assert len(refused.json()["questions"]) == 2
    assert [refusal.reason for refusal in refusals(store, study)] == [Reason.ANSWERED]
    assert store.answers.last(study) == 1


def test_answers_to_questions_that_the_participant_was_not_asked_are_refused(client, store, study, make):
    ann, bob, other = Somebody(client, study), Somebody(client, study), Somebody(client, make())
    replies = [
        ann.send(token="x" * 32),
        ann.send(bob.question),
        ann.send(other.question),
        ann.send(choice=min({0, 1, 2} - {ann.question["left"]["id"], ann.question["right"]["id"]})),
        ann.send(participant="nobody"),
    ]
    assert [reply.status_code for reply in replies] == [409] * 5
    wanted = [Reason.UNKNOWN_TOKEN, Reason.OTHER_PARTICIPANT, Reason.OTHER_STUDY, Reason.OUT_OF_RANGE]
    assert [reply.json()["error"]["reason"] for reply in replies] == [*wanted, Reason.OTHER_PARTICIPANT]
    assert sorted(refusal.reason for refusal in refusals(store, study)) == sorted([*wanted, Reason.OTHER_PARTICIPANT])
    assert store.answers.last(study) == 0


def test_invalid_bodies_are_422(client, study):
    ann = Somebody(client, study)
    for changes in ({"choice": "1"}, {"choice": -1}, {"choice": 1.5}, {"token": 7}, {"more": 1}):
        assert ann.send(**changes).status_code == 422
    assert ann.send().status_code == 200


ODD = [{"client": value} for value in (None, [1], "x", 7, {"x": "🙂" * 5000}, {"x": {"y": "\0"}})] + [
    {"response_ms": value} for value in (-1, 10**15, "soon", 1.5, None)
]


@pytest.mark.parametrize(
    "odd", ODD, ids=[f"{name}={str(value)[:20]!a}" for each in ODD for name, value in each.items()]
)
def test_an_odd_client_or_response_time_does_not_cost_the_answer(client, store, study, odd):
    ann = Somebody(client, study)
    assert ann.send(**odd).json()["acknowledged"] == {"sequence": 1, "repeated": False}
    [answer] = store.answers.log(study)
    assert json_bytes(answer.client) <= limits.CLIENT
    assert answer.response_ms == (800 if "client" in odd else None)


def test_a_long_reason_does_not_cost_the_skip(client, store, study):
    ann = Somebody(client, study)
    assert ann.post("skip", participant=ann.id, token=ann.question["token"], reason="🙂" * 999).json()["skipped"]
    assert [len(skip.reason) for skip in store.answers.skips(study)] == [limits.SKIP_REASON // 4]


def test_unknown_studies_and_participants_are_404(client, study):
    assert client.get("/api/take/nowhere").status_code == 404
    assert client.post("/api/take/nowhere/join", json={"consent": True}).status_code == 404
    assert client.post(f"/api/take/{study}/resume", json={"participant": "nobody"}).status_code == 404


def test_an_answer_to_an_unknown_study_is_refused_and_the_refusal_is_saved(client, store, study):
    ann = Somebody(client, study)
    body = {"participant": ann.id, "token": ann.question["token"], "choice": ann.question["left"]["id"]}
    reply = client.post("/api/take/nowhere/answer", json=body)
    assert (reply.status_code, reply.json()["error"]["reason"]) == (409, Reason.OTHER_STUDY)
    assert [refusal.reason for refusal in refusals(store, None)] == [Reason.OTHER_STUDY]
    assert store.answers.last(study) == 0


def test_a_participant_who_returns_with_the_same_identity_continues(client, store, study):
    ann = Somebody(client, study, PROLIFIC_PID="ann")
    ann.answer()
    again = Somebody(client, study, PROLIFIC_PID="ann")
    assert again.id == ann.id
    assert [q["token"] for q in again.reply["questions"]] == [q["token"] for q in ann.reply["questions"]]
    assert Somebody(client, study, PROLIFIC_PID="bob").id != ann.id
    assert len(store.participants.all(study)) == 2


def test_the_same_questions_are_open_after_a_reload(client, study):
    ann = Somebody(client, study)
    ann.answer()
    resumed = ann.post("resume", participant=ann.id).json()
    assert resumed["questions"] == ann.reply["questions"]
    assert resumed["acknowledged"] is None


def test_expired_questions_are_asked_again(client, store, make, monkeypatch):
    study = make(things=("a", "b", "c"), limits={"per_participant": 3, "lifetime_s": 10.0}, checks={"practice": 0})
    ann = Somebody(client, study)
    late = store._clock() + 20_000_000
    monkeypatch.setattr("erkle.service.participation.advancing.now", lambda: late)
    monkeypatch.setattr(store, "_clock", lambda: late)
    reply = ann.post("resume", participant=ann.id).json()
    assert len(reply["questions"]) == 2
    assert reply["questions"][0]["token"] != ann.question["token"]
    assert ann.send().json()["error"]["reason"] == Reason.EXPIRED


def test_after_a_jump_of_the_clock_people_get_other_questions_and_lose_nothing(client, store, make, monkeypatch):
    study = make(limits={"per_participant": 6}, checks={"practice": 0}, endings={"completed": {"code": "DONE"}})
    ann = Somebody(client, study)
    ann.answer()
    ann.answer()
    before = ann.question
    late = store._clock() + 2 * 3600 * 1_000_000
    monkeypatch.setattr("erkle.service.participation.advancing.now", lambda: late)
    monkeypatch.setattr(store, "_clock", lambda: late)
    # What the page does: it drops the answer that was refused, and shows the questions in the same reply.
    refused = ann.send()
    assert (refused.status_code, refused.json()["error"]["reason"]) == (409, Reason.EXPIRED)
    ann.reply = refused.json()
    assert ann.reply["progress"] == {"done": 2, "total": 6}
    assert len(ann.reply["questions"]) == 2
    assert before["token"] not in [question["token"] for question in ann.reply["questions"]]
    assert ann.answer_all()["code"] == "DONE"
    assert store.answers.last(study) == 6
    found = store.participants.get(study, ann.id)
    assert (found.state, found.excluded) == (Standing.COMPLETED, False)


def test_an_answer_is_acknowledged_again_even_after_exclusion_or_closing(client, store, study):
    ann = Somebody(client, study)
    question = ann.question
    acknowledged = ann.answer()["acknowledged"]
    store.participants.exclude(study, [ann.id])
    assert ann.send(question).json()["acknowledged"] == {**acknowledged, "repeated": True}
    store.participants.exclude(study, [ann.id], False)
    store.studies.change_state(study, State.CLOSED)
    assert ann.send(question).json()["acknowledged"] == {**acknowledged, "repeated": True}


def test_texts_for_participants_are_sanitised(client, make):
    study = make(texts={"consent": "Do you *agree*? <img src=x onerror=alert(1)>", "question": "Which?"})
    info = client.get(f"/api/take/{study}").json()
    assert "<em>agree</em>" in info["consent_html"]
    assert "<img" not in info["consent_html"]
    assert info["n_questions"] == 50
    assert info["state"] == "open"


def test_a_preview_issues_no_questions(researcher, store, study):
    questions = researcher.get(f"/api/studies/{study}/preview").json()["questions"]
    assert len(questions) >= 3
    assert {question["token"] for question in questions} == {""}
    assert store.studies.counts(study).questions == 0


def test_deep_and_odd_parameters_neither_lose_an_answer_nor_break_an_export(client, store, researcher, study):
    deep = {"a": 1}
    for _ in range(450):
        deep = {"a": [deep]} if len(str(deep)) % 2 else {"a": deep}
    reply = client.post(f"/api/take/{study}/join", json={"parameters": {"x": deep}, "consent": True})
    reply, [question, _] = reply.json(), reply.json()["questions"]
    body = {"participant": reply["participant"], "token": question["token"], "choice": question["left"]["id"]}
    for reported in ({"a": r"\u0000"}, {"a": deep}):
        # The first answer counts; the second repeats it.
        sent = client.post(f"/api/take/{study}/answer", json={**body, "client": reported})
        assert sent.status_code == 200, sent.text
    assert [answer.client for answer in store.answers.log(study)] == [{"a": r"\u0000"}]
    assert researcher.get(f"/api/studies/{study}/participants").status_code == 200
    data = researcher.get(f"/api/studies/{study}/export/bundle.zip").content
    sent = researcher.post("/api/import", files={"file": ("bundle.zip", data)})
    assert sent.status_code == 201, sent.text


def test_without_its_database_the_server_acknowledges_nothing_and_is_unhealthy(client, configuration, study):
    somebody = Somebody(client, study)
    somebody.answer()
    (configuration.data / "erkle.db").unlink()
    reply = somebody.send()
    assert (reply.status_code, reply.json()["error"]["reason"]) == (503, "database")
    assert client.get("/health").status_code == 503
