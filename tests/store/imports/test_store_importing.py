"""Imported answers continue the log, and an import happens completely or not at all."""

import pytest
from all_rows import all_rows

from erkle.store import (
    Imported,
    ImportedStudy,
    Kind,
    Medium,
    NotAllowed,
    Participant,
    Skip,
    Standing,
    State,
)

PNG = Medium("image/png", b"\x89PNG")
ROWS = [
    Imported("ann", 0, 1, 2),
    Imported("bob", 2, 4, 3, left=4, kind=Kind.CATCH, strategy="random", response_ms=700, client={"x": 1}),
    Imported("ann", 1, 0, 2, answered_at=20, issued_at=10, parameters={"age": 7}),
    Imported("eve", 1, 0, 2, excluded=True),
]


def test_imported_answers_continue_the_log(opened, clock):
    store, study, _ = opened
    opened.answer(opened.ask()[0])
    assert store.imports.append(study, ROWS) == 4
    log = list(store.answers.log(study, after=1, include_excluded=True))
    assert [a.sequence for a in log] == [2, 3, 4, 5]
    assert [(a.anchor, a.near, a.far) for a in log] == [row[1:4] for row in ROWS]
    assert [a.excluded for a in log] == [False, False, False, True]
    assert [a.left for a in log] == [1, 4, 0, 0]
    assert log[1][5:8] == (Kind.CATCH, 4, "random")
    assert (log[1].response_ms, log[1].client) == (700, {"x": 1})
    assert [(a.issued_at, a.answered_at) for a in log[1:3]] == [(clock.time, clock.time), (10, 20)]
    assert log[0].participant == log[2].participant != log[1].participant
    imported = store.participants.all(study)[1:]
    assert [p.state for p in imported] == [Standing.COMPLETED] * 3
    assert [p.excluded for p in imported] == [False, False, True]
    assert imported[0].parameters == {"participant": "ann"}
    assert opened.answer(opened.ask()[0]).sequence == 6


def test_a_label_is_the_same_participant_in_a_later_import(opened):
    store, study, ann = opened
    for _ in range(2):
        store.imports.append(study, ROWS)
    assert len(store.participants.all(study)) == 4
    assert len(list(store.answers.log(study))) == 6
    assert store.questions.ledger(study, ann) == []
    assert store.questions.pending(study) == []


def test_an_invalid_answer_refuses_the_whole_import(opened):
    store, study, _ = opened
    for row, values in (
        (Imported("", 0, 1, 2), "row 4 is ''"),
        (Imported("a", 0, 1, 5), "object 5"),
        (Imported("a", 0, 1, 1), "object 1"),
        (Imported("a", 0, 1, 2, left=3), "row 4, left is 3"),
        (Imported("a", 0, 1, 2, kind="odd"), "row 4 is 'odd'"),
        (Imported("a", 0, 1, 2, answered_at=-1), "row 4 is -1"),
    ):
        with pytest.raises(ValueError, match=values):
            store.imports.append(study, [*ROWS, row])
    assert store.studies.counts(study) == (1, 0, 0, 0, 0, 0)
    assert store.imports.append(study, []) == 0


def test_a_draft_accepts_imports_and_a_closed_study_refuses_them(store):
    study = store.studies.create("Letters", list("ABCDE")).id
    assert store.imports.append(study, ROWS) == 4
    store.studies.change_state(study, State.CLOSED)
    with pytest.raises(NotAllowed, match="closed"):
        store.imports.append(study, ROWS)
    assert store.answers.last(study) == 4


def test_a_large_import_keeps_its_order_and_is_read_in_pages(opened):
    store, study, _ = opened
    rows = [Imported(f"p{n % 7}", n % 5, (n + 1) % 5, (n + 2 + n % 2) % 5) for n in range(2500)]
    assert store.imports.append(study, rows) == 2500
    log = list(store.answers.log(study))
    assert [(a.anchor, a.near, a.far) for a in log] == [row[1:4] for row in rows]
    assert list(store.answers.log(study, after=300, limit=1500)) == log[300:1800]


def exported(**changes):
    """A study to import, with everything that a study can have."""
    participants = [
        Participant("0", {"PROLIFIC_PID": "ann"}, Standing.COMPLETED, False, 5, "ann", True),
        Participant("1", {}, Standing.FAILED, True, 6, None, False),
        Participant("2", {}, Standing.ACTIVE, False, 7, None, False),
    ]
    answers = [Imported("1", 0, 1, 2, 2, Kind.CATCH, "catch", 500, {}, 30, 20), Imported("0", 2, 1, 0)]
    skips = [Skip("2", 0, 1, 2, "cannot decide", 40)]
    found = ImportedStudy("Letters", list("ABC"), {"a": 1}, State.OPEN, 3, participants, answers, skips, {"a.png": PNG})
    return found._replace(**changes)


def filled(store, imported):
    with store.unfinished.create(imported.title, imported.objects, imported.settings) as study:
        store.unfinished.fill(study.id, imported)
    return store.studies.get(study.id)


def test_an_imported_study_is_the_same_as_the_exported_one(store):
    study = filled(store, exported())
    assert (study.title, study.state, study.created_at, study.settings) == ("Letters", State.PAUSED, 3, {"a": 1})
    participants = store.participants.all(study.id)
    assert [each.state for each in participants] == [Standing.COMPLETED, Standing.FAILED, Standing.ACTIVE]
    assert [each.excluded for each in participants] == [False, True, False]
    assert (participants[0].identity, participants[0].flagged, participants[0].joined_at) == ("ann", True, 5)
    first, second = store.answers.log(study.id, include_excluded=True)
    assert (first.participant, first.left) == (participants[1].id, 2)
    assert (first.anchor, first.near, first.far) == (0, 1, 2)
    assert (first.kind, first.answered_at, first.issued_at, first.excluded) == (Kind.CATCH, 30, 20, True)
    assert (second.sequence, second.participant) == (2, participants[0].id)
    assert store.answers.skips(study.id) == [Skip(participants[2].id, 0, 1, 2, "cannot decide", 40)]
    assert store.media.get(study.id, "a.png") == PNG


def test_an_invalid_study_is_not_imported_at_all(store):
    for changes, value in (
        ({"title": ""}, "''"),
        ({"objects": ["A", "B"]}, "2"),
        ({"objects": [str(number) for number in range(10_001)]}, "10,001"),
        ({"answers": [Imported("3", 0, 1, 2)]}, "'3'"),
        ({"answers": [Imported("0", 0, 1, 3)]}, "3"),
        ({"skips": [Skip("0", 0, 1, 1, "", 1)]}, "1"),
        ({"skips": [Skip("nobody", 0, 1, 2, "", 1)]}, "'nobody'"),
        ({"state": "running"}, "'running'"),
    ):
        with pytest.raises(ValueError, match=value):
            filled(store, exported(**changes))
        assert not any(all_rows(store).values())
