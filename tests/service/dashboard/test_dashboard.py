"""The dashboard follows the log: numbers, curves, the map, participants, and disputed questions."""

import json
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

from erkle.answer_models import AnswerModel, Lapse, in_words
from erkle.service.accounts.sessions import COOKIE
from erkle.service.learning import View
from erkle.service.learning.aligned_map import aligned_map
from erkle.service.participation.asking import History
from erkle.service.participation.prepared_study import PreparedStudy
from erkle.store import Imported, Kind, State, Store
from people import PASSWORD, Somebody, missing, reason, settings

N = 10
N_ANSWERS = 200
# Further answers, after which it is known how people answer.
N_MORE = 1300
POSITIONS = np.random.default_rng(3).normal(size=(N, 2))


def answers(n, seed=0, participant=None, wrong=0.0):
    """Answers of three participants, or of one; a share of them is wrong, and a quarter is held out."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        anchor, near, far = (int(x) for x in rng.choice(N, 3, replace=False))
        swap = np.linalg.norm(POSITIONS[anchor] - POSITIONS[near]) > np.linalg.norm(POSITIONS[anchor] - POSITIONS[far])
        if swap != (rng.random() < wrong):
            near, far = far, near
        kind = Kind.HELD_OUT if i % 4 == 0 else Kind.CHOSEN
        found.append(Imported(participant or f"p{i % 3}", anchor, near, far, kind=kind, response_ms=700 + i))
    return found


@pytest.fixture
def owner(researcher):
    """The id of the researcher's account."""
    return researcher.get("/api/me").json()["account"]["id"]


@pytest.fixture
def watched(store, owner, monkeypatch):
    """The id of a study with answers that the researcher owns."""
    monkeypatch.setattr("erkle.service.learning.learning.POLL", 0.01)
    checks = {"catch": [{"anchor": "t0", "near": "t1", "far": "t2"}], "too_fast_ms": 200}
    study = store.studies.create("Ten", [f"t{i}" for i in range(N)], settings(checks=checks), owner=owner).id
    store.studies.change_state(study, State.OPEN)
    store.imports.append(study, answers(N_ANSWERS))
    return study


@pytest.fixture
def learned(client):
    """Wait until a study has learned ``n_learned`` answers and read ``n_read``: ``learned(study, 400)``."""

    def learned(study, n_learned, n_read=None):
        learning = client.app.state.runtimes.of(study).learning
        end = time.monotonic() + 120
        while learning.view is None or learning.view.n_learned != n_learned or len(learning.columns) < (n_read or 0):
            assert time.monotonic() < end
            time.sleep(0.002)

    return learned


def live(researcher, study):
    return researcher.get(f"/api/studies/{study}/live").json()


def test_the_dashboard_has_counts_a_map_curves_and_a_forecast(researcher, watched, learned):
    learned(watched, N_ANSWERS)
    seen = live(researcher, watched)
    assert seen["answers"] == N_ANSWERS
    assert seen["participants"] == 3
    assert sum(seen["per_minute"]) == N_ANSWERS
    assert seen["learner"]["ready"]
    assert seen["learner"]["sequence"] == N_ANSWERS
    assert missing(seen["learner"]["chosen"], ["rank", "ridge", "answer model"]) == []
    assert np.isfinite(seen["map"]["points"]).all()
    assert len(seen["map"]["points"]) == N
    assert sum(point["answers"] for point in seen["curves"]["prequential"]) == N_ANSWERS
    assert sum(point["answers"] for point in seen["curves"]["held_out"]) == N_ANSWERS / 4
    stopping = seen["stopping"]
    assert (stopping["kind"], stopping["target"]) == ("forecast", 0.1)
    assert missing(stopping["sentence"], [f"{100 * stopping['error']:.1f} %"]) == []
    assert 0 < stopping["error_low"] < stopping["error"] < stopping["error_high"] < 0.5
    n = 3 * N_ANSWERS // 4
    imported = {"strategy": "imported", "fallback": None, "kind": "chosen", "asked": n, "answered": n}
    assert imported in seen["strategies"]


def test_below_five_answers_per_object_it_is_too_early_for_an_error(researcher, store, owner, learned):
    study = store.studies.create("Ten", [f"t{i}" for i in range(N)], settings(), owner=owner).id
    store.studies.change_state(study, State.OPEN)
    store.imports.append(study, answers(40))
    learned(study, 40)
    told = live(researcher, study)["stopping"]
    assert told.pop("sentence")
    counts = {"n_learned": 40, "least_learned": 50, "n_predicted": 10, "least_predicted": 30}
    assert told == {"kind": "too-early", "target": 0.1, **counts}


