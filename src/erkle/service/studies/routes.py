"""Routes for the studies of an account, and for the media of a study; `object_routes` has those for objects."""

from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Header, Response, UploadFile
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, FailFast, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from erkle.service.participation.endings import Ending, Finished
from erkle.service.participation.replies import Question
from erkle.service.strict import Strict
from erkle.service.studies import editing
from erkle.service.studies.media import TYPES
from erkle.service.studies.object_routes import FeatureUploads, sent
from erkle.service.studies.reading import read_upload, read_values
from erkle.service.studies.spec import Stopped, StudySettings, checked
from erkle.service.studies.summaries import CreatedOut, StudyListed, StudyOut
from erkle.service.web.dependencies import AccountDep, AccountTurn, ParticipationDep, RuntimesDep, StoreDep, StudyDep
from erkle.service.web.errors import Problem, problems
from erkle.service.web.forms import FormRoute
from erkle.service.web.ranges import Unsatisfiable, span
from erkle.store import Object, State, Study, Unknown, limits

router = APIRouter(prefix="/api/studies", tags=["studies"], route_class=FormRoute)
# Media need no login: their names are hashes, which nobody can guess.
media_router = APIRouter(tags=["participation"])

# Questions of a preview.
_PREVIEWED = 20
# The browser must not guess the type of a file, nor run scripts in it. A file never changes, as its name is its hash.
_MEDIA_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Accept-Ranges": "bytes",
}
_BYTES: dict[str, Any] = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
_MEDIA_TYPES = frozenset(TYPES.values()) | {"image/png", "image/jpeg"}
_MEDIA_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: _BYTES,
    206: {"description": "A part of the file.", **_BYTES},
    304: {"description": "The file has not changed."},
}


