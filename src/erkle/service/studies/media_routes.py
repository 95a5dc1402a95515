"""What studies show. Names are hashes, so nobody guesses one, and what a name stands for never changes."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Response

from erkle.service.studies.media import TYPES
from erkle.service.web.dependencies import StoreDep
from erkle.service.web.errors import Problem, problems
from erkle.service.web.ranges import Unsatisfiable, span

__all__ = ["router"]

router = APIRouter(tags=["taking part"])

# Whatever it is, a browser neither guesses its type nor runs anything in it.
_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Accept-Ranges": "bytes",
}
_BYTES: dict[str, Any] = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
_KNOWN = frozenset(TYPES.values()) | {"image/png", "image/jpeg"}


_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: _BYTES,
    206: {"description": "A part.", **_BYTES},
    304: {"description": "Not changed."},
}


@router.get("/media/{study}/{name}", response_class=Response, responses=_RESPONSES | problems(404, 416))
def medium(
    study: str,
    name: str,
    store: StoreDep,
    range: Annotated[str | None, Header()] = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """A picture, sound or film of a study, or a part of it."""
    kind, data = store.media.get(study, name)
    headers = {**_HEADERS, "ETag": f'"{name}"'}
    if if_none_match is not None and f'"{name}"' in if_none_match:
        return Response(status_code=304, headers=headers)
    try:
        part = span(range, len(data))
    except Unsatisfiable as error:
        raise Problem(416, "range", str(error), headers={"Content-Range": f"bytes */{len(data)}"}) from None
    status = 200
    if part is not None:
        status, headers["Content-Range"] = 206, f"bytes {part[0]}-{part[1] - 1}/{len(data)}"
        data = data[slice(*part)]
    return Response(data, status, headers, media_type=kind if kind in _KNOWN else "application/octet-stream")
