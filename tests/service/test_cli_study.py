"""Commands for studies, accounts and backups: what they write can be read back, and errors are one sentence."""

import csv
import sqlite3
import zipfile

import numpy as np
import pytest
from exchanged import filled, kernel, log

from erkle import ERKLE, triplets
from erkle.store import Purpose, State, Store
from erkle.store.database.versioning import VERSION_TABLE
from people import settings

YAML = "title: Towns\nobjects: [Paris, Lyon, Madrid, Rome]\nholdout: 0.2\n"


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def run(erkle, data):
    """Run a command on the data; it must succeed."""

    def run(*arguments):
        result = erkle(*arguments, "--data", data)
        assert result.returncode == 0, result.stderr
        return result

    return run


@pytest.fixture
def refused(erkle, data):
    """Run a command on the data; it must fail with one sentence, which is returned."""

    def refused(*arguments, where=None):
        result = erkle(*arguments, "--data", where or data)
        assert result.returncode == 2, result.stdout + result.stderr
        assert result.stderr.startswith("erkle: ")
        assert "Traceback" not in result.stderr
        return result.stderr.removeprefix("erkle: ").strip()

    return refused


@pytest.fixture
def store(data):
    data.mkdir()
    with Store(data / "erkle.db") as store:
        yield store


def test_a_study_can_be_created_from_a_yaml_file_changed_and_deleted(run, data, tmp_path):
    (tmp_path / "study.yaml").write_text(YAML)
    study = run("study", "create", tmp_path / "study.yaml").stdout.strip()
    assert study in (listed := run("study", "list").stdout)
    assert "Towns" in listed
    assert "draft" in listed
    for command, state in (("open", "open"), ("pause", "paused"), ("close", "closed")):
        assert state in run("study", command, study).stderr
    with Store(data / "erkle.db") as store:
        assert store.studies.get(study).settings["holdout"] == 0.2
        assert run("study", "key", study).stdout.strip() == (old := store.studies.signing_key(study))
        assert run("study", "key", study, "--new").stdout.strip() == store.studies.signing_key(study) != old
    run("study", "delete", study, "--yes")
    assert study not in run("study", "list").stdout


def test_features_and_objects_are_added_to_a_study(run, refused, store, tmp_path):
    names = ["Paris", "Lyon", "Madrid", "Rome"]
    study = store.studies.create("Towns", names, settings()).id
    table = tmp_path / "where.csv"
    table.write_text("name,x,y\n" + "".join(f"{name},{i},{i * i}\n" for i, name in enumerate([*names[:3], "Bonn"])))
    said = run("study", "features", study, table)
    assert "where" in said.stdout
    assert "'Bonn'" in said.stderr
    assert "'Rome'" in said.stderr
    before = store.features.all(study)["where"]
    # What cannot be done completely is not done at all.
    wide = tmp_path / "wide.npz"
    np.savez(wide, wide=np.random.default_rng(0).standard_normal((4, 3_000_000)), names=np.array(names))
    assert "at most" in refused("study", "features", study, wide, "--remove", "where")
    assert "'gone'" in refused("study", "features", study, "--remove", "where", "--remove", "gone")
    np.testing.assert_array_equal(store.features.all(study)["where"], before)
    (tmp_path / "new.txt").write_text("Oslo\nWien\n")
    table.write_text("name,x,y\nOslo,5,6\n")
    assert "2 objects" in run("study", "add", study, tmp_path / "new.txt", "--features", table).stderr
    assert [each.name for each in store.studies.objects(study)] == [*names, "Oslo", "Wien"]
    np.testing.assert_array_equal(store.features.all(study)["where"][4], [5, 6])
    run("study", "features", study, "--remove", "where")
    assert store.features.all(study) == {}


def test_a_study_that_is_not_ready_is_not_opened(refused, store):
    catch = {"anchor": "Paris", "near": "Lyon", "far": "Atlantis"}
    study = store.studies.create("Towns", ["Paris", "Lyon", "Madrid"], settings(checks={"catch": [catch]})).id
    assert "'Atlantis'" in refused("study", "open", study)
    assert store.studies.get(study).state == State.DRAFT


