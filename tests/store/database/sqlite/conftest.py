"""A store that is in use."""

import pytest
from in_use import answer, start


@pytest.fixture
def running(sqlite):
    """A store in use, with a study, a participant and three answers."""
    started = start(sqlite)
    answer(*started, 3)
    yield started
    started[0].close()
