"""A pytest plugin for `make test`: one line with the time and the count of tests, in place of dots.

On a terminal the line is rewritten every second. Elsewhere a new line is printed every four seconds, so that nobody
wonders whether anything is going on while workers collect thousands of tests.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from threading import Event, Thread

import pytest


class Progress:
    """Counts tests that have ended, and shows the count until the session ends."""

    def __init__(self) -> None:
        self._n_tests = self._n_ended = self._n_failed = 0
        self._start = time.monotonic()
        self._done = Event()
        self._thread = Thread(target=self._show, daemon=True)
        # Before pytest captures anything.
        self._out = sys.stderr

    def pytest_sessionstart(self) -> None:
        self._thread.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Iterator[None]:
        self._done.set()
        self._thread.join()
        return (yield)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._n_tests = len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._n_tests = len(ids)

    def pytest_runtest_logfinish(self) -> None:
        self._n_ended += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Iterator[None]:
        """Print no letter for a test that has ended."""
        category, _, word = yield
        return category, "", word

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Name a failure at once."""
        if report.failed:
            self._n_failed += 1
            self._print(f"FAILED {report.nodeid}\n")

    def _show(self) -> None:
        while not self._done.wait(1 if self._out.isatty() else 4):
            self._print(self._line() + ("" if self._out.isatty() else "\n"))
        if self._out.isatty():
            self._print("")

    def _line(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self._start), 60)
        if not self._n_ended:
            return f"{minutes}:{seconds:02}  collecting tests"
        failed = f", {self._n_failed} failed" if self._n_failed else ""
        return f"{minutes}:{seconds:02}  {self._n_ended:,} of {self._n_tests:,} tests{failed}"

    def _print(self, text: str) -> None:
        self._out.write(("\r\033[K" if self._out.isatty() else "") + text)
        self._out.flush()


def pytest_configure(config: pytest.Config) -> None:
    """Show progress in the process that the user sees, not in the workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress())
