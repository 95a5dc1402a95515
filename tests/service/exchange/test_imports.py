"""Imports: the answers of a file become the log, and an error names its line and changes nothing."""

import io
import time
from contextlib import asynccontextmanager

import pytest
from exchanged import NAMES, filled, kernel, log, peak_memory
from fastapi.testclient import TestClient

from erkle.service import Configuration, create_app
from erkle.service.exchange.exporting import answers_csv, answers_jsonl
from erkle.service.exchange.importing import add_answers, read_answers, study_of
from erkle.store import Imported, Kind, Store
from erkle.triplets import ReadError

SALMON = (
    "head,left,right,winner,sampler,score,puid,response_time,network_latency,loser,time_received,"
    "head_html,winner_html,loser_html,head_filename,winner_filename,loser_filename\n"
    "0,3,1,1,random,0.5,ann,1.25,0.1,3,1600000000.5,<img src='a'>,b,d,a.jpg,b.jpg,d.jpg\n"
    '3,0,1,0,ARR,0.25,bob,-1,0.1,1,1600000001.5,"x, y",b,d,d.jpg,a.jpg,b.jpg\n'
)


@pytest.fixture
def here(tmp_path, new_database):
    with Store(new_database(tmp_path / "here.db")) as store:
        yield store


def given(text, name="answers.csv"):
    return read_answers(io.BytesIO(text.encode()), name)


@pytest.mark.parametrize(("write", "name"), [(answers_csv, "answers.csv"), (answers_jsonl, "answers.jsonl")])
def test_an_export_is_imported_as_the_same_log_and_the_same_kernel(here, write, name):
    study = filled(here)
    text = "".join(write(here, study))
    empty = here.studies.create("Empty", here.studies.objects(study.id), study.settings)
    here.features.add(empty.id, here.features.all(study.id))
    assert add_answers(here, empty, given(text, name)) == len(log(here, study.id))
    assert log(here, empty.id) == log(here, study.id)
    assert kernel(here, empty.id) == kernel(here, study.id)
    parameters = [each.parameters for each in here.participants.all(empty.id)]
    assert parameters == [each.parameters for each in here.participants.all(study.id)]


@pytest.mark.parametrize(("write", "name"), [(answers_csv, "answers.csv"), (answers_jsonl, "answers.jsonl")])
def test_an_export_becomes_a_study_with_the_same_objects(here, write, name):
    study = filled(here, each=40)
    copy = study_of(here, given("".join(write(here, study)), name), "Copy")
    assert [each.name for each in here.studies.objects(copy.id)] == NAMES
    here.features.add(copy.id, here.features.all(study.id))
    assert kernel(here, copy.id) == kernel(here, study.id)


def test_responses_of_salmon_keep_participants_strategies_and_times(here):
    study = here.studies.create("Four", ["d", "a", "c", "b"])
    assert add_answers(here, study, given(SALMON)) == 2
    first, second = here.answers.log(study.id)
    # Objects are matched by image name, because the ids of the file are Salmon's.
    assert (first.anchor, first.near, first.far, first.left) == (1, 3, 0, 0)
    assert (second.anchor, second.near, second.far, second.left) == (0, 1, 3, 1)
    assert (first.strategy, first.response_ms, first.answered_at) == ("random", 1250, 1_600_000_000_500_000)
    assert (second.strategy, second.response_ms, second.kind) == ("ARR", None, Kind.CHOSEN)
    assert [each.parameters for each in here.participants.all(study.id)] == [{"puid": "ann"}, {"puid": "bob"}]


SAME = {
    "names": "anchor,near,far\ncat,dog,bus\nbus,cat,dog\n",
    "names in capitals of the header": "Anchor;Near;Far\ncat;dog;bus\nbus;cat;dog\n",
    "no header": "cat,dog,bus\nbus,cat,dog\n",
    "ids": "head,winner,loser\n0,1,2\n2,0,1\n",
    "ids and what was shown": "head,left,right,winner\n0,2,1,1\n2,0,1,0\n",
    "a mark at the start and other line ends": "\ufeffanchor,near,far\r\ncat,dog,bus\r\n\r\nbus,cat,dog\r\n",
    "JSON": '{"head": "cat", "winner": "dog", "loser": "bus"}\n{"head": "bus", "winner": "cat", "loser": "dog"}\n',
    "JSON of ids": '{"head": 0, "winner": 1, "loser": 2}\n{"head": 2, "winner": 0, "loser": 1}\n',
    "pictures": "head,winner,loser,head_filename,winner_filename,loser_filename\n"
    "7,8,9,cat.png,dog.png,bus.png\n9,7,8,bus.png,cat.png,dog.png\n",
}


@pytest.mark.parametrize("form", SAME)
def test_all_formats_of_the_same_answers_give_the_same_log(here, form):
    study = here.studies.create("Three", ["cat", "dog", "bus"])
    add_answers(here, study, given(SAME[form]))
    assert [(each.anchor, each.near, each.far) for each in here.answers.log(study.id)] == [(0, 1, 2), (2, 0, 1)]


