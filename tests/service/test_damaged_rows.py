"""Rows that somebody has put into the database by hand: one of them never ends an export, the learning or a study."""

import csv
import io
import json
import zipfile

import numpy as np
import pytest
from by_hand import ANSWER, FORMATS, QUESTION, answer, join, learned, put

from erkle import ERKLE
from erkle.service.exchange.unbundling import import_bundle
from erkle.store import Kind, Query, Store
from erkle.store.clock import now

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


KINDS = (Kind.CHOSEN, Kind.HELD_OUT, Kind.REPEATED)


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
