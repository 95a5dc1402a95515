"""Replies to participants: whether their answer counts, and what is asked next."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from erkle.service.participation.endings import Ending, Finished
from erkle.service.participation.prepared_study import PreparedStudy
from erkle.service.studies.objects import ShownObject
from erkle.store import Acknowledged, Issued, Kind, Refused, Skipped

Outcome = Acknowledged | Skipped | Refused | None


class Question(BaseModel):
    """Is the anchor more like the left or like the right object?"""

    token: str
    practice: bool
    anchor: ShownObject
    left: ShownObject
    right: ShownObject
    expires_at: int

    @classmethod
    def of(cls, prepared: PreparedStudy, issued: Issued) -> "Question":
        """Build the question as the page shows it. It does not reveal why the question is asked."""
        right = issued.second if issued.left == issued.first else issued.first
        return cls(
            token=issued.token,
            practice=issued.kind == Kind.PRACTICE,
            anchor=prepared.objects[issued.anchor],
            left=prepared.objects[issued.left],
            right=prepared.objects[right],
            expires_at=issued.expires_at // 1000,
        )


class Acknowledgement(BaseModel):
    """The answer is saved. ``repeated`` means that it had been saved before."""

    sequence: int
    repeated: bool


class Progress(BaseModel):
    """How many of the participant's questions are done."""

    done: int
    total: int


class Reply(BaseModel):
    """The result of a request, and the questions that are open now: first the one to show, then the next one."""

    participant: str | None
    acknowledged: Acknowledgement | None
    skipped: bool
    too_fast: bool
    questions: list[Question]
    progress: Progress
    finished: Finished | None


class Advance(NamedTuple):
    """What one transaction did for a participant.

    Attributes
    ----------
    open : list of Issued
        All questions that wait for an answer.
    issued : list of Issued
        The open questions that this transaction issued.
    done, total : int
        Questions that the participant has answered or skipped, and the number of questions they get.
    ending : Ending or None
        How the participation has ended, or None if it goes on.
    """

    prepared: PreparedStudy
    participant: str | None
    outcome: Outcome
    open: list[Issued]
    issued: list[Issued]
    done: int
    total: int
    ending: Ending | None

    def reply(self, parameters: Mapping[str, Any], response_ms: int | None = None) -> Reply:
        """Build the reply to the participant, given the parameters of the link in this request.

        The parameters of earlier requests are never used: somebody else may have sent them.
        """
        outcome, endings = self.outcome, self.prepared.settings.endings
        too_fast_ms = self.prepared.settings.checks.too_fast_ms
        return Reply(
            participant=self.participant,
            acknowledged=Acknowledgement(**outcome._asdict()) if isinstance(outcome, Acknowledged) else None,
            skipped=isinstance(outcome, Skipped),
            too_fast=response_ms is not None and response_ms < too_fast_ms,
            questions=[Question.of(self.prepared, each) for each in self.open],
            progress=Progress(done=min(self.done, self.total), total=self.total),
            finished=None if self.ending is None else Finished.of(endings, self.ending, parameters),
        )
