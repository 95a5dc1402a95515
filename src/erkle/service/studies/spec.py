"""The settings of a study. Every setting has a default and bounds, and unknown settings are refused.

The description of a field says which values it accepts. It appears in the OpenAPI document and at the end of the
sentence about a wrong value. The store holds ``settings.model_dump(mode="json")``; `checked` reads it back.
"""

from collections.abc import Sequence
from itertools import repeat
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from erkle.service.strict import Strict
from erkle.service.studies.complaints import Complaint, Complaints, Place, complaints, nearest, shown, spelled
from erkle.store import Object, limits


def _web_address(url: str) -> str:
    if not url:
        return url
    parts = urlsplit(url)  # Raises ValueError for unbalanced brackets.
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        raise ValueError
    # A parameter in the host name could send participants to any site.
    if "{" in parts.netloc:
        raise ValueError
    return url


# Unknown names in catch questions for which a similar name is looked for.
_SUGGESTIONS = 3
_AT_LEAST_ONE = "a whole number of at least 1, or null"
Markdown = Annotated[
    str, Field(max_length=limits.MARKDOWN, description=f"a text (Markdown) of at most {limits.MARKDOWN:,} characters")
]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False, description="a share from 0 to 1")]
Name = Annotated[str, Field(min_length=1, max_length=limits.OBJECT_NAME, description="the name of an object")]
Reason = Annotated[str, Field(min_length=1, max_length=200, description="a text of 1 to 200 characters")]
Parameter = Annotated[
    str, Field(min_length=1, max_length=limits.PARAMETER_NAME, description="the name of a URL parameter")
]
Url = Annotated[
    str,
    Field(max_length=limits.URL, description="an address that begins with http:// or https://, or nothing"),
    AfterValidator(_web_address),
]


Stopped = Literal["finish", "complete"]


class _Part(Strict):
    model_config = ConfigDict(frozen=True)


class Texts(_Part):
    """The texts that participants read, in Markdown. Without a consent text, no consent is asked for."""

    question: Markdown = "Which of the two is more like this one?"
    consent: Markdown = ""
    instructions: Markdown = ""


class Limits(_Part):
    """How many questions are asked. None means no limit."""

    per_participant: int = Field(default=50, ge=1, le=10_000, description="a whole number from 1 to 10,000")
    participants: int | None = Field(default=None, ge=1, le=10_000_000, description=_AT_LEAST_ONE)
    answers: int | None = Field(default=None, ge=1, le=100_000_000, description=_AT_LEAST_ONE)
    lifetime_s: float = Field(
        default=3600.0,
        ge=10.0,
        le=2_592_000.0,
        allow_inf_nan=False,
        description="a number of seconds from 10 to 2,592,000",
    )
    idle_s: float = Field(
        default=3600.0,
        ge=60.0,
        le=2_592_000.0,
        allow_inf_nan=False,
        description="a number of seconds from 60 to 2,592,000",
    )


class Catch(_Part):
    """A question whose answer is known: the anchor is more like ``near``."""

    anchor: Name
    near: Name
    far: Name


class Checks(_Part):
    """Questions that show whether a participant pays attention."""

    practice: int = Field(default=1, ge=0, le=10, description="a whole number from 0 to 10")
    catch: list[Catch] = Field(
        default=[], max_length=100, description="a list of at most 100 questions (anchor, near, far)"
    )
    catch_every: int = Field(default=15, ge=1, le=1000, description="a whole number from 1 to 1,000")
    fail_after: int = Field(default=2, ge=1, le=100, description="a whole number from 1 to 100")
    repeat_share: Share = 0.0
    too_fast_ms: int = Field(
        default=400, ge=0, le=60_000, description="a number of milliseconds from 0 (off) to 60,000"
    )


class Skipping(_Part):
    """Whether participants may skip questions, the reasons to choose from, and the share above which they fail."""

    allowed: bool = Field(default=True, description="true or false")
    most: Share = 0.5
    reasons: list[Reason] = Field(
        default=["I do not know these", "I cannot decide", "Something is not shown"],
        max_length=20,
        description="a list of at most 20 texts",
    )


class Unfinished(_Part):
    """What happens to participants who have begun but not finished.

    ``stopped`` is for the time when the study is paused or closed: they finish their questions, or complete at once.
    ``excluded`` is for participants who are excluded.
    """

    stopped: Stopped = Field(default="finish", description="finish or complete")
    excluded: Literal["complete", "fail"] = Field(default="complete", description="complete or fail")


class EndingSettings(_Part):
    """What a participant gets at the end: a text, a code, and an address to go to.

    ``{name}`` in the address is replaced by the parameter of that name in the participant's link.
    """

    text: Markdown = ""
    code: str = Field(default="", max_length=limits.CODE, description=f"a text of at most {limits.CODE} characters")
    url: Url = ""


