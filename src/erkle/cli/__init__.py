"""The `erkle` command. Each command imports what it needs when it runs, so that `erkle --help` is quick."""

import io
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; every foreseen trouble is one sentence on standard error and exit status 2."""
    from erkle.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a letter of some name gets a question mark, not an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Like Ctrl-C: without this, processes that a command has started would go on by themselves.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell.
        sys.stderr.close()
        sys.exit(1)
    except ModuleNotFoundError:
        raise
    except (ValueError, OSError, FloatingPointError, MemoryError, ImportError) as trouble:
        # An ImportError is ours: it names the extra that is not installed.
        sys.stderr.write(f"erkle: {_sentence(trouble)}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("erkle: stopped.\n")
        sys.exit(130)
    finally:
        signal.signal(signal.SIGTERM, before)


def _sentence(trouble: Exception) -> str:
    if isinstance(trouble, MemoryError):
        return "there is not enough memory for this; use fewer objects or a larger machine."
    if isinstance(trouble, OSError) and trouble.strerror:
        # Our own errors are sentences already; the system's name a file and say two words about it.
        place = f"{trouble.filename}: " if trouble.filename else ""
        return place + trouble.strerror + ("; check the path and who may write there." if place else "")
    return str(trouble)
