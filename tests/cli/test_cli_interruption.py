"""The first Ctrl-C ends the work at hand and nothing else, whenever it comes."""

import itertools
import sys

import pytest

from erkle.cli.learn.interruption import Interruption


@pytest.mark.parametrize("line", range(1, 40))
def test_a_first_interruption_at_any_line_never_escapes(line):
    interruption, done, lines = Interruption(), [], itertools.count(1)

    def work():
        for number in range(5):
            done.append(number)

    def trace(frame, event, argument):
        if event == "line" and next(lines) == line:
            interruption._on_signal(2, frame)
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        interruption.run(work)
    finally:
        sys.settrace(before)
    assert len(done) == 5 or interruption.asked
    assert interruption._busy


def test_a_second_interruption_ends_at_once():
    interruption = Interruption()
    interruption._on_signal(2, None)
    assert interruption.asked
    with pytest.raises(KeyboardInterrupt):
        interruption._on_signal(2, None)
    with pytest.raises(KeyboardInterrupt):
        interruption.run(lambda: interruption._on_signal(2, None))
