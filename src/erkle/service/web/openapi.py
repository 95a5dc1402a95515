"""The OpenAPI document: what every route may answer besides, and what signing in takes, said once for all."""

from typing import Any

from fastapi import FastAPI

from erkle import __version__
from erkle.service.web.errors import ErrorOut

ABOUT: dict[str, Any] = {
    "title": "erkle",
    "version": __version__,
    "summary": "Studies that ask which of two things is more like a third, and learn from each answer.",
    "description": (
        "Everything that the pages do. Participants need no cookie: who has a participant's id is that participant. "
        "Researchers sign in at `/api/login`, send the cookie `erkle_session`, and with every change the header "
        '`X-CSRF-Token`. Each error is `{"error": {"reason": ..., "sentence": ...}}`.'
    ),
    "openapi_tags": [
        {"name": "participation", "description": "What the page of a participant does."},
        {"name": "accounts", "description": "Who is signed in."},
        {"name": "studies", "description": "Studies of whoever is signed in; administrators see all."},
        {"name": "dashboard", "description": "What is going on in a study."},
        {"name": "exchange", "description": "Files out of a study, and into one."},
        {"name": "operations", "description": "For operators."},
    ],
    "docs_url": None,
    "redoc_url": None,
}

_ERROR = {"$ref": "#/components/schemas/ErrorOut"}
_CHANGES = frozenset({"post", "put", "patch", "delete"})
_OF_ALL = {
    "400": "The request cannot be read, or what it asks for cannot be done.",
    "422": "A value is not as it must be.",
    "503": "The database cannot be used just now.",
}
_OF_CHANGES = {
    "409": "The state does not allow it.",
    "413": "The body is too large.",
    "429": "Too often; the header Retry-After says when.",
}
_OF_RESEARCHERS = {"401": "Not signed in.", "403": "Not allowed, or without the right X-CSRF-Token."}
_OF_ONE = {"404": "There is no such thing, or it is somebody else's."}


def install(app: FastAPI) -> None:
    """Serve the document with what is the same everywhere added to it."""
    written = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(written())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    whole = ErrorOut.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= whole.pop("$defs") | {"ErrorOut": whole}
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
    return document


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    changes, signed_in = method in _CHANGES, "security" in operation
    responses = operation["responses"]
    may = _OF_ALL | (_OF_CHANGES if changes else {})
    may |= (_OF_RESEARCHERS if signed_in else {}) | (_OF_ONE if "{" in path else {})
    for status, description in may.items():
        responses.setdefault(status, {"description": description})
    for status, response in responses.items():
        # The framework lists an error under the type of what the route returns otherwise.
        if status >= "400":
            response["content"] = {"application/json": {"schema": _ERROR}}
    if signed_in:
        # Both at once, where the framework lists them as alternatives.
        names = [name for entry in operation["security"] for name in entry]
        operation["security"] = [{name: [] for name in names if changes or name != "csrf"}]
