"""Many at once: each question counts once, the numbers have no gaps, and no acknowledged answer is ever lost."""

import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from erkle.store import Acknowledged, Query, Store, StoreError

# Answers the questions that are named on standard input, and says at once what came of each.
ANSWERING = """
import sys
from erkle.store import Acknowledged, Store
place, study, ann, choice = sys.argv[1:]
with Store(place) as store:
    print("ready", flush=True)
    for token in sys.stdin.read().split():
        result = store.answers.submit(study, ann, token, int(choice))
        if isinstance(result, Acknowledged):
            print(token, result.sequence, flush=True)
"""


@pytest.fixture
def lasting(opened, place):
    """The same by a true clock, since other processes have no other."""
    with Store(place) as store:
        yield opened._replace(store=store)


def started(place, lasting, choice=1):
    process = subprocess.Popen(
        [sys.executable, "-c", ANSWERING, place, lasting.study, lasting.ann, str(choice)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def feed(process, tokens):
    process.stdin.write("\n".join(tokens))
    process.stdin.close()


def ended(process):
    """What it told whole, for it may be killed in the middle of a line; and its status."""
    with process.stdout as lines:
        told = {line.split()[0]: int(line.split()[1]) for line in lines if line.endswith("\n")}
    return told, process.wait()


def counted(lasting):
    log = list(lasting.store.answers.log(lasting.study))
    assert [answer.sequence for answer in log] == list(range(1, len(log) + 1))
    assert len({answer.token for answer in log}) == len(log)
    return {answer.token: answer for answer in log}


def test_of_eight_threads_one_wins_each_question_and_all_hear_the_same(opened):
    asked = opened.ask(20)

    def answer(thread):
        order = random.Random(thread).sample(asked, len(asked))
        return [(one.token, opened.answer(one, choice=1 + thread % 2)) for one in order]

    with ThreadPoolExecutor(8) as pool:
        results = [pair for pairs in pool.map(answer, range(8)) for pair in pairs]
    log = counted(opened)
    first = [token for token, result in results if isinstance(result, Acknowledged) and not result.repeated]
    assert sorted(first) == sorted(one.token for one in asked)
    assert all(log[token].sequence == r.sequence for token, r in results if isinstance(r, Acknowledged))
    # Four threads give the answer that counts, four the other one.
    assert sum(isinstance(result, Acknowledged) for _, result in results) == 80
    assert opened.store.studies.counts(opened.study).refusals == 80


def test_a_reader_of_the_log_misses_nothing_while_others_answer(opened):
    asked, seen, done = opened.ask(40), [], threading.Event()

    def read():
        while True:
            finished = done.is_set()
            seen.extend(opened.store.answers.log(opened.study, after=seen[-1].sequence if seen else 0))
            if finished:
                return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(opened.answer, asked))
    finally:
        done.set()
        reader.join()
    assert [answer.sequence for answer in seen] == list(range(1, 41))


def test_of_two_processes_one_wins_each_question(lasting, place):
    shared, one, two = ([asked.token for asked in lasting.ask(20)] for _ in range(3))
    processes = [started(place, lasting, choice) for choice in (1, 2)]
    for process, tokens in zip(processes, (shared + one, shared + two), strict=True):
        feed(process, tokens)
    told, statuses = zip(*map(ended, processes), strict=True)
    assert statuses == (0, 0)
    log = counted(lasting)
    assert sorted(log) == sorted(shared + one + two)
    for choice, sequences in enumerate(told, 1):
        assert sequences == {token: answer.sequence for token, answer in log.items() if answer.near == choice}


def test_an_acknowledged_answer_survives_a_kill(lasting, place):
    rng, told, n_kills = random.Random(0), {}, 3 if "://" in place else 10
    tokens = [asked.token for asked in lasting.ask(3000)]
    for _ in range(n_kills):
        left = [token for token in tokens if token not in told]
        process = started(place, lasting)
        feed(process, left)
        time.sleep(rng.uniform(0.0, 0.15))
        process.kill()
        new, status = ended(process)
        assert status == -9
        told |= new
    with Store(place) as store:
        log = counted(lasting._replace(store=store))
        assert told == {token: log[token].sequence for token in told}
        # Each process may have committed one answer of which it could not tell any more.
        assert n_kills < len(told) <= len(log) <= len(told) + n_kills
        [asked] = store.questions.issue(lasting.study, lasting.ann, [Query(0, 1, 2)])
        assert store.answers.submit(lasting.study, lasting.ann, asked.token, 1) == Acknowledged(
            len(log) + 1, repeated=False
        )


def test_a_lease_that_lasts_too_long_is_over(opened, clock):
    leases, study = opened.store.leases, opened.study
    fence = leases.acquire(study, "one", 60)
    # The clock that gave the lease was wrong, and has been set back since.
    clock.advance(-1)
    assert leases.acquire(study, "two", 60) == fence + 1
    assert leases.acquire(study, "one", 60) is None


@pytest.mark.parametrize("seconds", [0, -1, 61])
def test_no_lease_is_longer_than_a_minute(opened, seconds):
    for take in (opened.store.leases.acquire, opened.store.leases.renew):
        with pytest.raises(StoreError, match=f"The lease is {seconds} seconds"):
            take(opened.study, "one", seconds)


def test_of_many_who_want_a_lease_one_gets_it(opened):
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda owner: opened.store.leases.acquire(opened.study, f"owner {owner}", 60), range(8)))
    assert sum(fence is not None for fence in got) == 1
