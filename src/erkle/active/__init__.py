"""Strategies that choose the next question, and an asker that keeps track of the questions of a study."""

from erkle.active.asker import Asked, Asker
from erkle.active.questions import Questions
from erkle.active.strategies import (
    STRATEGIES,
    Adaptive,
    Balanced,
    ExpectedChange,
    InformationGain,
    Random,
    Strategy,
    Uncertainty,
)

__all__ = [
    "STRATEGIES",
    "Adaptive",
    "Asked",
    "Asker",
    "Balanced",
    "ExpectedChange",
    "InformationGain",
    "Questions",
    "Random",
    "Strategy",
    "Uncertainty",
]