def test_an_imported_bundle_gives_the_same_kernel(run, store, tmp_path):
    study = filled(store)
    out = tmp_path / "bundle.zip"
    run("study", "export", study.id, "--out", out)
    copy = run("study", "import", out).stdout.strip()
    assert log(store, copy) == log(store, study.id)
    assert kernel(store, copy) == kernel(store, study.id)


@pytest.mark.parametrize("file", ["features.npz", "participants.csv", "embedding.csv", "kernel.npz"])
def test_a_file_without_answers_is_not_said_to_have_some(run, store, tmp_path, file):
    said = run("study", "export", filled(store).id, "--out", tmp_path / file).stderr
    assert file in said
    assert "36" not in said


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_imported_answers_give_the_same_kernel(run, store, tmp_path, form):
    study = filled(store)
    out = tmp_path / f"answers.{form}"
    run("study", "export", study.id, "--out", out, "--format", form)
    empty = store.studies.create("Empty", store.studies.objects(study.id), study.settings).id
    store.features.add(empty, store.features.all(study.id))
    assert "36 answers" in run("study", "import", out, "--into", empty).stderr
    assert kernel(store, empty) == kernel(store, study.id)
    new = run("study", "import", out, "--title", "New").stdout.strip()
    assert store.studies.get(new).title == "New"


