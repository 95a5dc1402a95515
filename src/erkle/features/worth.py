"""What features were worth: how well answers were predicted with them and without them, before they were learned."""

import math
from typing import NamedTuple

# Fewest effective answers for a statement: about 400 answers, because recent ones count most.
_FEWEST = 100
# Difference of the losses, in nats over all effective answers, from which one of two candidates is clearly better.
_CLEAR = 3.0


class FeatureWorth(NamedTuple):
    """Evidence for one block of features, from predictions made before answers were learned.

    Attributes
    ----------
    name : str
        The name of the block.
    n_objects : int
        Number of objects with a vector.
    share : float
        The share of the prior variance of the coordinates that the block explains in the best candidate.
    weight : float
        The weight of the candidates that use the block in the mixture that predicts, from 0 to 1.
    error_with, error_without : float
        Share of answers that the best candidate with the block, and the best one without it, predicted wrongly. Recent
        answers count most; NaN if no such candidate runs.
    loss_with, loss_without : float
        Their mean losses in nats.
    n_answers : float
        The effective number of answers that were compared.

    Examples
    --------
    >>> print(FeatureWorth("clip", 85, 0.7, 1.0, 0.21, 0.31, 0.44, 0.58, 400.0))
    clip helps: 21.0 % of answers were predicted wrongly with it, 31.0 % without it.
    """

    name: str
    n_objects: int
    share: float
    weight: float
    error_with: float
    error_without: float
    loss_with: float
    loss_without: float
    n_answers: float

    @property
    def verdict(self) -> str:
        """ "helps", "does not help", "makes no clear difference" or "is not judged yet".

        A difference is clear if the losses say so and the errors, which the sentence shows, do not contradict them.
        """
        if self.n_answers < _FEWEST:
            return "is not judged yet"
        # Candidates far behind are eliminated and have NaN.
        if math.isnan(self.loss_with):
            return "does not help"
        if math.isnan(self.loss_without):
            return "helps"
        gain = self.n_answers * (self.loss_without - self.loss_with)
        if gain > _CLEAR and self.error_with <= self.error_without:
            return "helps"
        return (
            "does not help" if gain < -_CLEAR and self.error_with >= self.error_without else "makes no clear difference"
        )

    def __str__(self) -> str:
        if self.n_answers < _FEWEST:
            return f"{self.name} is not judged yet: that takes about {4 * _FEWEST} answers."
        if math.isnan(self.error_with):
            return f"{self.name} does not help: predictions with it were clearly worse than without it."
        if math.isnan(self.error_without):
            return f"{self.name} helps: predictions without it were clearly worse than with it."
        with_it, without = (f"{100 * error:.1f} %" for error in (self.error_with, self.error_without))
        return f"{self.name} {self.verdict}: {with_it} of answers were predicted wrongly with it, {without} without it."
