"""The client does what the pages do, retries when the network fails, and reports every refusal."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from erkle.client import Client, Refused, Unreachable
from erkle.store import Purpose
from people import PASSWORD

OBJECTS = ["Paris", "Lyon", "Madrid", "Rome"]
SETTINGS = {"limits": {"per_participant": 4}, "checks": {"practice": 1}, "endings": {"completed": {"code": "C1"}}}


@pytest.fixture
def researcher(server, kept_password):
    server.store.accounts.create("ann", kept_password)
    with Client(server.url) as client:
        client.login("ann", PASSWORD)
        yield client


@pytest.fixture
def waits(monkeypatch):
    """The waits between retries, which take no time."""
    waits = []
    monkeypatch.setattr("erkle.client.sending.time.sleep", waits.append)
    return waits


def test_the_client_can_run_a_whole_study(researcher, server, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("\n".join(OBJECTS))
    uploaded = researcher.upload([names], "title: Towns\nholdout: 0.2\n")
    assert (uploaded["title"], uploaded["n_objects"], uploaded["settings"]["holdout"]) == ("Towns", 4, 0.2)
    researcher.delete(uploaded["id"])
    study = researcher.create_study("Cities", OBJECTS, SETTINGS)["id"]
    researcher.open_study(study)
    with Client(server.url) as client:
        assert client.about(study)["title"] == "Cities"
        reply = client.join(study, {"PROLIFIC_PID": "p1"})
        assert client.join(study, {"PROLIFIC_PID": "p1"}).participant == reply.participant
        while reply.finished is None:
            asked = reply.questions[0]
            reply = client.answer(study, reply.participant, asked.token, asked.left.id, 700, {"from": "a test"})
            assert reply.acknowledged is not None
            repeated = client.answer(study, reply.participant, asked.token, asked.left.id)
            assert repeated.acknowledged == (reply.acknowledged.sequence, True)
        assert (reply.finished.outcome, reply.finished.code) == ("completed", "C1")
        other = client.join(study)
        asked = other.questions[0]
        assert client.skip(study, other.participant, asked.token, "I cannot decide").skipped
        assert client.resume(study, other.participant).participant == other.participant
        with pytest.raises(Refused) as caught:
            client.answer(study, other.participant, asked.token, asked.left.id)
        assert (caught.value.status, caught.value.reply.participant) == (409, other.participant)
    [listed] = researcher.studies()
    answers = listed["answers"]
    assert answers >= 4
    assert researcher.live(study)["state"] == "open"
    [first, _] = researcher.participants(study)
    researcher.exclude(study, [first["id"]])
    researcher.flag(study, [first["id"]])
    assert researcher.participants(study)[0]["flagged"]
    assert researcher.study(study)["roster"] == 1
    researcher.exclude(study, [first["id"]], False)
    assert researcher.objects(study)[1].name == "Lyon"
    assert researcher.disputed(study) is not None
    bundle = tmp_path / "bundle.zip"
    researcher.export(study, "bundle.zip", bundle)
    copy = researcher.import_bundle(bundle)
    assert copy["state"] == "paused"
    table = tmp_path / "answers.csv"
    researcher.export(study, "answers.csv", table)
    assert researcher.import_answers(copy["id"], table) == answers
    assert researcher.import_triplets(table, "New")["title"] == "New"
    assert researcher.edit(study, title="Towns")["title"] == "Towns"
    assert researcher.pause_study(study)["state"] == "paused"
    assert researcher.close_study(study)["state"] == "closed"
    researcher.delete(study)
    assert study not in [each["id"] for each in researcher.studies()]
    researcher.logout()
    with pytest.raises(Refused) as caught:
        researcher.studies()
    assert caught.value.status == 401


def test_the_client_adds_features_and_objects(researcher, tmp_path):
    def table(name, rows):
        (tmp_path / name).write_text("name,x,y\n" + "".join(f"{row},{i},{i * i}\n" for i, row in enumerate(rows)))
        return tmp_path / name

    names = tmp_path / "names.txt"
    names.write_text("\n".join(OBJECTS))
    uploaded = researcher.upload([names], "title: Towns\n", [table("where.csv", ["Bonn", *OBJECTS])])
    assert "'Bonn'" in uploaded["notes"][0]
    study = uploaded["id"]
    np.savez(tmp_path / "odd.npz", **{"a/b %2e%2e": np.eye(4), "names": np.array(OBJECTS)})
    added = researcher.add_features(study, [table("size.csv", OBJECTS[:3]), tmp_path / "odd.npz"])
    assert added["features"] == researcher.features(study)
    assert [(each["name"], each["n_objects"]) for each in added["features"]] == [
        ("a/b %2e%2e", 4),
        ("size", 3),
        ("where", 4),
    ]
    for name in ("a/b %2e%2e", "size"):
        researcher.remove_features(study, name)
    assert [each["name"] for each in researcher.features(study)] == ["where"]
    with pytest.raises(Refused, match="size"):
        researcher.remove_features(study, "size")
    with pytest.raises(Refused):
        researcher.add_features(study, [])
    assert [each["name"] for each in researcher.add_objects(study, ["Oslo"])["objects"]] == [*OBJECTS, "Oslo"]
    more = researcher.add_objects(study, [{"name": "Wien", "text": "Vienna"}], features=[table("where.csv", ["Wien"])])
    assert (more["objects"][5]["text"], more["notes"]) == ("Vienna", [])
    researcher.add_features(study, [table("age.csv", OBJECTS)])
    with pytest.raises(Refused, match="where"):
        researcher.add_objects(study, ["Bern"], features=[table("size.csv", ["Bern"])])
    researcher.remove_features(study, "age")
    assert researcher.features(study) == [{"name": "where", "n_columns": 2, "n_objects": 5}]


def test_links_create_the_first_account_and_sign_in(server):
    store = server.store
    with Client(server.url) as client:
        assert client.set_up(store.links.create(Purpose.SETUP), "root", PASSWORD)["admin"]
        [account] = store.accounts.all()
        assert client.enter(store.links.create(Purpose.ENTER, account.id))["name"] == "root"


class Failing(BaseHTTPRequestHandler):
    """Responds with the failures in the server's list: a status, or no response at all. Then it succeeds."""

    def do_GET(self):
        self._answer()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer()

    def _answer(self):
        self.server.n_requests += 1
        self.server.paths.append(self.path)
        status = self.server.failures.pop(0) if self.server.failures else 200
        if status is None:
            self.close_connection = True
            return
        body = {"participant": "p", "questions": []} if status == 200 else {"error": {"reason": "r", "sentence": "S."}}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if self.server.retry_after and status != 200:
            self.send_header("Retry-After", str(self.server.retry_after))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def failing(*failures, retry_after=None):
    with ThreadingHTTPServer(("127.0.0.1", 0), Failing) as server:
        server.failures, server.n_requests, server.paths = list(failures), 0, []
        server.retry_after = retry_after
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server, f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_repeatable_request_is_retried_until_it_succeeds(waits):
    with failing(None, 503, 429, 500, None) as (server, url), Client(url) as client:
        assert client.answer("s", "p", "t", 1).participant == "p"
        assert server.n_requests == 6
    # Each wait is a random share of a time that doubles.
    assert all(0.05 * 2**n <= wait <= 0.1 * 2**n for n, wait in enumerate(waits))
    assert len(waits) == 5


