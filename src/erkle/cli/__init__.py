"""The `erkle` command. Each subcommand imports what it needs when it runs, so that `erkle --help` is quick."""

import io
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line. An expected error is one sentence on standard error and exit status 2."""
    from erkle.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # Print a question mark for a letter that the terminal cannot show, rather than fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Handle SIGTERM like Ctrl-C. Otherwise processes that a command has started would keep running.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except BrokenPipeError:
        # The program that read our output has ended, so an error message would reach nobody.
        sys.stderr.close()
        sys.exit(1)
    except ModuleNotFoundError:
        raise
    except (ValueError, OSError, FloatingPointError, MemoryError, ImportError) as error:
        # erkle itself raises ImportError to name an extra that is not installed.
        sys.stderr.write(f"erkle: {_sentence(error)}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("erkle: stopped.\n")
        sys.exit(130)
    finally:
        signal.signal(signal.SIGTERM, before)


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "There is not enough memory; use fewer objects or a larger machine."
    if isinstance(error, OSError) and error.strerror:
        # An error of the operating system has a file name and a few words; our own errors are whole sentences.
        place = f"{error.filename}: " if error.filename else ""
        return place + error.strerror + ("; check the path and its permissions." if place else "")
    return str(error)
