"""The `erkle` command. Each command imports what it needs when it runs, so that `erkle --help` is quick."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; every foreseen trouble is one sentence on standard error and exit status 2."""
    from erkle.cli.app import app

    try:
        app()
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell.
        sys.stderr.close()
        sys.exit(1)
    except (ValueError, OSError, FloatingPointError) as trouble:
        sentence = trouble.strerror if isinstance(trouble, OSError) and trouble.strerror else str(trouble)
        sys.stderr.write(f"erkle: {sentence}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("erkle: stopped.\n")
        sys.exit(130)
