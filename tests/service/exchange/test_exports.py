"""Exports contain every answer once, no secrets and no formulas."""

import csv
import io
import json
import sys
from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pytest
from exchanged import NAMES, filled, log
from hypothesis import example, given, settings
from hypothesis import strategies as st

from erkle import ERKLE, triplets
from erkle.csv_files import plain
from erkle.service.exchange.exporting import answers_csv, answers_jsonl
from erkle.service.exchange.importing import read_answers, study_of
from erkle.store import Imported, Object, Query, State, Store

FORMATS = [
    "answers.csv",
    "answers.jsonl",
    "answers.parquet",
    "participants.csv",
    "kernel.npz",
    "embedding.csv",
    "bundle.zip",
]


@pytest.fixture
def made(store, researcher):
    return filled(store, owner=researcher.get("/api/me").json()["account"]["id"])


def export(client, study, name):
    return client.get(f"/api/studies/{study}/export/{name}")


def table(client, study):
    return list(csv.DictReader(io.StringIO(export(client, study, "answers.csv").text, newline="")))


def test_every_answer_is_a_row_with_salmons_columns_and_ours(store, researcher, made):
    rows = table(researcher, made.id)
    answers = list(store.answers.log(made.id, include_excluded=True))
    assert [int(row["sequence"]) for row in rows] == [answer.sequence for answer in answers]
    for row, answer in zip(rows, answers, strict=True):
        written = [int(row[name]) for name in ("head", "left", "winner", "loser", "response_ms")]
        assert written == [answer.anchor, answer.left, answer.near, answer.far, answer.response_ms]
        assert {row["left"], row["right"]} == {row["winner"], row["loser"]}
        assert float(row["response_time"]) == answer.response_ms / 1000
        assert float(row["time_received"]) == pytest.approx(answer.answered_at / 1e6)
        assert (row["kind"], row["excluded"]) == (answer.kind, str(answer.excluded).lower())
        assert plain(row["head_filename"]) == NAMES[answer.anchor]
        assert row["puid"] == row["parameter.PROLIFIC_PID"]


def test_the_side_of_the_choice_and_the_position_of_the_question_survive_an_export_and_an_import(
    store, researcher, made
):
    log = list(store.answers.log(made.id, include_excluded=True))
    rows = table(researcher, made.id)
    assert [row["chosen_side"] for row in rows] == ["left" if each.left == each.near else "right" for each in log]
    assert [int(row["position"]) for row in rows] == [each.position for each in log]
    assert all(row[row["chosen_side"]] == row["winner"] for row in rows)
    file = io.BytesIO(export(researcher, made.id, "answers.csv").content)
    again = study_of(store, read_answers(file, "answers.csv"), "Again")
    assert [each.position for each in store.answers.log(again.id, include_excluded=True)] == [e.position for e in log]


def test_json_lines_have_the_same_values_as_csv(researcher, made):
    lines = [json.loads(line) for line in export(researcher, made.id, "answers.jsonl").text.splitlines()]
    rows = table(researcher, made.id)
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        assert set(line) == set(row)
        assert str(line["winner"]) == row["winner"]
        assert line["head_filename"] == plain(row["head_filename"])


def test_parquet_has_the_values_of_json_lines_with_types(researcher, made):
    parquet = pytest.importorskip("pyarrow.parquet")
    lines = [json.loads(line) for line in export(researcher, made.id, "answers.jsonl").text.splitlines()]
    found = parquet.read_table(io.BytesIO(export(researcher, made.id, "answers.parquet").content))
    assert found.column_names == list(table(researcher, made.id)[0])
    for line, row in zip(lines, found.to_pylist(), strict=True):
        for name, value in row.items():
            if isinstance(value, datetime):
                assert value == datetime.fromisoformat(line[name])
            elif isinstance(line[name], dict):
                assert json.loads(value or "{}") == line[name]
            else:
                assert value == line[name]
                assert type(value) is type(line[name])


