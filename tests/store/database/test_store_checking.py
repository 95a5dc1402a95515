"""A check reads a database, names every broken law, and changes nothing."""

import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest
from sqlalchemy import text

from erkle.store import Medium, Object, Query, State, Store, StoreError, check_database
from erkle.store.database import checking
from with_media import study_with_media

NPZ = b"PK\x03\x04"
# Changes that somebody could make to the database by hand, and the values in the finding.
FAULTS = {
    "gap": ("DELETE FROM answers WHERE sequence = 2", "numbered 1 to 3, but there are 2"),
    "choice of the anchor": ("UPDATE answers SET choice = 0 WHERE sequence = 2", "answer 2 chooses object 0"),
    "answered and skipped": ("INSERT INTO skips VALUES (1, '', 0)", "question 1 was both answered (answer 1)"),
    "question of another study": ("UPDATE questions SET study_id = 2 WHERE id = 1", "answer 1 does not belong"),
    "participant of another study": ("UPDATE participants SET study_id = 2", "question 1 was not issued"),
    "unknown object": ("UPDATE questions SET anchor = 7 WHERE id = 2", "question 2 is about objects 7, 1 and 2"),
    "missing object": ("DELETE FROM objects WHERE study_id = 2 AND number = 1", "has 2 objects, numbered up to 2"),
    "wrong number of objects": ("UPDATE studies SET n_objects = 4", "should have 4"),
    "same name": ("UPDATE objects SET name = 'A' WHERE study_id = 1", "3 objects are named 'A'"),
    "no usage": ("DELETE FROM usage", "has no count of stored bytes"),
    "no lease": ("DELETE FROM leases", "has no lease"),
    "snapshot of a later answer": ("UPDATE snapshots SET sequence = 9", "snapshot is of answer 9"),
    "snapshot of a later roster": ("UPDATE snapshots SET roster = 9", "and roster 9"),
    "unfinished deletion": ("INSERT INTO deletions VALUES (2, 1)", "study number 2"),
    "medium that is a list": ("UPDATE objects SET payload = '{\"image\": [1]}' WHERE number = 1", "the image [1]"),
    "medium that is null": ("UPDATE objects SET payload = '{\"audio\": null}' WHERE number = 1", "the audio None"),
    "missing part of a medium": ("DELETE FROM media_parts", "'a.png' should have 1 bytes, but has 0"),
    "more vectors than objects": (
        "UPDATE features SET n_columns = 1",
        "'size' have 6 vectors, but the study has 3 objects",
    ),
    "missing medium": ("DELETE FROM media", "object 0 shows the image 'a.png'"),
}
# The same for changes that only SQLite accepts.
SQLITE_FAULTS = {
    "missing question": ("DELETE FROM questions WHERE id = 1", "answers: row 1 refers to a row of questions"),
    "null as payload": ("UPDATE objects SET payload = 'null'", "CHECK constraint failed in objects"),
    "number as payload": ("UPDATE objects SET payload = '7'", "CHECK constraint failed in objects"),
    "text as number": ("UPDATE answers SET response_ms = 'soon'", "CHECK constraint failed in answers"),
    "not UTF-8": ("UPDATE studies SET title = CAST(x'ff' AS TEXT)", "studies: contains a value that cannot be read"),
    "missing trigger": ("DROP TRIGGER IF EXISTS answers_update", "answers_update: "),
    "missing index": ("DROP INDEX ix_participants_identity", "ix_participants_identity: "),
}
# The same for changes of definitions on PostgreSQL.
POSTGRESQL_FAULTS = {
    "DROP INDEX ix_participants_identity": "ix_participants_identity",
    "ALTER TABLE answers DISABLE TRIGGER answers_keep": "answers_keep",
    "ALTER TABLE answers DROP CONSTRAINT uq_answers_question_id": "uq_answers_question_id",
}


def fill(transaction):
    """Add two studies of three objects; the first has three answers."""
    png = {"a.png": Medium("image/png", b"x")}
    objects = [Object("A", {"image": "a.png"}), "B", "C"]
    study, _ = (study_with_media(transaction, "Letters", objects, media=png).id for _ in range(2))
    transaction.features.add(study, {"size": np.ones((3, 2), np.float32)})
    transaction.studies.change_state(study, State.OPEN)
    ann = transaction.participants.join(study).id
    for asked in transaction.questions.issue(study, ann, [Query(0, 1, 2)] * 4)[:3]:
        transaction.answers.submit(study, ann, asked.token, 1)
    transaction.snapshots.save(study, 3, 1, NPZ)


@pytest.fixture
def filled(location):
    with Store(location) as store:
        store.transact(fill)
    return location


@pytest.fixture(scope="module")
def filled_sqlite(empty_sqlite, tmp_path_factory):
    """A filled SQLite file to copy."""
    path = shutil.copy(empty_sqlite, tmp_path_factory.mktemp("filled"))
    with Store(path) as store:
        store.transact(fill)
    return path


