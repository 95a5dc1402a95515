"""Taking part over HTTP: what is acknowledged counts once, and the server decides what is asked and how long."""

import pytest

from erkle.store import Kind, Reason, Standing, State
from people import settings


class Somebody:
    """Who takes part, answer by answer."""

    def __init__(self, client, study, consent=True, **parameters):
        self.client, self.study = client, study
        self.turn = self.post("join", parameters=parameters, consent=consent).json()
        self.id = self.turn.get("participant")

    def post(self, what, **body):
        return self.client.post(f"/api/take/{self.study}/{what}", json=body)

    @property
    def question(self):
        return self.turn["questions"][0]

    def send(self, question=None, side="left", **changes):
        question = question or self.question
        body = {"participant": self.id, "token": question["token"], "choice": question[side]["id"], "response_ms": 800}
        return self.post("answer", **{**body, **changes})

    def answer(self, **options):
        reply = self.send(**options)
        assert reply.status_code == 200, reply.text
        self.turn = reply.json()
        return self.turn

    def answer_all(self, **options):
        while not self.turn["finished"]:
            self.answer(**options)
        return self.turn["finished"]


@pytest.fixture
def make(store):
    """An open study with other settings."""

    def make(things=("a", "b", "c", "d", "e", "f"), **changes):
        study = store.create_study("Letters", list(things), settings(**changes)).id
        store.change_state(study, State.OPEN)
        return study

    return make


FEW = {"limits": {"per_participant": 4}}


def kinds(store, study, person):
    return [entry.issued.kind for entry in store.ledger(study, person.id)]


def test_somebody_joins_practises_answers_and_gets_the_code(client, store, make):
    study = make(**FEW, endings={"completed": {"code": "DONE7", "url": "https://example.org/?cc=DONE7"}})
    ann = Somebody(client, study, PROLIFIC_PID="ann", STUDY_ID="x")
    assert ann.question["practice"]
    assert ann.turn["progress"] == {"done": 0, "total": 4}
    assert len(ann.turn["questions"]) == 2
    finished = ann.answer_all()
    assert finished == {
        "outcome": "completed",
        "code": "DONE7",
        "url": "https://example.org/?cc=DONE7",
        "thanks_html": "<p>Thank you.</p>\n",
    }
    assert kinds(store, study, ann)[0] == Kind.PRACTICE
    assert store.last(study) == 5
    assert store.participant(study, ann.id).standing == Standing.COMPLETED
    assert store.participant(study, ann.id).parameters == {"PROLIFIC_PID": "ann", "STUDY_ID": "x"}
    assert ann.post("resume", participant=ann.id).json()["finished"] == finished


def test_the_address_at_the_end_takes_parameters_of_the_link_along(client, make):
    url = "https://school.example.org/credit?token=1&survey_code={survey_code}"
    study = make(limits={"per_participant": 1}, endings={"completed": {"url": url}, "screened": {"url": url}})
    ann = Somebody(client, study, survey_code="7&x=//evil.example.org")
    assert ann.answer_all()["url"] == url.replace("{survey_code}", "7%26x%3D%2F%2Fevil.example.org")
    assert Somebody(client, study, consent=False).turn["finished"]["url"] == url.replace("{survey_code}", "")


def test_the_next_question_is_there_before_the_answer_and_nobody_is_asked_the_same_twice(client, store, make):
    ann = Somebody(client, make(limits={"per_participant": 12}), checks={"practice": 0})
    while not ann.turn["finished"]:
        following = ann.turn["questions"][1]["token"] if len(ann.turn["questions"]) > 1 else None
        ann.answer()
        if following:
            assert ann.question["token"] == following
    asked = [(e.issued.head, *sorted((e.issued.o1, e.issued.o2))) for e in store.ledger(ann.study, ann.id)]
    assert len(set(asked)) == len(asked) == 13


def test_a_retry_gets_the_same_acknowledgement_and_counts_once(client, store, study):
    ann = Somebody(client, study)
    question = ann.question
    first, again = ann.send(question).json(), ann.send(question).json()
    assert first["acknowledged"] == {"sequence": 1, "repeated": False}
    assert again["acknowledged"] == {"sequence": 1, "repeated": True}
    assert [q["token"] for q in again["questions"]] == [q["token"] for q in first["questions"]]
    assert store.last(study) == 1


