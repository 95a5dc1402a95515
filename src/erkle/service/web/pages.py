"""The pages: static files, the same for everybody, that get their content from the API."""

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
    """Static files that browsers revalidate each time, so that nobody mixes old and new files after an update."""

    def file_response(self, *arguments: object, **named: object) -> Response:
        """Return the file, or a 304 if it has not changed."""
        response = super().file_response(*arguments, **named)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response


router = APIRouter(include_in_schema=False)
_files = Files(directory=STATIC)


@router.api_route("/", methods=["GET", "HEAD"])
def home(request: Request) -> RedirectResponse:
    """Redirect to the list of studies, or to the login page."""
    token = request.cookies.get(sessions.COOKIE, "")
    return RedirectResponse("/studies" if sessions.found(request.app.state.store, token) else "/login", 303)


@router.api_route("/favicon.ico", methods=["GET", "HEAD"])
async def icon(request: Request) -> Response:
    """The icon that browsers request by default."""
    return await _files.get_response("studio/icon.svg", request.scope)


async def _page(request: Request) -> Response:
    return await _files.get_response(PAGES[request.scope["route"].path], request.scope)


for _path in PAGES:
    router.add_api_route(_path, _page, methods=["GET", "HEAD"])