def test_an_exported_csv_file_has_a_row_for_each_answer(run, store, tmp_path):
    study = filled(store)
    run("study", "export", study.id, "--out", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == store.answers.last(study.id)


def test_the_file_name_gives_the_format_of_an_export(run, store, tmp_path):
    study = filled(store)
    names = ("answers.jsonl", "answers.parquet", "my-kernel.npz", "embedding.csv", "participants.csv", "study.zip")
    for name in names:
        run("study", "export", study.id, "--out", tmp_path / name)
    assert len(triplets.read(tmp_path / "answers.parquet").triplets) == store.answers.last(study.id)
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == store.answers.last(study.id)
    assert ERKLE.load(tmp_path / "my-kernel.npz").n_objects_ == study.n_objects
    with (tmp_path / "embedding.csv").open(newline="", encoding="utf-8") as file:
        header, *places = csv.reader(file)
    assert (header, len(places)) == (["id", "name", "x1", "x2"], study.n_objects)
    with (tmp_path / "participants.csv").open(newline="", encoding="utf-8") as file:
        people = [(row["puid"], row["excluded"], row["lapse"] != "") for row in csv.DictReader(file)]
    assert people == [("p0", "false", True), ("p1", "false", True), ("p2", "true", False)]
    assert "study.json" in zipfile.ZipFile(tmp_path / "study.zip").namelist()


def test_the_format_option_overrides_the_file_name(run, store, tmp_path):
    study = filled(store)
    run("study", "export", study.id, "--out", tmp_path / "study.csv", "--format", "bundle")
    assert "study.json" in zipfile.ZipFile(tmp_path / "study.csv").namelist()


def test_check_counts_rows_and_names_what_is_wrong(run, erkle, refused, store, data, tmp_path):
    filled(store)
    assert "1 studies, 3 participants, 39 questions and 36 answers" in run("check").stdout
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE studies SET n_objects = 99")
        connection.exec_driver_sql("DELETE FROM leases")
    result = erkle("check", "--data", data)
    assert result.returncode == 1
    size, lease = result.stdout.splitlines()
    assert "99" in size
    assert "lease" in lease
    assert "elsewhere" in refused("check", where=tmp_path / "elsewhere")


@pytest.mark.parametrize("command", [("serve",), ("check",), ("study", "list")])
def test_a_database_of_another_version_is_refused(refused, store, command):
    with store._database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '0002'")
    assert "version 0002" in refused(*command)


def test_a_backup_is_a_consistent_copy(run, store, tmp_path):
    study = filled(store)
    (tmp_path / "elsewhere").mkdir()
    run("backup", tmp_path / "elsewhere" / "erkle.db")
    store.studies.delete(study.id)
    with Store(tmp_path / "elsewhere" / "erkle.db") as copy:
        assert len(log(copy, study.id)) == 36
    with sqlite3.connect(tmp_path / "elsewhere" / "erkle.db") as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_links_that_create_accounts_and_sign_in_work_once(run, refused, data):
    first = run("account", "add", "ann", "--public-url", "https://study.example.org/").stdout.strip()
    assert first.startswith("https://study.example.org/setup#")
    with Store(data / "erkle.db") as store:
        ann = store.links.use_for_account(first.partition("#")[2], Purpose.SETUP, "ann", "hash")
        second = run("account", "add", "bob").stdout.strip()
        assert second.startswith("http://127.0.0.1:8000/invited#")
        assert not store.links.use_for_account(second.partition("#")[2], Purpose.INVITE, "bob", "hash").admin
        token = run("account", "link", "ann").stdout.strip().partition("/enter#")[2]
        assert store.links.use(token, Purpose.ENTER).account == ann.id
        assert store.links.use(token, Purpose.ENTER) is None
    shown = run("account", "list").stdout
    assert all(word in shown for word in ("ann", "administrator", "bob", "researcher"))
    assert "'ANN'" in refused("account", "add", "ANN")
    sentence = refused("account", "link", "carl")
    assert "'carl'" in sentence
    assert "ann, bob" in sentence


def test_a_study_belongs_to_its_owner_or_to_the_first_account(run, refused, store, tmp_path):
    first, second = (store.accounts.create(name, "hash") for name in ("ann", "bob"))
    (tmp_path / "study.yaml").write_text(YAML)
    assert store.studies.get(run("study", "create", tmp_path / "study.yaml").stdout.strip()).owner == first.id
    named = run("study", "create", tmp_path / "study.yaml", "--owner", "bob").stdout.strip()
    assert store.studies.get(named).owner == second.id
    assert "'carl'" in refused("study", "create", tmp_path / "study.yaml", "--owner", "carl")


def test_a_wrong_file_is_refused_with_its_line(refused, tmp_path):
    (tmp_path / "study.yaml").write_text(YAML.replace("0.2", "7"))
    assert "line 3" in refused("study", "create", tmp_path / "study.yaml")
    (tmp_path / "answers.csv").write_text("anchor,near,far\na,b,c\na,b\n")
    assert "answers.csv, line 3" in refused("study", "import", tmp_path / "answers.csv")
    (tmp_path / "bundle.zip").write_bytes(b"PK\x03\x04...")
    assert refused("study", "import", tmp_path / "bundle.zip").startswith("bundle.zip: ")


def test_an_expected_error_is_one_sentence(refused, store, tmp_path):
    assert "erkle serve" in refused("study", "list", where=tmp_path / "nowhere")
    assert "'nope'" in refused("study", "open", "nope")
    assert "'nope'" in refused("study", "export", "nope", "--out", tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()
    assert "nofile.yaml" in refused("study", "create", tmp_path / "nofile.yaml")
    assert "nofile.zip" in refused("study", "import", tmp_path / "nofile.zip")
    study = filled(store)
    store.studies.change_state(study.id, State.CLOSED)
    assert "open" in refused("study", "open", study.id)
    assert "folder" in refused("study", "export", study.id, "--out", tmp_path / "no" / "a.zip")
    (tmp_path / "answers.csv").write_text("head,winner,loser\n0,1,2\n")
    assert "closed" in refused("study", "import", tmp_path / "answers.csv", "--into", study.id)
    assert "--title" in refused("study", "import", tmp_path / "answers.csv", "--into", study.id, "--title", "New")


def test_a_study_is_deleted_only_after_confirmation(refused, store, monkeypatch):
    study = filled(store)
    monkeypatch.setattr("typer.confirm", lambda question: False)
    refused("study", "delete", study.id)
    assert store.answers.last(study.id) == 36


def test_a_new_password_ends_all_sessions(store, run, refused, monkeypatch):
    from erkle.service.accounts.passwords import matches

    ann = store.accounts.create("ann", "hash")
    session = store.sessions.open(ann.id, 3600.0)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: "short")
    assert "5" in refused("account", "password", "Ann")
    assert store.sessions.get(session.token)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: "several odd words")
    run("account", "password", "Ann")
    assert matches("several odd words", store.accounts.named("ann")[1])
    assert store.sessions.get(session.token) is None
    assert "'carl'" in refused("account", "password", "carl")
