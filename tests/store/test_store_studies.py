"""Studies are created, opened, edited and deleted; participants join and finish; media belong to a study."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from all_rows import all_rows
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from erkle.store import Imported, Kind, Medium, NotAllowed, Object, Query, Refused, Standing, State, StoreError, Unknown
from erkle.store.database import rows
from erkle.store.studies import TRANSITIONS
from refusals import refusals
from with_media import study_with_media

NPZ = b"PK\x03\x04"
PNG = Medium("image/png", bytes(range(256)) * 10)
# The append-only tables, with a column of each.
LOG = {"answers": "choice", "questions": "anchor", "skips": "reason", "refusals": "reason"}


def test_a_study_is_stored_as_created(store, clock):
    objects = [Object("Paris", {"image": "paris.png"}), "Lyon", "Zoë's 'Tab\"le'; DROP TABLE answers; --"]
    study = store.studies.create("Cities", objects, {"strategy": "adaptive", "share": 0.1})
    assert study[1:] == ("Cities", {"strategy": "adaptive", "share": 0.1}, State.DRAFT, 3, 0, clock.time, None)
    assert store.studies.all() == [study] == [store.studies.get(study.id)]
    assert store.studies.objects(study.id) == [objects[0], Object(objects[1]), Object(objects[2])]
    assert len(study.id) >= 16


def test_only_allowed_transitions_happen(store):
    paths = {State.DRAFT: [], State.OPEN: [State.OPEN], State.PAUSED: [State.OPEN, State.PAUSED]}
    for start, end in itertools.product(State, State):
        study = store.studies.create("A", list("ABC")).id
        for state in paths.get(start, [State.CLOSED]):
            store.studies.change_state(study, state)
        if end == start or end in TRANSITIONS[start]:
            assert store.studies.change_state(study, end).state == end
        else:
            with pytest.raises(NotAllowed, match=f"{start}.* {end}"):
                store.studies.change_state(study, end)
            assert store.studies.get(study).state == start


# Title, objects, settings, and the values in the error.
INVALID_STUDIES = [
    ("", list("ABC"), {}, "title is ''"),
    ("A" * 501, list("ABC"), {}, "title.* 500 "),
    ("A\0", list("ABC"), {}, r"title.*x00.* 1\b"),
    ("\ud800", list("ABC"), {}, r"title.*ud800.* 0\b"),
    ("A", list("AB"), {}, "objects is 2"),
    ("A", list("ABA"), {}, "0 and 2.*'A'"),
    ("A", ["A", "B", Object("C", {"x": b""})], {}, "object 2.*JSON"),
    ("A", list("ABC"), {"x": float("inf")}, "settings.*JSON"),
    ("A", list("ABC"), {"x": "\0"}, "settings.*character"),
    ("A", list("ABC"), [1], r"settings is \[1\]"),
]


def test_a_study_that_cannot_be_stored_unchanged_is_refused(store):
    for title, objects, settings, values in INVALID_STUDIES:
        with pytest.raises(ValueError, match=values):
            store.studies.create(title, objects, settings)
    assert store.studies.all() == []


def test_an_unknown_state_is_refused(opened):
    with pytest.raises(StoreError, match=r"'ajar'.*draft, open, paused, closed"):
        opened.store.studies.change_state(opened.study, "ajar")


def test_a_participation_ends_once(opened):
    store, study, ann = opened
    assert store.participants.get(study, ann).parameters == {"PROLIFIC_PID": "ann"}
    found = store.participants.finish(study, ann, Standing.FAILED)
    assert (found.state, found.excluded) == (Standing.FAILED, False)
    found = store.participants.finish(study, ann, Standing.FAILED)
    assert (found.state, found.excluded) == (Standing.FAILED, False)
    with pytest.raises(NotAllowed, match=r"failed.*completed"):
        store.participants.finish(study, ann, Standing.COMPLETED)
    with pytest.raises(StoreError, match="'excluded'"):
        store.participants.finish(study, ann, "excluded")


def test_including_a_participant_restores_their_standing(opened):
    store, study, ann = opened
    store.participants.finish(study, ann, Standing.SCREENED)
    store.participants.exclude(study, [ann])
    store.participants.exclude(study, [ann])
    assert [p.excluded for p in store.participants.all(study)] == [True]
    found = store.participants.exclude(study, [ann], False)[0]
    assert (found.state, found.excluded) == (Standing.SCREENED, False)
    assert store.studies.get(study).roster == 2


INVALID = ["", "x", "\0", "\ud800", "' OR 1=1 --", "A" * 100_000, -1, 10**40, None, b"x", 1.5, ["x"]]


def test_an_invalid_id_is_unknown(opened):
    store, study, ann = opened
    [asked] = opened.ask()
    for value in INVALID:
        for call in (
            store.studies.get,
            store.studies.objects,
            store.participants.join,
            store.studies.counts,
            store.snapshots.latest,
            store.participants.all,
        ):
            with pytest.raises(Unknown, match="no study"):
                call(value)
        with pytest.raises(Unknown, match="no participant"):
            store.participants.get(study, value)
        with pytest.raises(Unknown, match="no study"):
            list(store.answers.log(value))
        for arguments in ((study, ann, value), (value, ann, asked.token), (study, value, asked.token)):
            assert isinstance(store.answers.submit(*arguments, 1), Refused)
            assert isinstance(store.answers.skip(*arguments), Refused)
    assert store.studies.counts(study).answers == 0


def test_odd_data_from_a_browser_are_truncated_and_cost_no_answer(opened):
    values = [*INVALID, {"x": "\0\ud800"}, {1: {2: float("nan")}}, {"x": "y" * 10**6}]
    for sequence, (asked, value) in enumerate(zip(opened.ask(len(values)), values, strict=True), 1):
        assert opened.answer(asked, client=value, response_ms=value).sequence == sequence
        assert isinstance(opened.answer(asked, choice=value, client=value), Refused)
        assert isinstance(opened.store.answers.skip(opened.study, opened.ann, asked.token, value), Refused)
        opened.store.participants.join(opened.study, value)
    log = list(opened.store.answers.log(opened.study))
    assert {answer.response_ms for answer in log} == {None}
    assert all(len(str(answer.client)) < 3000 for answer in log)
    assert all(len(str(refusal)) < 2000 for refusal in refusals(opened.store, opened.study))
    assert all(len(str(one)) < 5000 for one in opened.store.participants.all(opened.study))


class WithoutParticipants:
    """A connection that finds studies but no participants."""

    def __init__(self, connection):
        self.connection = connection

    def execute(self, query, values):
        hidden = {**values, "participant": "nobody"} if "JOIN" in str(query) else values
        return self.connection.execute(query, hidden)


def test_a_missing_participant_of_an_existing_study_is_unknown(opened):
    with opened.store._database.reading() as connection, pytest.raises(Unknown, match=opened.ann):
        rows.participant_and_study(WithoutParticipants(connection), opened.study, opened.ann)


def test_totals_count_all_studies_in_few_statements(opened, clock):
    store, study, ann = opened
    other = store.studies.create("Other", list("ABC")).id
    store.imports.append(other, [Imported("p", 0, 1, 2), Imported("q", 0, 2, 1)])
    store.studies.change_state(other, State.OPEN)
    bob, eve, late = (store.participants.join(other).id for _ in range(3))
    first, second = opened.ask(2)
    opened.answer(first)
    store.answers.skip(study, ann, second.token)
    opened.ask(2)
    opened.ask(lifetime=1)
    store.questions.issue(other, bob, [Query(0, 1, 2, kind=Kind.CATCH, strategy="random")])
    store.questions.issue(other, late, [Query(0, 1, 2)], lifetime=1)
    [skipped] = store.questions.issue(other, eve, [Query(0, 1, 2)])
    store.answers.skip(other, eve, skipped.token)
    clock.advance(1)
    for _ in range(5):
        store.studies.create("Draft", list("ABC"))
    statements = []
    event.listen(store._database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    totals = store.studies.totals({"", "random"})
    assert totals.studies == {State.OPEN: 2, State.DRAFT: 5}
    assert totals.questions == {("", "chosen"): 7, ("other", "chosen"): 2, ("random", "catch"): 1}
    assert (totals.answers, totals.skips, totals.open_participants) == (3, 2, 2)
    assert len(statements) <= 6
    store.studies.change_state(other, State.PAUSED)
    assert store.studies.totals(()).open_participants == 2


def filled(store):
    """Create a study with rows in every table that belongs to studies."""
    study = study_with_media(store, "Letters", list("ABCDE"), media={"a.png": PNG}).id
    store.studies.change_state(study, State.OPEN)
    ann = store.participants.join(study, {}, "ann").id
    first, second, _ = store.questions.issue(study, ann, [Query(0, 1, 2)] * 3)
    store.answers.submit(study, ann, first.token, 1)
    store.answers.submit(study, ann, first.token, 2)
    store.answers.skip(study, ann, second.token, "cannot decide")
    store.snapshots.save(study, 1, 0, NPZ)
    store.leases.acquire(study, "one", 10)
    return study


def test_deleting_a_study_deletes_all_its_rows_and_no_others(store):
    filled(store)
    before = all_rows(store)
    study = filled(store)
    assert all(len(rows) > len(before[name]) for name, rows in all_rows(store).items() if before[name])
    store.studies.delete(study)
    assert all_rows(store) == before
    for call in (store.studies.get, store.studies.counts, store.studies.delete, store.media.names):
        with pytest.raises(Unknown, match=study):
            call(study)


def test_while_a_study_is_deleted_rows_of_others_cannot_be(store):
    filled(store)
    with store._database.reading() as connection:
        number = connection.execute(text("SELECT max(id) FROM studies")).scalar_one()
    statements = []
    for table, column in LOG.items():
        statements += [(number + 1, f"DELETE FROM {table}"), (number, f"UPDATE {table} SET {column} = {column}")]
        if store._database.engine.dialect.name != "sqlite":
            statements.append((number, f"TRUNCATE {table} CASCADE"))
    for deleted, statement in statements:
        with store._database.engine.connect() as connection:
            connection.execute(text(f"INSERT INTO deletions VALUES ({deleted}, {deleted - 1})"))
            with pytest.raises(DBAPIError, match="never changed or deleted"):
                connection.execute(text(statement))


def test_no_row_of_the_table_of_deletions_can_be_committed(store):
    for values in ("(1, 0)", "(2, 1), (1, 0)", "(1, -5), (-5, -6)", "(1, 1)"):
        with pytest.raises(IntegrityError), store._database.writing() as connection:
            connection.execute(text(f"INSERT INTO deletions VALUES {values}"))


def test_answers_to_a_study_that_is_being_deleted_are_refused(opened):
    asked, outcomes, started = opened.ask(40), [], threading.Event()

    def answer():
        for each in asked:
            try:
                outcomes.append(opened.answer(each))
            except Unknown as error:
                outcomes.append(error)
            started.set()

    thread = threading.Thread(target=answer)
    thread.start()
    started.wait()
    opened.store.studies.delete(opened.study)
    thread.join()
    assert len(outcomes) == 40
    assert opened.store.studies.all() == []


def test_a_revision_changes_only_what_it_returns(opened):
    store, study, _ = opened
    before = store.studies.get(study)

    def edit(title=None, settings=None):
        return store.studies.revise(study, lambda *_: (title, settings))

    assert edit() == before
    assert edit(title="Signs") == before._replace(title="Signs")
    assert edit(settings={"a": 1}) == before._replace(title="Signs", settings={"a": 1})
    with pytest.raises(StoreError, match="title is ''"):
        edit(title="", settings={})
    assert store.studies.get(study).settings == {"a": 1}


def test_media_are_stored_as_added(store):
    webp = Medium("image/webp", b"\0\xff")
    study = study_with_media(store, "Letters", list("ABC"), media={"b.png": PNG, "a ü.webp": webp}).id
    assert store.media.names(study) == ["a ü.webp", "b.png"]
    assert (store.media.get(study, "b.png"), store.media.get(study, "a ü.webp")) == (PNG, webp)
    other = store.studies.create("Other", list("ABC")).id
    assert store.media.names(other) == []
    for name in ("b.png", "", "\0", "\ud800", "A" * 100_000, 7, None, b"b.png"):
        with pytest.raises(Unknown, match="no medium"):
            store.media.get(other, name)


def test_a_study_with_invalid_media_is_not_created(store):
    for name, medium in (("", PNG), ("\0", PNG), ("a", Medium("", b"")), ("a", Medium("image/png", "text"))):
        with pytest.raises(StoreError, match="medium"):
            study_with_media(store, "Letters", list("ABC"), media={"good.png": PNG, name: medium})
    assert store.studies.all() == []


def test_concurrent_revisions_are_all_applied(opened):
    store, study, _ = opened

    def add(name):
        def revision(now, objects):
            assert [each.name for each in objects] == list("ABCDE")
            return None, {**now.settings, name: True}

        return store.studies.revise(study, revision)

    names = [f"n{number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, names))
    assert store.studies.get(study).settings == dict.fromkeys(names, True)


def test_a_failed_revision_changes_nothing(opened):
    store, study, _ = opened
    before = store.studies.get(study)

    def fails(now, objects):
        raise LookupError("no")

    with pytest.raises(LookupError):
        store.studies.revise(study, fails)
    with pytest.raises(StoreError):
        store.studies.revise(study, lambda now, objects: ("", {"a": 1}))
    assert store.studies.get(study) == before