def test_parquet_is_written_in_pieces_and_can_be_learned(researcher, made, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("erkle.service.exchange.answers_parquet._GROUP", 5)
    (tmp_path / "answers.parquet").write_bytes(export(researcher, made.id, "answers.parquet").content)
    found, labels = triplets.read(tmp_path / "answers.parquet")
    rows = [[row[part] for part in ("head", "winner", "loser")] for row in table(researcher, made.id)]
    assert labels.decode(found).tolist() == rows


def test_a_server_without_pyarrow_says_so(researcher, made, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = export(researcher, made.id, "answers.parquet")
    assert answer.status_code == 409
    assert "pyarrow" in answer.json()["error"]["sentence"]


def test_no_cell_is_a_formula_and_every_cell_can_be_restored(researcher, made):
    rows = table(researcher, made.id)
    texts = [cell for row in rows for name, cell in row.items() if name.endswith("_filename") or "." in name]
    assert any(cell.startswith("'=") for cell in texts)
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in texts)
    assert [plain(row["head_filename"]) for row in rows] == [NAMES[int(row["head"])] for row in rows]


def test_a_table_has_no_tokens_and_no_secret_ids(store, researcher, made):
    answers = list(store.answers.log(made.id, include_excluded=True))
    for name in ("answers.csv", "answers.jsonl"):
        text = export(researcher, made.id, name).text
        assert not any(answer.token in text or answer.participant in text for answer in answers)


def test_the_exported_kernel_numbers_participants_as_the_table_does_and_has_no_secret_ids(
    store, researcher, made, tmp_path
):
    path = tmp_path / "kernel.npz"
    path.write_bytes(export(researcher, made.id, "kernel.npz").content)
    for each in store.participants.all(made.id):
        assert each.id.encode() not in path.read_bytes()
        assert each.id.encode("utf-32-le") not in path.read_bytes()
    found = ERKLE.load(path).participants_
    rows = (row for row in table(researcher, made.id) if row["excluded"] == "false")
    counts = Counter(row["participant"] for row in rows if row["kind"] not in ("practice", "catch"))
    assert dict(zip(found.names.tolist(), found.n_answers.tolist(), strict=True)) == counts


def test_names_are_escaped_in_the_html_columns(researcher, made):
    html = {row["head_html"] for row in table(researcher, made.id)}
    assert any("&lt;" in cell for cell in html)
    assert not any("<" in cell for cell in html)


def test_a_table_without_answers_has_only_a_header(researcher, study):
    assert table(researcher, study) == []
    assert export(researcher, study, "answers.jsonl").text == ""


def test_a_study_without_answers_has_no_kernel_and_no_map_to_export(researcher, study):
    for name in ("kernel.npz", "embedding.csv"):
        answer = export(researcher, study, name)
        assert answer.status_code == 409
        assert answer.json()["error"]["reason"] == "not-allowed"


def test_the_exported_kernel_and_map_can_be_read(researcher, made, tmp_path):
    path = tmp_path / "kernel.npz"
    path.write_bytes(export(researcher, made.id, "kernel.npz").content)
    learner = ERKLE.load(path)
    assert learner.n_objects_ == len(NAMES)
    rows = list(csv.reader(io.StringIO(export(researcher, made.id, "embedding.csv").text, newline="")))
    assert rows[0] == ["id", "name", "x1", "x2"]
    assert [plain(row[1]) for row in rows[1:]] == NAMES
    assert np.isfinite(np.array([row[2:] for row in rows[1:]], float)).all()


def test_only_the_owner_can_export(client, stranger, made):
    for name in FORMATS:
        assert export(client, made.id, name).status_code == 401
        assert export(stranger, made.id, name).status_code == 404


def test_an_export_is_downloaded_and_not_shown(researcher, made):
    for name in FORMATS:
        answer = export(researcher, made.id, name)
        assert answer.status_code == 200
        today = datetime.now(UTC).date()
        assert answer.headers["Content-Disposition"] == f'attachment; filename="odd-names-{today}-{name}"'
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_answers_that_arrive_during_an_export_are_left_out(tmp_path, new_database):
    with Store(new_database(tmp_path / "a.db")) as store:
        made = filled(store)
        pieces = answers_jsonl(store, made)
        first = next(pieces)
        late = store.participants.join(made.id).id
        [asked] = store.questions.issue(made.id, late, [Query(0, 1, 2)])
        store.answers.submit(made.id, late, asked.token, 1)
        assert len([first, *pieces]) == len(log(store, made.id)) - 1
        store.studies.change_state(made.id, State.CLOSED)


def test_a_table_has_at_most_50_columns_for_parameters(store, researcher, study):
    ann, *others = (
        store.participants.join(
            study, {"PID": f"p{person}", **{f"{person}-{name}": str(name) for name in range(60)}}
        ).id
        for person in range(5)
    )
    for who in (ann, *others):
        [asked] = store.questions.issue(study, who, [Query(0, 1, 2)])
        store.answers.submit(study, who, asked.token, 1)
    rows = table(researcher, study)
    own = [name for name in rows[0] if name.startswith("parameter.")]
    assert (len(own), own[0], own[1:]) == (50, "parameter.PID", sorted(own[1:]))
    for row, each in zip(rows, store.participants.all(study), strict=True):
        written = {name.removeprefix("parameter."): row[name] for name in own[1:] if row[name]}
        assert {"PID": row["parameter.PID"], **written, **json.loads(row["parameters"] or "{}")} == each.parameters
    lines = [json.loads(line) for line in export(researcher, study, "answers.jsonl").text.splitlines()]
    assert all(len([name for name in line if name.startswith("parameter.")]) <= 50 for line in lines)
    # An import reads them back.
    data = export(researcher, study, "answers.csv").content
    copy = researcher.post("/api/import/triplets", files={"file": ("a.csv", data)}, data={"title": "Copy"}).json()["id"]
    assert [len(each.parameters) for each in store.participants.all(copy)] == [61] * 5


TEXTS = st.text(
    st.sampled_from("=+-@'\";,\t\r\n\x85\u2028 aÄ0") | st.characters(exclude_characters="\0", codec="utf-8")
)
ATTACKS = {"CR": "\r=1+1", "LF": "a\n=1+1", "semicolon": "x;=1+1", "tab": "x\t@y", "empty": "", "a": " b ", "A": "c"}


@pytest.fixture(scope="module")
def other(tmp_path_factory, new_database):
    with Store(new_database(tmp_path_factory.mktemp("other") / "a.db")) as store:
        yield store


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(TEXTS, TEXTS, min_size=1, max_size=4), st.lists(TEXTS.filter(bool), min_size=3, unique=True))
@example(ATTACKS, ["=1+1", " a", "a", "\r", "'"])
@example({"PROLIFIC_PID": "a\r\nb\u2028=1", "x\ny": "z"}, ["x;=1", "\n@", "2"])
def test_any_text_survives_an_export_and_an_import_and_each_answer_is_one_line(other, parameters, names):
    study = other.studies.create("Any", [Object(name) for name in names])
    other.imports.append(study.id, [Imported("p", 0, 1, 2, parameters=parameters)] * 2)
    shown = [each.parameters for each in other.participants.all(study.id)]
    for write, file in ((answers_csv, "a.csv"), (answers_jsonl, "a.jsonl")):
        text = "".join(write(other, study))
        # Participants cannot add lines. Names of objects are the researcher's own.
        if not any(name.splitlines() != [name] for name in names):
            assert len(text.splitlines()) == (3 if file == "a.csv" else 2)
        copy = study_of(other, read_answers(io.BytesIO(text.encode()), file), "Copy")
        assert [each.name for each in other.studies.objects(copy.id)] == names[:3]
        assert [each.parameters for each in other.participants.all(copy.id)] == shown
