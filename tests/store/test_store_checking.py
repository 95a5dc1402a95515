"""A check reads a database and names every law that is broken; it changes nothing."""

import pytest
from sqlalchemy import text

from erkle.store import Medium, Object, Query, State, Store, StoreError, check_database
from erkle.store.database import checking

NPZ = b"PK\x03\x04"
# What somebody could do to the database by hand, and what is said of it.
DEEDS = {
    "a gap": ("DELETE FROM answers WHERE sequence = 2", "its answers are numbered 1 to 3, but there are 2"),
    "another choice": ("UPDATE answers SET choice = 0 WHERE sequence = 2", "answer 2 chooses object 0"),
    "answered and skipped": ("INSERT INTO skips VALUES (1, '', 0)", "question 1 was answered (answer 1) and skipped"),
    "another study": ("UPDATE questions SET study_id = 2 WHERE id = 1", "answer 1 is to no question of the study"),
    "another's participant": ("UPDATE participants SET study_id = 2", "was put to nobody of the study"),
    "no such object": ("UPDATE questions SET anchor = 7 WHERE id = 2", "question 2 is about objects 7, 1 and 2, of 3"),
    "an object too few": ("DELETE FROM objects WHERE study_id = 2 AND number = 1", "has 2 objects, the last of which"),
    "another size": ("UPDATE studies SET n_objects = 4", "but should have 4"),
    "the same name": ("UPDATE objects SET name = 'A' WHERE study_id = 1", "3 objects have the name 'A'"),
    "no lease": ("DELETE FROM leases", "has no lease"),
    "a snapshot too far": ("UPDATE snapshots SET sequence = 9", "a snapshot is of answer 9"),
    "another roster": ("UPDATE snapshots SET roster = 9", "and roster 9"),
    "no name of a medium": ("UPDATE objects SET payload = '{\"image\": [1]}' WHERE number = 1", "shows the image [1]"),
    "no text for a medium": (
        "UPDATE objects SET payload = '{\"audio\": null}' WHERE number = 1",
        "shows the audio None",
    ),
    "no index": ("DROP INDEX ix_participants_identity", "ix_participants_identity: this constraint, index or trigger"),
    "no medium": ("DELETE FROM media", "object 0 shows the image 'a.png', which the study does not have"),
}
ON_SQLITE = {
    "no question": ("DELETE FROM questions WHERE id = 1", "answers: row 1 refers to a row of questions that is gone"),
    "no payload": ("UPDATE objects SET payload = 'null'", "CHECK constraint failed in objects"),
    "a number as payload": ("UPDATE objects SET payload = '7'", "CHECK constraint failed in objects"),
    "a text for a number": ("UPDATE answers SET response_ms = 'soon'", "CHECK constraint failed in answers"),
    "no UTF-8": ("UPDATE studies SET title = CAST(x'ff' AS TEXT)", "studies: has a value that cannot be read"),
    "no trigger": ("DROP TRIGGER IF EXISTS answers_update", "answers_update: this constraint, index or trigger was"),
}


@pytest.fixture
def filled(place):
    """Two studies of three objects; the first has three answers."""
    with Store(place) as store:
        png = {"a.png": Medium("image/png", b"x")}
        objects = [Object("A", {"image": "a.png"}), "B", "C"]
        study, _ = (store.studies.create("Letters", objects, media=png).id for _ in range(2))
        store.studies.change_state(study, State.OPEN)
        ann = store.participants.join(study).id
        for asked in store.questions.issue(study, ann, [Query(0, 1, 2)] * 4)[:3]:
            store.answers.submit(study, ann, asked.token, 1)
        store.snapshots.save(study, 3, 0, NPZ)
    return place


