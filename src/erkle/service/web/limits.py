"""How often somebody may try: token buckets, in memory.

A bucket holds ``burst`` tokens and gains ``per_second``; each try takes one. There are at most so many buckets; the one
that was used the longest ago is forgotten first. Each worker process counts for itself.
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

__all__ = ["Buckets", "Limits", "LimitsDep"]

_MOST = 20_000


class Buckets:
    """One bucket for each key, at most so many.

    Examples
    --------
    >>> tries = Buckets(Rate(per_second=0.5, burst=2), clock=lambda: 0.0)
    >>> [tries.wait("ann") for _ in range(3)], tries.wait("bob")
    ([0.0, 0.0, 2.0], 0.0)
    """

    def __init__(self, rate: Rate, most: int = _MOST, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, most, clock
        # For each key, the moment at which its bucket will be full again.
        self._full: OrderedDict[Hashable, float] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._full)

    def wait(self, key: Hashable) -> float:
        """Take a token and return 0, or take none and return how many seconds it takes until there is one."""
        if self._rate.per_second == 0:
            return 0.0
        now, step = self._clock(), 1 / self._rate.per_second
        with self._lock:
            full = max(self._full.get(key, now), now) + step
            late = full - now - self._rate.burst * step
            # Rounding must not refuse the last token.
            if late > 1e-9 * step:
                return late
            self._full[key] = full
            self._full.move_to_end(key)
            if len(self._full) > self._most:
                self._full.popitem(last=False)
        return 0.0


class Limits:
    """The buckets of an application; a method that refuses raises a `Problem` with status 429."""

    def __init__(self, configuration: Configuration) -> None:
        self._guess = Buckets(configuration.login_rate)
        self._name = Buckets(configuration.login_name_rate)
        self._address = Buckets(configuration.login_address_rate)
        self._join = Buckets(configuration.join_rate)
        self._answer = Buckets(configuration.answer_rate)
        self._answer_address = Buckets(configuration.answer_address_rate)

    def login(self, address: str, name: str) -> None:
        """A password is tried.

        Of one name an address has few tries. All together have more, so that whoever guesses from one place does not
        keep the owner out.
        """
        self.link(address)
        _refuse(self._guess.wait((address, name)))
        _refuse(self._name.wait(name))

    def link(self, address: str) -> None:
        """A one-time link is tried."""
        _refuse(self._address.wait(address))

    def join(self, address: str) -> None:
        """Somebody wants to take part."""
        _refuse(self._join.wait(address))

    def answer(self, address: str, participant: str) -> None:
        """A participant answers, skips or resumes."""
        _refuse(self._answer_address.wait(address))
        _refuse(self._answer.wait(participant))


class Guard:
    """The limits of whoever sends a request."""

    def __init__(self, limits: Limits, address: str) -> None:
        self._limits, self._address = limits, address

    def login(self, name: str) -> None:
        """See `Limits.login`."""
        self._limits.login(self._address, name)

    def link(self) -> None:
        """See `Limits.link`."""
        self._limits.link(self._address)

    def join(self) -> None:
        """See `Limits.join`."""
        self._limits.join(self._address)

    def answer(self, participant: str) -> None:
        """See `Limits.answer`."""
        self._limits.answer(self._address, participant)


async def _guard(request: Request) -> Guard:
    return Guard(request.app.state.limits, address_of(request.scope))


LimitsDep = Annotated[Guard, Depends(_guard)]


def _refuse(seconds: float) -> None:
    if seconds > 0:
        whole = int(seconds) + 1
        raise Problem(
            429,
            "too-often",
            f"This was tried too often; try again in {whole} second{'s' * (whole > 1)}.",
            headers={"Retry-After": str(whole)},
        )
