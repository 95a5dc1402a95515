"""Online learners: the model is up to date after every answer."""

from erkle.kernels.kernel import Counters
from erkle.online.erkle import ERKLE
from erkle.online.forecast import Forecast, TooEarly
from erkle.online.record import Curve
from erkle.online.selection.candidates import Candidate
from erkle.online.selection.evidence import Reliability

__all__ = ["ERKLE", "Candidate", "Counters", "Curve", "Forecast", "Reliability", "TooEarly"]