def test_a_second_different_answer_is_refused_and_kept_with_the_reason(client, store, study):
    ann = Somebody(client, study)
    question = ann.question
    ann.send(question, side="left")
    refused = ann.send(question, side="right")
    assert refused.status_code == 409
    assert refused.json()["error"]["reason"] == Reason.ANSWERED
    assert len(refused.json()["questions"]) == 2
    assert [refusal.reason for refusal in store.refusals(study)] == [Reason.ANSWERED]
    assert store.last(study) == 1


def test_what_was_never_asked_or_asked_of_others_or_elsewhere_is_refused_and_recorded(client, store, study, make):
    ann, bob, other = Somebody(client, study), Somebody(client, study), Somebody(client, make())
    replies = [
        ann.send(token="x" * 32),
        ann.send(bob.question),
        ann.send(other.question),
        ann.send(choice=5 if 5 not in (ann.question["left"]["id"], ann.question["right"]["id"]) else 4),
        ann.send(participant="nobody"),
    ]
    assert [reply.status_code for reply in replies] == [409] * 5
    wanted = [Reason.UNKNOWN_TOKEN, Reason.OTHER_PARTICIPANT, Reason.OTHER_STUDY, Reason.OUT_OF_RANGE]
    assert [reply.json()["error"]["reason"] for reply in replies] == [*wanted, Reason.OTHER_PARTICIPANT]
    assert sorted(refusal.reason for refusal in store.refusals(study)) == sorted([*wanted, Reason.OTHER_PARTICIPANT])
    assert store.last(study) == 0


def test_bodies_that_make_no_sense_are_422(client, study):
    ann = Somebody(client, study)
    for changes in ({"choice": "1"}, {"choice": -1}, {"choice": 1.5}, {"token": 7}, {"more": 1}, {"response_ms": "x"}):
        assert ann.send(**changes).status_code == 422
    assert ann.send().status_code == 200


def test_unknown_studies_and_participants_are_404(client, study):
    assert client.get("/api/take/nowhere").status_code == 404
    assert client.post("/api/take/nowhere/join", json={"consent": True}).status_code == 404
    assert client.post(f"/api/take/{study}/resume", json={"participant": "nobody"}).status_code == 404


def test_an_answer_to_a_study_that_there_is_not_is_refused_and_kept(client, store, study):
    ann = Somebody(client, study)
    body = {"participant": ann.id, "token": ann.question["token"], "choice": ann.question["left"]["id"]}
    reply = client.post("/api/take/nowhere/answer", json=body)
    assert (reply.status_code, reply.json()["error"]["reason"]) == (409, Reason.OTHER_STUDY)
    assert [refusal.reason for refusal in store.refusals(None)] == [Reason.OTHER_STUDY]
    assert store.last(study) == 0


def test_who_does_not_consent_is_screened_and_nothing_is_kept(client, store, make):
    study = make(endings={"screened": {"code": "NO"}})
    bob = Somebody(client, study, consent=False, PROLIFIC_PID="bob")
    assert bob.turn["finished"]["outcome"] == "screened"
    assert bob.turn["finished"]["code"] == "NO"
    assert store.participants(study) == []


def test_who_comes_back_with_the_same_identity_goes_on(client, store, study):
    ann = Somebody(client, study, PROLIFIC_PID="ann")
    ann.answer()
    again = Somebody(client, study, PROLIFIC_PID="ann")
    assert again.id == ann.id
    assert [q["token"] for q in again.turn["questions"]] == [q["token"] for q in ann.turn["questions"]]
    assert Somebody(client, study, PROLIFIC_PID="bob").id != ann.id
    assert len(store.participants(study)) == 2


def test_after_a_reload_the_same_questions_are_open(client, study):
    ann = Somebody(client, study)
    ann.answer()
    resumed = ann.post("resume", participant=ann.id).json()
    assert resumed["questions"] == ann.turn["questions"]
    assert resumed["acknowledged"] is None


def test_a_full_study_sends_others_away_but_not_those_who_come_back(client, make):
    study = make(limits={"per_participant": 4, "participants": 1}, endings={"screened": {"code": "FULL"}})
    ann = Somebody(client, study, workerId="ann")
    assert Somebody(client, study, workerId="bob").turn["finished"]["code"] == "FULL"
    assert Somebody(client, study, workerId="ann").id == ann.id


