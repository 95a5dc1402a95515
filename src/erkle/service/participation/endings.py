"""Endings: how a participation ends, and what the participant gets: a text, a code, and a URL to go to."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel

from erkle.service.studies import markup, spec
from erkle.store.sanitising import bounded_text

_FIELD = re.compile(r"\{([^{}]*)\}")
# Characters of a parameter that go into a URL.
_LONGEST = 500


class Ending(StrEnum):
    """The endings of a study, by the names that they have in its settings (see `spec.Endings`)."""

    COMPLETED = "completed"
    FAILED = "failed"
    SCREENED = "screened"
    FULL = "full"
    CLOSED = "closed"
    DECLINED = "declined"


class Finished(BaseModel):
    """How the participation ended, the text and the code for the participant, and the URL to go to next."""

    outcome: Ending
    text_html: str
    code: str
    url: str

    @classmethod
    def of(cls, endings: spec.Endings, outcome: Ending, parameters: Mapping[str, Any] | None = None) -> "Finished":
        """Return what the settings define for an ending; with the parameters of a link, they fill the URL."""
        given: spec.EndingSettings = getattr(endings, outcome)
        url = given.url if parameters is None else filled(given.url, parameters)
        return cls(outcome=outcome, text_html=markup.html(given.text), code=given.code, url=url)


def filled(url: str, parameters: Mapping[str, Any]) -> str:
    """Replace each ``{name}`` in a URL by the parameter of that name, or by nothing if there is none.

    The link may contain any value. Characters that no URL can contain are replaced.

    >>> filled("https://example.org/credit?survey_code={survey_code}&x={y}", {"survey_code": "a b&c"})
    'https://example.org/credit?survey_code=a%20b%26c&x='
    """
    return _FIELD.sub(lambda field: quote(bounded_text(parameters.get(field[1], ""), _LONGEST), safe=""), url)
