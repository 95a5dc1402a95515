"""What is learned of a study: a pure fold over its log, in a thread of its own, and what everybody may see of it."""

from erkle.service.learning.choosing import Chooser, Chosen
from erkle.service.learning.fold import Fold
from erkle.service.learning.learning import Learning, Published
from erkle.service.learning.view import View

__all__ = ["Chooser", "Chosen", "Fold", "Learning", "Published", "View"]
