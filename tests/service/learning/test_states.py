"""Laws of the states of a learner: each poll makes progress, and a fold is not restored again and again."""

import pytest

from erkle.service.learning import Fold
from erkle.service.learning.snapshots import SavedFold
from erkle.service.learning.states import Lease, Owning, Restoring

N = 4


class FakeLearning:
    """A learner with an empty log, whose roster may be known late, and whose snapshot has the present roster."""

    n_objects = N
    ready = False

    def __init__(self, known, present, has_snapshot):
        self.known, self.present, self.has_snapshot = known, present, has_snapshot
        self.n_restored = 0
        self.snapshots = self

    def roster(self):
        return self.known

    def restored(self):
        self.n_restored += 1
        return SavedFold(Fold(N), None, self.present) if self.has_snapshot else None

    def features(self):
        return {}

    def page(self, after):
        return []

    def add_to_columns(self, page, last): ...

    def publish(self, fold, roster): ...

    def save(self, kept, fence, at_once): ...

    map = None


@pytest.fixture
def lease():
    return Lease(None, "study", "owner", 1)


@pytest.mark.parametrize("has_snapshot", [True, False])
@pytest.mark.parametrize(("known", "present"), [(3, 3), (2, 3)])
def test_a_fold_is_restored_once_while_the_roster_does_not_change(lease, known, present, has_snapshot):
    learning, state = FakeLearning(known, present, has_snapshot), Restoring(lease)
    for _ in range(5):
        state = state.poll(learning).state
    assert isinstance(state, Owning)
    assert learning.n_restored == 1


@pytest.mark.parametrize("has_snapshot", [True, False])
def test_each_new_roster_is_restored_once_however_late_it_is_known(lease, has_snapshot):
    learning, state = FakeLearning(0, 0, has_snapshot), Restoring(lease)
    for roster in range(1, 4):
        for _ in range(5):
            state = state.poll(learning).state
        learning.present = roster
        for _ in range(5):
            state = state.poll(learning).state
        learning.known = roster
        for _ in range(5):
            state = state.poll(learning).state
        assert learning.n_restored == 1 + roster
