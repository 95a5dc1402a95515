"""Install erkle into .venv for `make`, and show that it is going on: `python3 tools/set_up.py service`.

It needs nothing but the standard library. On a terminal it rewrites one line every second; elsewhere it prints a line
every four seconds.
"""

from __future__ import annotations  # so that an old Python gets as far as the sentence about its version

import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread

VENV = Path(".venv")
PYTHON = VENV / "bin" / "python"


class Progress:
    """The latest line of a program's output, with the time since the start."""

    def __init__(self) -> None:
        self.latest = ""
        self.start = time.monotonic()
        self._done = Event()

    def __enter__(self) -> Progress:
        self._thread = Thread(target=self._show)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def seconds(self) -> str:
        return f"{time.monotonic() - self.start:.0f} s"

    def _show(self) -> None:
        terminal = sys.stdout.isatty()
        while not self._done.wait(1 if terminal else 4):
            line = f"  {self.seconds():>5}  {self.latest[:70]}"
            print(f"\r\033[K{line}" if terminal else line, end="" if terminal else "\n", flush=True)
        if terminal:
            print("\r\033[K", end="", flush=True)


def run(command: list[str], progress: Progress) -> None:
    """Run a program; if it fails, print all of its output and exit."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if not line.startswith("WARNING"):
            progress.latest = line.strip()
    if process.wait():
        sys.exit(f"{''.join(lines)}\n{' '.join(command)} failed; its output is above.")


def has_pip() -> bool:
    """Whether .venv is complete: an interrupted `venv` leaves a Python without pip."""
    check = [str(PYTHON), "-m", "pip", "--version"]
    return PYTHON.exists() and subprocess.run(check, capture_output=True, check=False).returncode == 0


def main(extras: str) -> None:
    """Make .venv if there is none, and install erkle with some extras into it."""
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(f"erkle needs Python 3.11 or newer, but this is {sys.version.split()[0]}; try make PYTHON=python3.11.")
    print("Setting up .venv (first time only, a minute or two) ...", flush=True)
    with Progress() as progress:
        if not has_pip():
            progress.latest = "Creating the virtual environment"
            run([sys.executable, "-m", "venv", "--clear", str(VENV)], progress)
        package = f".[{extras}]" if extras else "."
        # With --no-compile, pip takes half the time; Python compiles each module when it is first imported.
        pip = f"{PYTHON} -m pip install --disable-pip-version-check --no-compile --progress-bar off --editable"
        run([*pip.split(), package], progress)
    print(f"Set up .venv in {progress.seconds()}.", flush=True)


if __name__ == "__main__":
    try:
        main(",".join(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("Stopped; run make again to continue.")
