"""Endings: how a participation ends, and what the participant gets: a text, a code, and a URL to go to."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel

from erkle.service.participation.asking import History
from erkle.service.participation.prepared_study import PreparedStudy
from erkle.service.studies import markup
from erkle.store import Standing
from erkle.store.participants import ENDINGS
from erkle.store.sanitising import bounded_text

_FIELD = re.compile(r"\{([^{}]*)\}")
# Characters of a parameter that go into a URL.
_LONGEST = 500


class Finished(BaseModel):
    """How the participation ended, the text and the code for the participant, and the URL to go to next."""

    outcome: str
    text_html: str
    code: str
    url: str

    @classmethod
    def of(cls, prepared: PreparedStudy, standing: str, parameters: Mapping[str, Any]) -> "Finished | None":
        """Return what the settings define for this standing, or None for a participant who has not finished."""
        if standing not in ENDINGS:
            return None
        given = getattr(prepared.settings.endings, standing)
        url = filled(given.url, parameters)
        return cls(outcome=standing, text_html=markup.html(given.text), code=given.code, url=url)


def ending(prepared: PreparedStudy, history: History) -> Standing:
    """Decide how it ends for a participant who gets no more questions.

    A participant who was asked nothing is screened out. One who skipped too many questions has failed.
    """
    if history.n_done == 0:
        return Standing.SCREENED
    most = prepared.settings.skipping.most * history.n_done
    return Standing.FAILED if history.n_skipped > most else Standing.COMPLETED


def filled(url: str, parameters: Mapping[str, Any]) -> str:
    """Replace each ``{name}`` in a URL by the parameter of that name, or by nothing if there is none.

    The link may contain any value. Characters that no URL can contain are replaced.

    >>> filled("https://example.org/credit?survey_code={survey_code}&x={y}", {"survey_code": "a b&c"})
    'https://example.org/credit?survey_code=a%20b%26c&x='
    """
    return _FIELD.sub(lambda field: quote(bounded_text(parameters.get(field[1], ""), _LONGEST), safe=""), url)