def test_the_map_agrees_with_the_answers_and_does_not_jump(researcher, store, watched, learned):
    learned(watched, N_ANSWERS)
    before = np.array(live(researcher, watched)["map"]["points"])
    T = np.array([(a.anchor, a.near, a.far) for a in answers(1000, seed=9)])
    anchor, near, far = (before[ids] for ids in T.T)
    assert np.mean(((anchor - near) ** 2).sum(axis=1) < ((anchor - far) ** 2).sum(axis=1)) > 0.85
    store.imports.append(watched, answers(20, seed=5))
    learned(watched, N_ANSWERS + 20)
    after = np.array(live(researcher, watched)["map"]["points"])
    assert 0 < np.linalg.norm(after - before) / np.linalg.norm(before) < 0.3


def test_axes_of_almost_equal_length_do_not_swap():
    shape = np.random.default_rng(0).normal(size=(30, 3)) @ np.diag([2.0, 1.0, 1.0])
    view = View(**dict.fromkeys(View._fields))
    views = [view._replace(places=shape * scale) for scale in ([1, 1.02, 0.98], [1, 0.98, 1.02], [1, 0.2, 2])]
    before = aligned_map(views[0], None)
    assert np.linalg.norm(aligned_map(views[1], before) - before) < 0.1 * np.linalg.norm(before)
    # A much longer axis is always shown.
    after = aligned_map(views[2], before)
    assert np.linalg.norm(after - before) > 0.3 * np.linalg.norm(before)


def watch(store, url):
    """Create a study, and watch it: (study, session of its owner, stream of events)."""
    account = store.accounts.create("ann", PASSWORD)
    study = store.studies.create("Ten", [f"t{i}" for i in range(N)], settings(), owner=account.id).id
    store.studies.change_state(study, State.OPEN)
    session = store.sessions.open(account.id, 3600.0).token
    request = urllib.request.Request(f"{url}/api/studies/{study}/events", headers={"Cookie": f"{COOKIE}={session}"})
    return study, session, urllib.request.urlopen(request, timeout=20)


def test_events_are_sent_on_changes_until_the_researcher_signs_out(server, monkeypatch):
    monkeypatch.setattr("erkle.service.dashboard.routes.POLL", 0.01)
    study, session, stream = watch(server.store, server.url)
    with stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert next_event(stream)["answers"] == 0
        server.store.imports.append(study, answers(30))
        while (seen := next_event(stream))["learned"] < 30:
            pass
        assert seen["map"]["sequence"] == 30
        server.store.sessions.close(session)
        assert all(b'"answers":30' in line for line in stream if line.startswith(b"data: "))


@pytest.mark.parametrize("limit", ["_PER_ACCOUNT", "_PER_ADDRESS"])
def test_there_are_few_event_streams_and_each_that_ends_makes_room(server, monkeypatch, limit):
    monkeypatch.setattr("erkle.service.dashboard.routes.POLL", 0.01)
    monkeypatch.setattr(f"erkle.service.dashboard.streams.{limit}", 2)
    study, session, first = watch(server.store, server.url)

    def another():
        address = f"{server.url}/api/studies/{study}/events"
        return urllib.request.urlopen(urllib.request.Request(address, headers={"Cookie": f"{COOKIE}={session}"}))

    with first, another():
        with pytest.raises(urllib.error.HTTPError) as refused:
            another()
        with refused.value as answer:
            assert (answer.status, json.load(answer)["error"]["reason"]) == (429, "too-many-streams")
    deadline = time.monotonic() + 10
    while server.app.state.streams._open and time.monotonic() < deadline:
        time.sleep(0.01)
    with another() as stream:
        assert next_event(stream)["answers"] == 0


def test_a_server_that_is_asked_to_end_does_not_wait_for_event_streams(serve):
    server = serve()
    with Store(server.data / "erkle.db") as store:
        _, _, stream = watch(store, server.url)
        with stream:
            next_event(stream)
            server.process.terminate()
            stream.read()
    server.process.wait(20)
    assert '"level": "error"' not in server.log.read_text()


def next_event(stream):
    for line in stream:
        if line.startswith(b"data: "):
            return json.loads(line[6:])
    raise AssertionError("the stream has ended")


