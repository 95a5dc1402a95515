"""`erkle serve` prints its address and a link for the first account, and ends cleanly on a signal."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from functools import partial

import pytest
from forked import ErkleServe

from erkle.cli.serve import _allow_connections
from erkle.client import Client
from erkle.store import Imported, State, Store
from people import PASSWORD, THINGS, settings

pytestmark = pytest.mark.usefixtures("compiled")


@contextmanager
def serving(tmp_path, *options, start=ErkleServe):
    """A server on a free port: the process, its address and its output until it was ready."""
    log = tmp_path / "serve.log"
    log.write_text("")
    process = start(["--port", 0, *options], log, tmp_path)
    try:
        yield process, *_ready(process, log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def new_process(options, log, folder, **environment):
    """Start the command in a new process of Python, which takes seconds."""
    command = [sys.executable, "-m", "erkle", "serve", *map(str, options)]
    with log.open("wb") as file:
        return subprocess.Popen(command, stdout=file, stderr=file, cwd=folder, env={**os.environ, **environment})


def _ready(process, log):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        output = log.read_text()
        if "Ctrl-C" in output:
            url = re.search(r"http://127\.0\.0\.1:\d+", output)[0]
            with suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=20):
                return url, output
        time.sleep(0.02)
    raise AssertionError(log.read_text())


def test_a_new_server_prints_a_setup_link_and_keeps_its_data_when_a_signal_ends_it(tmp_path):
    with serving(tmp_path, "--data", tmp_path / "data") as (process, url, output), Client(url) as client:
        token = re.search(r"/setup#(\S+)", output)[1]
        assert client.set_up(token, "ann", PASSWORD)["admin"]
        study = client.create_study("Towns", ["Paris", "Lyon", "Madrid"])["id"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert "Traceback" not in (tmp_path / "serve.log").read_text()
    assert not list((tmp_path / "data").glob("*-wal")), "the last connection removes the write-ahead log"
    with serving(tmp_path, "--data", tmp_path / "data") as (process, url, output), Client(url) as client:
        assert "/setup#" not in output
        client.login("ann", PASSWORD)
        assert [each["id"] for each in client.studies()] == [study]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_a_server_that_is_compiling_ends_soon_after_a_signal_and_keeps_every_answer(tmp_path, new_database):
    data = new_database(tmp_path / "data" / "erkle.db").parent
    with Store(data / "erkle.db") as store:
        study = store.studies.create("Towns", THINGS, settings(checks={"practice": 0})).id
        store.studies.change_state(study, State.OPEN)
        # Enough for a fit: the learner reads them at once, and compiles everything that it needs.
        store.imports.append(study, 100 * [Imported("ann", 0, 1, 2), Imported("bob", 3, 4, 5)])
    cache = tmp_path / "cache"
    start = partial(new_process, XDG_CACHE_HOME=str(cache))
    with serving(tmp_path, "--data", data, start=start) as (process, url, _), Client(url) as client:
        reply = client.join(study)
        question = reply.questions[0]
        assert client.answer(study, reply.participant, question.token, question.left.id).acknowledged.sequence == 201
        # The first functions are compiled, and most are not.
        deadline = time.monotonic() + 120
        while len(list(cache.rglob("*.nbc"))) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
        seconds = time.monotonic() - begun
    # It waits three seconds for the learner. The rest takes about 25 seconds on two idle cores, and more on busy ones.
    assert seconds < 15
    with Store(data / "erkle.db") as store:
        assert store.answers.last(study) == 201


def test_several_workers_serve_one_address_and_add_up_their_metrics(tmp_path):
    options = ["--data", tmp_path / "data", "--workers", 2]
    with serving(tmp_path, *options, start=new_process) as (process, url, output), Client(url) as client:
        assert client.set_up(re.search(r"/setup#(\S+)", output)[1], "ann", PASSWORD)["admin"]
        for _ in range(4):
            with Client(url) as other:
                assert other.login("ann", PASSWORD)["name"] == "ann"
        with urllib.request.urlopen(f"{url}/metrics", timeout=20) as metrics:
            text = metrics.read().decode()
        assert 'erkle_request_seconds_count{method="POST",route="/api/login",status="200"} 4.0' in text
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_the_demo_shows_a_study_with_simulated_answers(tmp_path):
    with serving(tmp_path, "--demo") as (process, url, output), Client(url) as client:
        study = re.search(r"/s/(\S+)", output)[1]
        assert client.enter(re.search(rf"/enter\?next=/studies/{study}#(\S+)", output)[1])["name"] == "demo"
        for _ in range(600):
            [listed] = client.studies()
            if listed["answers"] >= 16 and listed["participants"] == 20:
                break
            time.sleep(0.05)
        assert listed["answers"] >= 16
        assert listed["participants"] == 20
        assert (listed["id"], listed["n_objects"], listed["state"]) == (study, 65, "open")
        [folder] = re.findall(r"(\S+erkle-demo-\w+)", output)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert not os.path.exists(folder)  # noqa: PTH110


def test_a_server_may_have_as_many_connections_as_the_system_allows():
    resource = pytest.importorskip("resource", reason="only on Unix")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, hard), hard))
    try:
        _allow_connections()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


WRONG = {
    ("--host", "300.1.1.1"): "'300.1.1.1'",
    ("--port", "99999"): "--port is 99999",
    ("--workers", "0"): "--workers is 0",
    ("--public-url", "study.example.org"): "--public-url: ",
    ("--trusted-proxy", "nobody"): "--trusted-proxy: ",
    ("--database", "mysql://somewhere"): "mysql",
    ("--database", "postgresql://db/erkle", "--data", "here"): "--data and --database",
}


@pytest.mark.parametrize("options", WRONG, ids=" ".join)
def test_a_wrong_option_is_refused_in_one_sentence(erkle, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    result = erkle("serve", *options)
    assert result.returncode == 2
    assert WRONG[options] in result.stderr.splitlines()[-1]
    assert result.stderr.splitlines()[-1].startswith("erkle: ")


def test_a_port_that_is_in_use_is_refused(erkle, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = erkle("serve", "--data", tmp_path / "data", "--port", port)
    assert result.returncode == 2
    [sentence] = result.stderr.splitlines()
    assert f"Port {port} of 127.0.0.1" in sentence
    assert "--port" in sentence
