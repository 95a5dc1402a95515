"""The pages: static files, the same for everybody, that get their content from the API."""

import gzip
import os
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, RedirectResponse
from starlette.datastructures import Headers
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from erkle.service.accounts import sessions

STATIC = Path(__file__).parents[1] / "static"

PAGES = {
    "/s/{study}": "take/take.html",
    "/login": "studio/enter.html",
    "/setup": "studio/enter.html",
    "/invited": "studio/enter.html",
    "/enter": "studio/enter.html",
    "/studies": "studio/studies.html",
    "/studies/new": "studio/new.html",
    "/studies/{study}": "studio/study.html",
}


# Bytes of a file below which it is not compressed.
_SMALL = 2000


class Files(StaticFiles):
    """Static files that browsers revalidate each time, so that nobody mixes old and new files after an update."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return the file, compressed if the browser accepts that, or a 304 if it has not changed."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update({"Cache-Control": "no-cache", "Vary": "Accept-Encoding"})
        accepts_gzip = "gzip" in Headers(scope=scope).get("accept-encoding", "")
        if isinstance(response, FileResponse) and accepts_gzip and stat_result.st_size >= _SMALL:
            return _compressed(response, _gzipped(str(full_path), stat_result.st_mtime))
        return response


@lru_cache(maxsize=100)
def _gzipped(path: str, modified: float) -> bytes:
    # Once per file: compressing the largest takes 10 ms, and anybody may ask for it.
    return gzip.compress(Path(path).read_bytes())


def _compressed(response: FileResponse, content: bytes) -> Response:
    kept = {name: response.headers[name] for name in ("cache-control", "vary", "etag", "last-modified")}
    return Response(content, response.status_code, {**kept, "Content-Encoding": "gzip"}, response.media_type)


router = APIRouter(include_in_schema=False)
_files = Files(directory=STATIC)


@router.api_route("/", methods=["GET", "HEAD"])
def home(request: Request) -> RedirectResponse:
    """Redirect to the list of studies, or to the login page."""
    session = sessions.found(request.app.state.store, sessions.token_of(request))
    return RedirectResponse("/studies" if session else "/login", 303)


@router.api_route("/favicon.ico", methods=["GET", "HEAD"])
async def icon(request: Request) -> Response:
    """The icon that browsers request by default."""
    return await _files.get_response("studio/icon.svg", request.scope)


async def _page(request: Request) -> Response:
    return await _files.get_response(PAGES[request.scope["route"].path], request.scope)


for _path in PAGES:
    router.add_api_route(_path, _page, methods=["GET", "HEAD"])
