"""Routes for the objects of a study and for their features."""

from typing import Annotated, BinaryIO

from fastapi import APIRouter, File, Form, Header, Response, UploadFile
from pydantic import BaseModel, FailFast, Field, Json

from erkle.service.studies.additions import add_objects, read_sent
from erkle.service.studies.features import FeatureFiles, FeaturesOut, check_useful, described
from erkle.service.studies.object_changes import NewObject, ObjectChange, change_objects, version
from erkle.service.studies.objects import ShownObject
from erkle.service.web.dependencies import AccountTurn, RuntimesDep, StoreDep, StudyDep
from erkle.service.web.errors import problems
from erkle.service.web.forms import FormRoute
from erkle.store import Object, limits

router = APIRouter(prefix="/api/studies/{study}", tags=["studies"], route_class=FormRoute)

FeatureUploads = Annotated[
    list[UploadFile], File(description="Vectors that describe the objects, by their names: CSV, NPY or NPZ.")
]
_Uploads = Annotated[list[UploadFile], File(description="Files that objects name; others become objects.")]
_New = Json[Annotated[list[NewObject], Field(max_length=limits.OBJECTS), FailFast()]]
_Changes = Json[Annotated[list[ObjectChange], Field(max_length=limits.OBJECTS), FailFast()]]


class ObjectsAdded(BaseModel):
    """The objects of a study with the new ones, and sentences about features that do not match."""

    objects: list[ShownObject]
    notes: list[str]


class FeaturesAdded(BaseModel):
    """The features of a study, and sentences about objects and features that do not match."""

    features: list[FeaturesOut]
    notes: list[str]


@router.get("/objects")
def objects(study: StudyDep, store: StoreDep, response: Response) -> list[ShownObject]:
    """List the objects of a study, in the order of their ids. The ETag is the version of the list."""
    return _shown_objects(study.id, store.studies.objects(study.id), response)


@router.put("/objects", responses=problems(412), dependencies=[AccountTurn])
def replace_objects(
    study: StudyDep,
    store: StoreDep,
    runtimes: RuntimesDep,
    response: Response,
    objects: Annotated[
        _Changes,
        Form(description="All objects as they should be, as JSON. With an id, it is an object that the study has."),
    ],
    files: _Uploads = [],  # noqa: B006
    if_match: Annotated[str | None, Header(description="The ETag of the objects that you know.")] = None,
) -> list[ShownObject]:
    """Replace the objects of a draft: keep, rename, remove and add objects, and change their texts and files."""
    known = None if if_match is None else if_match.strip().removeprefix("W/").strip('"')
    change_objects(store, study, objects, sent(files), known)
    # Its learner is for the old number of objects.
    runtimes.stop(study.id)
    return _shown_objects(study.id, store.studies.objects(study.id), response)


@router.post("/objects", status_code=201, dependencies=[AccountTurn])
def add(
    study: StudyDep,
    store: StoreDep,
    runtimes: RuntimesDep,
    response: Response,
    objects: Annotated[_New, Form(description="The new objects, as JSON.")] = [],  # noqa: B006
    files: _Uploads = [],  # noqa: B006
    features: FeatureUploads = [],  # noqa: B006
) -> ObjectsAdded:
    """Add objects to a study that is not closed, also while people answer. The model is then learned again.

    Features of the new objects must be of the kinds that the study has; they give the objects a place at once.
    """
    added = add_objects(
        store, study, read_sent(store, study, objects, sent(files)), FeatureFiles(sent(features)).read()
    )
    # Its learner is for the old number of objects.
    runtimes.stop(study.id)
    shown = _shown_objects(study.id, store.studies.objects(study.id), response)
    return ObjectsAdded(objects=shown, notes=added.notes)


@router.get("/features")
def features(study: StudyDep, store: StoreDep) -> list[FeaturesOut]:
    """List the features of a study, in blocks; `live` says what each of them is worth."""
    return FeaturesOut.of(store.features.all(study.id))


@router.post("/features", dependencies=[AccountTurn])
def add_features(study: StudyDep, store: StoreDep, runtimes: RuntimesDep, files: FeatureUploads) -> FeaturesAdded:
    """Add features to a study, or replace those of the same name. The model is then learned again from the start."""
    names = [each.name for each in store.studies.objects(study.id)]
    found = described(FeatureFiles(sent(files)).read(), names)
    check_useful(found.blocks)
    store.features.add(study.id, found.blocks, names)
    runtimes.of(study.id).learning.notify()
    return FeaturesAdded(features=FeaturesOut.of(store.features.all(study.id)), notes=found.notes)


@router.delete("/features/{name:path}", status_code=204)
def remove_features(study: StudyDep, name: str, store: StoreDep, runtimes: RuntimesDep) -> None:
    """Remove features from a study. The model is then learned again without them."""
    store.features.remove(study.id, name)
    runtimes.of(study.id).learning.notify()


def sent(files: list[UploadFile]) -> list[tuple[str, BinaryIO]]:
    """Return the names and the contents of uploaded files."""
    return [(file.filename or "unnamed", file.file) for file in files]


def _shown_objects(study: str, objects: list[Object], response: Response) -> list[ShownObject]:
    response.headers["ETag"] = f'"{version(objects)}"'
    return [ShownObject.of(study, number, each) for number, each in enumerate(objects)]
