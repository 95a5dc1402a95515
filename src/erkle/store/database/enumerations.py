"""Enumerations; the database stores the values, and its constraints refuse any other value."""

from enum import StrEnum


class State(StrEnum):
    """The state of a study."""

    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class Standing(StrEnum):
    """The standing of a participant in a study; it does not say whether the participant is excluded."""

    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"
    SCREENED = "screened"
    CLOSED = "closed"


class Kind(StrEnum):
    """The kind of a question: why it is asked."""

    CHOSEN = "chosen"
    HELD_OUT = "held out"
    CATCH = "catch"
    REPEATED = "repeated"
    PRACTICE = "practice"


class Purpose(StrEnum):
    """The purpose of a link: to set up the service, to invite a researcher, or to sign in."""

    SETUP = "setup"
    INVITE = "invite"
    ENTER = "enter"


class Reason(StrEnum):
    """The reason why an answer or a skip does not count."""

    UNKNOWN_TOKEN = "unknown token"
    OTHER_STUDY = "other study"
    OTHER_PARTICIPANT = "other participant"
    OUT_OF_RANGE = "out of range"
    ANSWERED = "answered already"
    SKIPPED = "skipped already"
    EXCLUDED = "participant excluded"
    ENDED = "participation ended"
    EXPIRED = "expired"
