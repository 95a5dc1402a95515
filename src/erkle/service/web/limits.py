"""Rate limits: token buckets in memory.

A bucket holds at most ``burst`` tokens and gains ``per_second``. Each request takes one, or one for each byte that it
makes the server store. When there are too many buckets, the least recently used one is dropped. Each worker process
counts for itself.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Annotated

from fastapi import Depends, Request

from erkle.service.configuration import Configuration, Rate
from erkle.service.web.errors import Problem
from erkle.service.web.middleware.addressing import address_of

# Buckets per rate; the least recently used one is dropped.
_MOST = 20_000


class Buckets:
    """One bucket for each key, and at most ``most`` buckets.

    Examples
    --------
    >>> tries = Buckets(Rate(per_second=0.5, burst=2), clock=lambda: 0.0)
    >>> [tries.wait("ann") for _ in range(3)], tries.wait("bob")
    ([0.0, 0.0, 2.0], 0.0)
    """

    def __init__(self, rate: Rate, most: int = _MOST, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, most, clock
        # For each key, the time at which its bucket is full again.
        self._full: OrderedDict[Hashable, float] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._full)

    def wait(self, key: Hashable, cost: float = 1.0) -> float:
        """Take ``cost`` tokens and return 0, or return the seconds until there are that many."""
        if self._rate.per_second == 0:
            return 0.0
        now, step = self._clock(), 1 / self._rate.per_second
        with self._lock:
            full = max(self._full.get(key, now), now) + cost * step
            late = full - now - self._rate.burst * step
            # A rounding error must not refuse the last token.
            if late > 1e-9 * step:
                return late
            self._full[key] = full
            self._full.move_to_end(key)
            if len(self._full) > self._most:
                self._full.popitem(last=False)
        return 0.0


class Limits:
    """The rate limits of one address. A method raises a `Problem` with status 429 when a limit is exceeded.

    Parameters
    ----------
    buckets : dict of Buckets
        The application's buckets, by the name of their rate in the configuration; see `buckets_of`.
    address : str
        The address of the client.
    """

    def __init__(self, buckets: dict[str, Buckets], address: str) -> None:
        self._buckets, self._address = buckets, address

    def login(self, name: str) -> None:
        """Count an attempt to log in.

        One address has few attempts per account name. All addresses together have more, so that somebody who guesses
        from one address does not lock the owner out.
        """
        self.link()
        self._take("login_rate", (self._address, name))
        self._take("login_name_rate", name)

    def link(self) -> None:
        """Count an attempt to use a one-time link."""
        self._take("login_address_rate", self._address)

    def join(self) -> None:
        """Count an attempt to join a study."""
        self._take("join_rate", self._address)

    def answer(self, participant: str) -> None:
        """Count an answer, a skip or a resumption of a participant."""
        self._take("answer_address_rate", self._address)
        self._take("answer_rate", participant)

    def store(self, n_bytes: int) -> None:
        """Count bytes that a participant's request makes the server store."""
        self._take("stored_rate", self._address, n_bytes, "Too much data from this network")

    def _take(self, rate: str, key: Hashable, cost: float = 1.0, trouble: str = "Too many attempts") -> None:
        if (seconds := self._buckets[rate].wait(key, cost)) > 0:
            whole = int(seconds) + 1
            sentence = f"{trouble}; try again in {whole} second{'s' * (whole > 1)}."
            raise Problem(429, "too-often", sentence, headers={"Retry-After": str(whole)})


def buckets_of(configuration: Configuration) -> dict[str, Buckets]:
    """Create the buckets of an application, by the name of their rate."""
    return {name: Buckets(rate) for name, rate in configuration if isinstance(rate, Rate)}


async def _limits(request: Request) -> Limits:
    return Limits(request.app.state.buckets, address_of(request.scope))


LimitsDep = Annotated[Limits, Depends(_limits)]
