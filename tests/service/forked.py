"""`erkle serve` in processes that are forked from one that has imported everything, so that they start at once."""

import multiprocessing
import multiprocessing.forkserver
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from benchmarks.service.serving import Serving

_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(
    ["erkle.cli.app", "erkle.service.app", "erkle.service.demo", "erkle.service.participation.participation", "uvicorn"]
)
# All participants of a test come from one address.
_RATE = '{"per_second": 100000, "burst": 100000}'
_RATES = {f"ERKLE_SERVER_{name}_RATE": _RATE for name in ("JOIN", "ANSWER", "ANSWER_ADDRESS", "LOGIN")}


class ErkleServe:
    """A process of ``erkle serve``, with the methods of `subprocess.Popen` that tests use.

    Parameters
    ----------
    options : sequence
        Options of the command.
    log : Path
        The file to which the process appends its output.
    folder : Path, optional
        The process's working directory.
    environment : dict of str, optional
        Additional environment variables. Those that are read when a module is imported have no effect.
    """

    def __init__(self, options, log, folder=None, environment=None):
        command = ["erkle", "serve", *map(str, options)]
        arguments = (command, log, folder, environment or {})
        with pytest.MonkeyPatch.context() as patch:
            # The process that servers are forked from reads this variable when it imports numpy.
            patch.setenv("OPENBLAS_NUM_THREADS", "1")
            multiprocessing.forkserver.ensure_running()
        self._process = _FORKED.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        self.pid = self._process.pid

    def poll(self):
        return self._process.exitcode

    def wait(self, seconds=None):
        self._process.join(seconds)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("erkle serve", seconds)
        return self._process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def terminate(self):
        self._process.terminate()

    def kill(self):
        """Kill the process and its workers."""
        os.killpg(self.pid, signal.SIGKILL)


class ForkedServing(Serving):
    """A `Serving` whose processes are forked."""

    def start(self):
        """Start the server and wait until it responds."""
        options = ["--data", self.folder, "--port", self.port, "--workers", self.workers]
        log = self.folder / "server.log"
        self.process = ErkleServe(options, log, environment=_RATES)
        deadline = time.monotonic() + 60
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The server did not start: {log.read_text()[-2000:]}")
            time.sleep(0.02)

    def kill(self):
        """Kill the server and its workers, and wait until the workers have released the port."""
        super().kill()
        deadline = time.monotonic() + 60
        while not _is_free(self.port):
            assert time.monotonic() < deadline
            time.sleep(0.005)


def _is_free(port):
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _serve(command, log, folder, environment):
    """Run the command in the forked process."""
    import uvicorn._subprocess

    from erkle.cli import main

    os.setsid()
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ.update(environment)
    if folder is not None:
        os.chdir(folder)
    # A daemon ends with the tests, but may not have workers of its own unless it forgets that it is one.
    multiprocessing.current_process()._config["daemon"] = False
    # Workers are forked as well: a spawned one imports everything again, which takes seconds.
    uvicorn._subprocess.spawn = multiprocessing.get_context("fork")
    sys.argv = command
    main()
