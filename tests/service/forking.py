"""`erkle serve` in processes that are forked from one that has imported it: up at once, and killed as any other."""

import multiprocessing
import os
import signal
import sys
import time

from benchmarks.service.serving import Serving

_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(
    ["erkle.cli.app", "erkle.service.app", "erkle.service.participation.participation", "uvicorn"]
)
# All participants come from one address here; people do not.
_RATE = '{"per_second": 100000, "burst": 100000}'
_RATES = {f"ERKLE_SERVER_{name}_RATE": _RATE for name in ("JOIN", "ANSWER", "ANSWER_ADDRESS", "LOGIN")}


class Forking(Serving):
    """The same server without the two seconds that it imports; with one worker."""

    def start(self):
        """Start the server and wait until it answers."""
        command = ["erkle", "serve", "--data", str(self.folder), "--port", str(self.port)]
        self.process = _FORKED.Process(target=_serve, args=(command, self.folder / "server.log"), daemon=True)
        self.process.start()
        deadline = time.monotonic() + 60
        while not self._answers():
            if not self.process.is_alive() or time.monotonic() > deadline:
                raise RuntimeError(f"The server did not start: {(self.folder / 'server.log').read_text()[-2000:]}")
            time.sleep(0.02)

    def kill(self):
        """End it at once, as a power cut would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.join()
        assert self.process.exitcode == -signal.SIGKILL

    def stop(self):
        """Ask it to end, and wait."""
        self.process.terminate()
        self.process.join(60)


def _serve(command, log):
    """What the command does."""
    from erkle.cli import main

    os.setsid()
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ.update(_RATES)
    sys.argv = command
    main()
