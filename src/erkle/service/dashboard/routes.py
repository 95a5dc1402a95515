"""What a researcher watches while people answer, as JSON and as events; and what they decide about participants."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, JsonValue

from erkle.service.accounts import sessions
from erkle.service.dashboard.participants import disputed as disputed_questions
from erkle.service.dashboard.participants import participants as participant_rows
from erkle.service.participation.participation import Reception
from erkle.service.web.dependencies import EngineDep, StoreDep, StudyDep
from erkle.service.web.errors import problems
from erkle.store import Store, StoreError, Study

__all__ = ["router"]

router = APIRouter(prefix="/api/studies/{study}", tags=["dashboard"], responses=problems(401, 404))

# Seconds between two looks, and between two signs of life where nothing happens.
_LOOK, _SIGN = 0.5, 15.0


class LearnerOut(BaseModel):
    """Whether the learner is up to date, whether this process has it, how far it is and what it has chosen."""

    ready: bool
    own: bool
    sequence: int
    chosen: str


class MapOut(BaseModel):
    """A place in the plane for each object."""

    sequence: int
    points: list[tuple[float, float]]


class PointOut(BaseModel):
    """The share of wrong predictions around n answers."""

    n: float
    error: float
    answers: int


class CurvesOut(BaseModel):
    """Errors before learning: of all questions, and of those drawn at random."""

    prequential: list[PointOut]
    held_out: list[PointOut]


class StoppingOut(BaseModel):
    """How many more answers the wanted error takes; null is no number."""

    sentence: str
    target: float
    error: float
    error_low: float
    error_high: float
    more: float | None
    low: float | None
    high: float | None


class StrategyOut(BaseModel):
    """How often a strategy was asked, and answered."""

    strategy: str
    kind: str
    asked: int
    answered: int


class LiveOut(BaseModel):
    """Everything that changes while people answer."""

    state: str
    answers: int
    learned: int
    participants: int
    active_participants: int
    skips: int
    refusals: int
    pending: int
    per_minute: list[int]
    learner: LearnerOut
    map: MapOut | None
    curves: CurvesOut
    stopping: StoppingOut | None
    strategies: list[StrategyOut]


class ParticipantOut(BaseModel):
    """Somebody who takes part, and what their answers look like."""

    id: str
    parameters: dict[str, JsonValue]
    standing: str
    flagged: bool
    warnings: list[str]
    joined_at: int
    last_at: int | None
    answers: int
    skips: int
    median_ms: float | None
    catch_asked: int
    catch_wrong: int
    agreement: float | None
    consistency: float | None


class DisputedOut(BaseModel):
    """A question that was answered both ways, and the learner's probability of o1."""

    head: int
    o1: int
    o2: int
    for_o1: int
    for_o2: int
    probability: float


class Decision(BaseModel):
    """Whether somebody's answers are used, and whether they are marked for a second look."""

    model_config = ConfigDict(extra="forbid", strict=True)

    excluded: bool | None = None
    flagged: bool | None = None


class Standing(BaseModel):
    """How it stands with a participant now."""

    id: str
    standing: str
    flagged: bool


@router.get("/live")
def live(request: Request, study: StudyDep, engine: EngineDep) -> LiveOut:
    """Everything that changes while people answer."""
    return LiveOut(**_live(request, study))


@router.get("/events", response_class=StreamingResponse)
async def events(request: Request, study: StudyDep, store: StoreDep) -> StreamingResponse:
    """The same as server-sent events, at most two a second, and only when something has changed."""
    # What is wrong with the settings can be told before the first event only.
    await run_sync(_reception(request).desks.desk, study)
    return StreamingResponse(_events(request, store, study), media_type="text/event-stream")


@router.get("/participants")
def participants(request: Request, study: StudyDep, store: StoreDep, engine: EngineDep) -> list[ParticipantOut]:
    """Everybody who takes part."""
    desk = _reception(request).desks.desk(study)
    catches = {(head, near) for head, near, _ in desk.plan.catches}
    rows = participant_rows(store, engine.learning(study.id), catches, desk.settings.checks.too_fast_ms)
    return [ParticipantOut(**row) for row in rows]


@router.post("/participants/{participant}", responses=problems(403))
def decide(participant: str, body: Decision, study: StudyDep, store: StoreDep, engine: EngineDep) -> Standing:
    """Exclude somebody or include them again, whereupon the kernel is learned anew; or mark them."""
    person = store.participants.get(study.id, participant)
    if body.flagged is not None:
        person = store.participants.flag(study.id, participant, body.flagged)
    if body.excluded is not None:
        change = store.participants.exclude if body.excluded else store.participants.include
        person = change(study.id, participant)
        engine.learning(study.id).heard()
    return Standing(id=person.id, standing=person.standing, flagged=person.flagged)


@router.get("/disputed")
def disputed(study: StudyDep, engine: EngineDep, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> list[DisputedOut]:
    """Questions that were answered both ways."""
    return [DisputedOut(**row) for row in disputed_questions(engine.learning(study.id), limit)]


def _reception(request: Request) -> Reception:
    reception: Reception = request.app.state.reception
    return reception


def _live(request: Request, study: Study) -> dict[str, Any]:
    reception = _reception(request)
    return reception.board(study.id).live(reception.desks.desk(study).settings.target_error)


async def _events(request: Request, store: Store, study: Study) -> AsyncIterator[str]:
    sent, quiet = "", 0.0
    while not (request.app.state.ending.asked.is_set() or await request.is_disconnected()):
        text = await run_sync(_seen, request, store, study)
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


def _seen(request: Request, store: Store, study: Study) -> str | None:
    """What is to be seen now; None when the study has been deleted, or whoever watches has signed out.

    None, too, while the database cannot be used: a browser asks again after a while.
    """
    try:
        if sessions.found(store, request.cookies.get(sessions.COOKIE, "")) is None:
            return None
        return json.dumps(_live(request, study), separators=(",", ":"))
    except StoreError:
        return None