def test_a_new_study_has_the_objects_of_the_file_in_their_order(here):
    study = study_of(here, given(SAME["names"]), "New")
    assert [each.name for each in here.studies.objects(study.id)] == ["cat", "dog", "bus"]
    study = study_of(here, given("head,winner,loser\n10,9,2\n"), "Numbers")
    assert [each.name for each in here.studies.objects(study.id)] == ["2", "9", "10"]
    study = study_of(here, given(SALMON), "Pictures")
    assert [each.name for each in here.studies.objects(study.id)] == ["a.jpg", "b.jpg", "d.jpg"]


WRONG = {
    "": "answers.csv",
    "anchor,near,far\n": "answers.csv",
    "a,b\n1,2\n": "columns",
    "anchor,near,far\ncat,dog,bus\ncat,dog\n": "line 3",
    "anchor,near,far\ncat,dog,bus\ncat,dog,mouse\n": "line 3: .*'mouse'",
    "anchor,near,far\ncat,dog,dog\n": "line 2: .*twice",
    "head,winner,loser\n0,1,3\n": "line 2: .*'3'",
    "head,winner,loser\n0,1,-1\n": "line 2: .*'-1'",
    "head,left,right,winner\n0,1,2,0\n": "line 2",
    "anchor,near,far,kind\ncat,dog,bus,guess\n": "line 2: .*'guess'",
    '{"head": "cat"}\n': "columns",
    '{"head": "cat", "winner": "dog", "loser": "bus"}\n[1, 2]\n': "line 2: .*JSON",
    '{"head": "cat", "winner": "dog", "loser": "bus"}\n{"head": 1': "line 2: .*JSON",
}


@pytest.mark.parametrize("text", WRONG)
def test_an_invalid_file_is_refused_with_one_sentence_and_changes_nothing(here, text):
    study = here.studies.create("Three", ["cat", "dog", "bus"])
    with pytest.raises(ReadError, match=WRONG[text]) as trouble:
        add_answers(here, study, given(text))
    assert "\n" not in str(trouble.value)
    assert here.answers.last(study.id) == 0
    assert here.participants.all(study.id) == []


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\x00" * 100, b"PK\x03\x04", b"'" * 200_000 + b",a,b\n1,2,3"])
def test_a_file_that_is_not_a_table_is_refused(data):
    with pytest.raises(ReadError):
        read_answers(io.BytesIO(data), "answers.csv")


@pytest.mark.parametrize(
    "text",
    [
        "anchor,near,far,near\ncat,dog,bus,cow\n",
        "anchor,near,far,puid,PUID\ncat,dog,bus,ann,bob\n",
        '{"anchor": "cat", "near": "dog", "NEAR": "cow", "far": "bus"}\n',
    ],
)
def test_a_column_that_occurs_twice_is_refused(text):
    with pytest.raises(ReadError, match="line 1: "):
        given(text)


def test_parameters_whose_names_differ_in_case_are_all_imported(here):
    study = here.studies.create("Three", ["cat", "dog", "bus"])
    add_answers(here, study, given("anchor,near,far,parameter.Age,parameter.age\ncat,dog,bus,1,2\n"))
    [participant] = here.participants.all(study.id)
    assert participant.parameters == {"Age": "1", "age": "2"}


STRANGE = "head,winner,loser,response_time,time_received,response_ms,answered_at,client,excluded,puid\n"


@pytest.mark.parametrize(
    "row",
    [
        "0,1,2,nan,nan,x,yesterday,[1],maybe,",
        "0,1,2,inf,-5,-1,9999-99-99,{,,x",
        "0,1,2,1e300,1e300,1e300,2020,null,,",
        "0,1,2,,,,9999-12-31T23:59:59-23:59,,,",
        "0,1,2,,,,0001-01-01T00:00:00Z,,,",
    ],
)
def test_an_answer_with_invalid_times_is_imported_without_them(here, row):
    study = here.studies.create("Three", ["cat", "dog", "bus"])
    assert add_answers(here, study, given(STRANGE + row + "\n")) == 1
    [answer] = here.answers.log(study.id)
    assert (answer.anchor, answer.near, answer.far, answer.response_ms, answer.client) == (0, 1, 2, None, {})


def test_a_researcher_imports_over_http(store, researcher, study):
    text = "anchor,near,far,puid\nParis,Lyon,Oslo,ann\nRome,Paris,Oslo,bob\n"
    answer = researcher.post(f"/api/studies/{study}/import", files={"file": ("a.csv", text.encode())})
    assert answer.json() == {"imported": 2}
    assert store.studies.counts(study)[:3] == (2, 2, 2)
    new = researcher.post("/api/import/triplets", files={"file": ("a.csv", text.encode())}, data={"title": "New"})
    assert new.status_code == 201
    assert new.json()["n_objects"] == 4
    assert store.answers.last(new.json()["id"]) == 2


