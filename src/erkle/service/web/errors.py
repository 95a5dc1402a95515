"""The one form of all errors: a reason for programs and a sentence for people.

``{"error": {"reason": "unknown", "sentence": "There is no such study."}}``. Only expected errors say what was wrong
with the request. An unexpected error, such as a plain ValueError, is logged, and the client only gets a 500 (see
`erkle.service.web.middleware.observing`).
"""

import errno
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from erkle.files import FileError
from erkle.service.accounts.passwords import WeakPassword
from erkle.service.studies.complaints import Complaints
from erkle.store import NoRoom, NotAllowed, StoreError, Unavailable, Unknown

_log = logging.getLogger("erkle.errors")
_NOTHING = Path(__file__).parents[1] / "static" / "studio" / "not-found.html"
_HTTP = {
    400: ("unreadable", "The body of the request cannot be read; send JSON, or a form if there are files."),
    404: ("not-found", "There is nothing at this address; check it."),
    405: ("method", "This address does not accept this method."),
}

# Seconds after which a client should try again if the database is not available.
_RETRY_AFTER = "5"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Errors that are shown with their own sentence, with status and reason; the first matching type decides.
_EXPECTED: dict[type[Exception], tuple[int, str]] = {
    WeakPassword: (422, "password"),
    Unknown: (404, "unknown"),
    NotAllowed: (409, "not-allowed"),
    NoRoom: (507, "no-room"),
    StoreError: (400, "refused"),
    FileError: (422, "invalid"),
    Complaints: (422, "invalid"),
}


class Problem(HTTPException):
    """An error with an HTTP status, a reason for programs and a sentence for people.

    Parameters
    ----------
    status : int
        The HTTP status, at least 400.
    reason : str
        A word or two for programs, such as ``"not-open"``. It is logged, so it contains no personal data.
    sentence : str
        What was received, what was expected, and what to do.
    extra : mapping, optional
        Further keys of the body, next to ``error``.
    headers : mapping, optional
        Headers of the response.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        sentence: str,
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, sentence, headers)
        self.status, self.reason, self.sentence = status, reason, sentence
        self.extra = dict(extra or {})

    def response(self) -> JSONResponse:
        """Return the HTTP response."""
        # A sentence may quote half a surrogate pair, which cannot be encoded.
        sentence = self.sentence.encode("utf-8", "replace").decode()
        error = {"reason": self.reason, "sentence": sentence}
        return JSONResponse({"error": error, **self.extra}, self.status, headers=self.headers)

    async def refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond before the request has been read, and close the connection, whose rest cannot be used."""
        scope["erkle.reason"] = self.reason
        response = self.response()
        response.headers["Connection"] = "close"
        await response(scope, receive, send)


class ErrorBody(BaseModel):
    """Why a request failed."""

    reason: str
    sentence: str


class ErrorOut(BaseModel):
    """The body of every error."""

    error: ErrorBody


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Document the errors of a route in OpenAPI: ``responses=problems(404, 409)``."""
    return {status: {"model": ErrorOut} for status in statuses}


def install(app: FastAPI) -> None:
    """Respond to every error in the one form."""
    for kind in (HTTPException, RequestValidationError, OSError, *_EXPECTED):
        app.add_exception_handler(kind, _respond)


# A coroutine, because Starlette runs a plain function in a thread.
async def _respond(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    if isinstance(error, Unavailable):
        _log.error("the database is not available", extra={"trouble": str(error)})
    request.scope["erkle.reason"] = problem.reason
    if problem.reason == "not-found" and _wants_page(request):
        return FileResponse(_NOTHING, problem.status)
    return problem.response()


def _wants_page(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")


def problem_of(error: Exception) -> Problem:
    """Return an expected error as a response."""
    match error:
        case Problem():
            return error
        # FastAPI reports whatever goes wrong while it reads a form as an HTTPException.
        case OSError() | HTTPException(__cause__=OSError()) if _is_full(error):
            return Problem(507, "no-room", "The server's disk has no room for these files; try again later.")
        case HTTPException():
            reason, sentence = _HTTP.get(error.status_code, ("http", str(error.detail)))
            return Problem(error.status_code, reason, sentence, headers=error.headers)
        case RequestValidationError():
            return Problem(422, "invalid", validation_sentence(error.errors()))
        case Unavailable():
            # Such as a full disk, a locked study, or a database server that is down.
            sentence = "The database is not available; try again in a few seconds."
            return Problem(503, "database", sentence, headers={"Retry-After": _RETRY_AFTER})
        case _:
            known = (found for kind, found in _EXPECTED.items() if isinstance(error, kind))
            if (found := next(known, None)) is None:
                raise error
            return Problem(*found, str(error))


def _is_full(error: Exception) -> bool:
    """Return whether a temporary file could not be written for lack of space."""
    return any(isinstance(each, OSError) and each.errno in _FULL for each in (error, error.__cause__))


def validation_sentence(errors: Sequence[Any]) -> str:
    """Describe the first three errors in a body.

    >>> validation_sentence([{"loc": ("body", "limits", "answers"), "msg": "Input should be greater than 0"}])
    'limits.answers: input should be greater than 0.'
    """
    described = [_described(error["loc"][1:], str(error["msg"])) for error in errors[:3]]
    more = f" ({len(errors) - 3} more.)" if len(errors) > 3 else ""
    return " ".join(described) + more


def _described(place: Sequence[str | int], message: str) -> str:
    where = ".".join(map(str, place)) or "the request"
    message = message.removeprefix("Value error, ").rstrip(".")
    return f"{where[:200]}: {message[:1].lower()}{message[1:500]}."
