"""Every error of the service has one form: a reason for programs, and a sentence for people.

``{"error": {"reason": "no-such-study", "sentence": "There is no such study."}}``. What was not expected is told to
nobody outside; `erkle.service.observing` answers and logs it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from erkle.store import NotAllowed, StoreError, Unknown

__all__ = ["ErrorOut", "Problem", "install", "problems"]

_REASONS = {404: ("not-found", "There is nothing here."), 405: ("method", "This address does not take this method.")}


class Problem(Exception):
    """What the service does not do, with an HTTP status, a reason for programs and a sentence for people.

    Parameters
    ----------
    status : int
        From 400.
    reason : str
        A word or two for programs, such as ``"not-open"``.
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
        super().__init__(sentence)
        self.status, self.reason, self.sentence = status, reason, sentence
        self.besides, self.headers = dict(besides or {}), headers

    def response(self) -> JSONResponse:
        """The response that tells it."""
        error = {"reason": self.reason, "sentence": self.sentence}
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
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(StoreError, _store_error)
    app.add_exception_handler(ValueError, _value_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


# Handlers are coroutines because Starlette would send a plain function to a thread.
async def _problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Problem)
    return error.response()


async def _store_error(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, Unknown):
        return Problem(404, "unknown", str(error)).response()
    if isinstance(error, NotAllowed):
        return Problem(409, "not-allowed", str(error)).response()
    return Problem(400, "refused", str(error)).response()


async def _value_error(request: Request, error: Exception) -> JSONResponse:
    return Problem(400, "refused", str(error)).response()


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return Problem(422, "invalid", validation_sentence(error.errors())).response()


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    reason, sentence = _REASONS.get(error.status_code, ("http", str(error.detail)))
    return Problem(error.status_code, reason, sentence, headers=error.headers).response()


def validation_sentence(errors: Sequence[Any]) -> str:
    """The first things that are wrong with a body, in words.

    >>> validation_sentence([{"loc": ("body", "limits", "answers"), "msg": "Input should be greater than 0"}])
    'limits.answers: input should be greater than 0.'
    """
    told = [_told(error) for error in errors[:3]]
    more = f" ({len(errors) - 3} more.)" if len(errors) > 3 else ""
    return " ".join(told) + more


def _told(error: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in error["loc"][1:]) or "the request"
    message = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
    return f"{place[:200]}: {message[:1].lower()}{message[1:500]}."
