"""What a researcher watches follows the log: numbers, curves, the map, participants, disputed questions."""

import json
import time
import urllib.request

import numpy as np
import pytest

from erkle.service.learning import View
from erkle.service.learning.aligned_map import aligned_map
from erkle.service.participation.asking import History
from erkle.service.participation.prepared_study import PreparedStudy
from erkle.store import Imported, Kind, State
from people import Somebody, settings

N = 10
PLACES = np.random.default_rng(3).normal(size=(N, 2))


def answers(n, seed=0, participant=None, wrong=0.0, kind=None):
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        head, b, c = (int(x) for x in rng.choice(N, 3, replace=False))
        far = np.linalg.norm(PLACES[head] - PLACES[b]) > np.linalg.norm(PLACES[head] - PLACES[c])
        if far != (rng.random() < wrong):
            b, c = c, b
        kind_now = kind or (Kind.HELD_OUT if i % 4 == 0 else Kind.CHOSEN)
        found.append(Imported(participant or f"p{i % 3}", head, b, c, kind=kind_now, response_ms=700 + i))
    return found


@pytest.fixture
def watched(researcher, store):
    """A study with answers, and what its owner sees."""
    owner = researcher.get("/api/me").json()["account"]["id"]
    checks = {"catch": [{"anchor": "t0", "near": "t1", "far": "t2"}], "too_fast_ms": 200}
    study = store.studies.create("Ten", [f"t{i}" for i in range(N)], settings(checks=checks), owner=owner).id
    store.studies.change_state(study, State.OPEN)
    store.imports.answers(study, answers(400))
    return study


def live_when(researcher, study, learned):
    end = time.monotonic() + 120
    while (live := researcher.get(f"/api/studies/{study}/live").json())["learned"] != learned:
        assert time.monotonic() < end, live
        time.sleep(0.02)
    return live


def test_the_dashboard_counts_draws_a_map_and_forecasts(researcher, watched):
    live = live_when(researcher, watched, 400)
    assert live["answers"] == 400
    assert live["participants"] == 3
    assert sum(live["per_minute"]) == 400
    assert live["learner"]["ready"]
    assert live["learner"]["sequence"] == 400
    assert np.isfinite(live["map"]["points"]).all()
    assert len(live["map"]["points"]) == N
    assert sum(point["answers"] for point in live["curves"]["prequential"]) == 400
    assert sum(point["answers"] for point in live["curves"]["held_out"]) == 100
    until = time.monotonic() + 120
    while (live := researcher.get(f"/api/studies/{watched}/live").json())["stopping"] is None:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert live["stopping"]["sentence"]
    imported = {"strategy": "imported", "fallback": None, "kind": "chosen", "asked": 300, "answered": 300}
    assert imported in live["strategies"]


def test_the_map_says_what_people_said_and_does_not_jump(researcher, store, watched):
    before = np.array(live_when(researcher, watched, 400)["map"]["points"])
    T = np.array([(a.anchor, a.near, a.far) for a in answers(1000, seed=9)])
    head, near, far = (before[ids] for ids in T.T)
    assert np.mean(((head - near) ** 2).sum(axis=1) < ((head - far) ** 2).sum(axis=1)) > 0.9
    store.imports.answers(watched, answers(20, seed=5))
    after = np.array(live_when(researcher, watched, 420)["map"]["points"])
    assert 0 < np.linalg.norm(after - before) / np.linalg.norm(before) < 0.3


def test_axes_that_are_almost_as_long_do_not_change_places():
    shape = np.random.default_rng(0).normal(size=(30, 3)) @ np.diag([2.0, 1.0, 1.0])
    views = [View(1, 1, shape * scale, np.zeros(30), 1.0, *[None] * 6) for scale in ([1, 1.02, 0.98], [1, 0.98, 1.02])]
    before = aligned_map(views[0], None)
    assert np.linalg.norm(aligned_map(views[1], before) - before) < 0.1 * np.linalg.norm(before)
    # What is much longer is shown, whatever was before.
    after = aligned_map(views[0]._replace(places=shape * [1, 0.2, 2]), before)
    assert np.linalg.norm(after - before) > 0.3 * np.linalg.norm(before)


def test_events_come_when_something_has_changed(serve, tmp_path):
    server = serve()
    from erkle.service.accounts.passwords import hashed
    from erkle.store import Store

    with Store(server.data / "erkle.db") as store:
        store.accounts.create("ann", hashed("correct horse battery"), admin=True)
        study = store.studies.create("Ten", [f"t{i}" for i in range(N)], settings()).id
        store.studies.change_state(study, State.OPEN)
        body = json.dumps({"name": "ann", "password": "correct horse battery"}).encode()
        login = urllib.request.Request(
            f"{server.url}/api/login", body, {"content-type": "application/json", "Origin": server.url}
        )
        with urllib.request.urlopen(login) as answer:
            cookie = answer.headers["set-cookie"].partition(";")[0]
        events = urllib.request.Request(f"{server.url}/api/studies/{study}/events", headers={"Cookie": cookie})
        with urllib.request.urlopen(events, timeout=20) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            assert next_live(stream)["answers"] == 0
            store.imports.answers(study, answers(30))
            while (live := next_live(stream))["learned"] < 30:
                pass
            assert live["map"]["sequence"] == 30
            # Who has signed out sees no more.
            store.sessions.close(cookie.partition("=")[2])
            assert all(b'"answers":30' in line for line in stream if line.startswith(b"data: "))
        with urllib.request.urlopen(login) as answer:
            events.add_header("Cookie", answer.headers["set-cookie"].partition(";")[0])
        with urllib.request.urlopen(events, timeout=20) as stream:
            next_live(stream)
            # Nor does a server wait for those who watch when it is asked to end.
            server.process.terminate()
            stream.read()
        server.process.wait(20)
        assert '"level": "error"' not in server.log.read_text()


