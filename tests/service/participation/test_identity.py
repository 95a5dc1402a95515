"""Whoever knows a participant's identity learns nothing about them, and cannot replace them if a proof is demanded."""

import base64
import hashlib
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from fastapi.testclient import TestClient

from erkle.service import Configuration, create_app
from erkle.service.exchange.members import roster
from erkle.service.participation.identity import signature
from erkle.service.participation.prolific import Keys
from erkle.service.web.errors import Problem
from people import THINGS, Somebody, reason, settings

ENDINGS = {"completed": {"code": "DONE", "url": "https://pay.example/?cc=DONE&who={token}"}}


def join(client, study, **parameters):
    return client.post(f"/api/take/{study}/join", json={"parameters": parameters, "consent": True})


def test_somebody_with_the_same_identity_sees_nothing_of_the_earlier_parameters(client, make):
    study = make(limits={"per_participant": 1}, checks={"practice": 0}, endings=ENDINGS)
    ann = Somebody(client, study, PROLIFIC_PID="ann", token="secret-of-ann", email="ann@example.org")
    assert ann.answer_all()["url"] == "https://pay.example/?cc=DONE&who=secret-of-ann"
    thief = join(client, study, PROLIFIC_PID="ann")
    assert thief.json()["finished"]["url"] == "https://pay.example/?cc=DONE&who="
    resumed = ann.post("resume", participant=ann.id)
    assert "secret-of-ann" not in thief.text + resumed.text
    assert "ann@example.org" not in thief.text + resumed.text


def test_long_identities_that_begin_alike_are_different_people(client, store, make):
    study = make()
    ids = {Somebody(client, study, PROLIFIC_PID="x" * 300 + end).id for end in ("a", "b")}
    assert len(ids) == 2


@pytest.fixture
def signed(store, make):
    """A study that demands signatures, and a function that signs a parameter."""
    study = make(identity_proof="signature", identify_by=["seat", "puid"])
    key = store.studies.signing_key(study)

    def sign(name, value, **expires):
        return {name: value, **expires, "signature": signature(key, name, value, expires.get("expires", ""))}

    return study, sign


def test_a_signed_link_lets_its_participant_in_and_nobody_else(client, store, signed):
    study, sign = signed
    link = sign("puid", "Zoë 7")
    ann = join(client, study, **link)
    assert ann.status_code == 200
    assert join(client, study, **link).json()["participant"] == ann.json()["participant"]
    forged = [
        {},
        {"puid": "Zoë 7"},
        {"puid": "8", "signature": link["signature"]},
        {"seat": "Zoë 7", "signature": link["signature"]},
        {**link, "seat": "9"},
        {**link, "signature": link["signature"][:-1]},
        {**link, "signature": "é"},
        {**link, "expires": "9999999999"},
        {"signature": link["signature"]},
        {"puid": ["Zoë 7"], "signature": link["signature"]},
    ]
    for parameters in forged:
        answer = join(client, study, **parameters)
        assert (answer.status_code, reason(answer)) == (403, "unsigned"), parameters
    assert len(store.participants.all(study)) == 1


def test_a_signature_belongs_to_one_value_only():
    values = ["a?b", "a\ud800b", "a\ud801b", "a\ufffdb"]
    assert len({signature("key", "puid", value) for value in values}) == len(values)


def test_what_proves_an_identity_is_not_stored(client, store, signed):
    study, sign = signed
    join(client, study, **sign("puid", "7"), colour="red")
    [person] = store.participants.all(study)
    assert (person.identity, person.parameters) == ("puid=7", {"puid": "7", "colour": "red"})


def test_researchers_know_participants_by_what_was_proven(client, store, signed):
    study, sign = signed
    for number, other in enumerate([8, ["8"], {"8": 8}, True]):
        assert join(client, study, **sign("puid", f"7{number}"), seat=other).status_code == 200
    members = roster(store, store.studies.get(study)).values()
    assert [member.puid for member in members] == ["70", "71", "72", "73"]