def test_careless_participants_get_marks(researcher, store, watched, learned):
    store.imports.append(watched, answers(50, seed=7, participant="careless", wrong=1.0))
    catch = [Imported("careless", 0, 2, 1, kind=Kind.CATCH, response_ms=90)] * 2
    store.imports.append(watched, [*catch, Imported("p0", 0, 1, 2, kind=Kind.CATCH, response_ms=900)])
    learned(watched, N_ANSWERS + 50, n_read=N_ANSWERS + 53)
    people = researcher.get(f"/api/studies/{watched}/participants").json()
    careless, careful, *_ = sorted(people, key=lambda person: -person["catch_asked"])
    assert (careless["catch_asked"], careless["catch_wrong"]) == (2, 2)
    assert (careful["catch_asked"], careful["catch_wrong"]) == (1, 0)
    assert careless["agreement"] < 0.5 < careful["agreement"]
    assert {mark["kind"] for mark in careless["marks"]} == {"random", "catch", "disagrees"}
    assert careful["marks"] == []
    assert sum(person["answers"] for person in people) == N_ANSWERS + 53


def test_how_people_answer_is_said_in_words_once_the_answers_tell(researcher, store, watched, learned):
    learned(watched, N_ANSWERS)
    early = live(researcher, watched)["answering"]
    assert early.pop("sentence")
    assert early == {"power": None, "lapse": None}
    store.imports.append(watched, answers(N_MORE, seed=1, wrong=0.05))
    learned(watched, N_ANSWERS + N_MORE)
    said = live(researcher, watched)["answering"]
    model, lapse = AnswerModel(power=said["power"]), Lapse(**said["lapse"])
    assert said["sentence"] == in_words(model, lapse)
    assert lapse.low <= 0.05 * N_MORE / (N_ANSWERS + N_MORE) <= lapse.high


def test_whoever_answers_at_random_is_marked_and_nobody_else(researcher, store, watched, learned):
    store.participants.join(watched)
    store.imports.append(watched, answers(300, seed=1))
    store.imports.append(watched, answers(100, seed=7, participant="tosses coins", wrong=0.5))
    learned(watched, N_ANSWERS + 400)
    rows = researcher.get(f"/api/studies/{watched}/participants").json()
    [marked] = [row for row in rows if row["marks"]]
    assert marked["parameters"] == {"participant": "tosses coins"}
    assert marked["lapse"]["low"] > 0.3
    shares = [f"{100 * marked['lapse'][name]:.0f}" for name in ("rate", "low", "high")]
    [mark] = marked["marks"]
    assert mark["kind"] == "random"
    assert missing(mark["sentence"], shares) == []
    [silent] = [row for row in rows if row["answers"] == 0]
    assert silent["lapse"] is None
    for row in rows:
        if row not in (marked, silent):
            assert row["lapse"]["low"] <= row["lapse"]["rate"] <= row["lapse"]["high"] < 0.3


def test_the_dashboard_counts_the_same_failed_catch_questions_as_the_asking(client, researcher, owner, store):
    # Two catch questions share an anchor, and the right answer to the second is wrong for the first.
    catch = [{"anchor": "A", "near": "B", "far": "C"}, {"anchor": "A", "near": "C", "far": "D"}]
    checks = {"practice": 0, "catch": catch, "catch_every": 1, "fail_after": 3}
    study = store.studies.create("Letters", list("ABCDE"), settings(checks=checks), owner=owner).id
    store.studies.change_state(study, State.OPEN)
    ann, bob = Somebody(client, study), Somebody(client, study)
    for _ in range(2):
        # Ann chooses C both times: wrong the first time, right the second.
        ann.answer(side="left" if ann.question["left"]["name"] == "C" else "right")
        bob.reply = bob.post("skip", participant=bob.id, token=bob.question["token"]).json()
    learning = client.app.state.runtimes.of(study).learning
    while len(learning.columns) < 2:
        time.sleep(0.002)
    right = PreparedStudy.of(store.studies.get(study), store.studies.objects(study)).catch_answers
    found = {row["id"]: row for row in researcher.get(f"/api/studies/{study}/participants").json()}
    for person, failed in ((ann, 1), (bob, 2)):
        assert History.of(store.questions.ledger(study, person.id), right, 0).n_failed_catches == failed
        assert (found[person.id]["catch_asked"], found[person.id]["catch_wrong"]) == (2, failed)


