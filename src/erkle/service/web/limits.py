"""Rate limits: token buckets in memory.

A bucket holds at most ``burst`` tokens and gains ``per_second``. Each request takes one, or one for each byte that it
makes the server store. When there are too many buckets, the least recently used one is dropped. Each worker process
counts for itself.

The limit of an address is checked before the body of a request is read. Limits of names and participants, which are
in the body, are checked by the routes.
"""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Annotated

from fastapi import Depends, Request
from starlette.types import Scope

from erkle.service.configuration import Configuration, Rate
from erkle.service.web.errors import Problem
from erkle.service.web.middleware.addressing import address_of, site_of
from erkle.store import limits as sizes
from erkle.store.names import folded

# Buckets per rate; the least recently used one is dropped.
_MOST = 20_000
# How many times the rate and burst of one address all addresses of an IPv6 site have together.
_SITE = 8
_OFTEN = "Too many attempts"
# The rates of requests that anybody may send, by path; other requests have `request_rate`. The patterns end with $, as
# those of routes do: it also matches before a newline.
_RATES = (
    (re.compile(r"/api/(?:login|setup|invited|enter|password)$"), "login_address_rate"),
    (re.compile(r"/api/take/[^/]+/join$"), "join_rate"),
    (re.compile(r"/api/take/[^/]+/(?:resume|answer|skip)$"), "answer_address_rate"),
)


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

    def wait(self, key: Hashable, size: int = 1, cost: float = 1.0) -> float:
        """Take ``cost`` tokens and return 0, or return the seconds until there are that many.

        A key of a ``size`` has that many times the rate and the burst.
        """
        if self._rate.per_second == 0:
            return 0.0
        now, step = self._clock(), 1 / (self._rate.per_second * size)
        with self._lock:
            full = max(self._full.get(key, now), now) + cost * step
            late = full - now - self._rate.burst * size * step
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
    site : str, optional
        The site of an IPv6 address, which is counted as well.
    """

    def __init__(self, buckets: dict[str, Buckets], address: str, site: str | None = None) -> None:
        self._buckets, self._address, self._site = buckets, address, site

    def request(self, method: str, path: str) -> None:
        """Count a request."""
        self._take_address(rate_of(method, path))

    def login(self, name: str) -> None:
        """Count an attempt to log in.

        One address has few attempts per account name. All addresses together have more, so that somebody who guesses
        from one address or one site does not lock the owner out.
        """
        # No account has a longer name, but a letter can become eighteen when it is folded.
        name = folded(name)[: sizes.ACCOUNT_NAME]
        self._take_address("login_rate", name)
        self._take("login_name_rate", name)

    def answer(self, participant: str) -> None:
        """Count an answer, a skip or a resumption of a participant."""
        self._take("answer_rate", participant)

    def store(self, n_bytes: int) -> None:
        """Count bytes that a participant's request makes the server store."""
        self._take_address("stored_rate", "", n_bytes, "Too much data from this network")

    def _take_address(self, rate: str, name: str = "", cost: float = 1.0, trouble: str = _OFTEN) -> None:
        self._take(rate, (self._address, name), 1, cost, trouble)
        if self._site is not None:
            self._take(rate, (self._site, name), _SITE, cost, trouble)

    def _take(self, rate: str, key: Hashable, size: int = 1, cost: float = 1.0, trouble: str = _OFTEN) -> None:
        if (seconds := self._buckets[rate].wait(key, size, cost)) > 0:
            whole = int(seconds) + 1
            sentence = f"{trouble}; try again in {whole} second{'s' * (whole > 1)}."
            raise Problem(429, "too-often", sentence, headers={"Retry-After": str(whole)})


def buckets_of(configuration: Configuration) -> dict[str, Buckets]:
    """Create the buckets of an application, by the name of their rate."""
    return {name: Buckets(rate) for name, rate in configuration if isinstance(rate, Rate)}


def rate_of(method: str, path: str) -> str:
    """Return the name of the rate that limits a request by its address.

    >>> rate_of("POST", "/api/take/x/join"), rate_of("GET", "/login")
    ('join_rate', 'request_rate')
    """
    found = (rate for pattern, rate in _RATES if method == "POST" and pattern.match(path))
    return next(found, "request_rate")


def limits_of(scope: Scope) -> Limits:
    """Return the limits of the address that sends a request."""
    return Limits(scope["app"].state.buckets, address_of(scope), site_of(scope))


async def _limits(request: Request) -> Limits:
    return limits_of(request.scope)


LimitsDep = Annotated[Limits, Depends(_limits)]
