"""Laws of work that Ctrl-C must not divide."""

import signal
import threading

import pytest

from erkle.interruption import uninterrupted


@pytest.fixture(autouse=True)
def python_handler():
    """The handler that turns Ctrl-C into KeyboardInterrupt; a shell may have made this process ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(done, depth):
    """Press Ctrl-C inside as many blocks, and note where it takes effect."""
    with uninterrupted():
        interrupted(done, depth - 1) if depth > 1 else signal.raise_signal(signal.SIGINT)
        done.append(f"inside {depth}")
    done.append(f"after {depth}")


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_ctrl_c_takes_effect_right_after_the_outermost_block(depth):
    done = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(done, depth)
    assert done[-1] == f"inside {depth}"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_passes_and_the_handler_is_restored():
    with pytest.raises(ZeroDivisionError), uninterrupted():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_leave_the_handler_alone():
    seen = []

    def work():
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
