"""How large an experiment is: the paper's sizes, and smaller ones for a look."""

from typing import NamedTuple

__all__ = ["PAPER", "QUICK", "Protocol"]


class Protocol(NamedTuple):
    """Numbers of section 5 of the paper: sizes, how often errors are measured, the mini-batch of batch methods.

    ``scenes`` is the full path of a file of answers for figures 4a and 4b, if there is one.
    """

    name: str
    n_small: int
    n_train: int
    n_large: int
    n_train_large: int
    n_test_large: int
    n_train_music: int
    n_train_scenes: int
    every: int
    every_large: int
    mini_batch: int
    n_traces: int
    most_passes: int
    max_iter: int
    scenes: str = ""


PAPER = Protocol("paper", 100, 10_000, 5000, 10_000, 50_000, 10_000, 1000, 100, 500, 100, 10, 10, 1000)
QUICK = Protocol("quick", 100, 3000, 300, 3000, 20_000, 3000, 1000, 100, 500, 500, 3, 4, 100)