def test_another_request_is_not_retried_once_the_server_may_have_executed_it(waits):
    with failing(503, None) as (server, url), Client(url) as client:
        with pytest.raises(Unreachable, match=url):
            client.create_study("Cities", OBJECTS)
        assert server.n_requests == 2


def test_a_refusal_is_not_retried():
    statuses = [400, 401, 403, 404, 409, 422]
    with failing(*statuses) as (server, url), Client(url) as client:
        for n_requests, status in enumerate(statuses, 1):
            with pytest.raises(Refused) as caught:
                client.resume("s", "p")
            error = caught.value
            assert (error.status, error.reason, error.sentence) == (status, "r", "S.")
            assert server.n_requests == n_requests


def test_a_client_that_does_not_retry_tries_once():
    with failing(500, 500) as (server, url), Client(url, retry_for=0) as client:
        with pytest.raises(Refused):
            client.studies()
        assert server.n_requests == 1


def test_a_client_waits_as_long_as_the_server_asks_unless_that_takes_too_long(waits):
    with failing(503, retry_after=20) as (server, url), Client(url, retry_for=30) as client:
        assert client.resume("s", "p").participant == "p"
    assert 10.0 <= waits[0] <= 20.0
    with failing(503, retry_after=120) as (server, url), Client(url, retry_for=30) as client:
        with pytest.raises(Refused):
            client.resume("s", "p")
        assert server.n_requests == 1


def test_a_server_that_does_not_run_is_unreachable(waits):
    with failing() as (_, url):
        pass
    with Client(url, retry_for=0.3) as client, pytest.raises(Unreachable, match=url):
        client.studies()
    assert waits


def test_an_id_with_slashes_stays_one_segment_of_the_path():
    with failing(404) as (server, url), Client(url) as client, pytest.raises(Refused):
        client.about("../../metrics?x=")
    assert server.paths == ["/api/take/..%2F..%2Fmetrics%3Fx%3D"]
