"""Online learners: the model is up to date after every answer."""

from erkle.online.erkle import ERKLE

__all__ = ["ERKLE"]