def by_hand(place, statement):
    """Change the database, whatever keeps it from being changed."""
    with Store(place) as store, store._database.engine.connect() as connection:
        if store._database.is_sqlite:
            connection.exec_driver_sql("ROLLBACK")
            for pragma in ("foreign_keys=OFF", "ignore_check_constraints=ON"):
                connection.exec_driver_sql(f"PRAGMA {pragma}")
            kept = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all()
            for name, _ in kept:
                connection.exec_driver_sql(f"DROP TRIGGER {name}")
            connection.exec_driver_sql(statement)
            for name, sql in kept:
                if name not in statement:
                    connection.exec_driver_sql(sql)
        else:
            connection.execute(text("SET session_replication_role = replica"))
            connection.execute(text(statement))
            connection.commit()


def test_a_sound_database_has_no_findings_and_is_not_changed(filled):
    with Store(filled) as store:
        before = store.studies.all()
        report = check_database(filled)
        assert report.findings == []
        assert report.counts == {"studies": 2, "participants": 1, "questions": 4, "answers": 3}
        assert store.studies.all() == before


@pytest.mark.parametrize("deed", DEEDS)
def test_what_breaks_a_law_is_named(filled, deed):
    statement, sentence = DEEDS[deed]
    by_hand(filled, statement)
    assert sentence in "\n".join(check_database(filled).findings)


@pytest.mark.parametrize("deed", ON_SQLITE)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_what_sqlite_lets_somebody_do_is_named(filled, deed):
    statement, sentence = ON_SQLITE[deed]
    by_hand(filled, statement)
    assert sentence in "\n".join(check_database(filled).findings)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_trigger_that_was_turned_off_is_named(filled):
    by_hand(filled, "ALTER TABLE answers DISABLE TRIGGER answers_keep")
    assert check_database(filled).findings == ["answers_keep: this constraint, index or trigger was removed"]


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_unique_constraint_that_was_removed_is_named(filled):
    by_hand(filled, "ALTER TABLE answers DROP CONSTRAINT uq_answers_question_id")
    assert check_database(filled).findings == ["uq_answers_question_id: this constraint, index or trigger was removed"]


def test_a_check_that_fails_is_a_finding_and_the_others_still_run(filled, monkeypatch):
    by_hand(filled, "DELETE FROM leases")
    monkeypatch.setattr(checking, "_unreadable", lambda connection: connection.execute(text("SELECT no_column")))
    report = check_database(filled)
    assert [finding.split("(")[0] for finding in report.findings[:1]] == ["not everything could be checked "]
    assert sum("has no lease" in finding for finding in report.findings) == 2
    assert report.counts["answers"] == 3


@pytest.mark.parametrize("kept", ["closed", "in use", "a backup"])
def test_the_faults_of_a_file_that_may_not_be_written_are_found_too(folder, read_only, kept):
    path = folder / "answers.db"
    with Store(path) as store:
        store.studies.create("Letters", list("ABC"))
    by_hand(path, "UPDATE studies SET state = 'odd'")
    with Store(path) as store:
        if kept == "a backup":
            store.back_up(path := folder / "backup.db")
        if kept != "in use":
            store.close()
        before = sorted(folder.iterdir())
        with read_only():
            findings = check_database(path).findings
        assert findings == ["the file: CHECK constraint failed in studies"]
        assert sorted(folder.iterdir()) == before


def test_of_many_findings_of_a_kind_the_first_are_listed(store, place):
    for number in range(25):
        store.studies.create(f"Study {number}", list("ABC"))
    by_hand(place, "DELETE FROM leases")
    findings = check_database(place).findings
    assert (len(findings), findings[-1]) == (21, "... and more of this kind")


def test_a_file_that_is_not_there_or_empty_is_refused_and_not_made(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened"):
        check_database(tmp_path / "nowhere.db")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreError, match="is empty; give a database that a server has used"):
        check_database(tmp_path / "empty.db")
    assert (tmp_path / "empty.db").stat().st_size == 0


def test_a_damaged_file_has_findings(tmp_path):
    path = tmp_path / "answers.db"
    with Store(path) as store:
        store.studies.create("Here", list("ABC"), media={"a.png": Medium("image/png", b"x" * 20_000)})
    data = bytearray(path.read_bytes())
    page = data.index(b"x" * 4000) // 4096 * 4096
    data[page : page + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    assert any("the file: " in finding for finding in check_database(path).findings)
