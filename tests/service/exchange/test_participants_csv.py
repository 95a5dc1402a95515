"""participants.csv: a row for each participant that says whom to pay, without secrets and formulas."""

import csv
import io
from collections import Counter
from datetime import datetime

import pytest
from exchanged import filled
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_exports import ATTACKS, TEXTS, export, table

from erkle.csv_files import plain
from erkle.service.dashboard.answering import ShareOfSlips
from erkle.service.dashboard.participants.marks import Interval, Mark, MarkKind
from erkle.service.dashboard.participants.rows import ParticipantRow
from erkle.service.exchange.participants_csv import participants_csv
from erkle.store import State
from people import THINGS, Somebody
from people import settings as study_settings


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.fixture
def owner(researcher):
    return researcher.get("/api/me").json()["account"]["id"]


@pytest.fixture
def paid(client, store, owner):
    """A study with codes that one participant has completed, one has begun, and one has failed by skipping."""
    endings = {"completed": {"code": "C1"}, "failed": {"code": "F1"}}
    values = study_settings(checks={"practice": 0}, limits={"per_participant": 4}, endings=endings)
    study = store.studies.create("Fruit & vegetables", THINGS, values, owner=owner).id
    store.studies.change_state(study, State.OPEN)
    Somebody(client, study, PROLIFIC_PID="ann", SESSION_ID="s1").answer_all()
    Somebody(client, study, PROLIFIC_PID="bob").answer()
    cid = Somebody(client, study, puid="cid")
    while not cid.reply["finished"]:
        cid.reply = cid.post("skip", participant=cid.id, token=cid.question["token"]).json()
    client.post(f"/api/take/{study}/join", json={"parameters": {}, "consent": True})
    return study


def test_each_participant_is_a_row_that_says_whom_to_pay(researcher, paid):
    rows = rows_of(export(researcher, paid, "participants.csv").text)
    found = [[row[name] for name in ("puid", "code", "state", "answers", "skips")] for row in rows]
    assert found == [
        ["ann", "C1", "completed", "4", "0"],
        ["bob", "", "active", "1", "0"],
        ["cid", "F1", "failed", "0", "4"],
        ["4", "", "active", "0", "0"],
    ]
    assert next(iter(rows[0])) == "puid"
    assert [row["participant"] for row in rows] == ["1", "2", "3", "4"]
    assert [row["minutes"] for row in rows[:3]] == ["0.0"] * 3
    assert rows[3]["minutes"] == rows[3]["last_at"] == rows[3]["left"] == ""
    assert rows[0]["parameter.SESSION_ID"] == "s1"
    assert datetime.fromisoformat(rows[0]["joined_at"]) <= datetime.fromisoformat(rows[0]["last_at"])


def test_the_table_has_the_values_of_the_dashboard(researcher, paid):
    shown = researcher.get(f"/api/studies/{paid}/participants").json()
    researcher.post(f"/api/studies/{paid}/participants", json={"ids": [shown[0]["id"]], "excluded": True})
    researcher.post(f"/api/studies/{paid}/participants", json={"ids": [shown[1]["id"]], "flagged": True})
    shown = researcher.get(f"/api/studies/{paid}/participants").json()
    rows = rows_of(export(researcher, paid, "participants.csv").text)
    for one, row in zip(shown, rows, strict=True):
        for name in ("puid", "state", "code"):
            assert one[name] == row[name]
        for name in ("answers", "skips", "catch_asked", "catch_wrong", "too_fast"):
            assert one[name] == int(row[name])
        assert [str(one[name]).lower() for name in ("excluded", "flagged")] == [row["excluded"], row["flagged"]]
    # The state stays what it was when somebody is excluded, and so does the code that they were given.
    assert (rows[0]["excluded"], rows[0]["state"], rows[0]["code"]) == ("true", "completed", "C1")


def test_participants_and_answers_can_be_joined(store, researcher, owner):
    made = filled(store, owner=owner)
    people = rows_of(export(researcher, made.id, "participants.csv").text)
    answers = Counter((row["participant"], row["puid"]) for row in table(researcher, made.id))
    assert {(row["participant"], row["puid"]): int(row["answers"]) for row in people} == answers


def test_the_table_has_no_secret_ids(store, researcher, paid):
    text = export(researcher, paid, "participants.csv").text
    assert not any(each.id in text for each in store.participants.all(paid))


def test_only_the_owner_gets_the_table(client, stranger, paid):
    assert export(client, paid, "participants.csv").status_code == 401
    assert export(stranger, paid, "participants.csv").status_code == 404


SHARES = st.floats(0.0, 1.0).map(lambda share: round(share, 4))
INTERVALS = st.builds(Interval, share=SHARES, low=SHARES, high=SHARES)
COUNTS, TIMES = st.integers(0, 10**6), st.integers(0, 4 * 10**12)
ROWS = st.builds(
    ParticipantRow,
    id=st.just("secret"),
    number=COUNTS,
    puid=TEXTS.map(lambda text: " ".join(text.splitlines()).strip() or "1"),
    parameters=st.dictionaries(TEXTS, TEXTS, max_size=4),
    code=TEXTS,
    state=st.sampled_from(["active", "completed", "failed", "screened", "closed"]),
    excluded=st.booleans(),
    flagged=st.booleans(),
    marks=st.lists(st.builds(Mark, kind=st.sampled_from(MarkKind), sentence=TEXTS), max_size=3),
    joined_at=TIMES,
    last_at=st.none() | TIMES,
    minutes=st.none() | st.floats(0, 1e6),
    answers=COUNTS,
    skips=COUNTS,
    median_ms=st.none() | st.floats(0, 1e6),
    too_fast=COUNTS,
    catch_asked=COUNTS,
    catch_wrong=COUNTS,
    left=st.none() | INTERVALS,
    agreement=st.none() | SHARES,
    consistency=st.none() | SHARES,
    lapse=st.none() | st.builds(ShareOfSlips, rate=SHARES, low=SHARES, high=SHARES),
)
HOSTILE = ROWS.map(lambda row: row.model_copy(update={"puid": "=1+1", "parameters": ATTACKS, "code": "@x"}))


@settings(deadline=None)
@given(st.lists(ROWS | HOSTILE, max_size=5))
@example([])
def test_any_text_survives_and_no_cell_is_a_formula(given_rows):
    found = rows_of(participants_csv(given_rows))
    assert len(found) == len(given_rows)
    for row, given_row in zip(found, given_rows, strict=True):
        assert plain(row["puid"]) == given_row.puid
        assert plain(row["code"]) == given_row.code
        assert (row["state"], row["participant"]) == (given_row.state, str(given_row.number))
        shares = given_row.left and [str(given_row.left.share), str(given_row.left.low), str(given_row.left.high)]
        assert [row["left"], row["left_low"], row["left_high"]] == (shares or ["", "", ""])
        for mark in given_row.marks:
            assert mark.sentence in plain(row["marks"])
        for cell in row.values():
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
        own = {name.removeprefix("parameter."): plain(cell) for name, cell in row.items() if name[:10] == "parameter."}
        assert {name: cell for name, cell in own.items() if cell}.items() <= given_row.parameters.items()
        assert "secret" not in row.values()
