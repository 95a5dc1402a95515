"""Damage beside the answers: whatever somebody has done to one row of a table, its study goes on."""

import io
import json

import pytest
from by_hand import FORMATS, SOME, answer, by_sql, join, learned, some_answers
from PIL import Image

from erkle.service.exchange.unbundling import import_bundle

NO_TEXT = "CAST(x'fffe41' AS TEXT)"
DEEP = json.dumps({"a": []}).replace("[]", "[" * 900 + "]" * 900)
OPEN = "id = (SELECT max(id) FROM questions)"
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
    "parameters that are not finite": """UPDATE participants SET parameters = '{"a": NaN, "b": -1e999}'""",
    "parameters with half a pair": r"""UPDATE participants SET parameters = '{"\ud800": "\udfff"}'""",
    "parameters of 900 levels": f"UPDATE participants SET parameters = '{DEEP}'",
    "a client that is not finite": """UPDATE answers SET client = '{"a": Infinity}' WHERE sequence = 5""",
    "a client with half a pair": r"""UPDATE answers SET client = '{"a": "\ud800"}' WHERE sequence = 5""",
    "a client of 900 levels": f"UPDATE answers SET client = '{DEEP}' WHERE sequence = 5",
    "a payload that is not finite": """UPDATE objects SET payload = '{"text": NaN}' WHERE number = 1""",
    "a payload with half a pair": r"""UPDATE objects SET payload = '{"text": "\ud800"}' WHERE number = 1""",
    "a payload of a film that is not there": """UPDATE objects SET payload = '{"video": "x"}' WHERE number = 1""",
    "a name that is empty": "UPDATE objects SET name = '' WHERE number = 1",
    "a name with a NUL": "UPDATE objects SET name = CAST(x'410042' AS TEXT) WHERE number = 1",
    "a name that another has": "UPDATE objects SET name = 'Paris' WHERE number = 1",
    "an object that is gone": "DELETE FROM objects WHERE number = 2",
    "the last object gone": "DELETE FROM objects WHERE number = 5",
    "an object of a number below all": "UPDATE objects SET number = -1 WHERE number = 2",
    "an object of a number above all": "UPDATE objects SET number = 77 WHERE number = 2",
    "an object of no number": "UPDATE objects SET number = 'two' WHERE number = 2",
    "a number of objects that is a text": "UPDATE studies SET n_objects = 'abc'",
    "a number of objects that are bytes": "UPDATE studies SET n_objects = x'ff'",
    "a number of objects that is not whole": "UPDATE studies SET n_objects = 1.5",
    "a number of objects below all": "UPDATE studies SET n_objects = -7",
    "fewer objects than there are": "UPDATE studies SET n_objects = 4",
    "more objects than there can be": "UPDATE studies SET n_objects = 9223372036854775807",
    "a roster that is a text": "UPDATE studies SET roster = 'abc'",
    "a roster that are bytes": "UPDATE studies SET roster = x'ff'",
    "a roster that is not whole": "UPDATE studies SET roster = 1.5",
    "a roster that is the greatest number": "UPDATE studies SET roster = 9223372036854775807",
    "a title that is empty": "UPDATE studies SET title = ''",
    "a snapshot that is a text": "UPDATE snapshots SET data = 'abc'",
    "a snapshot that is a number": "UPDATE snapshots SET data = 9223372036854775807",
    "a snapshot that is not whole": "UPDATE snapshots SET data = x'504b0304ffff'",
    "a snapshot of a roster that is none": "UPDATE snapshots SET roster = 'abc'",
    "a lease for ever": "UPDATE leases SET owner = 'ghost', until = 9223372036854775807",
    "a lease until no time": "UPDATE leases SET owner = 'ghost', until = 'abc'",
    "a lease with no fence": "UPDATE leases SET fence = 'abc'",
    "a lease that is gone": "DELETE FROM leases",
    "an open question until no time": f"UPDATE questions SET expires_at = 'abc' WHERE {OPEN}",
    "an open question until bytes": f"UPDATE questions SET expires_at = x'ff' WHERE {OPEN}",
    "an open question since no time": f"UPDATE questions SET issued_at = 'abc' WHERE {OPEN}",
    "an open question with a token of bytes": f"UPDATE questions SET token = x'ff' WHERE {OPEN}",
    "an open question with a strategy of bytes": f"UPDATE questions SET strategy = x'ff' WHERE {OPEN}",
}


