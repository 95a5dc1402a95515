"""Writes that share a transaction do not share their errors."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from erkle.store.database.group_commit import GroupCommit
from erkle.store.database.opening import open_database
from erkle.store.errors import Busy


@pytest.fixture
def database(sqlite):
    database = open_database(sqlite)
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE notes (number INTEGER PRIMARY KEY)"))
    yield database
    database.close()


def note(number):
    def work(connection):
        connection.execute(text(f"INSERT INTO notes VALUES ({abs(number)})"))
        if number < 0:
            # Two types of exception, since a write can raise any.
            raise (ValueError if number % 2 else LookupError)(f"{number} is negative")
        return number

    return work


def notes(database):
    with database.reading() as connection:
        return [number for [number] in connection.execute(text("SELECT number FROM notes ORDER BY number"))]


def together(database, works):
    """Queue all writes behind the first one; return the outcome of each, and the number of transactions."""
    begun, release, n_transactions, outcomes = threading.Event(), threading.Event(), [], []
    transaction = database._group_commit._transaction

    @contextmanager
    def counting():
        n_transactions.append(1)
        with transaction() as connection:
            yield connection

    def slow(connection):
        begun.set()
        release.wait()
        return works[0](connection)

    database._group_commit._transaction = counting
    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(database.write, slow)]
        begun.wait()
        futures += [pool.submit(database.write, work) for work in works[1:]]
        while len(database._group_commit._waiting) < len(works) - 1:
            time.sleep(0.001)
        release.set()
        outcomes = [future.exception() or future.result() for future in futures]
    return outcomes, len(n_transactions)


def test_waiting_writes_share_a_transaction(database):
    assert together(database, [note(number) for number in range(8)]) == (list(range(8)), 2)
    assert notes(database) == list(range(8))


def test_a_write_that_raises_is_undone_alone(database):
    outcomes, n_transactions = together(database, [note(number) for number in (1, 2, -3, -6, 4)])
    assert outcomes[:2] + outcomes[4:] == [1, 2, 4]
    assert [str(outcome) for outcome in outcomes[2:4]] == ["-3 is negative", "-6 is negative"]
    assert notes(database) == [1, 2, 4]
    assert n_transactions == 2


def test_a_database_error_reaches_only_its_cause(database):
    outcomes, n_transactions = together(database, [note(number) for number in (1, 2, 1, -5, 3)])
    assert outcomes[:2] + outcomes[4:] == [1, 2, 3]
    assert isinstance(outcomes[2], DBAPIError)
    assert str(outcomes[3]) == "-5 is negative"
    assert notes(database) == [1, 2, 3]
    # The first write, the shared transaction that failed, and its four writes one by one.
    assert n_transactions == 6


def test_a_lock_of_another_process_is_waited_for_once_by_all_waiting_writes():
    begun, release, n_transactions = threading.Event(), threading.Event(), []

    @contextmanager
    def transaction():
        n_transactions.append(1)
        if len(n_transactions) == 1:
            begun.set()
            release.wait(30)
            yield None
            return
        raise Busy("locked")

    group = GroupCommit(transaction)
    with ThreadPoolExecutor(6) as pool:
        first = pool.submit(group.write, lambda connection: "saved")
        begun.wait(30)
        others = [pool.submit(group.write, lambda connection: "saved") for _ in range(5)]
        while len(group._waiting) < 5:
            time.sleep(0.001)
        release.set()
        assert first.result() == "saved"
        assert {type(each.exception()) for each in others} == {Busy}
        # Each thread adds its own calls to the traceback of its error.
        assert len({id(each.exception()) for each in others}) == len(others)
    assert len(n_transactions) == 2
