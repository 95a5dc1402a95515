"""Numbers of answers that somebody has changed by hand: the answer may be lost to the log, and nothing else is."""

import csv
import io

import pytest
from by_hand import FORMATS, SOME, answer, by_sql, join, learned, some_answers

from erkle.service.exchange.unbundling import import_bundle

NONE = ["'abc'", "x'ff'", "5.5", "12.5", "0", "-7", "9223372036854775807", "9223372036854775806"]


def numbered(configuration, number, place=5):
    by_sql(configuration, f"UPDATE answers SET sequence = {number} WHERE sequence = {place}")


@pytest.mark.parametrize("number", [*NONE, "1000000"])
@pytest.mark.parametrize("place", [5, SOME])
def test_a_number_that_is_none_costs_at_most_its_answer(client, configuration, store, researcher, study, number, place):
    turn = some_answers(client, study)
    client.app.state.runtimes.forget(study)
    numbered(configuration, number, place)
    turn = answer(client, study, turn)
    assert turn["acknowledged"]["sequence"] == store.last(study) > 0
    left = SOME + (number not in NONE)
    learned(researcher, study, store.last(study))
    assert researcher.get(f"/api/studies/{study}/live").json()["answers"] == left
    assert [each["answers"] for each in researcher.get("/api/studies").json()] == [left]
    assert b"erkle_answers" in client.app.state.exposition.text()
    exported = {name: researcher.get(f"/api/studies/{study}/export/{name}") for name in FORMATS}
    assert {name: reply.status_code for name, reply in exported.items()} == dict.fromkeys(FORMATS, 200)
    assert len(list(csv.DictReader(io.StringIO(exported["answers.csv"].text, newline="")))) == left
    copy = import_bundle(store, io.BytesIO(exported["bundle.zip"].content), "bundle.zip")
    assert store.last(copy.id) == left
    # What was acknowledged once is acknowledged again.
    answer(client, study, client.post(f"/api/take/{study}/resume", json={"participant": turn["participant"]}).json())


def test_a_number_far_ahead_does_not_fill_a_study(client, configuration, store, make):
    study = make(limits={"answers": SOME + 2})
    turn = some_answers(client, study)
    numbered(configuration, 1_000_000)
    # Two that were open, and the one that made it enough.
    for open_ones in (2, 1, 0):
        turn = answer(client, study, turn)
        assert len(turn["questions"]) == open_ones
    assert turn["finished"] is not None


@pytest.mark.parametrize("question", ["99999999", "'abc'"])
@pytest.mark.parametrize("place", [5, SOME])
def test_an_answer_to_no_question_is_damaged(client, configuration, store, researcher, study, question, place):
    turn = some_answers(client, study)
    by_sql(configuration, f"UPDATE answers SET question_id = {question} WHERE sequence = {place}")
    client.app.state.runtimes.forget(study)
    learned(researcher, study, SOME)
    exported = {name: researcher.get(f"/api/studies/{study}/export/{name}") for name in FORMATS}
    assert {name: reply.status_code for name, reply in exported.items()} == dict.fromkeys(FORMATS, 200)
    rows = list(csv.DictReader(io.StringIO(exported["answers.csv"].text, newline="")))
    assert [row["sequence"] for row in rows if row["kind"] == "damaged"] == [str(place)]
    copy = import_bundle(store, io.BytesIO(exported["bundle.zip"].content), "bundle.zip")
    assert store.last(copy.id) == SOME - 1
    answer(client, study, client.post(f"/api/take/{study}/resume", json={"participant": turn["participant"]}).json())
    assert researcher.delete(f"/api/studies/{study}").status_code == 204


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE participants SET study_id = 999999 WHERE id = (SELECT min(id) FROM participants)",
        "UPDATE participants SET public_id = x'ff' WHERE id = (SELECT min(id) FROM participants)",
        "DELETE FROM participants WHERE id = (SELECT min(id) FROM participants)",
    ],
)
def test_answers_of_nobody_are_left_out_of_a_bundle(client, configuration, store, researcher, study, statement):
    some_answers(client, study)
    answer(client, study, join(client, study))
    by_sql(configuration, statement)
    learned(researcher, study, SOME + 1)
    exported = {name: researcher.get(f"/api/studies/{study}/export/{name}") for name in FORMATS}
    assert {name: reply.status_code for name, reply in exported.items()} == dict.fromkeys(FORMATS, 200)
    rows = list(csv.DictReader(io.StringIO(exported["answers.csv"].text, newline="")))
    assert [row["participant"] for row in rows] == ["0"] * SOME + ["1"]
    copy = import_bundle(store, io.BytesIO(exported["bundle.zip"].content), "bundle.zip")
    assert store.last(copy.id) == 1
    assert researcher.get(f"/api/studies/{study}/participants").status_code == 200
