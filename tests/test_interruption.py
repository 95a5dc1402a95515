"""Laws of work that Ctrl-C must not divide."""

import signal
import threading

import pytest

from erkle.interruption import uninterrupted


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
