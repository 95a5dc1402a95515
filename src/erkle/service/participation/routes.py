"""What the pages of participants do. Who has a participant's id is that participant; there are no cookies."""

from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from erkle.service.participation.replies import Reply
from erkle.service.studies import markup, spec
from erkle.service.web.dependencies import Body, ParticipationDep, StoreDep
from erkle.service.web.errors import problems
from erkle.service.web.limits import LimitsDep
from erkle.store import limits as sizes

router = APIRouter(prefix="/api/take/{study}", tags=["participation"])

Id = Annotated[str, Field(max_length=sizes.ID)]


class SkippingOut(BaseModel):
    """Whether questions may be skipped, and why."""

    allowed: bool
    reasons: list[str]


class StudyToTake(BaseModel):
    """What somebody reads before they take part."""

    study: str
    title: str
    state: str
    question_html: str
    consent_html: str
    instructions_html: str
    n_questions: int
    practice: int
    skipping: SkippingOut
    too_fast_ms: int
    show_names: bool
    identify_by: list[str]


class Joining(Body):
    """All parameters of the link that somebody followed, and whether they consent."""

    parameters: dict[str, Any] = Field(default={})
    consent: bool


class Resuming(Body):
    """Who comes back."""

    participant: Id


class Answering(Body):
    """The head is more like the object ``choice``."""

    participant: Id
    token: Id
    choice: int = Field(ge=0, lt=2**31)
    response_ms: int | None = Field(default=None, ge=0, lt=2**53)
    client: dict[str, Any] = Field(default={})


class Giving(Body):
    """A question that somebody does not answer, and why."""

    participant: Id
    token: Id
    reason: str = Field(default="", max_length=sizes.SKIP_REASON)


def _sent(reply: Reply) -> Response:
    # The framework would check the model against itself, which costs more than all the rest of a reply.
    return Response(reply.model_dump_json(), media_type="application/json")


_REPLIES: dict[int | str, dict[str, Any]] = {200: {"model": Reply}, **problems(404, 409, 429)}


@router.get("", responses=problems(404))
def read(study: str, store: StoreDep) -> StudyToTake:
    """The study as those who take part may see it."""
    found = store.studies.get(study)
    settings = spec.checked(found.settings)
    return StudyToTake(
        study=found.id,
        title=found.title,
        state=found.state,
        question_html=markup.html(settings.texts.question),
        consent_html=markup.html(settings.texts.consent),
        instructions_html=markup.html(settings.texts.instructions),
        n_questions=settings.limits.per_participant,
        practice=settings.checks.practice,
        skipping=SkippingOut(allowed=settings.skipping.allowed, reasons=settings.skipping.reasons),
        too_fast_ms=settings.checks.too_fast_ms,
        show_names=settings.show_names,
        identify_by=settings.identify_by,
    )


@router.post("/join", responses=_REPLIES)
def join(study: str, body: Joining, participation: ParticipationDep, limits: LimitsDep) -> Response:
    """Begin; or, with an identity that has joined before, go on."""
    limits.join()
    return _sent(participation.join(study, body.parameters, body.consent))


@router.post("/resume", responses=_REPLIES)
def resume(study: str, body: Resuming, participation: ParticipationDep, limits: LimitsDep) -> Response:
    """Go on after the page was loaded again."""
    limits.answer(body.participant)
    return _sent(participation.resume(study, body.participant))


@router.post("/answer", responses=_REPLIES)
def answer(study: str, body: Answering, participation: ParticipationDep, limits: LimitsDep) -> Response:
    """Answer a question. The same token and choice again give the same acknowledgement."""
    limits.answer(body.participant)
    return _sent(participation.answer(study, body.participant, body.token, body.choice, body.response_ms, body.client))


@router.post("/skip", responses=_REPLIES)
def skip(study: str, body: Giving, participation: ParticipationDep, limits: LimitsDep) -> Response:
    """Skip a question, with a reason."""
    limits.answer(body.participant)
    return _sent(participation.skip(study, body.participant, body.token, body.reason))