class _Documented:
    """Marks values that OpenAPI documents as settings; `spec.checked` checks them, with clearer sentences."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(StudySettings.__pydantic_core_schema__)


Settings = Annotated[dict[str, Any], _Documented()]
Name = Annotated[str, Field(min_length=1, max_length=limits.OBJECT_NAME)]
Title = Annotated[str, Field(min_length=1, max_length=limits.TITLE)]


class ObjectIn(Strict):
    """An object, with a text that is shown below its name."""

    name: Name
    text: Annotated[str, Field(max_length=limits.MARKDOWN)] | None = None


class StudyIn(Strict):
    """A new study: at least three objects with different names, and the settings that differ from the defaults."""

    title: Title
    # Fail fast, because errors about thousands of objects would take seconds.
    objects: Annotated[list[Name | ObjectIn], Field(min_length=3, max_length=limits.OBJECTS), FailFast()]
    settings: Settings = Field(default={})


class Changes(Strict):
    """Changes to a study. Only the settings that change are needed."""

    title: Title | None = None
    settings: Settings | None = None


class CopyIn(Strict):
    """The title of a copy, which its participants see; without it, the copy has the title of the study."""

    title: Title | None = None


class StateIn(Strict):
    """The new state of a study, and what happens to participants who have not finished (``unfinished.stopped``)."""

    state: Annotated[State, Field(strict=False)]
    stopped: Stopped | None = None


class SigningKey(BaseModel):
    """The secret with which links to a study are signed."""

    key: str


class Preview(BaseModel):
    """Example questions, which nobody is asked, and all endings; their URLs are not filled."""

    questions: list[Question]
    endings: list[Finished]


@router.get("")
def studies(store: StoreDep, account: AccountDep, runtimes: RuntimesDep) -> list[StudyListed]:
    """List your studies, oldest first; an administrator sees all studies."""
    found = list[StudyListed]()
    for study in store.studies.all():
        if account.admin or study.owner == account.id:
            # Somebody may delete it meanwhile.
            with suppress(Unknown):
                found.append(StudyListed.listed(store, study, runtimes.running(study.id)))
    return found


@router.get("/defaults")
def defaults(_: AccountDep) -> StudySettings:
    """Return the settings of a new study."""
    return StudySettings()


@router.post("", status_code=201)
def create(body: StudyIn, store: StoreDep, account: AccountDep) -> StudyOut:
    """Create a draft of a study from the names of its objects."""
    return StudyOut.of(editing.created(store, read_values(body.model_dump(exclude_none=True)), account.id))


@router.post("/upload", status_code=201, dependencies=[AccountTurn])
def upload(
    store: StoreDep,
    account: AccountDep,
    spec: Annotated[str, Form(description="Title and settings, in YAML or JSON.")] = "",
    files: Annotated[list[UploadFile], File(description="Images, audio, video; a ZIP of them; a CSV of names.")] = [],  # noqa: B006
    features: FeatureUploads = [],  # noqa: B006
) -> CreatedOut:
    """Create a draft of a study from files. Each file is an object, or each row of a CSV that names the files."""
    draft = read_upload(spec, sent(files), sent(features))
    return CreatedOut.of(editing.created(store, draft, account.id), notes=draft.features.notes)


@router.get("/{study}")
def show(study: StudyDep) -> StudyOut:
    """Show a study with its settings."""
    return StudyOut.of(study)


@router.patch("/{study}")
def change(body: Changes, study: StudyDep, store: StoreDep) -> StudyOut:
    """Change the title and settings. Once a study has been open, only some settings can change, such as texts."""

    def revision(now: Study, objects: list[Object]) -> tuple[str | None, dict[str, Any] | None]:
        changes = body.settings
        return body.title, None if changes is None else editing.changed(now, objects, changes).model_dump(mode="json")

    return StudyOut.of(store.studies.revise(study.id, revision))


@router.delete("/{study}", status_code=204)
def delete(study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> None:
    """Delete a study with all its answers. This cannot be undone."""
    store.studies.delete(study.id)
    runtimes.stop(study.id)


@router.post("/{study}/state")
def change_state(body: StateIn, study: StudyDep, store: StoreDep) -> StudyOut:
    """Open, pause or close a study; a closed study cannot be opened again."""
    return StudyOut.of(editing.change_state(store, study.id, body.state, body.stopped))


@router.post("/{study}/duplicate", status_code=201, dependencies=[AccountTurn])
def duplicate(study: StudyDep, store: StoreDep, account: AccountDep, body: CopyIn | None = None) -> StudyOut:
    """Create a draft with the same objects, media, features and settings, and without answers. It belongs to you."""
    return StudyOut.of(editing.duplicated(store, study.id, account.id, body.title if body else None))


@router.get("/{study}/signing-key")
def signing_key(study: StudyDep, store: StoreDep) -> SigningKey:
    """Return the secret with which you sign links, if the study demands signatures."""
    return SigningKey(key=store.studies.signing_key(study.id))


@router.get("/{study}/preview")
def preview(study: StudyDep, participation: ParticipationDep) -> Preview:
    """Show example questions and all endings; nothing is recorded."""
    settings = checked(study.settings)
    n_questions = min(_PREVIEWED, settings.limits.per_participant)
    return Preview(
        questions=participation.preview(study, n_questions),
        endings=[Finished.of(settings.endings, ending) for ending in Ending],
    )


@media_router.get(
    "/media/{study}/{name}", response_class=StreamingResponse, responses=_MEDIA_RESPONSES | problems(404, 416)
)
def medium(
    study: str,
    name: str,
    store: StoreDep,
    range: Annotated[str | None, Header()] = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Return an image, audio or video file of a study, or a part of it; of several parts, the whole file."""
    kind, size = store.media.info(study, name)
    headers = {**_MEDIA_HEADERS, "ETag": f'"{name}"'}
    if if_none_match is not None and f'"{name}"' in if_none_match:
        return Response(status_code=304, headers=headers)
    try:
        part = span(range, size)
    except Unsatisfiable as error:
        raise Problem(416, "range", str(error), headers={"Content-Range": f"bytes */{size}"}) from None
    start, end = part or (0, size)
    headers["Content-Length"] = str(end - start)
    if part is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    media_type = kind if kind in _MEDIA_TYPES else "application/octet-stream"
    # Only the parts of the file that are sent are read, one at a time.
    content = store.media.read(study, name, start, end)
    return StreamingResponse(content, 200 if part is None else 206, headers, media_type)
