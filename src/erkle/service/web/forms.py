"""Forms that researchers send: as many files as a study can have, and long lists of names in one field.

By default, Starlette reads at most 1,000 files and fields of at most 1 MB, and says neither limit.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException

from erkle.service.studies.uploads import CAPS
from erkle.service.web.errors import Problem

# Bytes of a field: 10,000 names of 400 letters. All of it is in memory.
FIELD = 4 << 20
# Files of objects, and some of features besides.
_FILES = CAPS.entries + 100
_SENTENCE = (
    f"The form cannot be read. It can have {CAPS.entries:,} files, and {FIELD >> 20} MB of text in each field; "
    "put a long list of objects into a text file, and upload that."
)


class _Form(Request):
    """A request whose form may be large."""

    def form(self, **_: Any) -> Any:
        """Read the form."""
        return super().form(max_files=_FILES, max_part_size=FIELD)


class FormRoute(APIRoute):
    """A route whose form may be large."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a function that handles requests."""
        handle = super().get_route_handler()

        async def handle_form(request: Request) -> Response:
            try:
                return await handle(_Form(request.scope, request.receive))
            except HTTPException as error:
                if isinstance(error.__context__, MultiPartException):
                    raise Problem(400, "unreadable", _SENTENCE) from error
                raise

        return handle_form
