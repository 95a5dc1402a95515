"""Logs and metrics have what an operator needs, and no personal data or secrets."""

import json
import logging
import urllib.error
import urllib.request

import pytest
from fastapi.testclient import TestClient

from erkle.files import FileError
from erkle.service.accounts import passwords
from erkle.service.studies.complaints import Complaint, Complaints
from erkle.service.web.errors import Problem
from erkle.service.web.logs import JsonLines
from erkle.service.web.metrics import Exposition
from erkle.store import Imported, NotAllowed, State, Store, StoreError, Unavailable, Unknown
from people import PASSWORD, THINGS, lines, reason, settings


@pytest.fixture
def log():
    """The lines of JSON that this process logs, parsed."""
    logged = []

    class Keeper(logging.Handler):
        def emit(self, record):
            logged.append(json.loads(JsonLines().format(record)))

    logger, keeper = logging.getLogger("erkle"), Keeper()
    before = logger.level
    logger.addHandler(keeper)
    logger.setLevel(logging.INFO)
    yield logged
    logger.removeHandler(keeper)
    logger.setLevel(before)


def test_a_real_servers_log_has_no_names_ids_tokens_addresses_or_queries(serve, data_folder):
    with Store(data_folder / "erkle.db") as store:
        owner = store.accounts.create("somebody special", passwords.hashed(PASSWORD))
        study = store.studies.create("Cities", THINGS, settings(), owner=owner.id).id
        store.studies.change_state(study, State.OPEN)
    server = serve(data_folder)

    def post(path, body):
        request = urllib.request.Request(server.url + path, json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.load(answer), answer.headers
        except urllib.error.HTTPError as error:
            with error:
                return json.load(error), error.headers

    signed_in, headers = post("/api/login", {"name": "somebody special", "password": PASSWORD})
    post("/api/login", {"name": "somebody special", "password": "a wrong password"})
    joining = {"parameters": {"PROLIFIC_PID": "5f3c"}, "consent": True}
    reply, _ = post(f"/api/take/{study}/join?PROLIFIC_PID=5f3c", joining)
    post(f"/api/take/{study}/resume", {"participant": reply["participant"]})
    post(f"/api/take/{study}/answer", {"participant": reply["participant"], "token": "forged-token", "choice": 1})
    post("/api/enter", {"token": "some-link-token"})
    with urllib.request.urlopen(server.url + "/metrics", timeout=20) as answer:
        numbers = answer.read().decode()
    server.process.terminate()
    server.process.wait(20)

    text = server.log.read_text() + numbers
    secrets = [
        "somebody",
        PASSWORD,
        "a wrong password",
        signed_in["csrf"],
        headers["set-cookie"].split(";")[0].partition("=")[2],
        study,
        reply["participant"],
        reply["questions"][0]["token"],
        "forged-token",
        "some-link-token",
        "5f3c",
        "PROLIFIC_PID",
    ]
    assert [secret for secret in secrets if secret in text] == []
    requests = [line for line in lines(server.log) if line["event"] == "request"]
    seen = [(line["method"], line["route"], line["status"]) for line in requests if line["route"] != "/health"]
    assert seen == [
        ("POST", "/api/login", 200),
        ("POST", "/api/login", 401),
        ("POST", "/api/take/{study}/join", 200),
        ("POST", "/api/take/{study}/resume", 200),
        ("POST", "/api/take/{study}/answer", 409),
        ("POST", "/api/enter", 409),
        ("GET", "/metrics", 200),
    ]
    fields = {"time", "level", "event", "method", "route", "status", "ms", "reason"}
    assert all(set(line) <= fields for line in requests)
    assert not any("127.0.0.1" in json.dumps(line) for line in requests)
    assert 'erkle_request_seconds_count{method="POST",route="/api/login",status="200"} 1.0' in numbers
    assert "erkle_answers_total 0.0" in numbers


def test_an_unexpected_error_is_logged_without_its_message_and_the_client_gets_a_500(app, log):
    def fail():
        raise RuntimeError("the password is tomato")

    app.add_api_route("/fail", fail)
    with TestClient(app) as client:
        answer = client.get("/fail?secret=tomato")
    assert (answer.status_code, reason(answer)) == (500, "unexpected")
    assert "tomato" not in answer.text
    [line] = [line for line in log if line["event"] == "request"]
    assert (line["level"], line["error"], line["route"]) == ("error", "RuntimeError", "/fail")
    assert line["at"][-1].endswith(" fail")
    assert "tomato" not in json.dumps(log)
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("error", [ValueError, UnicodeError, LookupError])
def test_other_errors_of_python_are_a_500_as_well(app, log, error):
    def fail():
        raise error("the password is tomato")

    app.add_api_route("/fail", fail)
    with TestClient(app) as client:
        answer = client.get("/fail")
    assert (answer.status_code, reason(answer)) == (500, "unexpected")
    assert [line["error"] for line in log if line["event"] == "request"] == [error.__name__]
    assert "tomato" not in json.dumps(log) + answer.text


EXPECTED = [
    (StoreError("No."), 400, "refused"),
    (Unknown("No."), 404, "unknown"),
    (NotAllowed("No."), 409, "not-allowed"),
    (FileError("No."), 422, "invalid"),
    (Complaints([Complaint((), "No.")]), 422, "invalid"),
    (Problem(418, "tea", "No."), 418, "tea"),
]


@pytest.mark.parametrize(("error", "status", "why"), EXPECTED)
def test_an_expected_error_has_its_status_reason_and_sentence(app, error, status, why):
    def fail():
        raise error

    app.add_api_route("/fail", fail)
    with TestClient(app) as client:
        answer = client.get("/fail")
    assert (answer.status_code, reason(answer)) == (status, why)
    assert answer.json()["error"]["sentence"] == "No."


def test_an_unknown_method_and_address_are_not_logged(client, log):
    client.request("TOMATO", "/tomato/tomato")
    [line] = log
    assert (line["method"], line["route"], line["status"]) == ("OTHER", "unmatched", 404)
    assert "tomato" not in json.dumps(line).lower()


def test_a_server_without_its_database_is_unhealthy(client, store, monkeypatch):
    def gone():
        raise OSError("the disk is gone")

    assert client.get("/health").json() == {"status": "ok"}
    monkeypatch.setattr(store, "check", gone)
    answer = client.get("/health")
    assert (answer.status_code, reason(answer)) == (503, "database")
    assert "disk" not in answer.text


def test_metrics_count_what_happened(client, admin, study, store):
    client.post(f"/api/take/{study}/join", json={"parameters": {}, "consent": True})
    client.post(f"/api/take/{study}/answer", json={"participant": "nobody", "token": "none", "choice": 1})
    text = admin.get("/metrics").text
    assert "erkle_answers_total 0.0" in text
    assert "erkle_skips_total 0.0" in text
    assert 'erkle_studies{state="open"} 1.0' in text
    assert "erkle_open_participants 1.0" in text
    assert "erkle_learner_lag_answers" in text
    assert 'erkle_questions_total{kind="' in text
    assert 'erkle_refused_total{reason="unknown token",route="/api/take/{study}/answer"}' in text
    assert 'erkle_request_seconds_count{method="POST",route="/api/take/{study}/join",status="200"}' in text
    assert study not in text
    assert "ann" not in text


def test_metrics_say_how_long_learning_has_failed_even_while_the_database_is_not_available(admin, store, monkeypatch):
    def gone(*_):
        raise Unavailable("The disk is gone.")

    monkeypatch.setattr(store.studies, "totals", gone)
    text = Exposition(store, admin.app.state.runtimes).text().decode()
    assert "erkle_learner_stalled_seconds 0.0" in text
    assert "erkle_answers_total" not in text


def test_the_strategies_of_an_import_are_one_label(admin, study, store):
    rows = [Imported("p", 0, 1, 2, strategy=f"strategy {i}") for i in range(100)]
    store.imports.append(study, [*rows, Imported("p", 0, 2, 1, strategy="random")])
    counts = [line for line in admin.get("/metrics").text.splitlines() if line.startswith("erkle_questions_total")]
    assert counts == [
        'erkle_questions_total{kind="chosen",strategy="other"} 100.0',
        'erkle_questions_total{kind="chosen",strategy="random"} 1.0',
    ]


def test_metrics_are_closed_to_researchers(researcher):
    assert researcher.get("/metrics").status_code == 403
