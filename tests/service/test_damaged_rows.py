"""Rows that somebody has put into the database by hand: one of them never ends an export, the learning or a study."""

import contextlib
import csv
import io
import json
import sqlite3
import time
import zipfile

import numpy as np
import pytest

from erkle import ERKLE
from erkle.service.unbundling import import_bundle
from erkle.store import Kind, Query, Store
from erkle.store.clock import now

QUESTION = {"head": 0, "o1": 1, "o2": 2, "left_object": 1, "kind": "chosen", "strategy": "random"}
ANSWER = {"choice": 1, "response_ms": 700, "client": "{}", "answered_at": 1_700_000_000_000_000}
SOME = 12
DAMAGED = {
    "a kind that there is not": {"kind": "guessed"},
    "the kind of damaged ones": {"kind": "damaged"},
    "a kind that is no text": {"kind": b"\xff\xfe"},
    "a choice that is no number": {"choice": "x"},
    "a choice that is neither object": {"choice": 4},
    "a head that there is not": {"head": 999},
    "a head below all": {"head": -7},
    "a head that is no number": {"head": "Paris"},
    "an object that is no number": {"o2": "Lyon"},
    "an object twice": {"o1": 0, "choice": 0},
    "the same two objects": {"o2": 1},
}
ODD = {
    "a client that is no JSON": {"client": "{not json"},
    "a client that is no object": {"client": "[1, 2]"},
    "a client that is a number": {"client": 7},
    "a client that is very deep": {"client": "[" * 5000},
    "a time that is no number": {"response_ms": "abc"},
    "a moment that is no number": {"answered_at": "yesterday"},
    "a moment before all": {"answered_at": -1},
    "a side that there is not": {"left_object": "x"},
    "a strategy that is no text": {"strategy": b"\xff"},
}


def put(path, study, participant, changes, answered=True, expires=0):
    """A question, and its answer, as SQL writes them."""
    connection = sqlite3.connect(path, timeout=30)
    [[study]] = connection.execute("SELECT id FROM studies WHERE public_id = ?", [study])
    [[participant]] = connection.execute("SELECT id FROM participants WHERE public_id = ?", [participant])
    [[count]] = connection.execute("SELECT count(*) FROM questions")
    [[last]] = connection.execute("SELECT coalesce(max(sequence), 0) FROM answers WHERE study_id = ?", [study])
    question = {**QUESTION, **{key: value for key, value in changes.items() if key in QUESTION}}
    question |= {"token": f"by-hand-{count}", "study_id": study, "participant_id": participant}
    number = insert(connection, "questions", question | {"issued_at": 0, "expires_at": expires})
    if answered:
        answer = {**ANSWER, **{key: value for key, value in changes.items() if key in ANSWER}}
        insert(connection, "answers", answer | {"study_id": study, "sequence": last + 1, "question_id": number})
    connection.commit()
    connection.close()


def insert(connection, table, values):
    names = ", ".join(values)
    marks = ", ".join("?" for _ in values)
    return connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*values.values()]).lastrowid


def join(client, study):
    return client.post(f"/api/take/{study}/join", json={"parameters": {}, "consent": True}).json()


