"""Sums over many answers, computed by the workers of a Dask cluster.

Law: the result has the same bits as on one machine, whatever the number of workers and however many of them are lost.

Each worker gets groups of parts (see `erkle.summing`) that are neighbours. The parts are sent once and stay there. For
each sum, the coordinates go to all workers, and only the total and one gradient come back. This process keeps all
answers, so it can send the parts of a lost worker to others and compute the sum again.
"""

from __future__ import annotations

import asyncio
import hashlib
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from erkle.interruption import uninterrupted
from erkle.sources import OTHER_SOURCES, sources_stamp
from erkle.summing import (
    Floats,
    Group,
    Held,
    Part,
    Sum,
    Summand,
    Sums,
    added,
    computed_at,
    group_sum,
    in_pairs,
    values_of,
)

__all__ = ["ClusterError", "on_dask"]

# Dask's own types are known only once it is imported.
Client = Any
Future = Any
# The name of an array on the workers: that of its part, and for answers also their digest.
Name = tuple[int | str, ...]
# The arrays of each group: their names, and functions that make them.
Arrays = list[list[tuple[Name, Callable[[], NDArray[Any]]]]]

# Most attempts at a sum.
_ATTEMPTS = 8
# Most arrays in one message to a worker.
_BATCH = 32
# Seconds after which a waiting thread looks for Ctrl-C, and for workers that have left.
_PATIENCE, _LOOK = 0.1, 2.0


class ClusterError(ConnectionError):
    """A cluster has no scheduler or no workers any more. What was learned before is kept."""


class _WorkerLost(Exception):
    """A worker has left that was needed."""


def dask_distributed() -> Any:
    """The module `dask.distributed`."""
    try:
        return import_module("dask.distributed")
    except ImportError:
        raise ImportError("Dask is not installed; install it with: pip install 'erkle[dask]'") from None


@contextmanager
def on_dask(scheduler: str | Client, timeout: float = 30.0) -> Iterator[None]:
    """Compute the fits inside the block on a Dask cluster, if they are fits of a million answers or more.

    Fits of fewer answers, online steps and predictions stay in this process. The result is the same, to the last bit.

    Parameters
    ----------
    scheduler : str or dask.distributed.Client
        Address of the scheduler, such as ``"tcp://192.0.2.1:8786"``; or a client, for example of a `LocalCluster`.
    timeout : float
        Seconds to wait for the scheduler, and for a worker if there is none, before a `ClusterError` is raised.

    Examples
    --------
    >>> from erkle import ERKLE, cluster
    >>> from erkle.datasets import city_answers
    >>> with cluster.on_dask("tcp://192.0.2.1:8786"):             # doctest: +SKIP
    ...     learner = ERKLE(65).fit(city_answers(2_000_000))
    """
    distributed = dask_distributed()
    if isinstance(scheduler, distributed.Client):
        with computed_at(Cluster(scheduler, timeout)):
            yield
        return
    try:
        client = distributed.Client(scheduler, timeout=timeout, set_as_default=False)
    except OSError as error:
        raise ClusterError(f"There is no Dask scheduler at {scheduler}; start one with: dask scheduler") from error
    try:
        with computed_at(Cluster(client, timeout)):
            yield
    finally:
        client.close()


