"""What participants can make the server store is limited in bytes, for each value and for each study."""

import pytest
from sqlalchemy import LargeBinary, String, cast, func, select

from erkle.store import Full, Query, State, limits
from erkle.store.database import schema
from erkle.store.errors import OverQuota
from erkle.store.sanitising import json_bytes

# What the participants' page sends with an answer.
CLIENT = {"width": 1280, "height": 800, "touch": False, "input": "key", "side": "left"}
# Characters of which JSON and UTF-8 need most bytes: an emoji, quotes, backslashes, control and invalid characters.
WASTEFUL = ["🙂", '"', "\\", "\x01", "\0", "\ud800", "é", "🙂\\", 'a"']


def stored(store, column):
    """The number of bytes of each value of a column."""
    # SQLite has octet_length only since version 3.43; the length of a BLOB is its number of bytes.
    is_sqlite = store._database.engine.dialect.name == "sqlite"
    size = func.length(cast(column, LargeBinary)) if is_sqlite else func.octet_length(cast(column, String))
    with store._database.reading() as connection:
        return [found for found in connection.execute(select(size)).scalars() if found is not None]


def test_json_is_stored_in_utf8_and_measured_as_it_is_stored(opened):
    parameters = {"mood": "🙂" * 100, "name": "Zoë", "n": [1, 2.5, None]}
    joined = opened.store.participants.join(opened.study, parameters)
    assert joined.parameters == parameters
    assert max(stored(opened.store, schema.participants.c.parameters)) == json_bytes(parameters) < 500


@pytest.mark.parametrize("text", WASTEFUL)
def test_no_value_of_a_participant_takes_more_bytes_than_its_limit(opened, text):
    store, study, ann = opened
    long = text * 20_000
    store.participants.join(study, {"x": long, long: 1}, identity=f"puid={long}")
    answered, skipped = opened.ask(2)
    opened.answer(answered, client={"x": long})
    store.answers.skip(study, ann, skipped.token, long)
    opened.answer(answered, choice=2, client={"x": long})
    store.answers.submit(study, long, long, 1, client=long)
    for column, most in (
        (schema.participants.c.parameters, limits.PARAMETERS),
        (schema.participants.c.identity, limits.IDENTITY),
        (schema.answers.c.client, limits.CLIENT),
        (schema.skips.c.reason, limits.SKIP_REASON),
        (schema.refusals.c.payload, limits.REFUSED),
        (schema.refusals.c.token, limits.ID),
        (schema.refusals.c.participant, limits.ID),
    ):
        assert 0 < max(stored(store, column)) <= most, column


def test_the_usage_counts_participants_questions_and_what_is_sent(opened):
    store, study, ann = opened
    before = store.usage.get(study)
    store.participants.join(study, {"x": "🙂"}, identity="puid=é")
    joined = limits.PARTICIPANT_ROW + json_bytes({"x": "🙂"}) + len("puid=é".encode())
    assert store.usage.get(study) == before + joined
    store.questions.issue(study, ann, [Query(0, 1, 2)] * 3, sent_bytes=70)
    assert store.usage.get(study) == before + joined + 3 * limits.QUESTION_ROW + 70
    store.participants.join(study, {"x": "other"}, identity="puid=é")
    assert store.usage.get(study) == before + joined + 3 * limits.QUESTION_ROW + 70


def test_a_study_over_its_quota_accepts_no_participants_and_asks_no_questions_but_takes_answers(opened):
    store, study, ann = opened
    asked, _ = opened.ask(2)
    quota = store.usage.get(study)
    with pytest.raises(OverQuota, match=f"{quota:,}"):
        store.participants.join(study, {}, quota=quota)
    assert store.questions.issue(study, ann, [Query(0, 1, 2)], quota=quota) == []
    assert store.usage.get(study) == quota
    assert opened.answer(asked).sequence == 1
    store.participants.join(study, {}, quota=quota + 1)
    assert store.studies.counts(study).participants == 2


def test_each_study_has_its_own_usage(opened):
    other = opened.store.studies.create("Other", list("ABC")).id
    opened.ask(5)
    assert opened.store.usage.get(other) == 0


def test_the_usage_is_about_what_the_database_grows(opened):
    store, study, _ = opened
    if store._database.engine.dialect.name != "sqlite":
        pytest.skip("the size of a PostgreSQL database depends on when it is vacuumed")

    def take_part(transaction):
        for number in range(100):
            who = transaction.participants.join(study, {"PROLIFIC_PID": f"{number:024}"}, f"PROLIFIC_PID={number:024}")
            queries = [Query(0, 1, 2, strategy="adaptive")] * 20
            for asked in transaction.questions.issue(study, who.id, queries, sent_bytes=20 * json_bytes(CLIENT)):
                transaction.answers.submit(study, who.id, asked.token, 1, 700, CLIENT)

    def file_bytes():
        with store._database.engine.connect() as connection:
            return connection.exec_driver_sql(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            ).scalar()

    before = file_bytes(), store.usage.get(study)
    store.transact(take_part)
    grown, counted = file_bytes() - before[0], store.usage.get(study) - before[1]
    assert 0.7 < counted / grown < 1.4


def test_whoever_has_answered_nothing_for_a_while_gives_up_their_place(opened, clock):
    store, study, ann = opened
    idle = {"most": 2, "idle_seconds": 600}
    bob = store.participants.join(study, {}, "bob", **idle).id
    with pytest.raises(Full):
        store.participants.join(study, {}, "eve", **idle)
    answered, skipped = opened.ask(participant=ann), opened.ask(participant=bob)
    opened.answer(answered[0])
    clock.advance(600)
    assert not store.participants.is_full(study, 2, 600)
    store.answers.skip(study, bob, skipped[0].token)
    assert store.participants.is_full(study, 2, 600)
    with pytest.raises(Full):
        store.participants.join(study, {}, "eve", **idle)


def test_fifty_joins_do_not_fill_a_study_of_fifty_for_ever(opened, clock):
    store, study, _ = opened
    idle = {"most": 50, "idle_seconds": 600}
    for number in range(49):
        store.participants.join(study, {}, f"bot {number}", **idle)
    with pytest.raises(Full):
        store.participants.join(study, {}, "bob", **idle)
    clock.advance(600)
    bob = store.participants.join(study, {}, "bob", **idle).id
    assert opened.answer(opened.ask(participant=bob)[0]).sequence == 1


def test_a_draft_is_unknown_to_whoever_may_not_see_drafts(store):
    study = store.studies.create("Secret", list("ABC")).id
    assert store.studies.get(study).state == State.DRAFT
    with pytest.raises(LookupError, match=study) as hidden:
        store.studies.get(study, drafts=False)
    with pytest.raises(LookupError) as missing:
        store.studies.get("nowhere")
    assert str(hidden.value).replace(study, "nowhere") == str(missing.value)


def test_every_study_has_a_signing_key_of_its_own(store):
    keys = {store.studies.signing_key(store.studies.create("A", list("ABC")).id) for _ in range(3)}
    assert len(keys) == 3
    assert min(map(len, keys)) >= 40


def test_a_new_signing_key_replaces_the_old_one_and_changes_nothing_else(opened):
    store, study, _ = opened
    before, old = store.studies.get(study), store.studies.signing_key(study)
    assert store.studies.renew_signing_key(study) == store.studies.signing_key(study) != old
    assert store.studies.get(study) == before