@pytest.mark.parametrize("statement", BESIDE.values(), ids=BESIDE)
def test_damage_beside_the_answers_ends_nothing(client, configuration, store, researcher, study, statement):
    turn = some_answers(client, study)
    learned(researcher, study, SOME)
    # It begins anew, and finds what is damaged.
    client.app.state.runtimes.forget(study)
    by_sql(configuration, statement)
    learned(researcher, study, SOME)
    pages = ["", "/objects", "/participants", "/live", "/disputed", *(f"/export/{name}" for name in FORMATS)]
    replies = {page: researcher.get(f"/api/studies/{study}{page}") for page in pages}
    assert {page: reply.status_code for page, reply in replies.items()} == dict.fromkeys(pages, 200)
    assert len(replies["/objects"].json()) == replies[""].json()["n_objects"] == 6
    assert [each["id"] for each in researcher.get("/api/studies").json()] == [study]
    assert b"erkle_answers" in client.app.state.exposition.text()
    assert [person["answers"] for person in replies["/participants"].json()] == [SOME]
    again = client.post(f"/api/take/{study}/resume", json={"participant": turn["participant"]})
    assert again.status_code == 200, again.text
    answer(client, study, again.json())
    learned(researcher, study, SOME + 1)
    for excluded in (True, False):
        decided = researcher.post(
            f"/api/studies/{study}/participants/{turn['participant']}", json={"excluded": excluded}
        )
        assert decided.status_code == 200
    bundle = researcher.get(f"/api/studies/{study}/export/bundle.zip").content
    assert store.last(import_bundle(store, io.BytesIO(bundle), "bundle.zip").id) == SOME + 1
    assert researcher.delete(f"/api/studies/{study}").status_code == 204


def test_a_study_with_damaged_settings_asks_nobody_and_still_gives_its_answers(
    client, configuration, researcher, study
):
    turn = some_answers(client, study)
    learned(researcher, study, SOME)
    by_sql(configuration, "UPDATE studies SET settings = '{not json'")
    replies = {name: researcher.get(f"/api/studies/{study}/export/{name}").status_code for name in FORMATS}
    assert replies == dict.fromkeys(FORMATS, 200)
    assert researcher.get(f"/api/studies/{study}").json()["settings"] == {"damaged": "{not json"}
    refused = client.post(f"/api/take/{study}/resume", json={"participant": turn["participant"]})
    watched = researcher.get(f"/api/studies/{study}/events")
    for reply in (refused, watched):
        assert 400 <= reply.status_code < 500
        assert "damaged is no setting" in reply.json()["error"]["sentence"]


def test_a_state_that_there_is_not_is_paused_until_it_is_opened(client, configuration, researcher, study):
    by_sql(configuration, "UPDATE studies SET state = 'asleep'")
    assert researcher.get(f"/api/studies/{study}").json()["state"] == "paused"
    reply = client.post(f"/api/take/{study}/join", json={"parameters": {}, "consent": True})
    assert reply.status_code == 409
    assert "is paused" in reply.json()["error"]["sentence"]
    assert researcher.post(f"/api/studies/{study}/state", json={"state": "open"}).status_code == 200
    answer(client, study, join(client, study))


def test_an_object_that_is_gone_changes_the_id_of_no_other(configuration, researcher, study):
    by_sql(configuration, "DELETE FROM objects WHERE number = 2")
    by_sql(configuration, "UPDATE objects SET name = 'object 2' WHERE number = 1")
    names = [each["name"] for each in researcher.get(f"/api/studies/{study}/objects").json()]
    assert names == ["Paris", "object 2", "object 2'", "Rome", "Oslo", "Wien"]


MEDIA = {
    "a name that leads elsewhere": "name = '../../etc/passwd'",
    "a name of bytes": "name = x'ff'",
    "a name with a NUL": "name = CAST(x'410042' AS TEXT)",
    "a type of bytes": "type = x'ff'",
    "a text": "data = 'abc'",
    "a number": "data = 7",
    "other bytes": "data = x'ff00'",
}


@pytest.mark.parametrize("change", MEDIA.values(), ids=MEDIA)
def test_a_damaged_medium_is_left_out_of_a_bundle(configuration, store, researcher, change):
    files = [("files", (f"{name}.png", picture(name), "image/png")) for name in ("red", "green", "blue")]
    spec = {"spec": json.dumps({"title": "Colours"})}
    study = researcher.post("/api/studies/upload", data=spec, files=files).json()["id"]
    by_sql(configuration, f"UPDATE media SET {change} WHERE name = (SELECT min(name) FROM media)")
    bundle = researcher.get(f"/api/studies/{study}/export/bundle.zip")
    assert bundle.status_code == 200
    copy = import_bundle(store, io.BytesIO(bundle.content), "bundle.zip").id
    assert len(store.media(copy)) == (3 if change.startswith("type") else 2)
    assert {name for each in store.objects(copy) for name in each.payload.values()} == set(store.media(copy))


def picture(colour):
    file = io.BytesIO()
    Image.new("RGB", (9, 9), colour).save(file, "PNG")
    return file.getvalue()
