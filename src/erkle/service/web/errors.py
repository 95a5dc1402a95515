"""Every error of the service has one form: a reason for programs, and a sentence for people.

``{"error": {"reason": "unknown", "sentence": "There is no such study."}}``. Only errors that were foreseen
say what was wrong with the request. What was not expected, a plain ValueError, too, is told to nobody outside:
`erkle.service.web.middleware.observing` answers 500 and logs it, and pages try again.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from erkle.files import FileError
from erkle.service.accounts.passwords import WeakPassword
from erkle.service.studies.complaints import Complaints
from erkle.store import NotAllowed, StoreError, Unavailable, Unknown

_log = logging.getLogger("erkle.errors")
_NOTHING = Path(__file__).parents[1] / "static" / "studio" / "not-found.html"
_HTTP = {
    400: ("unreadable", "The body of the request cannot be read; send JSON, or a form where there are files."),
    404: ("not-found", "There is nothing at this address."),
    405: ("method", "This address does not take this method."),
}

# Errors whose own sentence is told; the first type that fits decides.
_TOLD: dict[type[Exception], tuple[int, str]] = {
    WeakPassword: (422, "password"),
    Unknown: (404, "unknown"),
    NotAllowed: (409, "not-allowed"),
    StoreError: (400, "refused"),
    FileError: (422, "invalid"),
    Complaints: (422, "invalid"),
}


class Problem(HTTPException):
    """What the service does not do, with an HTTP status, a reason for programs and a sentence for people.

    Parameters
    ----------
    status : int
        From 400.
    reason : str
        A word or two for programs, such as ``"not-open"``; the same for all people, for it is logged.
    sentence : str
        What was got, what was wanted, what to do.
    besides : mapping, optional
        What else the body has, next to ``error``.
    headers : mapping, optional
        Of the response.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        sentence: str,
        besides: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, sentence, headers)
        self.status, self.reason, self.sentence = status, reason, sentence
        self.besides = dict(besides or {})

    def response(self) -> JSONResponse:
        """The response that tells it."""
        # A sentence may quote half a surrogate pair, which no response can hold.
        sentence = self.sentence.encode("utf-8", "replace").decode()
        error = {"reason": self.reason, "sentence": sentence}
        return JSONResponse({"error": error, **self.besides}, self.status, headers=self.headers)


class ErrorBody(BaseModel):
    """Why something was not done."""

    reason: str
    sentence: str


class ErrorOut(BaseModel):
    """The body of every error."""

    error: ErrorBody


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What the OpenAPI document says about the errors of a route: ``responses=problems(404, 409)``."""
    return {status: {"model": ErrorOut} for status in statuses}


def install(app: FastAPI) -> None:
    """Answer every error in the one form."""
    for kind in (HTTPException, RequestValidationError, *_TOLD):
        app.add_exception_handler(kind, _answer)


# A coroutine, for Starlette sends a plain function to a thread.
async def _answer(request: Request, error: Exception) -> Response:
    problem = _problem(error)
    if isinstance(error, Unavailable):
        _log.error("the database cannot be used", extra={"trouble": str(error)})
    request.scope["erkle.reason"] = problem.reason
    if problem.reason == "not-found" and _is_read_by_a_person(request):
        return FileResponse(_NOTHING, problem.status)
    return problem.response()


def _is_read_by_a_person(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")


def _problem(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case HTTPException():
            reason, sentence = _HTTP.get(error.status_code, ("http", str(error.detail)))
            return Problem(error.status_code, reason, sentence, headers=error.headers)
        case RequestValidationError():
            return Problem(422, "invalid", validation_sentence(error.errors()))
        case Unavailable():
            # The disk is full, or the server away: whoever asked may ask again.
            return Problem(503, "database", "The database cannot be used just now; try again in a while.")
        case _:
            status, reason = next(told for kind, told in _TOLD.items() if isinstance(error, kind))
            return Problem(status, reason, str(error))


def validation_sentence(errors: Sequence[Any]) -> str:
    """The first things that are wrong with a body, in words.

    >>> validation_sentence([{"loc": ("body", "limits", "answers"), "msg": "Input should be greater than 0"}])
    'limits.answers: input should be greater than 0.'
    """
    told = [_told(error["loc"][1:], str(error["msg"])) for error in errors[:3]]
    more = f" ({len(errors) - 3} more.)" if len(errors) > 3 else ""
    return " ".join(told) + more


def _told(place: Sequence[str | int], message: str) -> str:
    where = ".".join(map(str, place)) or "the request"
    message = message.removeprefix("Value error, ").rstrip(".")
    return f"{where[:200]}: {message[:1].lower()}{message[1:500]}."
