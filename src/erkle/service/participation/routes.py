"""The API that the participants' page calls. A participant's id is their only credential; there are no cookies.

An odd response time, client or reason is dropped or cut off: it must not cost an answer.
"""

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, BeforeValidator, Field

from erkle.service.accounts import sessions
from erkle.service.participation.asking import AHEAD
from erkle.service.participation.continuing import Going
from erkle.service.participation.endings import Ending, Finished
from erkle.service.participation.replies import Reply
from erkle.service.strict import Strict
from erkle.service.studies import markup, spec
from erkle.service.web.dependencies import ParticipationDep, StoreDep
from erkle.service.web.errors import Problem, problems
from erkle.service.web.limits import LimitsDep
from erkle.store import limits as sizes
from erkle.store.answers import response_time
from erkle.store.sanitising import bounded_json, bounded_text, json_bytes

router = APIRouter(prefix="/api/take/{study}", tags=["participation"])

Id = Annotated[str, Field(max_length=sizes.ID)]
Parameters = Annotated[
    dict[str, Any], Field(description="The parameters of the participant's link, for the address of the ending.")
]


class SkippingOut(BaseModel):
    """Whether questions may be skipped, and the reasons to choose from."""

    allowed: bool
    reasons: list[str]


class StudyToTake(BaseModel):
    """What a visitor sees before they take part.

    ``ending`` is how it ends for a visitor who can neither join nor continue, and ``refused`` says why if that is the
    fault of the link. Joining saves the ending of somebody who has joined before. ``waiting`` is whether the visitor
    must wait until the study is open.
    """

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
    appearance: Literal["light", "dark", "auto"]
    show_names: bool
    identify_by: list[str]
    waiting: bool
    ending: Finished | None
    refused: str


class Joining(Strict):
    """All parameters of the link that the participant followed, and whether they consent."""

    parameters: dict[str, Any] = Field(default={})
    consent: bool


class Resuming(Strict):
    """The participant who comes back."""

    participant: Id
    parameters: Parameters = Field(default={})


class Answering(Strict):
    """An answer: the anchor is more like the object ``choice`` than like the other one."""

    participant: Id
    token: Id
    choice: int = Field(ge=0, lt=2**31)
    response_ms: Annotated[int | None, BeforeValidator(response_time)] = None
    client: Annotated[dict[str, Any], BeforeValidator(partial(bounded_json, most=sizes.CLIENT))] = Field(default={})
    parameters: Parameters = Field(default={})


class SkipRequest(Strict):
    """A question that the participant skips, and the reason."""

    participant: Id
    token: Id
    reason: Annotated[str, BeforeValidator(partial(bounded_text, most=sizes.SKIP_REASON))] = ""
    parameters: Parameters = Field(default={})


def _response(reply: Reply) -> Response:
    # FastAPI would validate the model a second time, which costs more than everything else in a reply.
    return Response(reply.model_dump_json(), media_type="application/json")


_REPLIES: dict[int | str, dict[str, Any]] = {200: {"model": Reply}, **problems(404, 409, 429)}


@router.get("", responses=problems(404, 503))
def read(study: str, store: StoreDep, participation: ParticipationDep, request: Request) -> StudyToTake:
    """Return what visitors may see of the study, and whether they can take part.

    Pass the parameters of the visitor's link. Only researchers can see a draft.
    """
    session = sessions.found(store, sessions.token_of(request))
    account = None if session is None else session.account
    is_theirs = account is not None and (account.admin or account.id == store.studies.get(study).owner)
    found = store.studies.get(study, drafts=is_theirs)
    settings, parameters = spec.checked(found.settings), dict(request.query_params)
    expected: Going | Ending = Ending.SCREENED
    refused = ""
    try:
        expected = participation.expected(found, settings, parameters)
    except Problem as problem:
        if problem.status_code != 403:
            raise
        refused = problem.sentence
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
        appearance=settings.appearance,
        show_names=settings.show_names,
        identify_by=settings.identify_by,
        waiting=expected == Going.WAITING,
        ending=Finished.of(settings.endings, expected, parameters) if isinstance(expected, Ending) else None,
        refused=refused,
    )


@router.post("/join", responses=_REPLIES | problems(403, 503))
def join(study: str, body: Joining, participation: ParticipationDep, limits: LimitsDep) -> Response:
    """Start taking part. An identity that has joined before continues where it was."""
    if body.consent:
        sent = json_bytes(bounded_json(body.parameters, sizes.PARAMETERS))
        limits.store(sizes.PARTICIPANT_ROW + AHEAD * sizes.QUESTION_ROW + sent)
    return _response(participation.join(study, body.parameters, body.consent))


@router.post("/resume", responses=_REPLIES)
def resume(study: str, body: Resuming, participation: ParticipationDep, limits: LimitsDep) -> Response:
    """Continue after the page was reloaded."""
    limits.answer(body.participant)
    return _response(participation.resume(study, body.participant, body.parameters))


@router.post("/answer", responses=_REPLIES)
def answer(study: str, body: Answering, participation: ParticipationDep, limits: LimitsDep) -> Response:
    """Answer a question. Sending the same token and choice again returns the same acknowledgement."""
    limits.answer(body.participant)
    limits.store(sizes.QUESTION_ROW + json_bytes(body.client))
    answered = body.participant, body.token, body.choice, body.response_ms, body.client
    return _response(participation.answer(study, *answered, body.parameters))


@router.post("/skip", responses=_REPLIES)
def skip(study: str, body: SkipRequest, participation: ParticipationDep, limits: LimitsDep) -> Response:
    """Skip a question, with a reason."""
    limits.answer(body.participant)
    limits.store(sizes.QUESTION_ROW + len(body.reason.encode()))
    return _response(participation.skip(study, body.participant, body.token, body.reason, body.parameters))