def test_a_signed_link_can_expire(client, signed):
    study, sign = signed
    now = int(time.time())
    assert join(client, study, **sign("puid", "7", expires=str(now + 1000))).status_code == 200
    for expires in (str(now - 1), "0", "soon", "9" * 40, "-1"):
        answer = join(client, study, **sign("puid", "8", expires=expires))
        assert (answer.status_code, reason(answer)) == (403, "link-expired")
    shortened = {name: value for name, value in sign("puid", "7", expires="1").items() if name != "expires"}
    assert reason(join(client, study, **shortened)) == "unsigned"


def test_each_study_has_its_own_signatures(client, make, signed):
    _, sign = signed
    other = make(identity_proof="signature", identify_by=["puid"])
    assert reason(join(client, other, **sign("puid", "7"))) == "unsigned"


def test_only_the_researchers_of_a_study_get_its_signing_key(client, researcher, stranger, store, study):
    path = f"/api/studies/{study}/signing-key"
    assert researcher.get(path).json() == {"key": store.studies.signing_key(study)}
    assert (stranger.get(path).status_code, client.get(path).status_code) == (404, 401)
    public = researcher.get(f"/api/studies/{study}").text + client.get(f"/api/take/{study}").text
    assert store.studies.signing_key(study) not in public


def test_a_running_study_can_begin_to_demand_signatures(client, researcher, store, study):
    ann = Somebody(client, study, puid="7")
    changed = researcher.patch(f"/api/studies/{study}", json={"settings": {"identity_proof": "signature"}})
    assert changed.status_code == 200
    assert reason(join(client, study, puid="7")) == "unsigned"
    right = signature(store.studies.signing_key(study), "puid", "7")
    assert join(client, study, puid="7", signature=right).json()["participant"] == ann.id
    assert ann.send().status_code == 200


# A small RSA key, which signs as Prolific does: two primes.
P = 0xC40BEEC2C846C809749CF15C6EA907BB1AB4D79B961483CF0AE846B93543B7BB95B9388856C5D5E83801A0894A5E3CA2C1C8565C04B5CA66A110B0674F35CBC3  # noqa: E501
Q = 0xC22F12D1C35F15D2C34A01D439FEE8E2C92AF1611614F2130F44D0B7FA581D4DEE4EC1CE575E1FDC8CE3AD7C9C8DF1E10EC1916216C2B01065D2AE94B7F48441  # noqa: E501
N, E = P * Q, 65537
D = pow(E, -1, (P - 1) * (Q - 1))
SAYS_SHA256 = "3031300d060960864801650304020105000420"


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(claims, header=(), sign=True):
    """A token as Prolific makes it, signed with the key above."""
    head = {"alg": "RS256", "typ": "JWT", "kid": "first", **dict(header)}
    text = ".".join(encoded(json.dumps(part).encode()) for part in (head, claims))
    digest = bytes.fromhex(SAYS_SHA256) + hashlib.sha256(text.encode()).digest()
    padded = b"\x00\x01" + b"\xff" * (128 - 3 - len(digest)) + b"\x00" + digest
    number = pow(int.from_bytes(padded), D, N) if sign else 5
    return f"{text}.{encoded(number.to_bytes(128))}"


def claims(**changes):
    said = {"PROLIFIC_PID": "ann", "STUDY_ID": "s1", "SESSION_ID": "x1", "workspace_id": "w"}
    return {"aud": "https://testserver/s/1", "exp": time.time() + 300, "sub": "x1", "prolific": said, **changes}


KEYS = {"keys": [{"kty": "RSA", "alg": "RS256", "kid": "first", "n": encoded(N.to_bytes(128)), "e": "AQAB"}]}