def test_a_study_that_has_all_its_answers_asks_no_more(client, store, make):
    study = make(limits={"per_participant": 50, "answers": 3}, checks={"practice": 0})
    assert Somebody(client, study).answer_all()["outcome"] == "completed"
    assert 3 <= store.last(study) <= 4
    # Who comes only now has completed nothing.
    assert Somebody(client, study).turn["finished"]["outcome"] == "screened"


@pytest.mark.parametrize(("skips", "outcome"), [(2, "completed"), (3, "failed"), (4, "failed")])
def test_who_skips_more_than_half_has_not_completed(client, make, skips, outcome):
    ann = Somebody(client, make(**FEW, checks={"practice": 0}))
    for _ in range(skips):
        ann.turn = ann.post("skip", participant=ann.id, token=ann.question["token"]).json()
    if not ann.turn["finished"]:
        ann.answer_all()
    assert ann.turn["finished"]["outcome"] == outcome


def test_a_catch_question_that_is_skipped_was_not_answered_rightly(client, make):
    ann = Somebody(client, make(limits={"per_participant": 10}, checks=CATCH))
    while not ann.turn["finished"]:
        ann.turn = ann.post("skip", participant=ann.id, token=ann.question["token"]).json()
    assert ann.turn["finished"]["outcome"] == "failed"
    assert ann.turn["progress"]["done"] == 4


def test_what_was_not_answered_in_time_is_asked_again(client, store, make, monkeypatch):
    study = make(things=("a", "b", "c"), limits={"per_participant": 3, "lifetime_s": 10.0}, checks={"practice": 0})
    ann = Somebody(client, study)
    late = store._clock() + 20_000_000
    monkeypatch.setattr("erkle.service.taking.now", lambda: late)
    monkeypatch.setattr(store, "_clock", lambda: late)
    turn = ann.post("resume", participant=ann.id).json()
    assert len(turn["questions"]) == 2
    assert turn["questions"][0]["token"] != ann.question["token"]
    assert ann.send().json()["error"]["reason"] == Reason.EXPIRED


def test_what_was_acknowledged_is_acknowledged_again_after_exclusion_and_closing(client, store, study):
    ann = Somebody(client, study)
    question = ann.question
    told = ann.answer()["acknowledged"]
    store.exclude(study, ann.id)
    assert ann.send(question).json()["acknowledged"] == {**told, "repeated": True}
    store.include(study, ann.id)
    store.change_state(study, State.CLOSED)
    assert ann.send(question).json()["acknowledged"] == {**told, "repeated": True}


CATCH = {"practice": 0, "catch": [{"head": "a", "near": "b", "far": "c"}], "catch_every": 2, "fail_after": 2}


@pytest.mark.parametrize("attentive", [True, False])
def test_who_fails_the_catch_questions_fails(client, store, make, attentive):
    study = make(
        limits={"per_participant": 10}, checks=CATCH, endings={"completed": {"code": "YES"}, "failed": {"code": "NO"}}
    )
    ann = Somebody(client, study)
    while not ann.turn["finished"]:
        question = ann.question
        wanted = "b" if attentive else "c"
        side = "left" if question["left"]["name"] == wanted else "right"
        ann.answer(side=side)
    assert ann.turn["finished"]["code"] == ("YES" if attentive else "NO")
    if attentive:
        assert [kind == Kind.CATCH for kind in kinds(store, study, ann)] == [False, True] * 5


def test_repeated_questions_are_asked_with_the_sides_changed(client, store, make):
    study = make(limits={"per_participant": 30}, checks={"practice": 0, "repeat_share": 0.5})
    ann = Somebody(client, study)
    ann.answer_all()
    entries = [entry.issued for entry in store.ledger(study, ann.id)]
    repeated = [issued for issued in entries if issued.kind == Kind.REPEATED]
    assert repeated
    for again in repeated:
        [before, *_] = [e for e in entries if (e.head, e.o1, e.o2) == (again.head, again.o1, again.o2)]
        assert before.kind in (Kind.CHOSEN, Kind.HELD_OUT)


def test_sides_are_drawn(client, store, make):
    study = make(limits={"per_participant": 40}, checks={"practice": 0})
    ann = Somebody(client, study)
    ann.answer_all()
    left = [entry.issued.left == min(entry.issued.o1, entry.issued.o2) for entry in store.ledger(study, ann.id)]
    assert 5 < sum(left) < 35


