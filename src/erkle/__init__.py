"""erkle learns the similarity of things from answers to one question: is A more like B or like C?

An answer is a triplet (anchor, near, far) of ids, a stream of them an (m, 3) array of integers. What is learned is
a kernel over the objects, and so a map of them, kept up to date one answer at a time:

>>> from erkle import ERKLE
>>> learner = ERKLE(n_objects=3)
>>> learner.learn_one((0, 1, 2))       # 0 is more like 1 than like 2
>>> learner.predict_one((0, 1, 2))
True

The parts: `erkle.triplets` (the data), `erkle.losses` and `erkle.steps` (what an answer asks for), `ERKLE` (the
learner), `RCKL`, `TripletEmbedding` and `Popularity` (learners of all answers at once, to compare it with),
`erkle.active` (which question to ask next), `erkle.metrics`, `erkle.embedding`, `erkle.pictures` (what came of it),
`erkle.conflicts` (what answers say against each other), `erkle.datasets`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from erkle.batch import RCKL, Popularity, TripletEmbedding
    from erkle.kernels.dense import Dense
    from erkle.kernels.low_rank import LowRank
    from erkle.losses import CKL, GNMDS, SOE, STE, TSTE
    from erkle.online import ERKLE
    from erkle.steps import (
        Constant,
        Inverse,
        InverseSqrt,
        PassiveAggressive,
        PassiveAggressiveI,
        PassiveAggressiveII,
    )

__version__ = "0.1.0"

__all__ = [
    "CKL",
    "ERKLE",
    "GNMDS",
    "RCKL",
    "SOE",
    "STE",
    "TSTE",
    "Constant",
    "Dense",
    "Inverse",
    "InverseSqrt",
    "LowRank",
    "PassiveAggressive",
    "PassiveAggressiveI",
    "PassiveAggressiveII",
    "Popularity",
    "TripletEmbedding",
]

_HOMES = {
    **dict.fromkeys(("CKL", "GNMDS", "SOE", "STE", "TSTE"), "losses"),
    **dict.fromkeys(("Popularity", "RCKL", "TripletEmbedding"), "batch"),
    "ERKLE": "online",
    "Dense": "kernels.dense",
    "LowRank": "kernels.low_rank",
}
# What a user may import; everything else may change without notice.
_MODULES = (
    "active",
    "batch",
    "client",
    "conflicts",
    "datasets",
    "embedding",
    "files",
    "losses",
    "metrics",
    "online",
    "pictures",
    "steps",
    "store",
    "triplets",
)


def __getattr__(name: str) -> Any:
    # Loaded at first use, so that `erkle --help` does not wait for Numba and scikit-learn.
    if name in _MODULES:
        return import_module(f"erkle.{name}")
    if name in __all__:
        return getattr(import_module(f"erkle.{_HOMES.get(name, 'steps')}"), name)
    raise AttributeError(f"module 'erkle' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