class Endings(_Part):
    """How participations end. An ending without a text has the default text of its kind.

    Completed: the participant has reached the end. Failed: the participant has failed the checks. Screened: there is
    nothing to ask, or the link does not prove who the participant is. Full: the participant has come when all places
    were taken. Closed: the participant has come, or come back, after the study was closed. Declined: the participant
    has not given consent; nothing is stored.
    """

    completed: EndingSettings = EndingSettings(text="Thank you for taking part.")
    failed: EndingSettings = EndingSettings(
        text="The study ends here, because some of your answers did not meet its requirements. Thank you for your time."
    )
    screened: EndingSettings = EndingSettings(text="Thank you for your interest in this study.")
    full: EndingSettings = EndingSettings(text="Enough people are taking part already. Thank you for your interest.")
    closed: EndingSettings = EndingSettings(
        text="This study has ended and accepts no more answers. Thank you for your interest."
    )
    declined: EndingSettings = EndingSettings(text="You have chosen not to take part, and nothing about you is stored.")

    @field_validator("*", mode="before")
    @classmethod
    def _with_default_text(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return value
        return {"text": cls.model_fields[str(info.field_name)].default.text, **value}


class StudySettings(_Part):
    """All settings of a study, except its title and its objects."""

    texts: Texts = Texts()
    strategy: Literal["adaptive", "random", "balanced", "uncertainty", "change", "information"] = Field(
        default="adaptive", description="adaptive, random, balanced, uncertainty, change or information"
    )
    holdout: Share = 0.1
    limits: Limits = Limits()
    checks: Checks = Checks()
    skipping: Skipping = Skipping()
    unfinished: Unfinished = Unfinished()
    endings: Endings = Endings()
    identify_by: list[Parameter] = Field(
        default=["PROLIFIC_PID", "workerId", "puid"],
        max_length=20,
        description="a list of at most 20 names of URL parameters",
    )
    identity_proof: Literal["none", "signature", "prolific"] = Field(
        default="none", description="none, signature or prolific"
    )
    appearance: Literal["light", "dark", "auto"] = Field(default="light", description="light, dark or auto")
    show_names: bool = Field(default=False, description="true or false")
    target_error: float = Field(default=0.1, gt=0.0, lt=1.0, description="a share between 0 and 1")


def checked(values: Any, objects: Sequence[Object] | None = None) -> StudySettings:
    """Return settings from JSON or YAML, or raise `Complaints` with all errors in them.

    With the objects of the study, the catch questions are checked as well, as by `check_objects`.

    >>> checked({"holdout": 1.5})
    Traceback (most recent call last):
    erkle.service.studies.complaints.Complaints: holdout is 1.5; pass a share from 0 to 1.
    >>> checked({"limits": {"per_participants": 20}})
    Traceback (most recent call last):
    erkle.service.studies.complaints.Complaints: limits.per_participants is not a setting; did you mean per_participant?
    """
    try:
        settings = StudySettings.model_validate(values)
    except ValidationError as error:
        raise Complaints(complaints(error, StudySettings)) from None
    if settings.identity_proof != "none" and not settings.identify_by:
        sentence = "identify_by is empty, so identity_proof proves nothing; name a parameter, or pass none."
        raise Complaints([Complaint(("identify_by",), sentence)])
    if objects is not None:
        check_objects(settings, [each.name for each in objects])
    return settings


def check_objects(settings: StudySettings, names: Sequence[str]) -> None:
    """Raise `Complaints` unless each catch question names three different objects of the study."""
    known, found = set(names), list[Complaint]()
    # A suggestion takes long if there are many names, so only the first unknown names get one.
    suggestions = repeat(names, _SUGGESTIONS)
    for number, catch in enumerate(settings.checks.catch):
        place: Place = ("checks", "catch", number)
        asked = {"anchor": catch.anchor, "near": catch.near, "far": catch.far}
        unknown = [
            Complaint((*place, role), _no_such_object(spelled((*place, role)), name, next(suggestions, ())))
            for role, name in asked.items()
            if name not in known
        ]
        found += unknown
        if not unknown and len(set(asked.values())) < 3:
            found.append(Complaint(place, f"{spelled(place)} names an object twice; name three different objects."))
    if found:
        raise Complaints(found)


def _no_such_object(where: str, name: str, names: Sequence[str]) -> str:
    close = nearest(name, names)
    remedy = f"did you mean {shown(close)}?" if close else "pass the name of an object of the study."
    return f"{where} is {shown(name)}, which is not the name of an object; {remedy}"
