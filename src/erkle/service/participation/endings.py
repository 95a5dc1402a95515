"""Endings: how it ends for a participant, and what they get then: a text, a code, and an address to go to."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel

from erkle.service.participation.asking import Course
from erkle.service.participation.prepared_study import PreparedStudy
from erkle.store import Standing
from erkle.store.participants import ENDINGS

_FIELD = re.compile(r"\{([^{}]*)\}")


class Finished(BaseModel):
    """How it ended, the code to take along, and where to go."""

    outcome: str
    code: str
    url: str
    thanks_html: str

    @classmethod
    def of(cls, prepared: PreparedStudy, standing: Standing, parameters: Mapping[str, Any]) -> "Finished | None":
        """What the study's settings say for this standing; None for somebody who still takes part."""
        if standing not in ENDINGS:
            return None
        texts = getattr(prepared.settings.endings, standing)
        url = filled(texts.url, parameters)
        return cls(outcome=standing, code=texts.code, url=url, thanks_html=prepared.thanks_html)


def ending(prepared: PreparedStudy, course: Course) -> Standing:
    """How it ends for somebody who gets no more questions. Whoever answered nothing completed nothing."""
    if course.done == 0:
        return Standing.SCREENED
    return Standing.FAILED if course.skipped > prepared.settings.skipping.most * course.done else Standing.COMPLETED


def filled(url: str, parameters: Mapping[str, Any]) -> str:
    """The address with each ``{name}`` replaced by that parameter, and by nothing where there is none.

    >>> filled("https://example.org/credit?survey_code={survey_code}&x={y}", {"survey_code": "a b&c"})
    'https://example.org/credit?survey_code=a%20b%26c&x='
    """
    return _FIELD.sub(lambda field: quote(str(parameters.get(field[1], ""))[:500], safe=""), url)
