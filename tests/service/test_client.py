"""Laws of the client: it does what the pages do, goes on where the network fails, and never hides a refusal."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from erkle.client import Client, Refused, Unreachable
from erkle.service.accounts.passwords import hashed
from erkle.store import Purpose

PASSWORD = "correct horse battery"
THINGS = ["Paris", "Lyon", "Madrid", "Rome"]
SETTINGS = {"limits": {"per_participant": 4}, "checks": {"practice": 1}, "endings": {"completed": {"code": "C1"}}}


@pytest.fixture
def researcher(server):
    server.store.accounts.create("ann", hashed(PASSWORD))
    with Client(server.url) as client:
        client.login("ann", PASSWORD)
        yield client


def test_a_whole_study_by_program(researcher, server, tmp_path):
    study = researcher.create_study("Cities", THINGS, SETTINGS)["id"]
    researcher.open_study(study)
    with Client(server.url) as people:
        assert people.about(study)["title"] == "Cities"
        reply = people.join(study, {"PROLIFIC_PID": "p1"})
        assert people.join(study, {"PROLIFIC_PID": "p1"}).participant == reply.participant
        while reply.finished is None:
            asked = reply.questions[0]
            reply = people.answer(study, reply.participant, asked.token, asked.left.id, 700, {"from": "a test"})
            assert reply.acknowledged is not None
            again = people.answer(study, reply.participant, asked.token, asked.left.id)
            assert again.acknowledged == (reply.acknowledged.sequence, True)
        assert (reply.finished.outcome, reply.finished.code) == ("completed", "C1")
        other = people.join(study)
        asked = other.questions[0]
        assert people.skip(study, other.participant, asked.token, "I cannot decide").skipped
        assert people.resume(study, other.participant).participant == other.participant
        with pytest.raises(Refused) as trouble:
            people.answer(study, other.participant, asked.token, asked.left.id)
        assert (trouble.value.status, trouble.value.reply.participant) == (409, other.participant)
    [listed] = researcher.studies()
    answers = listed["answers"]
    assert answers >= 4
    assert researcher.live(study)["state"] == "open"
    [first, _] = researcher.participants(study)
    researcher.exclude(study, first["id"])
    assert researcher.study(study)["roster"] == 1
    researcher.include(study, first["id"])
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
    with pytest.raises(Refused, match="not signed in"):
        researcher.studies()


def test_files_become_a_study(researcher, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("\n".join(THINGS))
    study = researcher.upload([names], "title: Towns\nholdout: 0.2\n")
    assert (study["title"], study["n_objects"], study["settings"]["holdout"]) == ("Towns", 4, 0.2)


def test_links_let_somebody_in(server):
    store = server.store
    with Client(server.url) as client:
        assert client.set_up(store.links.create(Purpose.SETUP), "root", PASSWORD)["admin"]
        [account] = store.accounts.all()
        assert client.enter(store.links.create(Purpose.ENTER, account.id))["name"] == "root"


class Trouble(BaseHTTPRequestHandler):
    """Answers as the list of the server says: a status, or nothing at all; then well."""

    def do_GET(self):
        self._answer()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer()

    def _answer(self):
        self.server.seen += 1
        status = self.server.troubles.pop(0) if self.server.troubles else 200
        if status is None:
            self.close_connection = True
            return
        body = {"participant": "p", "questions": []} if status == 200 else {"error": {"reason": "r", "sentence": "S."}}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def troubled(*troubles):
    with ThreadingHTTPServer(("127.0.0.1", 0), Trouble) as server:
        server.troubles, server.seen = list(troubles), 0
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server, f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_what_may_happen_twice_is_tried_until_it_succeeds():
    with troubled(None, 503, 429, 500, None) as (server, url), Client(url) as client:
        assert client.answer("s", "p", "t", 1).participant == "p"
        assert server.seen == 6


def test_what_must_not_happen_twice_is_not_sent_again_once_it_may_have_arrived():
    with troubled(503, None) as (server, url), Client(url) as client:
        with pytest.raises(Unreachable, match="cannot be reached"):
            client.create_study("Cities", THINGS)
        assert server.seen == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_a_refusal_is_final(status):
    with troubled(status) as (server, url), Client(url) as client:
        with pytest.raises(Refused, match=r"^S\.$") as trouble:
            client.resume("s", "p")
        assert (trouble.value.status, trouble.value.reason, server.seen) == (status, "r", 1)


def test_a_client_without_patience_tries_once():
    with troubled(500, 500) as (server, url), Client(url, retry_for=0) as client:
        with pytest.raises(Refused):
            client.studies()
        assert server.seen == 1


def test_where_nobody_listens_there_is_a_sentence():
    with troubled() as (_, url):
        pass
    with Client(url, retry_for=0.3) as client, pytest.raises(Unreachable, match="check the address"):
        client.studies()


def test_an_id_cannot_lead_to_another_address():
    with troubled(404) as (_, url), Client(url) as client, pytest.raises(Refused):
        client.about("../../metrics?x=")
