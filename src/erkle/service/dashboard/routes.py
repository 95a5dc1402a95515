"""The dashboard as JSON and as server-sent events, and the decisions of researchers about participants."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from erkle.service.accounts import sessions
from erkle.service.dashboard.dashboard import Live
from erkle.service.dashboard.disputed import DisputedQuestion, disputed_questions
from erkle.service.dashboard.participants.rows import ParticipantRow
from erkle.service.dashboard.streams import OneStream
from erkle.service.runtime import Runtimes
from erkle.service.strict import Strict
from erkle.service.web.dependencies import RuntimesDep, StoreDep, StudyDep
from erkle.service.web.errors import problems
from erkle.store import Store, StoreError, Study, Transaction

router = APIRouter(prefix="/api/studies/{study}", tags=["dashboard"], responses=problems(401, 404))

# Seconds between two checks for changes.
POLL = 0.5
# Seconds without changes after which a comment is sent, which keeps the connection open.
_KEEP_ALIVE = 15.0


class Decision(Strict):
    """Participants, whether to exclude their answers, and whether to flag them; null changes nothing."""

    ids: Annotated[list[str], Field(max_length=1000, description="a list of at most 1,000 ids of participants")]
    excluded: bool | None = None
    flagged: bool | None = None


class Decided(BaseModel):
    """The number of participants that were decided on."""

    participants: int


@router.get("/live")
def live(study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> Live:
    """Return everything that changes while participants answer."""
    return _live(study, store, runtimes)


@router.get("/events", response_class=StreamingResponse, dependencies=[OneStream], responses=problems(429))
async def events(request: Request, study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> StreamingResponse:
    """Return the same as server-sent events: at most two per second, and only when something has changed."""
    # Invalid settings can only be reported as an error before the first event is sent.
    await run_sync(_live, study, store, runtimes)
    return StreamingResponse(_events(request, study, store, runtimes), media_type="text/event-stream")


@router.get("/participants")
def participants(study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> list[ParticipantRow]:
    """Return all participants."""
    return runtimes.of(study.id).participants(study, store)


@router.post("/participants", responses=problems(403, 422))
def decide(body: Decision, study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> Decided:
    """Flag participants, or exclude or include them, all or none. Then the kernel is learned again from the start."""

    def write(transaction: Transaction) -> None:
        if body.flagged is not None:
            transaction.participants.flag(study.id, body.ids, body.flagged)
        if body.excluded is not None:
            transaction.participants.exclude(study.id, body.ids, body.excluded)

    store.transact(write)
    if body.excluded is not None:
        runtimes.of(study.id).learning.notify()
    return Decided(participants=len(set(body.ids)))


@router.get("/disputed")
def disputed(
    study: StudyDep, runtimes: RuntimesDep, limit: Annotated[int, Query(ge=1, le=1000)] = 50
) -> list[DisputedQuestion]:
    """Return questions that were answered both ways."""
    return disputed_questions(runtimes.of(study.id).learning, limit)


def _live(study: Study, store: Store, runtimes: Runtimes) -> Live:
    runtime = runtimes.of(study.id)
    return runtime.dashboard.live(runtime.prepared(study, store).settings.target_error)


async def _events(request: Request, study: Study, store: Store, runtimes: Runtimes) -> AsyncIterator[str]:
    sent, quiet = "", 0.0
    while not (request.app.state.shutdown.asked.is_set() or await request.is_disconnected()):
        text = await run_sync(_live_json, request, study, store, runtimes)
        if text is None:
            return
        if text != sent:
            sent, quiet = text, 0.0
            yield f"event: live\ndata: {text}\n\n"
        elif quiet >= _KEEP_ALIVE:
            quiet = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(POLL)
        quiet += POLL


def _live_json(request: Request, study: Study, store: Store, runtimes: Runtimes) -> str | None:
    """Return the present state as JSON, or None if the stream must end.

    It ends when the study is deleted, when the researcher has signed out, and when the database is unavailable. The
    browser then reconnects by itself.
    """
    try:
        if sessions.found(store, sessions.token_of(request)) is None:
            return None
        return _live(study, store, runtimes).model_dump_json()
    except StoreError:
        return None