class Cluster:
    """The workers of a Dask cluster; see `erkle.summing.Place`."""

    def __init__(self, client: Client, timeout: float) -> None:
        self.client = client
        self._timeout = timeout
        self._address = client.scheduler.address
        # The worker of each group, by the number of its first part.
        self._homes: dict[int, str] = {}
        # The workers and their numbers of threads.
        self._threads_of: dict[str, int] = {}
        # The parts that have been sent.
        self._sent: dict[Name, Future] = {}
        # The workers that have the same sources as this process.
        self._same: set[str] = set()

    def hold(self, groups: list[list[Part]]) -> Held:
        """See `Place.hold`. Parts with the same answers as before stay where they are."""
        arrays: Arrays = [
            [((part.number, _digest(part)), partial(getattr, part, "T")) for part in group] for group in groups
        ]
        for name in self._sent.keys() - {name for name, _ in chain.from_iterable(arrays)}:
            del self._sent[name]
        return _HeldThere(self, groups, arrays, self._sent)

    def homes(self, groups: list[list[Part]]) -> list[str]:
        """A worker for each group; the same as before, as far as possible."""
        self._threads_of = threads = self._threads()
        self._check_sources(threads)
        numbers = [group[0].number for group in groups]
        found = assigned([self._homes.get(number, "") for number in numbers], threads)
        self._homes = dict(zip(numbers, found, strict=True))
        return found

    def _threads(self) -> dict[str, int]:
        """The workers and their numbers of threads. If there are none, wait for one."""
        end = time.monotonic() + self._timeout
        while not (threads := self._ask(self.client.nthreads)):
            if time.monotonic() > end:
                raise ClusterError(f"The Dask scheduler {self._address} has no workers; start one with: dask worker")
            time.sleep(_PATIENCE)
        return dict(threads)

    def _check_sources(self, workers: Iterable[str]) -> None:
        """Raise an error if a worker has other sources, which might compute something else; or the scheduler."""
        new = [worker for worker in workers if worker not in self._same]
        run = partial(self.client.run, sources_stamp, workers=new, on_error="return")
        found = self._wait(run, new) if new else {}
        if self._address not in self._same:
            found[self._address] = self._scheduler_stamp()
        for address, stamp in found.items():
            if stamp == sources_stamp():
                self._same.add(address)
            elif isinstance(stamp, str):
                raise ValueError(OTHER_SOURCES)
            elif not isinstance(stamp, OSError):
                raise ImportError(f"{address} cannot import erkle ({stamp}); install the same version on all machines.")
            # After an OSError, the worker has left.

    def _scheduler_stamp(self) -> Any:
        try:
            return self._ask(self.client.run_on_scheduler, sources_stamp)
        except ImportError as error:
            return error

    def on_workers(self, arrays: Arrays, homes: list[str], sent: dict[Name, Future]) -> list[list[Future]]:
        """The arrays of each group on its worker. Send those that are not there, or no longer."""
        places = self._places([future for future in sent.values() if future.status == "finished"])
        missing: Arrays = []
        for home, group in zip(homes, arrays, strict=True):
            there = {name for name, _ in group if name in sent and home in places.get(sent[name].key, ())}
            missing.append([(name, make) for name, make in group if name not in there])
        for home, group in zip(homes, missing, strict=True):
            for start in range(0, len(group), _BATCH):
                batch = group[start : start + _BATCH]
                futures = self.send([make() for _, make in batch], home)
                sent.update(zip((name for name, _ in batch), futures, strict=True))
        return [[sent[name] for name, _ in group] for group in arrays]

    def _places(self, futures: list[Future]) -> dict[str, Sequence[str]]:
        return dict(self._ask(self.client.who_has, futures)) if futures else {}

    def send(self, arrays: list[NDArray[Any]], home: str) -> list[Future]:
        """Send arrays to a worker."""
        scatter = partial(self.client.scatter, arrays, workers=[home], hash=False)
        try:
            futures: list[Future] = self._wait(scatter, [home])
        except KeyError as error:
            # The scheduler does not know the worker any more.
            raise _WorkerLost(f"{home} has left") from error
        return futures

    def submit(self, home: str, task: Callable[..., Any], *args: Any) -> _Task:
        """Let a worker compute something."""
        return _Task(self.client.submit(task, *args, workers=[home], pure=False), home)

    def share(self, home: str, homes: list[str]) -> int:
        """The number of its groups that each thread of a worker sums up."""
        return -(-homes.count(home) // self._threads_of[home])

    def result(self, future: Future, homes: Iterable[str]) -> Any:
        """A result that needs these workers."""
        return self._wait(partial(self.client.gather, future), homes)

    def _wait(self, question: Callable[[], Any], homes: Iterable[str]) -> Any:
        """The answer to a question, unless one of these workers leaves before it comes."""

        async def asked() -> Any:
            return await question()

        answer = asyncio.run_coroutine_threadsafe(asked(), self.client.loop.asyncio_loop)
        look = time.monotonic() + _LOOK
        try:
            while not wait([answer], _PATIENCE).done:
                if time.monotonic() > look:
                    self._check_presence(homes)
                    look = time.monotonic() + _LOOK
            return answer.result()
        finally:
            answer.cancel()

    def _check_presence(self, workers: Iterable[str]) -> None:
        if gone := set(workers) - self._threads().keys():
            raise _WorkerLost(f"{min(gone)} has left")

    def _ask(self, question: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Ask the scheduler. While it does not answer, the client tries to connect again."""
        end = time.monotonic() + self._timeout
        while True:
            try:
                left = max(_PATIENCE, end - time.monotonic())
                return self.client.sync(question, *args, callback_timeout=left, **options)
            except Exception as error:
                if self.client.status in ("closing", "closed") or time.monotonic() > end:
                    raise ClusterError(
                        f"The Dask scheduler {self._address} does not answer any more; start it again."
                    ) from error
                if not isinstance(error, OSError):
                    raise
            time.sleep(_PATIENCE)


class _Task(NamedTuple):
    """What a worker computes."""

    future: Future
    home: str


class _Share(NamedTuple):
    """A group on its worker: its parts, and a value or values for each part."""

    home: str
    parts: list[Future]
    values: list[Future] | float


class _HeldThere(NamedTuple):
    """Parts on workers."""

    cluster: Cluster
    groups: list[list[Part]]
    arrays: Arrays
    sent: dict[Name, Future]

    def given(self, own: Floats | float) -> Sums:
        """See `Held.given`."""
        if not isinstance(own, np.ndarray):
            return _SumsThere(self, own, [], {})
        arrays: Arrays = [[((part.number,), partial(values_of, part, own)) for part in group] for group in self.groups]
        return _SumsThere(self, None, arrays, {})


class _SumsThere(NamedTuple):
    """Parts on workers, with the same value for all answers, or an array of values next to each part."""

    held: _HeldThere
    same: float | None
    arrays: Arrays
    sent: dict[Name, Future]

    def sum(self, summand: Summand, shape: tuple[int, ...], *shared: Any) -> Sum:
        """See `Sums.sum`. After the loss of a worker, others get its parts, and the sum is repeated."""
        cluster, distributed = self.held.cluster, dask_distributed()
        for _ in range(_ATTEMPTS):
            try:
                homes = cluster.homes(self.held.groups)
                found: Sum = cluster.result(self._submitted(homes, summand, shape, shared), homes)
                return found
            except ClusterError:
                raise
            except (_WorkerLost, OSError, distributed.CancelledError, distributed.KilledWorker) as error:
                lost = error
                time.sleep(_PATIENCE)
        raise ClusterError(
            f"Workers were lost {_ATTEMPTS} times during one sum ({lost}); see their logs. They may need more memory."
        ) from lost

    def _submitted(self, homes: list[str], summand: Summand, shape: tuple[int, ...], shared: tuple[Any, ...]) -> Future:
        """The sum, as a future."""
        cluster, held = self.held.cluster, self.held
        parts = cluster.on_workers(held.arrays, homes, held.sent)
        values: Iterable[list[Future] | float] = repeat(self.same or 0.0)
        if self.same is None:
            values = cluster.on_workers(self.arrays, homes, self.sent)
        # Arrays go to one worker, and from there to the others.
        arrays = cluster.send([one for one in shared if isinstance(one, np.ndarray)], homes[0])
        rest = _packed(summand, shape, [None if isinstance(one, np.ndarray) else one for one in shared])
        shares = [_Share(*share) for share in zip(homes, parts, values, strict=False)]
        with uninterrupted():
            return self._tree(shares, {home: cluster.share(home, homes) for home in homes}, rest, arrays).future

    def _tree(self, shares: list[_Share], most: dict[str, int], rest: bytes, arrays: list[Future]) -> _Task:
        """The sum of groups, added in the order of `in_pairs`; a thread of a worker sums up to so many at once."""
        cluster, home = self.held.cluster, shares[0].home
        if all(share.home == home for share in shares) and len(shares) <= most[home]:
            parts, values = [share.parts for share in shares], [share.values for share in shares]
            return cluster.submit(home, _groups_sum, rest, arrays, parts, values)
        # The largest power of two below the number of groups.
        half = 1 << (len(shares) - 1).bit_length() - 1
        one, other = (self._tree(half_of, most, rest, arrays) for half_of in (shares[:half], shares[half:]))
        return cluster.submit(one.home, added, one.future, other.future)


def assigned(before: list[str], threads: dict[str, int]) -> list[str]:
    """A worker for each group, given the worker that had it before; a worker gets groups in proportion to its threads.

    A worker keeps its groups unless there are too many. Other groups go to workers in order, so that neighbours share
    a worker.

    >>> assigned(["", "", "", ""], {"A": 1, "B": 1})
    ['A', 'A', 'B', 'B']
    >>> assigned(["A", "A", "B", "B"], {"A": 1, "C": 1})
    ['A', 'A', 'C', 'C']
    """
    workers, room, n_assigned = sorted(threads), {}, 0
    for i, worker in enumerate(workers, 1):
        share = sum(threads[one] for one in workers[:i]) / sum(threads.values())
        room[worker] = round(len(before) * share) - n_assigned
        n_assigned += room[worker]
    after = []
    for home in before:
        keeps = room.get(home, 0) > 0
        if keeps:
            room[home] -= 1
        after.append(home if keeps else "")
    others = chain.from_iterable(repeat(worker, n) for worker, n in room.items())
    return [home or next(others) for home in after]


def _groups_sum(
    rest: bytes, arrays: list[Floats], groups: list[list[NDArray[np.int32]]], values: list[list[Floats] | float]
) -> Sum:
    """The sum of groups, in a worker."""
    summand, shape, shared = _unpacked(rest)
    waiting = iter(arrays)
    given = tuple(next(waiting) if one is None else one for one in shared)
    sums = (
        group_sum(summand, _with_values(parts, own), shape, given) for parts, own in zip(groups, values, strict=True)
    )
    found: Sum = in_pairs(sums, added)
    return found


def _with_values(parts: list[NDArray[np.int32]], own: list[Floats] | float) -> Group:
    values = own if isinstance(own, list) else (np.full(len(T), own) for T in parts)
    return zip(parts, values, strict=True)


def _packed(*values: Any) -> bytes:
    """Values for a task, as bytes: Dask would close a worker that cannot import what they need."""
    try:
        packed: bytes = import_module("cloudpickle").dumps(values)
    except Exception as error:
        raise _cannot_be_sent(error) from error
    return packed


def _unpacked(packed: bytes) -> Any:
    try:
        return pickle.loads(packed)
    except Exception as error:
        raise _cannot_be_sent(error) from None


def _cannot_be_sent(error: Exception) -> TypeError:
    return TypeError(
        f"The loss cannot be sent to the workers ({error}); define it in your script, or in a module that all machines "
        "can import."
    )


def _digest(part: Part) -> str:
    return hashlib.sha256(part.T.data).hexdigest()