def change_by_hand(location, statement):
    """Change a database without its constraints and triggers."""
    if "://" in str(location):
        with Store(location) as store, store._database.engine.begin() as connection:
            connection.execute(text("SET LOCAL session_replication_role = replica"))
            connection.execute(text(statement))
        return
    with closing(sqlite3.connect(location)) as connection:
        connection.execute("PRAGMA ignore_check_constraints=ON")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for name, sql in triggers:
            if name not in statement:
                connection.execute(sql)
        connection.commit()


def test_a_sound_database_has_no_findings_and_is_not_changed(filled):
    with Store(filled) as store:
        before = store.studies.all()
        report = check_database(filled)
        assert report.findings == []
        assert report.counts == {"studies": 2, "participants": 1, "questions": 4, "answers": 3}
        assert store.studies.all() == before


@pytest.mark.parametrize("fault", FAULTS | SQLITE_FAULTS)
def test_a_fault_in_sqlite_is_found(filled_sqlite, memory_folder, fault):
    statement, values = (FAULTS | SQLITE_FAULTS)[fault]
    path = shutil.copy(filled_sqlite, memory_folder)
    change_by_hand(path, statement)
    assert values in "\n".join(check_database(path).findings)


def test_a_fault_in_postgresql_is_found(shared_postgresql):
    with Store(shared_postgresql.url) as store:
        for fault, (statement, values) in FAULTS.items():
            shared_postgresql.empty()
            store.transact(fill)
            shared_postgresql.execute(statement)
            assert values in "\n".join(check_database(shared_postgresql.url).findings), fault


def test_a_missing_definition_in_postgresql_is_found(new_postgresql):
    with Store(new_postgresql) as store, store._database.writing() as connection:
        for statement in POSTGRESQL_FAULTS:
            connection.execute(text(statement))
    findings = check_database(new_postgresql).findings
    assert [finding.split(": ")[0] for finding in findings] == sorted(POSTGRESQL_FAULTS.values())


def test_a_check_that_fails_is_a_finding_and_the_others_still_run(filled, monkeypatch):
    change_by_hand(filled, "DELETE FROM leases")
    monkeypatch.setattr(checking, "_unreadable", lambda connection: connection.execute(text("SELECT no_column")))
    report = check_database(filled)
    assert "no_column" in report.findings[0]
    assert sum("has no lease" in finding for finding in report.findings) == 2
    assert report.counts["answers"] == 3


@pytest.mark.parametrize("state", ["closed", "in use", "a backup"])
def test_the_faults_of_a_read_only_file_are_found(folder, read_only, empty_sqlite, state):
    path = shutil.copy(empty_sqlite, folder)
    with Store(path) as store:
        store.studies.create("Letters", list("ABC"))
        change_by_hand(path, "UPDATE studies SET state = 'odd'")
        if state == "a backup":
            store.back_up(path := folder / "backup.db")
        if state != "in use":
            store.close()
        before = sorted(folder.iterdir())
        with read_only():
            findings = check_database(path).findings
        assert findings == ["the file: CHECK constraint failed in studies"]
        assert sorted(folder.iterdir()) == before


def test_a_check_waits_only_a_short_time_for_a_locked_table(shared_postgresql, monkeypatch):
    import psycopg

    monkeypatch.setattr("erkle.store.database.engines.LOCK_SECONDS", 0.1)
    shared_postgresql.empty()
    # The pool ends after the lock, so that a check that waits forever fails the test.
    with ThreadPoolExecutor() as pool, psycopg.connect(shared_postgresql.url) as other:
        other.execute("LOCK TABLE answers")
        report = pool.submit(check_database, shared_postgresql.url).result(60)
    assert any("the check is incomplete" in finding for finding in report.findings)
    assert report.counts == {"studies": 0, "participants": 0, "questions": 0}


def test_only_the_first_findings_of_a_kind_are_listed(store, location):
    store.transact(lambda t: [t.studies.create(f"Study {number}", list("ABC")) for number in range(25)])
    change_by_hand(location, "DELETE FROM leases")
    findings = check_database(location).findings
    assert len(findings) == 21
    assert ["lease" in finding for finding in findings] == [True] * 20 + [False]


def test_a_missing_or_empty_file_is_refused_and_not_created(tmp_path):
    with pytest.raises(StoreError, match=r"nowhere\.db: cannot be opened"):
        check_database(tmp_path / "nowhere.db")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreError, match=r"empty\.db: is empty"):
        check_database(tmp_path / "empty.db")
    assert (tmp_path / "empty.db").stat().st_size == 0


def test_a_damaged_file_has_findings(sqlite):
    path = sqlite
    with Store(path) as store:
        study_with_media(store, "Here", list("ABC"), media={"a.png": Medium("image/png", b"x" * 20_000)})
    data = bytearray(path.read_bytes())
    page = data.index(b"x" * 4000) // 4096 * 4096
    data[page : page + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    assert any("the file: " in finding for finding in check_database(path).findings)


def test_a_missing_table_in_postgresql_is_a_finding(new_postgresql):
    Store(new_postgresql).close()
    change_by_hand(new_postgresql, "ALTER TABLE answers RENAME TO gone")
    assert any(finding.startswith("answers: ") for finding in check_database(new_postgresql).findings)
