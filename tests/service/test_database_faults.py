"""A database that fails: nothing is acknowledged that is not saved, /health says so, and a start says what is wrong."""

import errno
import io
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from PIL import Image
from sqlalchemy import event

from erkle.client import Client, Refused, Unreachable
from erkle.service.watchdog import Watchdog
from erkle.service.web.errors import problem_of
from erkle.store import State, Store, Unavailable
from people import THINGS, Somebody, reason, settings


def fill_disk(store):
    """Let all later writes that need space fail, as on a full disk."""
    engine = store._database.engine
    event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA max_page_count=1"))
    engine.dispose()


def status(url):
    """The status of a response; the URL may be a request."""
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_a_server_that_cannot_store_is_alive_but_not_ready(client, store):
    assert (client.get("/health").status_code, client.get("/alive").status_code) == (200, 200)
    fill_disk(store)
    with pytest.raises(Unavailable):
        store.studies.create("A", [str(number) for number in range(1000)])
    answer = client.get("/health")
    assert (answer.status_code, reason(answer)) == (503, "database")
    assert client.get("/alive").json() == {"status": "ok"}
    store.tend()
    assert client.get("/health").status_code == 200


def test_a_server_gets_ready_again_by_itself(data_folder):
    with Store(data_folder / "erkle.db") as store:
        fill_disk(store)
        with pytest.raises(Unavailable):
            store.studies.create("A", [str(number) for number in range(1000)])
        watchdog = Watchdog(store, seconds=0.01)
        deadline = time.monotonic() + 30
        while store._database._readiness.is_doubtful and time.monotonic() < deadline:
            time.sleep(0.01)
        watchdog.close()
        store.check()
    assert (data_folder / "erkle.db-acknowledged").stat().st_size > 0


def test_a_client_is_told_when_to_try_again(client, configuration, study):
    somebody = Somebody(client, study)
    (configuration.data / "erkle.db-wal").unlink()
    reply = somebody.send()
    assert (reply.status_code, reason(reply)) == (503, "database")
    assert int(reply.headers["Retry-After"]) > 0
    assert (client.get("/health").status_code, client.get("/alive").status_code) == (503, 200)


def join(url, study):
    body = b'{"parameters": {}, "consent": true}'
    request = urllib.request.Request(f"{url}/api/take/{study}/join", body, {"Content-Type": "application/json"})
    return status(request)


def test_the_health_of_a_server_does_not_wait_for_its_requests(server):
    url, study, n_requests = server.url, server.study(), 50
    file = server.app.state.configuration.data / "erkle.db"
    with ThreadPoolExecutor(n_requests) as pool, closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        # More than the server has threads.
        waiting = [pool.submit(join, url, study) for _ in range(n_requests)]
        time.sleep(0.5)
        assert status(f"{url}/health") == status(f"{url}/alive") == 200
        other.execute("ROLLBACK")
        assert {each.result() for each in waiting} == {200}


def test_an_upload_that_would_fill_the_disk_is_refused(researcher, client, study, monkeypatch):
    somebody = Somebody(client, study)
    free = shutil._ntuple_diskusage(10**12, 10**12 - 10**8, 10**8)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: free)
    for path, data in (("/api/studies/upload", {"spec": "title: A"}), ("/api/import", {})):
        answer = researcher.post(path, data=data, files={"file": ("a.zip", b"x" * 2_000_000)})
        assert (answer.status_code, reason(answer)) == (507, "no-room")
    assert somebody.send().status_code == 200


@pytest.mark.parametrize("full", ["starlette.formparsers.SpooledTemporaryFile.write", "tempfile.TemporaryFile"])
def test_an_upload_is_refused_when_temporary_files_have_no_room(researcher, full, monkeypatch):
    def write(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(full, write)
    picture = io.BytesIO()
    Image.new("RGB", (8, 8)).save(picture, "PNG")
    files = [("files", (f"{name}.png", picture.getvalue())) for name in "abc"]
    answer = researcher.post("/api/studies/upload", data={"spec": "title: A"}, files=files)
    assert (answer.status_code, reason(answer)) == (507, "no-room")


def test_other_errors_of_the_system_are_not_reworded():
    with pytest.raises(PermissionError):
        problem_of(PermissionError(errno.EACCES, "Permission denied"))


def test_an_upload_without_a_database_is_unavailable(researcher, configuration):
    (configuration.data / "erkle.db").unlink()
    # Connections that are open can still read; new ones cannot.
    researcher.app.state.store._database.engine.dispose()
    answer = researcher.post("/api/import", files={"file": ("a.zip", b"x" * 1000)})
    assert (answer.status_code, reason(answer)) == (503, "database")


def answers_until_refused(url, study, acknowledged):
    with Client(url, timeout=20.0, retry_for=0.0) as client:
        reply = client.join(study)
        while reply.questions:
            question = reply.questions[0]
            reply = client.answer(study, reply.participant, question.token, question.left.id)
            acknowledged.append((reply.acknowledged.sequence, question.token))
            yield


def test_a_kill_after_the_log_was_removed_loses_nothing_that_was_acknowledged(serve, data_folder):
    with Store(data_folder / "erkle.db") as store:
        study = store.studies.create("Cities", THINGS, settings()).id
        store.studies.change_state(study, State.OPEN)
    server, acknowledged = serve(data_folder), []
    answering = answers_until_refused(server.url, study, acknowledged)
    for _ in range(10):
        next(answering)
    (data_folder / "erkle.db-wal").unlink()
    (data_folder / "erkle.db-shm").unlink()
    with pytest.raises((Refused, Unreachable)):
        list(answering)
    assert (status(f"{server.url}/health"), status(f"{server.url}/alive")) == (503, 200)
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait(20)
    with Store(data_folder / "erkle.db") as store:
        log = {(answer.sequence, answer.token) for answer in store.answers.log(study)}
    assert len(acknowledged) >= 10
    assert {*acknowledged} <= log


def test_a_damaged_database_is_refused_in_one_sentence_at_the_start(erkle, data_folder):
    file = data_folder / "erkle.db"
    os.truncate(file, file.stat().st_size // 2)
    result = erkle("serve", "--data", data_folder, "--port", 0)
    assert result.returncode == 2
    [sentence] = result.stderr.splitlines()
    assert str(file) in sentence


LITTLE_MEMORY = """
import resource, sys
from erkle.cli import main

resource.setrlimit(resource.RLIMIT_AS, (600_000_000, 600_000_000))
sys.argv = ["erkle", "serve", "--data", sys.argv[1], "--port", "0"]
main()
"""


def test_too_little_memory_is_refused_in_one_sentence_at_the_start(tmp_path):
    command = [sys.executable, "-c", LITTLE_MEMORY, tmp_path / "data"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 2
    [sentence] = run.stderr.splitlines()
    assert "600 MB" in sentence