@contextmanager
def key_server(body=KEYS):
    """A server that publishes keys, its URL, and a list of the requests it gets."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/jwks.json", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def from_prolific(data_folder):
    """A client of a server that demands links from Prolific, and the id of its study."""
    with key_server() as (url, _):
        configuration = Configuration(data=data_folder, public_url="https://testserver", prolific_keys=url)
        with TestClient(create_app(configuration)) as client:
            store = client.app.state.store
            study = store.studies.create("Cities", THINGS, settings(identity_proof="prolific")).id
            store.studies.change_state(study, "open")
            yield client, study


def test_prolifics_token_says_who_the_participant_is(from_prolific):
    client, study = from_prolific
    first = join(client, study, PROLIFIC_PID="ann", prolific_token=token(claims()), colour="red")
    assert first.status_code == 200, first.text
    again = join(client, study, PROLIFIC_PID="somebody else", prolific_token=token(claims(aud="testserver")))
    assert again.json()["participant"] == first.json()["participant"]
    [person] = client.app.state.store.participants.all(study)
    assert person.identity == "PROLIFIC_PID=ann"
    assert person.parameters == {"colour": "red", **claims()["prolific"]}


def test_nothing_but_prolifics_token_says_who_the_participant_is(from_prolific):
    client, study = from_prolific
    store = client.app.state.store
    store.studies.revise(study, lambda now, _: (None, {**now.settings, "identify_by": ["puid", "PROLIFIC_PID"]}))
    assert join(client, study, puid="bob", prolific_token=token(claims()), colour="red").status_code == 200
    [person] = store.participants.all(study)
    assert person.parameters == {"colour": "red", **claims()["prolific"]}


def test_a_token_that_prolific_has_not_made_for_this_server_lets_nobody_in(from_prolific):
    client, study = from_prolific
    right = token(claims())
    head, content, sign = right.split(".")
    other = encoded(json.dumps(claims(prolific={"PROLIFIC_PID": "bob"})).encode())
    forged = [
        "",
        "x",
        "a.b.c",
        "é.é.é",
        f"{head}.{other}.{sign}",
        f"{head}.{content}.",
        f"{head}.{content}.{encoded(b'1' * 128)}",
        token(claims(), sign=False),
        token(claims(), {"alg": "none"}),
        token(claims(), {"alg": "HS256"}),
        token(claims(), {"kid": "unknown"}),
        token(claims(), {"kid": ["first"]}),
        token(claims(aud="https://evil.example/testserver")),
        token(claims(aud=["evil.example"])),
        token(claims(aud=None)),
        token(claims(exp=None)),
        token(claims(prolific={"STUDY_ID": "s1"})),
        token(claims(prolific=None)),
        token([1]),
        right + "x" * 9000,
    ]
    for each in forged:
        answer = join(client, study, PROLIFIC_PID="ann", prolific_token=each)
        assert (answer.status_code, reason(answer)) == (403, "unsigned"), each
    late = join(client, study, PROLIFIC_PID="ann", prolific_token=token(claims(exp=time.time() - 1)))
    assert (late.status_code, reason(late)) == (403, "link-expired")
    assert client.app.state.store.participants.all(study) == []


def test_without_a_public_address_no_link_of_prolific_is_believed(client, make):
    answer = join(client, make(identity_proof="prolific"), prolific_token=token(claims()))
    assert (answer.status_code, reason(answer)) == (409, "no-public-url")


def test_keys_are_fetched_once_and_invented_key_ids_cause_few_requests():
    now = [0.0]
    with key_server() as (url, asked):
        keys = Keys(url, clock=lambda: now[0])
        assert keys.get("first") == keys.get("first") == (N, E)
        assert len(asked) == 1
        for number in range(20):
            now[0] += 10
            assert keys.get(f"invented {number}") is None
        assert len(asked) <= 1 + 20 * 10 / 60
        now[0] += 24 * 3600
        assert keys.get("first") == (N, E)
        assert len(asked) <= 2 + 20 * 10 / 60


@pytest.mark.parametrize("body", [{}, [], {"keys": 7}, {"keys": [{}]}, {"keys": [{"kty": "RSA", "kid": "a", "n": 1}]}])
def test_unreadable_keys_are_an_error_that_passes(body):
    with key_server(body) as (url, _), pytest.raises(Problem) as caught:
        Keys(url).get("first")
    assert (caught.value.status, caught.value.reason) == (503, "prolific-keys")


def test_known_keys_are_used_while_prolific_cannot_be_reached():
    now = [0.0]
    with key_server() as (url, _):
        keys = Keys(url, clock=lambda: now[0])
        keys.get("first")
    now[0] += 48 * 3600
    assert keys.get("first") == (N, E)
    with pytest.raises(Problem):
        Keys(url).get("first")