def answer(client, study, turn):
    asked = turn["questions"][0]
    body = {"participant": turn["participant"], "token": asked["token"], "choice": asked["left"]["id"]}
    reply = client.post(f"/api/take/{study}/answer", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def some_answers(client, study):
    """So many that it is all but sure that one of them is not held out."""
    turn = join(client, study)
    for _ in range(SOME):
        turn = answer(client, study, turn)
    return turn


def learned(researcher, study, n):
    end = time.monotonic() + 30
    while (live := researcher.get(f"/api/studies/{study}/live").json())["learner"]["sequence"] != n:
        assert time.monotonic() < end, live
        time.sleep(0.02)
    return live


def test_rows_that_were_put_in_by_hand_end_nothing(client, configuration, store, researcher, study, tmp_path):
    path = configuration.data / "erkle.db"
    turn = answer(client, study, join(client, study))
    ann = turn["participant"]
    for changes in (*DAMAGED.values(), *ODD.values()):
        put(path, study, ann, changes)
        turn = answer(client, study, turn)
    for changes in DAMAGED.values():
        if changes.keys() & QUESTION.keys():
            put(path, study, ann, changes, answered=False, expires=now() + 10**9)
    # Whoever loads the page again is asked nothing that is damaged.
    turn = client.post(f"/api/take/{study}/resume", json={"participant": ann}).json()
    assert [asked for asked in turn["questions"] if asked["token"].startswith("by-hand")] == []
    answer(client, study, turn)

    sound, odd = len(DAMAGED) + len(ODD) + 2, len(ODD)
    total = sound + len(DAMAGED) + odd
    live = learned(researcher, study, total)
    assert (live["answers"], live["learned"]) == (total, sum(each.kind in KINDS for each in store.log(study)))
    assert researcher.get(f"/api/studies/{study}/disputed").status_code == 200
    [person] = researcher.get(f"/api/studies/{study}/participants").json()
    assert (person["id"], person["answers"]) == (ann, total)

    exported = {name: researcher.get(f"/api/studies/{study}/export/{name}") for name in FORMATS}
    assert {name: reply.status_code for name, reply in exported.items()} == dict.fromkeys(FORMATS, 200)
    rows = list(csv.DictReader(io.StringIO(exported["answers.csv"].text, newline="")))
    assert len(rows) == total
    assert [row["kind"] for row in rows].count("damaged") == len(DAMAGED)
    assert {row["head_filename"] for row in rows if row["head"] in ("999", "-1", "-7")} == {""}
    lines = [json.loads(line) for line in exported["answers.jsonl"].text.splitlines()]
    assert [line["kind"] for line in lines] == [row["kind"] for row in rows]
    (tmp_path / "kernel.npz").write_bytes(exported["kernel.npz"].content)
    assert np.isfinite(ERKLE.load(tmp_path / "kernel.npz").embedding(2)).all()
    copy = import_bundle(store, io.BytesIO(exported["bundle.zip"].content), "bundle.zip")
    assert store.last(copy.id) == total - len(DAMAGED)


NO_TEXT = "CAST(x'fffe41' AS TEXT)"
BESIDE = {
    "parameters that are no JSON": "UPDATE participants SET parameters = '{not json'",
    "parameters that are no object": "UPDATE participants SET parameters = '[1, 2]'",
    "parameters that are a number": "UPDATE participants SET parameters = 7",
    "parameters that are very deep": f"UPDATE participants SET parameters = '{'[' * 5000}'",
    "parameters that are no text": f"UPDATE participants SET parameters = {NO_TEXT}",
    "a standing that there is not": "UPDATE participants SET state = 'asleep'",
    "a moment of joining that is no number": "UPDATE participants SET joined_at = 'yesterday'",
    "an identity that is no text": "UPDATE participants SET identity = x'ff'",
    "a payload that is no JSON": "UPDATE objects SET payload = 'x' WHERE number = 1",
    "a payload that is no object": "UPDATE objects SET payload = '\"x\"' WHERE number = 1",
    "a name that is a number": "UPDATE objects SET name = x'ff' WHERE number = 1",
    "a name that is not UTF-8": f"UPDATE objects SET name = {NO_TEXT} WHERE number = 1",
    "a title that is not UTF-8": f"UPDATE studies SET title = {NO_TEXT}",
    "a moment of creation that is no number": "UPDATE studies SET created_at = 'then'",
}


@pytest.mark.parametrize("statement", BESIDE.values(), ids=BESIDE)
def test_damage_beside_the_answers_ends_nothing_either(client, configuration, store, researcher, study, statement):
    turn = some_answers(client, study)
    by_sql(configuration.data / "erkle.db", statement)
    learned(researcher, study, SOME)
    pages = ["", "/participants", "/live", "/disputed", *(f"/export/{name}" for name in FORMATS)]
    replies = {page: researcher.get(f"/api/studies/{study}{page}") for page in pages}
    assert {page: reply.status_code for page, reply in replies.items()} == dict.fromkeys(pages, 200)
    assert [each["id"] for each in researcher.get("/api/studies").json()] == [study]
    assert [person["answers"] for person in replies["/participants"].json()] == [SOME]
    again = client.post(f"/api/take/{study}/resume", json={"participant": turn["participant"]})
    assert again.status_code == 200
    answer(client, study, again.json())
    learned(researcher, study, SOME + 1)
    bundle = researcher.get(f"/api/studies/{study}/export/bundle.zip").content
    assert store.last(import_bundle(store, io.BytesIO(bundle), "bundle.zip").id) == SOME + 1


def test_a_study_with_damaged_settings_asks_nobody_and_still_gives_its_answers(
    client, configuration, researcher, study
):
    turn = some_answers(client, study)
    learned(researcher, study, SOME)
    by_sql(configuration.data / "erkle.db", "UPDATE studies SET settings = '{not json'")
    replies = {name: researcher.get(f"/api/studies/{study}/export/{name}").status_code for name in FORMATS}
    assert replies == dict.fromkeys(FORMATS, 200)
    assert researcher.get(f"/api/studies/{study}").json()["settings"] == {"damaged": "{not json"}
    refused = client.post(f"/api/take/{study}/resume", json={"participant": turn["participant"]})
    assert 400 <= refused.status_code < 500
    assert "damaged is no setting" in refused.json()["error"]["sentence"]


def test_a_state_that_there_is_not_is_paused_until_it_is_opened(client, configuration, researcher, study):
    by_sql(configuration.data / "erkle.db", "UPDATE studies SET state = 'asleep'")
    assert researcher.get(f"/api/studies/{study}").json()["state"] == "paused"
    reply = client.post(f"/api/take/{study}/join", json={"parameters": {}, "consent": True})
    assert 400 <= reply.status_code < 500
    assert researcher.post(f"/api/studies/{study}/state", json={"state": "open"}).status_code == 200
    answer(client, study, join(client, study))


def by_sql(path, statement):
    with contextlib.closing(sqlite3.connect(path, timeout=30)) as connection:
        assert connection.execute(statement).rowcount == 1
        connection.commit()


KINDS = (Kind.CHOSEN, Kind.HELD_OUT, Kind.REPEATED)
FORMATS = ["answers.csv", "answers.jsonl", "kernel.npz", "embedding.csv", "bundle.zip"]


@pytest.fixture
def by_hand(tmp_path):
    with Store(tmp_path / "answers.db") as store:
        study = store.create_study("Letters", list("ABCDE")).id
        store.change_state(study, "open")
        ann = store.join(study).id
        yield store, study, ann, lambda changes, **options: put(tmp_path / "answers.db", study, ann, changes, **options)


@pytest.mark.parametrize("changes", DAMAGED.values(), ids=DAMAGED)
def test_what_is_damaged_is_marked_and_its_ids_are_numbers(by_hand, changes):
    store, study, ann, put = by_hand
    put({})
    put(changes)
    put(changes, answered=False, expires=2**60)
    whole, damaged = store.log(study)
    assert (whole.kind, whole.head, whole.near, whole.far) == (Kind.CHOSEN, 0, 1, 2)
    assert damaged.kind == Kind.DAMAGED
    assert {type(each) for each in (damaged.head, damaged.near, damaged.far, damaged.left)} == {int}
    # Where the question is whole, it is done; else they are asked another.
    is_whole = "choice" in changes and "o1" not in changes
    ledger = [(entry.issued.kind, entry.choice) for entry in store.ledger(study, ann)]
    assert ledger[:2] == [(Kind.CHOSEN, 1), (Kind.DAMAGED, -1)][: 1 + is_whole]
    assert len(store.pending(study)) == len(ledger) - 1 - is_whole == is_whole


@pytest.mark.parametrize("changes", ODD.values(), ids=ODD)
def test_what_is_odd_beside_an_answer_costs_no_answer(by_hand, changes):
    store, study, _, put = by_hand
    put(changes)
    [found] = store.log(study)
    assert (found.kind, found.head, found.near, found.far) == (Kind.CHOSEN, 0, 1, 2)
    assert found.client == ({"damaged": str(changes["client"])[:500]} if "client" in changes else {})
    assert found.response_ms in (700, None)
    assert found.answered_at in (ANSWER["answered_at"], 0)


def test_nobody_is_asked_a_damaged_question(by_hand):
    store, study, ann, _ = by_hand
    with pytest.raises(ValueError, match="The kind is 'damaged'; pass one of chosen"):
        store.issue(study, ann, [Query(0, 1, 2, kind=Kind.DAMAGED)])


def test_a_bundle_says_which_answers_are_damaged(researcher, client, configuration, study):
    put(configuration.data / "erkle.db", study, join(client, study)["participant"], {"head": 999})
    data = researcher.get(f"/api/studies/{study}/export/bundle.zip").content
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        [line] = archive.read("answers.jsonl").splitlines()
    assert (json.loads(line)["kind"], json.loads(line)["head"]) == ("damaged", 999)
