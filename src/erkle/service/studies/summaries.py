"""What the API says of a study: as it is listed, and as a whole."""

from typing import Any, Self

from pydantic import BaseModel

from erkle.service.dashboard.dashboard import ACTIVE_SECONDS
from erkle.service.runtime import Runtime
from erkle.service.studies.objects import ShownObject
from erkle.store import State, Store, Study

# Objects of each study in a list of studies.
_EXAMPLES = 6


class _Summary(BaseModel):
    id: str
    title: str
    state: State
    n_objects: int
    created_at: int
    link: str

    @classmethod
    def of(cls, study: Study, **more: Any) -> Self:
        """Return the summary of a study, with more fields."""
        derived = {"created_at": study.created_at // 1000, "link": f"/s/{study.id}"}
        return cls(**study._asdict() | derived | more)


class StudyListed(_Summary):
    """A study in a list, with its first objects; times are in milliseconds since 1970.

    ``most_answers`` is the number of answers that its limits allow, and null without a limit. ``needed_answers`` is
    the number that its target error takes, as far as it is being learned now and there is a forecast.
    """

    answers: int
    participants: int
    active_participants: int
    most_answers: int | None
    needed_answers: int | None
    most_participants: int | None
    examples: list[ShownObject]

    @classmethod
    def listed(cls, store: Store, study: Study, runtime: Runtime | None) -> Self:
        """Return a study as it is listed."""
        counts, limits = store.studies.counts(study.id), study.settings.get("limits", {})
        examples = store.studies.objects(study.id, most=_EXAMPLES)
        return cls.of(
            study,
            answers=counts.answers,
            participants=counts.participants,
            active_participants=store.participants.presence(study.id, ACTIVE_SECONDS).active,
            most_answers=limits.get("answers"),
            needed_answers=_needed(study, runtime, counts.answers),
            most_participants=limits.get("participants"),
            examples=[ShownObject.of(study.id, number, each) for number, each in enumerate(examples)],
        )


class StudyOut(_Summary):
    """A study; the link is for participants."""

    settings: dict[str, Any]
    roster: int


class CreatedOut(StudyOut):
    """A new study, and sentences about objects and features that do not match."""

    notes: list[str]


def _needed(study: Study, runtime: Runtime | None, n_answers: int) -> int | None:
    target = study.settings.get("target_error")
    if runtime is None or target is None:
        return None
    stopping = runtime.dashboard.stopping(target)
    return None if stopping.kind == "too-early" or stopping.more is None else n_answers + round(stopping.more)
