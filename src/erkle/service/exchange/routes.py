"""Routes that export and import studies and answers."""

import logging
import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Form, Response, UploadFile
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from erkle.service.exchange.answers_parquet import answers_parquet
from erkle.service.exchange.bundle import write_bundle
from erkle.service.exchange.exporting import answers_csv, answers_jsonl, embedding_csv, features_npz
from erkle.service.exchange.file_names import disposition
from erkle.service.exchange.importing import add_answers, read_answers, study_of
from erkle.service.exchange.participants_csv import participants_csv
from erkle.service.exchange.unbundling import import_bundle
from erkle.service.learning.full_log import embedding, kernel_npz
from erkle.service.learning.stall import Stall
from erkle.service.runtime import Runtimes
from erkle.service.studies.summaries import StudyOut
from erkle.service.web.dependencies import AccountDep, AccountTurn, RuntimesDep, StoreDep, StudyDep
from erkle.service.web.errors import Problem, problems
from erkle.store import NotAllowed, Store, StoreError, Study, limits
from erkle.store.clock import now

router = APIRouter(prefix="/api", tags=["exchange"], responses=problems(401, 404), dependencies=[AccountTurn])

# Bytes sent at a time.
_CHUNK = 1 << 18

log = logging.getLogger("erkle.service")


class ImportedOut(BaseModel):
    """The number of answers that were added."""

    imported: int


@router.get("/studies/{study}/export/answers.csv", response_class=StreamingResponse)
def export_csv(study: StudyDep, store: StoreDep) -> Response:
    """Export all answers as CSV, with Salmon's column names where Salmon has the column."""
    return _attached(_encoded(answers_csv(store, study)), study, "answers.csv", "text/csv; charset=utf-8")


@router.get("/studies/{study}/export/answers.jsonl", response_class=StreamingResponse)
def export_jsonl(study: StudyDep, store: StoreDep) -> Response:
    """Export all answers as JSON Lines."""
    return _attached(_encoded(answers_jsonl(store, study)), study, "answers.jsonl", "application/jsonl")


@router.get("/studies/{study}/export/answers.parquet", response_class=StreamingResponse, responses=problems(409))
def export_parquet(study: StudyDep, store: StoreDep) -> Response:
    """Export all answers as Parquet, with the columns of answers.csv as numbers, times and text."""
    try:
        content = _written(answers_parquet, store, study)
    except ImportError:
        raise NotAllowed("This server cannot write Parquet without pyarrow; export answers.csv instead.") from None
    return _attached(content, study, "answers.parquet", "application/vnd.apache.parquet")


@router.get("/studies/{study}/export/participants.csv", response_class=Response)
def export_participants(study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> Response:
    """Export all participants: whom to pay, how they answered, and what is unusual."""
    text = participants_csv(runtimes.of(study.id).participants(study, store))
    return _attached(text.encode("utf-8", "replace"), study, "participants.csv", "text/csv; charset=utf-8")


@router.get("/studies/{study}/export/embedding.csv", response_class=Response, responses=problems(409, 503))
def export_embedding(study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> Response:
    """Export the position of each object on the map."""
    names = [each.name for each in store.studies.objects(study.id)]
    with _model(runtimes, study):
        text = embedding_csv(names, embedding(store, study))
    return _attached(text.encode(), study, "embedding.csv", "text/csv; charset=utf-8")


@router.get("/studies/{study}/export/kernel.npz", response_class=Response, responses=problems(409, 503))
def export_kernel(study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> Response:
    """Export the learned kernel, for `erkle learn --start` and `ERKLE.load`."""
    with _model(runtimes, study):
        data = kernel_npz(store, study)
    return _attached(data, study, "kernel.npz", "application/octet-stream")


@router.get("/studies/{study}/export/features.npz", response_class=Response, responses=problems(409))
def export_features(study: StudyDep, store: StoreDep) -> Response:
    """Export the features of the objects, with the names of the objects, for `erkle learn --features`."""
    return _attached(features_npz(store, study), study, "features.npz", "application/octet-stream")


@router.get("/studies/{study}/export/bundle.zip", response_class=StreamingResponse)
def export_bundle(study: StudyDep, store: StoreDep) -> Response:
    """Export the whole study for another server, without accounts and tokens."""
    return _attached(_written(write_bundle, store, study), study, "bundle.zip", "application/zip")


@router.post("/import", status_code=201, responses=problems(400, 413, 422))
def import_study(file: UploadFile, store: StoreDep, account: AccountDep) -> StudyOut:
    """Import a study from the bundle of another server; it is paused if it was open."""
    with _file_errors():
        return StudyOut.of(import_bundle(store, file.file, _name(file), owner=account.id))


@router.post("/import/triplets", status_code=201, responses=problems(400, 413, 422))
def import_triplets(
    file: UploadFile,
    title: Annotated[str, Form(min_length=1, max_length=limits.TITLE)],
    store: StoreDep,
    account: AccountDep,
) -> StudyOut:
    """Create a study from the objects and answers of a file."""
    with _file_errors():
        given = read_answers(file.file, _name(file))
        return StudyOut.of(study_of(store, given, title, owner=account.id))


@router.post("/studies/{study}/import", responses=problems(400, 409, 413, 422))
def import_answers(file: UploadFile, study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> ImportedOut:
    """Add the answers of a file to a study: Salmon's responses, an export, or the columns anchor, near, far."""
    with _file_errors():
        imported = add_answers(store, study, read_answers(file.file, _name(file)))
    runtimes.of(study.id).learning.notify()
    return ImportedOut(imported=imported)


@contextmanager
def _model(runtimes: Runtimes, study: Study) -> Iterator[None]:
    """Refuse at once if the model stands still, and also if learning fails inside the block."""
    stall = runtimes.of(study.id).learning.stall
    if stall is not None and stall.reason != "database":
        raise _no_model(stall)
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        log.exception("an export failed")
        raise _no_model(Stall.of(error, 0, now())) from None


def _no_model(stall: Stall) -> Problem:
    return Problem(503, "learning", str(stall), headers={"Retry-After": str(math.ceil(stall.pause))})


@contextmanager
def _file_errors() -> Iterator[None]:
    try:
        yield
    except (StoreError, Problem):
        raise
    except ValueError as error:
        # FileError, ReadError and other errors of the readers: the file is invalid.
        raise Problem(422, "invalid", str(error)[:2000]) from None


def _name(file: UploadFile) -> str:
    """Return the name of the file for error messages."""
    name = PurePath((file.filename or "").replace("\\", "/")).name[:100]
    return name if name and name.isprintable() else "file"


def _encoded(pieces: Iterator[str]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece.encode("utf-8", "replace")


def _written(write: Callable[[Store, Study, BinaryIO], None], store: Store, study: Study) -> Iterator[bytes]:
    """Write a whole file, so that errors come before the response, and then yield it in pieces."""
    file = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        write(store, study, file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return _read(file)


def _read(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _attached(content: bytes | Iterator[bytes], study: Study, name: str, kind: str) -> Response:
    headers = {"Content-Disposition": disposition(study.title, datetime.now(UTC).date(), name)}
    if isinstance(content, bytes):
        return Response(content, headers=headers, media_type=kind)
    return StreamingResponse(content, headers=headers, media_type=kind)
