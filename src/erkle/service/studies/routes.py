"""Studies of whoever is signed in: created, shown, changed, opened, closed and deleted; and the media they show."""

from typing import Annotated, Any, BinaryIO, Self

from fastapi import APIRouter, File, Form, Header, Response, UploadFile
from pydantic import BaseModel, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from erkle.service.participation.replies import Question
from erkle.service.studies import editing
from erkle.service.studies.media import TYPES
from erkle.service.studies.objects import ShownObject
from erkle.service.studies.reading import Draft, read_upload, read_values
from erkle.service.studies.spec import StudySettings, checked
from erkle.service.web.dependencies import AccountDep, Body, ParticipationDep, RuntimesDep, StoreDep, StudyDep
from erkle.service.web.errors import Problem, problems
from erkle.service.web.ranges import Unsatisfiable, span
from erkle.store import Object, State, Store, Study, limits

router = APIRouter(prefix="/api/studies", tags=["studies"])
# Names of media are hashes: nobody guesses one, and what a name stands for never changes.
media_router = APIRouter(tags=["participation"])

_PREVIEWED = 20
# Whatever it is, a browser neither guesses its type nor runs anything in it.
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
    206: {"description": "A part.", **_BYTES},
    304: {"description": "Not changed."},
}


class _Documented:
    """Values that are documented as settings, and checked by us, whose sentences are better."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(StudySettings.__pydantic_core_schema__)


Settings = Annotated[dict[str, Any], _Documented()]
Name = Annotated[str, Field(min_length=1, max_length=limits.OBJECT_NAME)]
Title = Annotated[str, Field(min_length=1, max_length=limits.TITLE)]


class ObjectIn(Body):
    """An object with a text that is shown with its name."""

    name: Name
    text: Annotated[str, Field(max_length=limits.MARKDOWN)] | None = None


class StudyIn(Body):
    """A study to be: at least three objects with different names, and settings where they are not the defaults."""

    title: Title
    objects: Annotated[list[Name | ObjectIn], Field(min_length=3)]
    settings: Settings = Field(default={})


class Changes(Body):
    """What is to be different; mappings in the settings may have only the keys that change."""

    title: Title | None = None
    settings: Settings | None = None


class StateIn(Body):
    """The state that a study is to have."""

    state: Annotated[State, Field(strict=False)]


class _Summary(BaseModel):
    id: str
    title: str
    state: State
    n_objects: int
    created_at: int
    link: str

    @classmethod
    def of(cls, study: Study, **counts: int) -> Self:
        """A study as it is told, with what is counted of it."""
        told = {"created_at": study.created_at // 1000, "link": f"/s/{study.id}"}
        return cls(**study._asdict() | told | counts)


class StudyListed(_Summary):
    """A study among others; times are in milliseconds since 1970."""

    answers: int
    participants: int


class StudyOut(_Summary):
    """A study; the link is for those who take part."""

    settings: dict[str, Any]
    roster: int


class Preview(BaseModel):
    """Questions that are put to nobody."""

    questions: list[Question]


@router.get("")
def studies(store: StoreDep, account: AccountDep) -> list[StudyListed]:
    """Own studies, the oldest first; an administrator sees all."""
    return [
        StudyListed.of(study, **store.studies.counts(study.id)._asdict())
        for study in store.studies.all()
        if account.admin or study.owner == account.id
    ]


@router.post("", status_code=201)
def create(body: StudyIn, store: StoreDep, account: AccountDep) -> StudyOut:
    """A new study about things that have names, as a draft."""
    return _created(store, account.id, read_values(body.model_dump(exclude_none=True)))


@router.post("/upload", status_code=201)
def upload(
    store: StoreDep,
    account: AccountDep,
    spec: Annotated[str, Form(description="Title and settings, in YAML or JSON.")] = "",
    files: Annotated[
        list[UploadFile], File(description="Pictures, sounds, films; a ZIP of them; a CSV of names.")
    ] = [],  # noqa: B006
) -> StudyOut:
    """A new study about files, as a draft: each file an object, or each row of a CSV that names them."""
    sent: list[tuple[str, BinaryIO]] = [(file.filename or "unnamed", file.file) for file in files]
    return _created(store, account.id, read_upload(spec, sent))


@router.get("/{study}")
def show(study: StudyDep) -> StudyOut:
    """A study with its settings."""
    return StudyOut.of(study)


@router.patch("/{study}")
def change(body: Changes, study: StudyDep, store: StoreDep) -> StudyOut:
    """Change the title and settings; once a study has been opened, only texts, endings, limits and the like."""

    def revision(now: Study, objects: list[Object]) -> tuple[str | None, dict[str, Any] | None]:
        changes = body.settings
        return body.title, None if changes is None else editing.changed(now, objects, changes).model_dump(mode="json")

    return StudyOut.of(store.studies.revise(study.id, revision))


@router.delete("/{study}", status_code=204)
def delete(study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> None:
    """Delete a study and everything of it, answers, too; there is no way back."""
    runtimes.forget(study.id)
    store.studies.delete(study.id)
    # Somebody may have asked for it in between.
    runtimes.forget(study.id)


@router.post("/{study}/state")
def change_state(body: StateIn, study: StudyDep, store: StoreDep) -> StudyOut:
    """Open, pause or close a study; a closed one stays closed."""
    return StudyOut.of(editing.change_state(store, study.id, body.state))


@router.get("/{study}/objects")
def objects(study: StudyDep, store: StoreDep) -> list[ShownObject]:
    """What the study asks about, in the order of their ids."""
    return [ShownObject.of(study.id, number, each) for number, each in enumerate(store.studies.objects(study.id))]


@router.get("/{study}/preview")
def preview(study: StudyDep, participation: ParticipationDep) -> Preview:
    """Questions as participants get them; nothing is recorded."""
    n_questions = min(_PREVIEWED, checked(study.settings).limits.per_participant)
    return Preview(questions=participation.preview(study, n_questions))


@media_router.get("/media/{study}/{name}", response_class=Response, responses=_MEDIA_RESPONSES | problems(404, 416))
def medium(
    study: str,
    name: str,
    store: StoreDep,
    range: Annotated[str | None, Header()] = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """A picture, sound or film of a study, or a part of it."""
    kind, data = store.media.get(study, name)
    headers = {**_MEDIA_HEADERS, "ETag": f'"{name}"'}
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
    return Response(data, status, headers, media_type=kind if kind in _MEDIA_TYPES else "application/octet-stream")


def _created(store: Store, owner: str, draft: Draft) -> StudyOut:
    settings = draft.settings.model_dump(mode="json")
    return StudyOut.of(store.studies.create(draft.title, draft.objects, settings, owner, draft.media))
