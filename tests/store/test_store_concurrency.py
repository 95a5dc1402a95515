"""With many threads and processes, each question counts once, and acknowledged answers are never lost."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from erkle.store import Acknowledged, Query, Store

# Forks a process for each line of standard input: a JSON object with questions to answer. The process prints its id, a
# line for each acknowledged answer, and the parent prints its exit status. Forking saves importing erkle each time.
ANSWERING = """
import json, os, sys
from erkle.store import Acknowledged, Store
for line in sys.stdin:
    if pid := os.fork():
        print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
        continue
    print("process", os.getpid(), flush=True)
    job = json.loads(line)
    with Store(job["location"]) as store:
        for token in job["tokens"]:
            result = store.answers.submit(job["study"], job["participant"], token, job["choice"])
            if isinstance(result, Acknowledged):
                print(token, result.sequence, flush=True)
    os._exit(0)
"""


class Answering:
    """A process that answers questions; it can be killed and started again."""

    def __init__(self):
        command = [sys.executable, "-c", ANSWERING]
        self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, location, study, participant, tokens, choice=1):
        job = {"location": str(location), "study": study, "participant": participant}
        print(json.dumps({**job, "tokens": tokens, "choice": choice}), file=self._parent.stdin, flush=True)
        self.pid = self._line("process")

    def acknowledged(self, most=None):
        """Read acknowledgements, ``most`` of them or until the process ends; return them and the exit status."""
        found = {}
        while most is None or len(found) < most:
            name, number = self._parent.stdout.readline().split()
            if name == "status":
                return found, int(number)
            found[name] = int(number)
        return found, None

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def close(self):
        self._parent.stdin.close()
        self._parent.stdout.close()
        self._parent.wait()

    def _line(self, wanted):
        name, number = self._parent.stdout.readline().split()
        assert name == wanted
        return int(number)


@pytest.fixture(scope="module")
def processes():
    started = [Answering() for _ in range(2)]
    yield started
    for process in started:
        process.close()


@pytest.fixture
def in_real_time(opened, location):
    """The same study with a real clock, since other processes use one."""
    with Store(location) as store:
        yield opened._replace(store=store)


def checked_log(opened):
    """Check that the log has no gaps and no question twice; return its answers by token."""
    log = list(opened.store.answers.log(opened.study))
    assert [answer.sequence for answer in log] == list(range(1, len(log) + 1))
    assert len({answer.token for answer in log}) == len(log)
    return {answer.token: answer for answer in log}


def test_of_eight_threads_one_answers_each_question_and_all_learn_the_same(opened):
    asked = opened.ask(20)

    def answer(thread):
        order = random.Random(thread).sample(asked, len(asked))
        return [(each.token, opened.answer(each, choice=1 + thread % 2)) for each in order]

    with ThreadPoolExecutor(8) as pool:
        results = [pair for pairs in pool.map(answer, range(8)) for pair in pairs]
    log = checked_log(opened)
    first = [token for token, result in results if isinstance(result, Acknowledged) and not result.repeated]
    assert sorted(first) == sorted(each.token for each in asked)
    assert all(log[token].sequence == r.sequence for token, r in results if isinstance(r, Acknowledged))
    # Of the eight threads, four give the answer that counts to each question, and four the other answer.
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


def test_of_two_processes_one_answers_each_question(in_real_time, location, processes):
    _, study, ann = in_real_time
    shared, one, two = ([asked.token for asked in in_real_time.ask(20)] for _ in range(3))
    for choice, tokens in enumerate((shared + one, shared + two), 1):
        processes[choice - 1].start(location, study, ann, tokens, choice)
    results = [process.acknowledged() for process in processes]
    log = checked_log(in_real_time)
    assert sorted(log) == sorted(shared + one + two)
    for choice, (acknowledged, status) in enumerate(results, 1):
        assert status == 0
        assert acknowledged == {token: answer.sequence for token, answer in log.items() if answer.near == choice}


def test_an_acknowledged_answer_survives_a_kill(in_real_time, location, processes):
    _, study, ann = in_real_time
    rng, acknowledged, n_kills = random.Random(0), {}, 8
    tokens = [asked.token for asked in in_real_time.ask(500)]
    for _ in range(n_kills):
        left = [token for token in tokens if token not in acknowledged]
        processes[0].start(location, study, ann, left)
        before, status = processes[0].acknowledged(most=rng.randrange(1, 20))
        assert status is None
        processes[0].kill()
        after, status = processes[0].acknowledged()
        assert status == -signal.SIGKILL
        acknowledged |= before | after
    with Store(location) as store:
        log = checked_log(in_real_time._replace(store=store))
        assert acknowledged == {token: log[token].sequence for token in acknowledged}
        # Each process may have committed one answer before it was killed that it could not acknowledge.
        assert n_kills <= len(acknowledged) <= len(log) <= len(acknowledged) + n_kills
        [asked] = store.questions.issue(study, ann, [Query(0, 1, 2)])
        result = store.answers.submit(study, ann, asked.token, 1)
        assert result == Acknowledged(len(log) + 1, repeated=False)
