"""Logs: one line of JSON per event, without personal data or secrets.

A request is logged with its method, the template of its route, its status and its duration, but never with an id, a
name, a token, an address or a query. An error is logged with its type and its place in the code, but without its text,
which may quote the request.
"""

import json
import logging
import time
import traceback
from typing import Any

_FIELDS = ("method", "route", "status", "ms", "reason", "error", "at", "trouble")


class JsonLines(logging.Formatter):
    """Formats a record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
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
    """Return the type of an error and the last 12 lines of its traceback.

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
    """Log erkle's and uvicorn's events as JSON to standard error."""
    handler: logging.Handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    for name, handlers in (("uvicorn", [handler]), ("uvicorn.error", []), ("erkle", [handler])):
        logger = logging.getLogger(name)
        # A logger without a handler passes its records to its parent.
        logger.handlers, logger.propagate = handlers, not handlers
        logger.setLevel(logging.INFO)
