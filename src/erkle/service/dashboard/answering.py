"""How people answer: what they seem to compare, and how often they slip.

Before answers say anything about this, the learner's estimates are only its assumptions. Then it is too early to say.
"""

from typing import Self

from pydantic import BaseModel

from erkle.answer_models import in_words
from erkle.online.selection.evidence import is_lapse_known
from erkle.service.learning import View

_TOO_EARLY = "It is too early to say how people answer."


class ShareOfSlips(BaseModel):
    """The share of answers that are slips, with a 95 % interval; 0.5 means that all answers are coin tosses.

    >>> print(ShareOfSlips.of(0.471, 0.42, 0.5))
    47 % slips (42 to 50 %)
    """

    rate: float
    low: float
    high: float

    @classmethod
    def of(cls, rate: float, low: float, high: float) -> Self:
        """Return the share, rounded."""
        return cls(rate=round(float(rate), 4), low=round(float(low), 4), high=round(float(high), 4))

    def __str__(self) -> str:
        return f"{100 * self.rate:.0f} % slips ({100 * self.low:.0f} to {100 * self.high:.0f} %)"


class Answering(BaseModel):
    """How people answer, as a sentence and as numbers; the numbers are null while it is too early to say.

    ``power`` says what people compare, from 0 (ratios of distances) over 0.5 (distances) to 1 (squared distances).
    """

    sentence: str
    power: float | None = None
    lapse: ShareOfSlips | None = None

    @classmethod
    def of(cls, view: View | None) -> Self:
        """Describe how people answer, according to what has been learned."""
        if view is None or not is_lapse_known(view.lapse, view.n_learned):
            return cls(sentence=_TOO_EARLY)
        model, lapse = view.answer_model_, view.lapse
        return cls(sentence=in_words(model, lapse), power=round(model.power, 4), lapse=ShareOfSlips.of(*lapse))
