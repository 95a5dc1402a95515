"""Values of which a column holds one."""

from enum import StrEnum


class State(StrEnum):
    """What is done with a study now."""

    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class Standing(StrEnum):
    """How a participant stands in a study; one who is excluded keeps the standing from before in the database."""

    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"
    SCREENED = "screened"
    EXCLUDED = "excluded"


class Kind(StrEnum):
    """Why a question is asked."""

    CHOSEN = "chosen"
    HELD_OUT = "held out"
    CATCH = "catch"
    REPEATED = "repeated"
    PRACTICE = "practice"


class Purpose(StrEnum):
    """What a link is good for."""

    SETUP = "setup"
    INVITE = "invite"
    ENTER = "enter"


class Reason(StrEnum):
    """Why something that was sent does not count."""

    UNKNOWN_TOKEN = "unknown token"
    OTHER_STUDY = "other study"
    OTHER_PARTICIPANT = "other participant"
    OUT_OF_RANGE = "out of range"
    ANSWERED = "answered already"
    SKIPPED = "skipped already"
    NOT_OPEN = "study not open"
    EXCLUDED = "participant excluded"
    ENDED = "participation ended"
    EXPIRED = "expired"
