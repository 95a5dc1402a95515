"""Learning a study: one thread per study folds its answer log, and publishes what it knows."""

from erkle.service.learning.choosing import Chooser, Chosen
from erkle.service.learning.fold import Fold
from erkle.service.learning.learning import Learning, Published
from erkle.service.learning.view import View

__all__ = ["Chooser", "Chosen", "Fold", "Learning", "Published", "View"]
