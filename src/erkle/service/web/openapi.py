"""The OpenAPI document, with the errors and the security requirements that many routes share."""

import json
from functools import cache
from typing import Any

from fastapi import FastAPI, Response

from erkle import __version__
from erkle.service.web.errors import ErrorOut

ABOUT: dict[str, Any] = {
    "title": "erkle",
    "version": __version__,
    "summary": "Studies that ask which of two objects is more like a third, and learn from each answer.",
    "description": (
        "Everything that the pages do. Participants need no cookie; the participant's id is the secret that identifies "
        "them. Researchers sign in at `/api/login` and send the cookie `erkle_session` "
        "(with HTTPS `__Host-erkle_session`); changes also need the header "
        '`X-CSRF-Token`. Each error is `{"error": {"reason": ..., "sentence": ...}}`.'
    ),
    "openapi_tags": [
        {"name": "participation", "description": "Take part in a study."},
        {"name": "accounts", "description": "Sign in, and manage accounts."},
        {"name": "studies", "description": "Your own studies; administrators see all studies."},
        {"name": "dashboard", "description": "The progress of a study."},
        {"name": "exchange", "description": "Export and import studies and answers."},
        {"name": "operations", "description": "Health and metrics, for operators."},
    ],
    # The route of `install` takes its place.
    "openapi_url": None,
    "docs_url": None,
    "redoc_url": None,
}

_ERROR = {"$ref": "#/components/schemas/ErrorOut"}
_CHANGES = frozenset({"post", "put", "patch", "delete"})
_OF_ALL = {
    "400": "The request cannot be read, or cannot be fulfilled.",
    "422": "A value is invalid.",
    "503": "The database is not available.",
}
_OF_CHANGES = {
    "409": "The current state does not allow it.",
    "413": "The body is too large.",
    "429": "Too many requests; the header Retry-After says when to try again.",
}
_OF_UPLOADS = {"507": "The server's disk has too little space."}
_OF_RESEARCHERS = {"401": "Not signed in.", "403": "Not allowed, or the X-CSRF-Token is missing or wrong."}
_OF_AN_ID = {"404": "It does not exist, or it belongs to somebody else."}


def install(app: FastAPI) -> None:
    """Add the shared errors and security requirements to the document, and serve it at ``/openapi.json``."""
    generated = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(generated())
        return app.openapi_schema

    @cache
    def encoded() -> bytes:
        # Once, because it takes milliseconds and anybody may ask for it.
        return json.dumps(openapi()).encode()

    async def document() -> Response:
        return Response(encoded(), media_type="application/json")

    app.openapi = openapi  # type: ignore[method-assign]
    app.add_api_route("/openapi.json", document, include_in_schema=False)


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
    uploads = "multipart/form-data" in operation.get("requestBody", {}).get("content", {})
    may |= _OF_UPLOADS if uploads else {}
    may |= (_OF_RESEARCHERS if signed_in else {}) | (_OF_AN_ID if "{" in path else {})
    for status, description in may.items():
        responses.setdefault(status, {"description": description})
    for status, response in responses.items():
        # FastAPI gives an error the content type of the successful response.
        if status >= "400":
            response["content"] = {"application/json": {"schema": _ERROR}}
    if signed_in:
        # A change needs both the cookie and the header; FastAPI lists them as alternatives.
        names = [name for entry in operation["security"] for name in entry]
        operation["security"] = [{name: [] for name in names if changes or name != "csrf"}]
