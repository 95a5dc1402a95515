"""The pages: files that are the same for everybody; what they show they ask the API for."""

from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

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


class Files(StaticFiles):
    """Files that a browser may keep, but asks about each time: after an update nobody has a mix of old and new."""

    def file_response(self, *arguments: object, **named: object) -> Response:
        """The file, or that it has not changed."""
        response = super().file_response(*arguments, **named)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response


router = APIRouter(include_in_schema=False)
_files = Files(directory=STATIC)


@router.api_route("/", methods=["GET", "HEAD"])
def begin(request: Request) -> RedirectResponse:
    """To the studies, or to the door."""
    token = request.cookies.get(sessions.COOKIE, "")
    return RedirectResponse("/studies" if sessions.found(request.app.state.store, token) else "/login", 303)


@router.api_route("/favicon.ico", methods=["GET", "HEAD"])
async def icon(request: Request) -> Response:
    """For browsers that ask without being told."""
    return await _files.get_response("studio/icon.svg", request.scope)


async def _page(request: Request) -> Response:
    return await _files.get_response(PAGES[request.scope["route"].path], request.scope)


for _path in PAGES:
    router.add_api_route(_path, _page, methods=["GET", "HEAD"])
