"""How far fits of many answers have got, for whoever wants to show it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class FitProgress(NamedTuple):
    """One of several fits of the same answers, one after the other, and its iteration; both count from 1.

    A fit may need fewer iterations than ``n_iterations``.
    """

    n_answers: int
    fit: int
    n_fits: int
    iteration: int
    n_iterations: int

    @property
    def share(self) -> float:
        """The share of all iterations that are done, if no fit ends early."""
        return (self.fit - 1 + (self.iteration - 1) / self.n_iterations) / self.n_fits


Listener = Callable[[FitProgress], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def told_to(listener: Listener) -> Iterator[None]:
    """Call the listener before each iteration of fits of many answers inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(progress: FitProgress) -> None:
    """Tell the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(progress)
