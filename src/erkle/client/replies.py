"""Replies of the server to a participant: where they stand, and their open questions."""

from typing import Any, NamedTuple

Json = dict[str, Any]


class ShownObject(NamedTuple):
    """An object of a study, with the URLs of its media."""

    id: int
    name: str
    text: str | None = None
    image: str | None = None
    thumb: str | None = None
    audio: str | None = None
    video: str | None = None


class Question(NamedTuple):
    """Is the anchor more like the left object or like the right one?"""

    token: str
    practice: bool
    anchor: ShownObject
    left: ShownObject
    right: ShownObject
    expires_at: int


class Acknowledged(NamedTuple):
    """The answer counts and is saved on the server; ``repeated`` if it had been saved before."""

    sequence: int
    repeated: bool


class Finished(NamedTuple):
    """The outcome of a participation, with the closing text, the code and the URL to go to."""

    outcome: str
    text_html: str
    code: str
    url: str


class Reply(NamedTuple):
    """Where a participant stands: the outcome of their last answer, and their open questions, oldest first."""

    participant: str | None
    acknowledged: Acknowledged | None
    skipped: bool
    too_fast: bool
    questions: list[Question]
    done: int
    total: int
    finished: Finished | None


def reply_of(found: Json) -> Reply:
    """Return the reply that a JSON object describes."""
    acknowledged, finished, progress = found.get("acknowledged"), found.get("finished"), found.get("progress") or {}
    return Reply(
        found.get("participant"),
        acknowledged and Acknowledged(acknowledged["sequence"], acknowledged["repeated"]),
        bool(found.get("skipped")),
        bool(found.get("too_fast")),
        [_question(each) for each in found.get("questions") or []],
        progress.get("done", 0),
        progress.get("total", 0),
        finished and Finished(*(finished[name] for name in Finished._fields)),
    )


def _question(found: Json) -> Question:
    anchor, left, right = (object_of(found[name]) for name in ("anchor", "left", "right"))
    return Question(found["token"], found["practice"], anchor, left, right, found["expires_at"])


def object_of(found: Json) -> ShownObject:
    """Return the object that a JSON object describes."""
    return ShownObject(*(found.get(name) for name in ShownObject._fields))  # type: ignore[arg-type]
