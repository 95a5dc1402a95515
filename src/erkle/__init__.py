"""erkle learns how similar objects are from answers to one question: is A more like B or like C?

An answer is a triplet (anchor, near, far) of ids, and a stream of answers is an (m, 3) array of integers. `ERKLE`
learns a kernel over the objects, and thus a map of them, and updates it with each answer:

>>> from erkle import ERKLE
>>> learner = ERKLE(n_objects=3)
>>> learner.learn_one((0, 1, 2))       # 0 is more like 1 than like 2
>>> learner.predict_one((0, 1, 2))
True

`ERKLE` tunes itself. `Dense` and `LowRank` are kernels for other settings, with the losses in `erkle.losses` and the
steps in `erkle.steps`. `AnswerModel` says how distances become answers. `RCKL`, `TripletEmbedding` and `Popularity`
learn from all answers at once.

Other modules: `erkle.triplets` reads and checks answers, `erkle.datasets` has example data, `erkle.conflicts` finds
contradictions, `erkle.active` chooses the next question, `erkle.metrics` and `erkle.pictures` evaluate and draw
results, `erkle.embedding` computes maps, `erkle.cluster` fits many answers on a Dask cluster, and `erkle.client` talks
to a server.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from erkle.answer_models import AnswerModel
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

__version__ = "0.2.0"

__all__ = [
    "CKL",
    "ERKLE",
    "GNMDS",
    "RCKL",
    "SOE",
    "STE",
    "TSTE",
    "AnswerModel",
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
    "AnswerModel": "answer_models",
    "ERKLE": "online",
    "Dense": "kernels.dense",
    "LowRank": "kernels.low_rank",
}
# Public modules. Everything else may change without notice.
_MODULES = (
    "active",
    "answer_models",
    "batch",
    "client",
    "cluster",
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
    # Modules are loaded on first use, so that `erkle --help` does not wait for Numba and scikit-learn.
    if name in _MODULES:
        return import_module(f"erkle.{name}")
    if name in __all__:
        return getattr(import_module(f"erkle.{_HOMES.get(name, 'steps')}"), name)
    raise AttributeError(f"module 'erkle' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