def test_a_skipped_question_is_recorded_and_done(client, store, study):
    ann = Somebody(client, study)
    ann.answer()
    reply = ann.post("skip", participant=ann.id, token=ann.question["token"], reason="I cannot decide").json()
    assert reply["skipped"]
    assert reply["progress"]["done"] == 1
    assert [skip.reason for skip in store.skips(study)] == ["I cannot decide"]
    assert ann.send().status_code == 409


def test_where_skipping_is_not_allowed_it_is_refused(client, make):
    ann = Somebody(client, make(skipping={"allowed": False}))
    assert ann.post("skip", participant=ann.id, token=ann.question["token"]).status_code == 409


def test_answers_that_come_too_fast_are_told_and_count(client, store, make):
    ann = Somebody(client, make(checks={"too_fast_ms": 300}))
    assert ann.answer(response_ms=100)["too_fast"]
    assert not ann.answer(response_ms=301)["too_fast"]
    assert store.last(ann.study) == 2


@pytest.mark.parametrize("state", [State.PAUSED, State.CLOSED])
def test_a_study_that_is_not_open_takes_no_answers(client, store, study, state):
    ann = Somebody(client, study)
    store.change_state(study, state)
    assert ann.send().status_code == 409
    assert ann.post("resume", participant=ann.id).json()["error"]["reason"] == f"study-{state}"
    assert client.post(f"/api/take/{study}/join", json={"consent": True}).status_code == 409
    assert [refusal.reason for refusal in store.refusals(study)] == [Reason.NOT_OPEN]


def test_who_is_excluded_cannot_go_on(client, store, study):
    ann = Somebody(client, study)
    store.exclude(study, ann.id)
    assert ann.send().json()["error"]["reason"] == Reason.EXCLUDED
    assert ann.post("resume", participant=ann.id).status_code == 409
    store.include(study, ann.id)
    assert ann.send().status_code == 200


def test_when_all_questions_have_been_asked_it_is_enough(client, store, make):
    study = make(things=("a", "b", "c"), limits={"per_participant": 50}, checks={"practice": 0})
    assert Somebody(client, study).answer_all()["outcome"] == "completed"
    assert store.last(study) == 3


def test_what_somebody_reads_is_sanitised(client, make):
    study = make(texts={"consent": "Do you *agree*? <img src=x onerror=alert(1)>", "question": "Which?"})
    told = client.get(f"/api/take/{study}").json()
    assert "<em>agree</em>" in told["consent_html"]
    assert "<img" not in told["consent_html"]
    assert told["n_questions"] == 50
    assert told["state"] == "open"


def test_questions_do_not_tell_why_they_are_asked(client, make):
    ann = Somebody(client, make(checks=CATCH))
    assert set(ann.question) == {"token", "practice", "head", "left", "right", "expires_at"}


def test_a_preview_is_put_to_nobody(researcher, store, study):
    questions = researcher.get(f"/api/studies/{study}/preview").json()["questions"]
    assert len(questions) >= 3
    assert {question["token"] for question in questions} == {""}
    assert store.counts(study).questions == 0


def test_what_is_deep_or_odd_costs_no_answer_and_breaks_no_table(client, store, researcher, study):
    deep = {"a": 1}
    for _ in range(450):
        deep = {"a": [deep]} if len(str(deep)) % 2 else {"a": deep}
    reply = client.post(f"/api/take/{study}/join", json={"parameters": {"x": deep}, "consent": True})
    turn, [question, _] = reply.json(), reply.json()["questions"]
    body = {"participant": turn["participant"], "token": question["token"], "choice": question["left"]["id"]}
    for client_tells in ({"a": r"\u0000"}, {"a": deep}):
        # The first of them counts, and the second is the same answer again.
        sent = client.post(f"/api/take/{study}/answer", json={**body, "client": client_tells})
        assert sent.status_code == 200, sent.text
    assert [answer.client for answer in store.log(study)] == [{"a": r"\u0000"}]
    assert researcher.get(f"/api/studies/{study}/participants").status_code == 200
    data = researcher.get(f"/api/studies/{study}/export/bundle.zip").content
    sent = researcher.post("/api/import", files={"file": ("bundle.zip", data)})
    assert sent.status_code == 201, sent.text


def test_when_the_database_file_is_removed_nothing_is_acknowledged_and_the_health_says_so(client, configuration, study):
    somebody = Somebody(client, study)
    somebody.answer()
    (configuration.data / "erkle.db").unlink()
    reply = somebody.send()
    assert (reply.status_code, reply.json()["error"]["reason"]) == (503, "database")
    assert client.get("/health").status_code == 503
