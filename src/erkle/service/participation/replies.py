"""A turn: what somebody who takes part hears each time: what has become of their answer, and what is asked next."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from pydantic import BaseModel

from erkle.service.participation.prepared_studies import Desk
from erkle.service.participation.shown_objects import Thing
from erkle.store import Acknowledged, Issued, Kind, Refused, Skipped, Standing

__all__ = ["OUTCOMES", "Turn", "TurnOut", "filled", "question_of"]

_FIELD = re.compile(r"\{([^{}]*)\}")
OUTCOMES = {Standing.COMPLETED: "completed", Standing.FAILED: "failed", Standing.SCREENED: "screened"}


class QuestionOut(BaseModel):
    """Is the head more like the left or like the right thing?"""

    token: str
    practice: bool
    head: Thing
    left: Thing
    right: Thing
    expires_at: int


class AcknowledgedOut(BaseModel):
    """The answer is on the disk; ``repeated`` where it already was."""

    sequence: int
    repeated: bool


class ProgressOut(BaseModel):
    """How many questions are done, of how many."""

    done: int
    total: int


class FinishedOut(BaseModel):
    """How it ended, the code to take along, and where to go."""

    outcome: str
    code: str
    url: str
    thanks_html: str


class TurnOut(BaseModel):
    """What has become of an answer, and the questions that are open now: the one to show, then the next."""

    participant: str | None
    acknowledged: AcknowledgedOut | None
    skipped: bool
    too_fast: bool
    questions: list[QuestionOut]
    progress: ProgressOut
    finished: FinishedOut | None


class Turn(NamedTuple):
    """The same before it is written as JSON, and what the learner must hear of."""

    desk: Desk
    participant: str | None
    parameters: Mapping[str, Any]
    outcome: Acknowledged | Skipped | Refused | None
    open: list[Issued]
    issued: list[Issued]
    done: int
    total: int
    standing: Standing

    def body(self, too_fast: bool = False) -> dict[str, Any]:
        """What `TurnOut` says, as JSON can hold it."""
        told = self.outcome
        return {
            "participant": self.participant,
            "acknowledged": told._asdict() if isinstance(told, Acknowledged) else None,
            "skipped": isinstance(told, Skipped),
            "too_fast": too_fast,
            "questions": [question_of(self.desk, each) for each in self.open],
            "progress": {"done": min(self.done, self.total), "total": self.total},
            "finished": self._finished(),
        }

    def _finished(self) -> dict[str, str] | None:
        if self.standing not in OUTCOMES:
            return None
        outcome = OUTCOMES[self.standing]
        ending = getattr(self.desk.settings.endings, outcome)
        url = filled(ending.url, self.parameters)
        return {"outcome": outcome, "code": ending.code, "url": url, "thanks_html": self.desk.thanks_html}


def filled(url: str, parameters: Mapping[str, Any]) -> str:
    """The address with each ``{name}`` replaced by that parameter, and by nothing where there is none.

    >>> filled("https://example.org/credit?survey_code={survey_code}&x={y}", {"survey_code": "a b&c"})
    'https://example.org/credit?survey_code=a%20b%26c&x='
    """
    return _FIELD.sub(lambda field: quote(str(parameters.get(field[1], ""))[:500], safe=""), url)


def question_of(desk: Desk, issued: Issued) -> dict[str, Any]:
    """A question as a page shows it; why it is asked is not told."""
    right = issued.o2 if issued.left == issued.o1 else issued.o1
    return {
        "token": issued.token,
        "practice": issued.kind == Kind.PRACTICE,
        "head": desk.shown[issued.head],
        "left": desk.shown[issued.left],
        "right": desk.shown[right],
        "expires_at": issued.expires_at // 1000,
    }
