"""Faults of what the machine gives to the server: memory and file handles."""

import contextlib
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faults.trial import LASTS, Fault, Trial
from benchmarks.service.serving import PASSWORD, Serving
from erkle.client import Client, Refused, Unreachable

__all__ = ["FewHandles", "LittleMemory"]

_HANDLES = 96


class FewHandles(Fault):
    """The server runs out of file handles (RLIMIT_NOFILE), then has some again."""

    @contextlib.contextmanager
    def serving(self, folder: Path) -> Iterator[Serving]:
        """A server with few file handles."""
        yield Serving(folder / "data", 30, 30, limits={resource.RLIMIT_NOFILE: _HANDLES})

    def happen(self, trial: Trial) -> str:
        """Hold many connections open."""
        with contextlib.ExitStack() as stack:
            for _ in range(2 * _HANDLES):
                connection = stack.enter_context(socket.socket())
                connection.setblocking(False)
                connection.connect_ex(("127.0.0.1", trial.serving.port))
            # Another name of the same address, so that participants need new connections.
            trial.participants.urls[:] = [f"http://localhost:{trial.serving.port}"]
            time.sleep(LASTS)
            assert trial.participants.seen, "The limit had no effect."
            trial.participants.mend()
        return ""


class LittleMemory(Fault):
    """The server gets no more memory (RLIMIT_AS), then gets some again."""

    def happen(self, trial: Trial) -> str:
        """Limit the memory to what the server has, wait, and lift the limit. Start the server if it has ended."""
        process = trial.serving.process
        assert process is not None
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0])
        resource.prlimit(process.pid, resource.RLIMIT_AS, (pages * resource.getpagesize(), most))
        remark = _sign_in(trial.serving)
        time.sleep(LASTS)
        trial.participants.mend()
        if process.poll() is not None:
            trial.serving.start()
            return "the server ended and was started again"
        resource.prlimit(process.pid, resource.RLIMIT_AS, (most, most))
        return remark


def _sign_in(serving: Serving) -> str:
    """What a researcher sees who signs in; this needs 46 MB."""
    try:
        with Client(serving.url, retry_for=0.0) as client:
            client.login("ann", PASSWORD)
    except (Refused, Unreachable) as error:
        return f"sign-in: {f'{error.status} {error.reason}' if isinstance(error, Refused) else 'no response'}"
    return "sign-in works"
