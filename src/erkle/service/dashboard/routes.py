"""What a researcher watches while people answer, as JSON and as events; and what they decide about participants."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from erkle.service.accounts import sessions
from erkle.service.dashboard.dashboard import Live
from erkle.service.dashboard.participants import DisputedQuestion, ParticipantRow, disputed_questions, participant_rows
from erkle.service.runtime import Runtimes
from erkle.service.web.dependencies import Body, RuntimesDep, StoreDep, StudyDep
from erkle.service.web.errors import problems
from erkle.store import Store, StoreError, Study

router = APIRouter(prefix="/api/studies/{study}", tags=["dashboard"], responses=problems(401, 404))

# Seconds between two looks, and between two signs of life where nothing happens.
_LOOK, _SIGN = 0.5, 15.0


class Decision(Body):
    """Whether somebody's answers are used, and whether they are marked for a second look."""

    excluded: bool | None = None
    flagged: bool | None = None


class Standing(BaseModel):
    """How it stands with a participant now."""

    id: str
    standing: str
    flagged: bool


@router.get("/live")
def live(study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> Live:
    """Everything that changes while people answer."""
    return _live(study, store, runtimes)


@router.get("/events", response_class=StreamingResponse)
async def events(request: Request, study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> StreamingResponse:
    """The same as server-sent events, at most two a second, and only when something has changed."""
    # What is wrong with the settings can only be reported before the first event.
    await run_sync(_live, study, store, runtimes)
    return StreamingResponse(_events(request, study, store, runtimes), media_type="text/event-stream")


@router.get("/participants")
def participants(study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> list[ParticipantRow]:
    """Everybody who takes part."""
    runtime = runtimes.of(study.id)
    return participant_rows(store, runtime.learning, runtime.prepared(study, store))


@router.post("/participants/{participant}", responses=problems(403))
def decide(participant: str, body: Decision, study: StudyDep, store: StoreDep, runtimes: RuntimesDep) -> Standing:
    """Exclude somebody or include them again, whereupon the kernel is learned anew; or mark them."""
    person = store.participants.get(study.id, participant)
    if body.flagged is not None:
        person = store.participants.flag(study.id, participant, body.flagged)
    if body.excluded is not None:
        person = store.participants.exclude(study.id, participant, body.excluded)
        runtimes.of(study.id).learning.heard()
    return Standing(id=person.id, standing=person.standing, flagged=person.flagged)


@router.get("/disputed")
def disputed(
    study: StudyDep, runtimes: RuntimesDep, limit: Annotated[int, Query(ge=1, le=1000)] = 50
) -> list[DisputedQuestion]:
    """Questions that were answered both ways."""
    return disputed_questions(runtimes.of(study.id).learning, limit)


def _live(study: Study, store: Store, runtimes: Runtimes) -> Live:
    runtime = runtimes.of(study.id)
    return runtime.dashboard.live(runtime.prepared(study, store).settings.target_error)


async def _events(request: Request, study: Study, store: Store, runtimes: Runtimes) -> AsyncIterator[str]:
    sent, quiet = "", 0.0
    while not (request.app.state.shutdown.asked.is_set() or await request.is_disconnected()):
        text = await run_sync(_seen, request, study, store, runtimes)
        if text is None:
            return
        if text != sent:
            sent, quiet = text, 0.0
            yield f"event: live\ndata: {text}\n\n"
        elif quiet >= _SIGN:
            quiet = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(_LOOK)
        quiet += _LOOK


def _seen(request: Request, study: Study, store: Store, runtimes: Runtimes) -> str | None:
    """What is to be seen now; None when the study has been deleted, or whoever watches has signed out.

    None, too, while the database cannot be used: a browser asks again after a while.
    """
    try:
        if sessions.found(store, request.cookies.get(sessions.COOKIE, "")) is None:
            return None
        return _live(study, store, runtimes).model_dump_json()
    except StoreError:
        return None
