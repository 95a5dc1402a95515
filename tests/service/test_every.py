"""Work that is done every few seconds, until the end of the server and not longer."""

import threading

from erkle.service.every import Every


def test_work_is_repeated_also_after_an_error():
    calls, enough = [], threading.Event()

    def work():
        calls.append(None)
        if len(calls) == 3:
            enough.set()
        raise ZeroDivisionError

    every = Every(0.001, work, "work")
    assert enough.wait(30)
    every.close()


def test_work_that_has_more_to_do_does_not_wait_and_ends_when_it_is_closed():
    calls, enough = [], threading.Event()

    def work():
        calls.append(None)
        if len(calls) == 3:
            enough.set()
        return True

    # An hour: without more to do, there would be one call.
    every = Every(3600, work, "work")
    assert enough.wait(30)
    every.close()
    assert not any(thread.name == "erkle-work" for thread in threading.enumerate())