def test_a_participant_is_flagged_excluded_and_included_again(researcher, watched, learned):
    learned(watched, N_ANSWERS)
    [first, *_] = researcher.get(f"/api/studies/{watched}/participants").json()
    url = f"/api/studies/{watched}/participants"

    def decided(**what):
        assert researcher.post(url, json={"ids": [first["id"]], **what}).json() == {"participants": 1}
        [row, *_] = researcher.get(url).json()
        return row["state"], row["excluded"], row["flagged"]

    assert decided(flagged=True) == ("completed", False, True)
    assert decided(excluded=True) == ("completed", True, True)
    learned(watched, N_ANSWERS - first["answers"])
    assert decided(excluded=False, flagged=False) == ("completed", False, False)
    learned(watched, N_ANSWERS)


def test_a_decision_about_several_participants_is_one_change_and_happens_to_all_or_to_none(researcher, store, watched):
    url = f"/api/studies/{watched}/participants"
    ids = [row["id"] for row in researcher.get(url).json()]
    refused = researcher.post(url, json={"ids": [*ids, "nobody"], "excluded": True, "flagged": True})
    assert (refused.status_code, reason(refused)) == (404, "unknown")
    assert not any(row["excluded"] or row["flagged"] for row in researcher.get(url).json())
    assert researcher.post(url, json={"ids": [*ids, ids[0]], "excluded": True, "flagged": True}).json() == {
        "participants": 3
    }
    assert all(row["excluded"] and row["flagged"] for row in researcher.get(url).json())
    assert store.studies.get(watched).roster == 1
    assert researcher.post(url, json={"ids": []}).json() == {"participants": 0}
    assert researcher.post(url, json={"ids": ["x"] * 1001, "flagged": True}).status_code == 422


def test_an_excluded_participant_has_no_lapse_and_an_included_one_has_the_same_as_before(researcher, watched, learned):
    def table():
        return {row["id"]: row for row in researcher.get(f"/api/studies/{watched}/participants").json()}

    def exclude(ids, excluded):
        researcher.post(f"/api/studies/{watched}/participants", json={"ids": list(ids), "excluded": excluded})

    learned(watched, N_ANSWERS)
    before, words = table(), live(researcher, watched)["answering"]
    [first, *others] = before
    exclude([first], True)
    learned(watched, N_ANSWERS - before[first]["answers"])
    now = table()
    assert (now[first]["lapse"], now[first]["marks"]) == (None, [])
    assert all(now[each]["lapse"] for each in others)
    exclude(others, True)
    learned(watched, 0)
    assert [row["lapse"] for row in table().values()] == [None] * len(before)
    assert live(researcher, watched)["answering"]["lapse"] is None
    exclude(before, False)
    learned(watched, N_ANSWERS)
    assert [row["lapse"] for row in table().values()] == [row["lapse"] for row in before.values()]
    assert live(researcher, watched)["answering"] == words


def test_questions_answered_both_ways_are_disputed(researcher, store, watched, learned):
    store.imports.append(watched, [Imported(f"x{i}", 3, *((4, 5) if i % 2 else (5, 4))) for i in range(11)])
    learned(watched, N_ANSWERS + 11, n_read=N_ANSWERS + 11)
    found = researcher.get(f"/api/studies/{watched}/disputed").json()
    votes = [sorted((row["for_first"], row["for_second"])) for row in found]
    assert votes == sorted(votes, key=lambda each: (-each[0], each[1]))
    [most, *_] = found
    assert (most["anchor"], most["first"], most["second"]) == (3, 4, 5)
    assert most["for_first"] + most["for_second"] >= 11
    assert 0.0 < most["probability"] < 1.0


def test_a_study_without_answers_has_an_empty_dashboard(researcher, store, owner):
    study = store.studies.create("New", ["a", "b", "c"], settings(), owner=owner).id
    seen = live(researcher, study)
    assert (seen["map"], seen["answers"]) == (None, 0)
    assert seen["stopping"]["kind"] == "too-early"
    assert seen["answering"]["sentence"]
    assert researcher.get(f"/api/studies/{study}/participants").json() == []
    assert researcher.get(f"/api/studies/{study}/disputed").json() == []


def test_other_researchers_and_visitors_cannot_see_the_dashboard(stranger, client, study):
    for page in ("live", "events", "participants", "disputed"):
        assert stranger.get(f"/api/studies/{study}/{page}").status_code == 404
        assert client.get(f"/api/studies/{study}/{page}").status_code == 401
