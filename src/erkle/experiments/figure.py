"""What a figure is: whose curves it shows, and what the paper says of them."""

from collections.abc import Callable
from typing import NamedTuple

from erkle.experiments.curves import Curves

__all__ = ["Claim", "Figure"]


class Claim(NamedTuple):
    """A sentence of the paper, what we measured, whether it holds, and why not if it does not."""

    paper: str
    measured: str
    holds: bool
    remark: str = ""


class Figure(NamedTuple):
    """One figure of the paper."""

    name: str
    title: str
    world: str
    methods: tuple[str, ...]
    y: str
    claims: Callable[[Curves], list[Claim]]
    x: str = "answers"
    note: str = ""
