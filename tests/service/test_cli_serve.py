"""`erkle serve` as a process: it prints its address and a setup link, and stops when a signal asks it to."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from erkle.client import Client

PASSWORD = "correct horse battery"


@contextmanager
def serving(tmp_path, *options):
    """Start a server on a free port; yields the process, its address and its output."""
    log = tmp_path / "serve.log"
    command = [sys.executable, "-m", "erkle", "serve", "--port", "0", *map(str, options)]
    with log.open("wb") as file:
        variables = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        process = subprocess.Popen(command, stdout=file, stderr=file, env=variables, cwd=tmp_path)
    try:
        yield process, *_started(process, log)
    finally:
        process.kill()
        process.wait()


def _started(process, log):
    """The address and the output of a server that has started."""
    for _ in range(1200):
        said = log.read_text()
        if "Ctrl-C" in said:
            return re.search(r"http://127\.0\.0\.1:\d+", said)[0], said
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def test_a_new_server_offers_a_setup_link_and_keeps_its_data_when_a_signal_stops_it(tmp_path):
    with serving(tmp_path, "--data", tmp_path / "data") as (process, url, said), Client(url) as client:
        token = re.search(r"/setup#(\S+)", said)[1]
        assert client.set_up(token, "ann", PASSWORD)["admin"]
        study = client.create_study("Towns", ["Paris", "Lyon", "Madrid"])["id"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    with serving(tmp_path, "--data", tmp_path / "data") as (process, url, said), Client(url) as client:
        assert "/setup#" not in said
        client.login("ann", PASSWORD)
        assert [each["id"] for each in client.studies()] == [study]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_several_workers_serve_one_address(tmp_path):
    with serving(tmp_path, "--data", tmp_path / "data", "--workers", 2) as (process, url, said), Client(url) as client:
        assert client.health()
        assert client.set_up(re.search(r"/setup#(\S+)", said)[1], "ann", PASSWORD)["admin"]
        for _ in range(3):
            with Client(url) as other:
                assert other.login("ann", PASSWORD)["name"] == "ann"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_the_demo_shows_a_study_with_simulated_answers(tmp_path):
    with serving(tmp_path, "--demo") as (process, url, said), Client(url) as client:
        study = re.search(r"/s/(\S+)", said)[1]
        assert client.enter(re.search(rf"/enter\?next=/studies/{study}#(\S+)", said)[1])["name"] == "demo"
        for _ in range(300):
            [listed] = client.studies()
            if listed["answers"] >= 16:
                break
            time.sleep(0.1)
        assert listed["answers"] >= 16
        assert listed["participants"] == 20
        assert (listed["id"], listed["n_objects"], listed["state"]) == (study, 65, "open")
        [folder] = re.findall(r"data in (\S+)\.", said)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert not os.path.exists(folder)  # noqa: PTH110


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
