"""Studies are edited, deleted as a whole, filled from elsewhere, and have media."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError

from erkle.store import (
    Imported,
    ImportedStudy,
    Kind,
    Medium,
    NotAllowed,
    Participant,
    Query,
    Reason,
    Skip,
    Standing,
    State,
    StoreError,
    Unknown,
)
from erkle.store.database import schema
from refusals import refusals

NPZ = b"PK\x03\x04"
PNG = Medium("image/png", bytes(range(256)) * 10)


def filled(store):
    """A study with something in every table that a study can have rows in."""
    study = store.studies.create("Letters", list("ABCDE"), media={"a.png": PNG}).id
    store.studies.change_state(study, State.OPEN)
    ann = store.participants.join(study, {}, "ann").id
    first, second, _ = store.questions.issue(study, ann, [Query(0, 1, 2)] * 3)
    store.answers.submit(study, ann, first.token, 1)
    store.answers.submit(study, ann, first.token, 2)
    store.answers.skip(study, ann, second.token, "cannot decide")
    store.snapshots.save(study, 1, 0, NPZ)
    store.leases.acquire(study, "one", 10)
    return study


def everything(store):
    with store._database.reading() as connection:
        return {
            name: sorted(map(str, connection.execute(table.select()).all()))
            for name, table in schema.metadata.tables.items()
        }


def test_a_study_is_deleted_with_everything_of_it_and_nothing_else(store):
    filled(store)
    before = everything(store)
    study = filled(store)
    assert all(len(rows) > len(before[name]) for name, rows in everything(store).items() if before[name])
    store.studies.delete(study)
    assert everything(store) == before
    for call in (store.studies.get, store.studies.counts, store.studies.delete, store.media.names):
        with pytest.raises(Unknown, match="There is no study"):
            call(study)


@pytest.mark.parametrize("table", ["answers", "questions", "skips", "refusals"])
def test_a_deletion_of_one_study_lets_no_row_of_another_go(store, table):
    filled(store)
    with store._database.reading() as connection:
        number = connection.execute(text("SELECT max(id) FROM studies")).scalar_one()
    database, column = store._database, {"answers": "choice", "questions": "anchor"}.get(table, "reason")
    for marked, statement in (
        (number + 1, f"DELETE FROM {table}"),
        (number, f"UPDATE {table} SET {column} = {column}"),
        *([] if database.is_sqlite else [(number, f"TRUNCATE {table} CASCADE")]),
    ):
        with database.engine.connect() as connection:
            connection.execute(text(f"INSERT INTO deletions VALUES ({marked}, {marked - 1})"))
            with pytest.raises(DBAPIError, match="never changed or deleted"):
                connection.execute(text(statement))


def test_no_mark_of_a_deletion_outlives_its_transaction(store):
    for rows in ("(1, 0)", "(2, 1), (1, 0)", "(1, -5), (-5, -6)"):
        with pytest.raises(IntegrityError), store._database.writing() as connection:
            connection.execute(text(f"INSERT INTO deletions VALUES {rows}"))
    with pytest.raises(IntegrityError), store._database.writing() as connection:
        connection.execute(text("INSERT INTO deletions VALUES (1, 1)"))


def test_who_answers_while_a_study_is_deleted_hears_that_there_is_none(opened):
    asked, outcomes = opened.ask(40), []

    def answer():
        for one in asked:
            try:
                outcomes.append(opened.answer(one))
            except Unknown as error:
                outcomes.append(error)

    thread = threading.Thread(target=answer)
    thread.start()
    while not outcomes:
        pass
    opened.store.studies.delete(opened.study)
    thread.join()
    assert len(outcomes) == 40
    assert opened.store.studies.all() == []


def test_an_edit_changes_what_it_names(opened):
    store, study, _ = opened
    before = store.studies.get(study)

    def edit(title=None, settings=None):
        return store.studies.revise(study, lambda *_: (title, settings))

    assert edit() == before
    assert edit(title="Signs") == before._replace(title="Signs")
    assert edit(settings={"a": 1}) == before._replace(title="Signs", settings={"a": 1})
    with pytest.raises(StoreError, match="The title is ''"):
        edit(title="", settings={})
    assert store.studies.get(study).settings == {"a": 1}


def test_media_are_what_was_added(store):
    webp = Medium("image/webp", b"\0\xff")
    study = store.studies.create("Letters", list("ABC"), media={"b.png": PNG, "a ü.webp": webp}).id
    assert store.media.names(study) == ["a ü.webp", "b.png"]
    assert (store.media.get(study, "b.png"), store.media.get(study, "a ü.webp")) == (PNG, webp)
    other = store.studies.create("Other", list("ABC")).id
    assert store.media.names(other) == []
    for name in ("b.png", "", "\0", "\ud800", "A" * 100_000, 7, None, b"b.png"):
        with pytest.raises(Unknown, match="The study has no medium"):
            store.media.get(other, name)


def test_media_that_cannot_be_kept_keep_the_study_from_being_made(store):
    for name, medium in (("", PNG), ("\0", PNG), ("a", Medium("", b"")), ("a", Medium("image/png", "text"))):
        with pytest.raises(StoreError, match=r"; pass|which is no text"):
            store.studies.create("Letters", list("ABC"), media={"good.png": PNG, name: medium})
    assert store.studies.all() == []


ROWS = [
    Imported("ann", 0, 1, 2),
    Imported("bob", 2, 4, 3, left=4, kind=Kind.CATCH, strategy="random", response_ms=700, client={"x": 1}),
    Imported("ann", 1, 0, 2, answered_at=20, issued_at=10, parameters={"age": 7}),
    Imported("eve", 1, 0, 2, excluded=True),
]


def test_imported_answers_continue_the_log(opened, clock):
    store, study, _ = opened
    opened.answer(opened.ask()[0])
    assert store.imports.answers(study, ROWS) == 4
    log = list(store.answers.log(study, after=1, include_excluded=True))
    assert [a.sequence for a in log] == [2, 3, 4, 5]
    assert [(a.anchor, a.near, a.far) for a in log] == [row[1:4] for row in ROWS]
    assert [a.excluded for a in log] == [False, False, False, True]
    assert [a.left for a in log] == [1, 4, 0, 0]
    assert log[1][5:8] == (Kind.CATCH, 4, "random")
    assert (log[1].response_ms, log[1].client) == (700, {"x": 1})
    assert [(a.issued_at, a.answered_at) for a in log[1:3]] == [(clock.time, clock.time), (10, 20)]
    assert log[0].participant == log[2].participant != log[1].participant
    people = store.participants.all(study)[1:]
    assert [p.standing for p in people] == [Standing.COMPLETED, Standing.COMPLETED, Standing.EXCLUDED]
    assert people[0].parameters == {"participant": "ann"}
    assert opened.answer(opened.ask()[0]).sequence == 6


def test_a_label_is_the_same_participant_in_a_later_import(opened):
    store, study, ann = opened
    for _ in range(2):
        store.imports.answers(study, ROWS)
    people = store.participants.all(study)
    assert len(people) == 4
    assert len(list(store.answers.log(study))) == 6
    assert store.questions.ledger(study, ann) == []
    assert store.questions.pending(study) == []


def test_an_import_is_all_or_nothing(opened):
    store, study, _ = opened
    for row, wanted in (
        (Imported("", 0, 1, 2), "The participant of row 4 is ''"),
        (Imported("a", 0, 1, 5), "object 5"),
        (Imported("a", 0, 1, 1), "twice"),
        (Imported("a", 0, 1, 2, left=3), "In row 4 object 3 is on the left"),
        (Imported("a", 0, 1, 2, kind="odd"), "The kind of row 4 is 'odd'"),
        (Imported("a", 0, 1, 2, answered_at=-1), "A time of row 4 is -1"),
    ):
        with pytest.raises(ValueError, match=wanted):
            store.imports.answers(study, [*ROWS, row])
    assert store.studies.counts(study) == (1, 0, 0, 0, 0, 0)
    assert store.imports.answers(study, []) == 0


def test_a_closed_study_imports_nothing_and_a_draft_does(store):
    study = store.studies.create("Letters", list("ABCDE")).id
    assert store.imports.answers(study, ROWS) == 4
    store.studies.change_state(study, State.CLOSED)
    with pytest.raises(NotAllowed, match="The study is closed"):
        store.imports.answers(study, ROWS)
    assert store.answers.last(study) == 4


def test_a_large_import_keeps_its_order(opened):
    store, study, _ = opened
    rows = [Imported(f"p{n % 7}", n % 5, (n + 1) % 5, (n + 2 + n % 2) % 5) for n in range(2500)]
    assert store.imports.answers(study, rows) == 2500
    assert [(a.anchor, a.near, a.far) for a in store.answers.log(study)] == [row[1:4] for row in rows]


def test_skips_tell_what_was_given_up_and_why(opened, clock):
    store, study, ann = opened
    first, second, _ = opened.ask(3)
    assert store.answers.skips(study) == []
    for one in (second, first):
        clock.advance(1)
        store.answers.skip(study, ann, one.token, f"reason {one is first}")
    told = [(ann, 0, 1, 2, "reason False"), (ann, 0, 1, 2, "reason True")]
    assert [skip[:5] for skip in store.answers.skips(study)] == told
    assert [skip.skipped_at for skip in store.answers.skips(study)] == [clock.time - 1_000_000, clock.time]


def test_strategies_tell_how_often_each_has_asked_and_was_answered(opened):
    store, study, ann = opened
    assert store.questions.strategies(study) == []
    queries = [Query(0, 1, 2, strategy="random")] * 2 + [Query(0, 1, 2, strategy="adaptive")] * 3
    asked = store.questions.issue(study, ann, [*queries, Query(0, 1, 2, kind=Kind.CATCH, strategy="random")])
    for one in asked[1:4]:
        opened.answer(one)
    assert store.questions.strategies(study) == [
        ("adaptive", "chosen", 3, 2),
        ("random", "chosen", 2, 1),
        ("random", "catch", 1, 0),
    ]


def test_refusals_are_kept_up_to_a_number_for_each_study(opened, monkeypatch):
    monkeypatch.setattr("erkle.store.limits.REFUSALS", 6)
    store, study, ann = opened
    other = store.studies.create("Other", list("ABC")).id
    for of in (study, other, "no-study"):
        for _ in range(5):
            assert store.answers.submit(of, ann, "never-asked", 1).sentence
    assert [len(refusals(store, of)) for of in (study, other, None)] == [3, 3, 3]


def test_forged_tokens_of_strangers_crowd_out_no_second_answers(opened, monkeypatch):
    monkeypatch.setattr("erkle.store.limits.REFUSALS", 6)
    store, study, ann = opened
    [asked] = opened.ask()
    opened.answer(asked, choice=1)
    for _ in range(9):
        assert store.answers.submit(study, ann, "never-asked", 1).sentence
        assert store.answers.submit(study, "somebody-else", asked.token, 1).sentence
    for _ in range(9):
        assert opened.answer(asked, choice=2).sentence
    reasons = [refusal.reason for refusal in refusals(store, study)]
    assert reasons[:3] == [Reason.ANSWERED] * 3
    assert (len(reasons), Reason.ANSWERED in reasons[3:]) == (6, False)


def test_changes_that_are_made_at_once_are_all_made(opened):
    store, study, _ = opened

    def add(name):
        def revision(now, objects):
            assert [thing.name for thing in objects] == list("ABCDE")
            return None, {**now.settings, name: True}

        return store.studies.revise(study, revision)

    names = [f"n{number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, names))
    assert store.studies.get(study).settings == dict.fromkeys(names, True)


def test_a_revision_that_fails_changes_nothing(opened):
    store, study, _ = opened
    before = store.studies.get(study)

    def fails(now, objects):
        raise LookupError("no")

    with pytest.raises(LookupError):
        store.studies.revise(study, fails)
    with pytest.raises(StoreError):
        store.studies.revise(study, lambda now, objects: ("", {"a": 1}))
    assert store.studies.get(study) == before


def test_a_study_of_answers_from_elsewhere_is_there_with_them_or_not_at_all(store):
    def create(title, answers):
        def work(transaction):
            study = transaction.studies.create(title, list("ABC"))
            transaction.imports.answers(study.id, answers)
            return study

        return store.transact(work)

    made = create("A", [Imported("p", 0, 1, 2), Imported("p", 1, 2, 0)])
    assert [answer.near for answer in store.answers.log(made.id)] == [1, 2]
    for wrong in (Imported("", 0, 1, 2), Imported("p", 0, 1, 9), Imported("p", 0, 1, 2, kind="odd")):
        with pytest.raises(ValueError, match=r"\.$"):
            create("B", [Imported("p", 0, 1, 2), wrong])
    assert [study.title for study in store.studies.all()] == ["A"]


def test_who_has_lost_the_lease_saves_no_snapshot(opened, clock):
    store, study, _ = opened
    one = store.leases.acquire(study, "one", 10)
    assert store.leases.acquire(study, "one", 10) == store.leases.renew(study, "one", 10) == one
    assert store.snapshots.save(study, 0, 0, NPZ + b"1", fence=one)
    clock.advance(10)
    two = store.leases.acquire(study, "two", 10)
    assert two > one
    assert not store.snapshots.save(study, 0, 0, NPZ + b"2", fence=one)
    assert store.snapshots.save(study, 0, 0, NPZ + b"3", fence=two)
    assert store.leases.release(study, "two")
    assert store.snapshots.save(study, 0, 0, NPZ + b"4", fence=two)
    assert store.leases.acquire(study, "one", 10) > two
    assert not store.snapshots.save(study, 0, 0, NPZ + b"5", fence=two)
    assert [snapshot.data[-1:] for snapshot in store.snapshots.latest(study)] == [b"4", b"3"]


def whole(**changes):
    """A study as it was elsewhere, with everything that one can have."""
    people = [
        Participant("0", {"PROLIFIC_PID": "ann"}, Standing.COMPLETED, 5, "ann", True),
        Participant("1", {}, Standing.EXCLUDED, 6, None, False),
        Participant("2", {}, Standing.ACTIVE, 7, None, False),
    ]
    answers = [Imported("1", 0, 1, 2, 2, Kind.CATCH, "catch", 500, {}, 30, 20), Imported("0", 2, 1, 0)]
    skips = [Skip("2", 0, 1, 2, "cannot decide", 40)]
    found = ImportedStudy("Letters", list("ABC"), {"a": 1}, State.OPEN, 3, people, answers, skips, {"a.png": PNG})
    return found._replace(**changes)


def test_a_whole_study_from_elsewhere_is_as_it_was_there(store):
    study = store.imports.study(whole())
    assert (study.title, study.state, study.created_at, study.settings) == ("Letters", State.PAUSED, 3, {"a": 1})
    people = store.participants.all(study.id)
    assert [each.standing for each in people] == [Standing.COMPLETED, Standing.EXCLUDED, Standing.ACTIVE]
    assert (people[0].identity, people[0].flagged, people[0].joined_at) == ("ann", True, 5)
    first, second = store.answers.log(study.id, include_excluded=True)
    assert (first.participant, first.anchor, first.near, first.far, first.left) == (people[1].id, 0, 1, 2, 2)
    assert (first.kind, first.answered_at, first.issued_at, first.excluded) == (Kind.CATCH, 30, 20, True)
    assert (second.sequence, second.participant) == (2, people[0].id)
    assert store.answers.skips(study.id) == [Skip(people[2].id, 0, 1, 2, "cannot decide", 40)]
    assert store.media.get(study.id, "a.png") == PNG


@pytest.mark.parametrize(
    "changes",
    [
        {"title": ""},
        {"objects": ["A", "B"]},
        {"answers": [Imported("3", 0, 1, 2)]},
        {"answers": [Imported("0", 0, 1, 3)]},
        {"skips": [Skip("0", 0, 1, 1, "", 1)]},
        {"skips": [Skip("nobody", 0, 1, 2, "", 1)]},
        {"state": "running"},
    ],
)
def test_of_a_study_from_elsewhere_there_is_all_or_nothing(store, changes):
    before = everything(store)
    with pytest.raises(ValueError, match=r"[.;]"):
        store.imports.study(whole(**changes))
    assert everything(store) == before
