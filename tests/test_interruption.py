"""Laws of work that Ctrl-C must not divide."""

import itertools
import signal
import sys
import threading
from pathlib import Path

import pytest

from erkle import interruption
from erkle.interruption import let_signals_through, uninterrupted


class Stopped(BaseException):
    """Raised by the handler of a signal."""


def stop(number, frame):
    raise Stopped


@pytest.fixture(autouse=True)
def handlers():
    """Handlers that raise, as Python's does for Ctrl-C."""
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def interrupted(done, depth, number):
    """Send a signal inside as many blocks, and note where it takes effect."""
    with uninterrupted():
        interrupted(done, depth - 1, number) if depth > 1 else signal.raise_signal(number)
        done.append(f"inside {depth}")
    done.append(f"after {depth}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_signal_takes_effect_right_after_the_outermost_block(depth, number):
    done = []
    with pytest.raises(Stopped):
        interrupted(done, depth, number)
    assert done[-1] == f"inside {depth}"
    assert signal.getsignal(number) is stop


def test_an_error_passes_and_the_handler_is_restored():
    with pytest.raises(ZeroDivisionError), uninterrupted():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is stop


def test_other_threads_leave_the_handler_alone():
    seen = []

    def work():
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [stop]


def test_a_second_signal_waits_until_the_first_has_ended_the_block():
    done = []

    def work():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            try:
                let_signals_through()
            finally:
                signal.raise_signal(signal.SIGINT)
                done.append("tidied up")

    with pytest.raises(Stopped):
        work()
    assert done == ["tidied up"]
    assert signal.getsignal(signal.SIGINT) is stop


def test_a_nested_block_passes_the_signal_to_the_outer_one():
    done = []

    def work():
        with uninterrupted():
            with uninterrupted():
                signal.raise_signal(signal.SIGTERM)
                let_signals_through()
                done.append("inside")
            let_signals_through()
            done.append("never")

    with pytest.raises(Stopped):
        work()
    assert done == ["inside"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("line", range(1, 40))
def test_after_a_signal_at_any_line_later_signals_take_effect(line, number):
    """A signal at each line of entering and leaving a block, and of what happens inside."""
    lines = itertools.count(1)

    def trace(frame, event, argument):
        is_ours = Path(frame.f_code.co_filename) == Path(interruption.__file__)
        if is_ours and event == "line" and next(lines) == line:
            signal.raise_signal(number)
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        with uninterrupted():
            let_signals_through()
    except Stopped:
        pass
    finally:
        sys.settrace(before)
    assert not interruption._blocks
    for later in (signal.SIGINT, signal.SIGTERM):
        with pytest.raises(Stopped):
            signal.raise_signal(later)
