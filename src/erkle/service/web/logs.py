"""Logs: one line of JSON for each event, with nothing in it that names a person or opens a door.

Of a request there is the method, the template of the route, the status and the time it took; never an id, a name, a
token, an address or a query. Of an error there is its type and where it happened, not its text, which may quote what
somebody sent.
"""

import json
import logging
import time
import traceback
from typing import Any

_FIELDS = ("method", "route", "status", "ms", "reason", "error", "at", "trouble")


class JsonLines(logging.Formatter):
    """A record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= frames(record.exc_info[1])
        line |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        return json.dumps(line, ensure_ascii=True, default=str)


def frames(error: BaseException) -> dict[str, Any]:
    """The type of an error, and the last lines of code on the way to it.

    >>> try:
    ...     int("secret")
    ... except ValueError as trouble:
    ...     frames(trouble)["error"]
    'ValueError'
    """
    stack = traceback.extract_tb(error.__traceback__)[-12:]
    names = [f"{'/'.join(frame.filename.split('/')[-2:])}:{frame.lineno} {frame.name}" for frame in stack]
    cause = error.__cause__ or error.__context__
    kind = type(error).__name__ + (f" from {type(cause).__name__}" if cause else "")
    return {"error": kind, "at": names}


def log_as_json() -> None:
    """Let this process log so, to standard error: our own loggers, and those of the server."""
    handler: logging.Handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    # A formatter keeps the text of the first traceback for all; ours has none.
    for name, handlers in (("uvicorn", [handler]), ("uvicorn.error", []), ("erkle", [handler])):
        logger = logging.getLogger(name)
        # What has no handler of its own is logged by the logger above it.
        logger.handlers, logger.propagate = handlers, not handlers
        logger.setLevel(logging.INFO)