def test_answers_cannot_be_imported_into_a_closed_study_or_a_study_of_somebody_else(store, researcher, stranger, study):
    files = {"file": ("a.csv", b"anchor,near,far\nParis,Lyon,Oslo\n")}
    assert stranger.post(f"/api/studies/{study}/import", files=files).status_code == 404
    researcher.post(f"/api/studies/{study}/state", json={"state": "closed"})
    assert researcher.post(f"/api/studies/{study}/import", files=files).status_code == 409
    wrong = {"file": ("../../a.csv", b"anchor,near,far\nParis,Lyon,Mars\n")}
    answer = researcher.post(f"/api/studies/{study}/import", files=wrong)
    assert answer.status_code == 422
    assert "'Mars'" in answer.json()["error"]["sentence"]
    assert answer.json()["error"]["sentence"].startswith("a.csv, line 2: ")


def test_a_failed_import_leaves_no_study_behind(here, monkeypatch):
    given = read_answers(io.BytesIO(b"head,winner,loser\na,b,c\n"), "t.csv")
    monkeypatch.setattr("erkle.store.imports.importing.Imports._move", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        study_of(here, given, "A")
    assert here.studies.all() == []


def test_memory_does_not_grow_with_the_keys_of_a_json_file(here):
    answer = '"anchor": "a", "near": "b", "far": "c"'
    lines = ("{" + answer + "".join(f', "{row}-{key}": 1' for key in range(60)) + "}\n" for row in range(250))
    text = "".join(lines)
    with peak_memory() as peak:
        study_of(here, given(text, "a.jsonl"), "Wide")
    # A table with all keys as columns would have 4 million cells.
    assert peak() < 10 << 20


@pytest.mark.parametrize(
    "text",
    [
        "{" + ", ".join(f'"{key}": 1' for key in range(1001)) + "}\n",
        ",".join(f"c{column}" for column in range(1001)) + "\n",
        '{"anchor": "' + "a" * (1 << 20) + '"}\n',
        "anchor,near,far\n" + "a" * (1 << 20) + ",b,c\n",
        'anchor,near,far\n"' + "\n" * (1 << 20) + '",b,c\n',
        "{" * 100_000,
        '{"a": ' * 100_000,
    ],
    ids=["keys", "columns", "JSON line", "line", "quoted line", "depth", "depth of objects"],
)
def test_rows_that_are_too_wide_too_long_or_too_deep_are_refused(text):
    with pytest.raises(ReadError, match=r"^answers\.csv, line \d+: "):
        given(text)


def test_the_number_of_answers_of_a_file_is_limited(monkeypatch):
    monkeypatch.setattr("erkle.store.limits.IMPORTED_ANSWERS", 2)
    assert given("x,y,z\n" * 2).names() == ["x", "y", "z"]
    with pytest.raises(ReadError, match="2 answers"):
        given("x,y,z\n" * 3)


def test_a_file_cannot_name_more_objects_than_a_study_may_have(researcher):
    text = "".join(f"{row},b,c\n" for row in range(9999))
    answer = researcher.post("/api/import/triplets", files={"file": ("a.csv", text)}, data={"title": "New"})
    assert answer.status_code == 422
    assert "10,000" in answer.json()["error"]["sentence"]
    assert researcher.get("/api/studies").json() == []
    assert len(given(text[: text.index("9998")]).names()) == 10_000


def test_a_server_completes_an_import_that_was_killed(data_folder, client):
    database = client.app.state.configuration.place
    with Store(database) as store:
        study = store.studies.create("Three", ["a", "b", "c"]).id
        # What a process leaves behind that is killed before it moves the first batch.
        batch = store.imports._stage(study, "killed", [Imported("p", 0, 1, 2)] * 5, 0)
        store.imports._make_ready(study, "killed", 1)
        assert (batch, store.answers.last(study)) == (5, 0)
        with TestClient(create_app(Configuration(data=data_folder))):
            deadline = time.monotonic() + 30
            while store.answers.last(study) < 5 and time.monotonic() < deadline:
                time.sleep(0.01)
        assert store.answers.last(study) == 5


def test_a_time_without_a_zone_is_in_utc(here, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        rows = given("anchor,near,far,time_received\na,b,c,2020-09-13T12:26:40\n")
        study = study_of(here, rows, "Times", owner=None)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [answer.answered_at for answer in here.answers.log(study.id)] == [1_600_000_000_000_000]


def test_imports_uploads_and_exports_take_turns_by_account(researcher, study, monkeypatch):
    keys = []

    class Turns:
        @asynccontextmanager
        async def turn(self, key):
            keys.append(key)
            yield

    monkeypatch.setattr(researcher.app.state, "account_turns", Turns())
    file = {"file": ("a.csv", b"anchor,near,far\nParis,Lyon,Oslo\n")}
    assert researcher.post(f"/api/studies/{study}/import", files=file).status_code == 200
    assert researcher.post("/api/import/triplets", files=file, data={"title": "New"}).status_code == 201
    bundle = researcher.get(f"/api/studies/{study}/export/bundle.zip").content
    assert researcher.post("/api/import", files={"file": ("b.zip", bundle)}).status_code == 201
    assert researcher.post("/api/studies/upload", files={"files": ("a.txt", b"a\nb\nc")}).status_code == 201
    assert keys == [researcher.get("/api/me").json()["account"]["id"]] * 5