def next_live(stream):
    for line in stream:
        if line.startswith(b"data: "):
            return json.loads(line[6:])
    raise AssertionError("the stream has ended")


def test_participants_are_judged(researcher, store, watched):
    store.imports.answers(watched, answers(100, seed=7, participant="careless", wrong=1.0))
    catch = [Imported("careless", 0, 2, 1, kind=Kind.CATCH, response_ms=90)] * 2
    store.imports.answers(watched, [*catch, Imported("p0", 0, 1, 2, kind=Kind.CATCH, response_ms=900)])
    # Catch questions are not learned: that the other answers are tells nothing of them.
    while live_when(researcher, watched, 500)["answers"] != 503:
        time.sleep(0.02)
    people = {p["id"]: p for p in researcher.get(f"/api/studies/{watched}/participants").json()}
    by_answers = sorted(people.values(), key=lambda person: -person["catch_asked"])
    careless, careful = by_answers[0], by_answers[1]
    assert (careless["catch_asked"], careless["catch_wrong"]) == (2, 2)
    assert (careful["catch_asked"], careful["catch_wrong"]) == (1, 0)
    assert careless["agreement"] < 0.5 < careful["agreement"]
    assert len(careless["warnings"]) == 2
    assert careful["warnings"] == []
    assert sum(person["answers"] for person in people.values()) == 503


def test_catch_questions_are_failed_on_the_dashboard_as_they_are_where_they_are_asked(client, researcher, store):
    # Two catch questions share an anchor, and what is right for one is wrong for the other.
    catch = [{"anchor": "A", "near": "B", "far": "C"}, {"anchor": "A", "near": "C", "far": "D"}]
    checks = {"practice": 0, "catch": catch, "catch_every": 1, "fail_after": 3}
    owner = researcher.get("/api/me").json()["account"]["id"]
    study = store.studies.create("Letters", list("ABCDE"), settings(checks=checks), owner=owner).id
    store.studies.change_state(study, State.OPEN)
    ann, bob = Somebody(client, study), Somebody(client, study)
    for _ in range(2):
        # "C" is wrong at first, and right then.
        ann.answer(side="left" if ann.question["left"]["name"] == "C" else "right")
        bob.reply = bob.post("skip", participant=bob.id, token=bob.question["token"]).json()
    while researcher.get(f"/api/studies/{study}/live").json()["answers"] != 2:
        time.sleep(0.02)
    right = PreparedStudy.of(store.studies.get(study), store.studies.objects(study)).catch_answers
    found = {row["id"]: row for row in researcher.get(f"/api/studies/{study}/participants").json()}
    for person, failed in ((ann, 1), (bob, 2)):
        assert History.of(store.questions.ledger(study, person.id), right, 0).n_failed_catches == failed
        assert (found[person.id]["catch_asked"], found[person.id]["catch_wrong"]) == (2, failed)


def test_somebody_is_flagged_excluded_and_included_again(researcher, store, watched):
    live_when(researcher, watched, 400)
    [first, *_] = researcher.get(f"/api/studies/{watched}/participants").json()
    place = f"/api/studies/{watched}/participants/{first['id']}"
    assert researcher.post(place, json={"flagged": True}).json()["flagged"]
    assert researcher.post(place, json={"excluded": True}).json()["standing"] == "excluded"
    live_when(researcher, watched, 400 - first["answers"])
    assert researcher.post(place, json={"excluded": False}).json()["standing"] == "completed"
    live_when(researcher, watched, 400)
    assert researcher.post(f"/api/studies/{watched}/participants/nobody", json={"flagged": True}).status_code == 404


def test_questions_answered_both_ways_are_disputed(researcher, store, watched):
    store.imports.answers(watched, [Imported(f"x{i}", 3, *((4, 5) if i % 2 else (5, 4))) for i in range(11)])
    live_when(researcher, watched, 411)
    found = researcher.get(f"/api/studies/{watched}/disputed").json()
    votes = [sorted((row["for_first"], row["for_second"])) for row in found]
    assert votes == sorted(votes, key=lambda each: (-each[0], each[1]))
    [most, *_] = found
    assert (most["anchor"], most["first"], most["second"]) == (3, 4, 5)
    assert most["for_first"] + most["for_second"] >= 11
    assert 0.0 < most["probability"] < 1.0


def test_a_study_without_answers_can_be_watched(researcher, store):
    owner = researcher.get("/api/me").json()["account"]["id"]
    study = store.studies.create("New", ["a", "b", "c"], settings(), owner=owner).id
    live = researcher.get(f"/api/studies/{study}/live").json()
    assert live["map"] is None
    assert live["stopping"] is None
    assert live["answers"] == 0
    assert researcher.get(f"/api/studies/{study}/participants").json() == []
    assert researcher.get(f"/api/studies/{study}/disputed").json() == []


def test_others_cannot_watch(stranger, client, watched):
    for place in ("live", "events", "participants", "disputed"):
        assert stranger.get(f"/api/studies/{watched}/{place}").status_code == 404
        assert client.get(f"/api/studies/{watched}/{place}").status_code == 401
