"""On PostgreSQL, one locked study, a lost connection or a full pool does not stop the rest."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import pytest
from sqlalchemy import event, make_url, text
from sqlalchemy.exc import DBAPIError

from erkle.store import Acknowledged, Imported, Query, State, Store, StoreError, Unavailable
from erkle.store.errors import Busy


@pytest.fixture
def impatient(shared_postgresql, monkeypatch):
    """A store that waits only a short time, and its two open studies with a participant each."""
    monkeypatch.setattr("erkle.store.database.engines.LOCK_SECONDS", 0.5)
    monkeypatch.setattr("erkle.store.database.engines.POOL_SECONDS", 2.0)
    shared_postgresql.empty()
    with Store(shared_postgresql.url) as store:

        def create(transaction, title):
            study = transaction.studies.create(title, list("ABC")).id
            transaction.studies.change_state(study, State.OPEN)
            return study, transaction.participants.join(study).id

        yield store, [store.transact(lambda t, title=title: create(t, title)) for title in ("Letters", "Others")]


@contextmanager
def locked(url, study):
    """A study whose row another transaction has locked."""
    import psycopg

    with psycopg.connect(url) as other:
        other.execute("SELECT 1 FROM studies WHERE public_id = %s FOR UPDATE", [study])
        yield


def asked(store, study, participant, n_questions):
    return [each.token for each in store.questions.issue(study, participant, [Query(0, 1, 2)] * n_questions)]


def test_a_locked_study_does_not_keep_others_from_being_recovered(impatient, shared_postgresql):
    store, [(study, _), (other, _)] = impatient
    for each in (study, other):
        store.imports._stage(each, each, [Imported("p", 0, 1, 2)], 0)
        store.imports._make_ready(each, each, 1)
    with locked(shared_postgresql.url, study):
        while store.recover():
            pass
        assert (store.answers.last(study), store.answers.last(other)) == (0, 1)
    while store.recover():
        pass
    assert (store.answers.last(study), store.answers.last(other)) == (1, 1)


def test_a_locked_study_does_not_stop_the_others(impatient, shared_postgresql):
    store, [(study, ann), (other, bob)] = impatient
    waiting, free = asked(store, study, ann, 24), asked(store, other, bob, 5)
    assert store.leases.acquire(study, "me", 30.0)
    with locked(shared_postgresql.url, study), ThreadPoolExecutor(24) as pool:
        refused = [pool.submit(store.answers.submit, study, ann, token, 1) for token in waiting]
        acknowledged = [store.answers.submit(other, bob, token, 1) for token in free]
        store.check()
        assert store.leases.renew(study, "me", 30.0)
        kinds = {type(each.exception()) for each in refused}
        # By now the study is known to be locked: only one of many waits for it.
        again = [pool.submit(store.answers.submit, study, ann, token, 1) for token in waiting]
        sentences = [str(each.exception()) for each in again]
    assert kinds == {Busy}
    assert sum("is locked by another" in sentence for sentence in sentences) >= 6
    assert [each.sequence for each in acknowledged] == [1, 2, 3, 4, 5]
    assert store.answers.submit(study, ann, waiting[0], 1) == Acknowledged(1, repeated=False)
    store.check()


def test_health_and_leases_have_a_connection_when_all_others_are_in_use(impatient):
    store, [(study, _), _] = impatient
    with ExitStack() as stack:
        for _ in range(16):
            stack.enter_context(store._database.reading())
        store.check()
        assert store.leases.acquire(study, "me", 30.0)
        with pytest.raises(Busy, match="connections"):
            store.studies.get(study)


def interrupted(store, how):
    """Interrupt a statement from another connection; return the error."""
    begun, pid = threading.Event(), []

    def work(connection):
        pid.append(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())
        begun.set()
        connection.execute(text("SELECT pg_sleep(30)"))

    with ThreadPoolExecutor(1) as pool:
        sleeping = pool.submit(store._database.read, work)
        begun.wait(10)
        while sleeping.running():
            with store._database.writing() as connection:
                connection.execute(text(f"SELECT {how}({pid[0]})"))
            time.sleep(0.02)
        return sleeping.exception()


@pytest.mark.parametrize("how", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_statement_that_was_cancelled_or_terminated_is_unavailable(impatient, how):
    store, [(study, _), _] = impatient
    assert isinstance(interrupted(store, how), Unavailable)
    assert store.studies.get(study).title == "Letters"


def test_a_statement_does_not_run_for_ever(shared_postgresql, monkeypatch):
    monkeypatch.setattr("erkle.store.database.engines.STATEMENT_SECONDS", 1.0)
    with Store(shared_postgresql.url) as store:
        with pytest.raises(Busy):
            store._database.read(lambda connection: connection.execute(text("SELECT pg_sleep(30)")))
        with pytest.raises(DBAPIError):
            store._database.read(lambda connection: connection.execute(text("SELECT no_column")))


def test_a_transaction_that_the_server_has_ended_is_unavailable(impatient):
    store, [(study, _), _] = impatient

    def wait(connection):
        connection.execute(text("SET idle_in_transaction_session_timeout = 50"))
        time.sleep(0.5)
        connection.execute(text("SELECT 1"))

    with pytest.raises(Unavailable):
        store._database.read(wait)
    assert store.studies.get(study).title == "Letters"


def test_a_connection_that_ends_while_it_is_prepared_is_unavailable(impatient):
    store, _ = impatient

    def terminate(connection, _):
        with suppress(Exception):
            connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    engine = store._database.engine
    engine.dispose()
    event.listen(engine, "connect", terminate, insert=True)
    with pytest.raises(Unavailable):
        store.studies.all()
    event.remove(engine, "connect", terminate)
    assert len(store.studies.all()) == 2


def test_a_database_that_cannot_store_every_text_is_refused(new_postgresql):
    import psycopg

    with psycopg.connect(new_postgresql, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS latin")
        connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(StoreError, match="LATIN1"):
            Store(make_url(new_postgresql).set(database="latin").render_as_string(hide_password=False))
    finally:
        with psycopg.connect(new_postgresql, autocommit=True) as connection:
            connection.execute("DROP DATABASE latin")
