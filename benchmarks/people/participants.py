"""What it is worth to know who gave each answer, when some participants answer at random."""

from typing import Any

import numpy as np

from benchmarks.people import things
from benchmarks.people.cached_results import Unit
from erkle import ERKLE, AnswerModel, triplets
from erkle.datasets import answered

# Number of dimensions, and share of participants who answer at random.
WORLDS = tuple((d, share) for d in (2, 5) for share in (0.0, 0.1, 0.2, 0.4))
_N_OBJECTS, _N_PARTICIPANTS, _PER_PARTICIPANT, _N_TEST = 90, 50, 100, 20_000
# Answers of THINGS to learn; a third of them name the participant.
THINGS_ANSWERS = 100_000


def simulated(seed: int, d: int, share: float) -> dict[str, float]:
    """Errors against the truth without and with participants, and how many of them are marked rightly."""
    rng = np.random.default_rng([seed, 3])
    points = rng.standard_normal((_N_OBJECTS, d))
    n = _N_PARTICIPANTS * _PER_PARTICIPANT
    Q = triplets.sample(_N_OBJECTS, n, rng)
    # One participant after another, in random order, as in most studies.
    who = np.repeat(rng.permutation(_N_PARTICIPANTS), _PER_PARTICIPANT)
    careful = answered(Q, points, AnswerModel(3.0, 0.5, 0.01), rng)
    at_random = np.arange(_N_PARTICIPANTS) < share * _N_PARTICIPANTS
    T = np.where(at_random[who][:, None], triplets.orient(Q, rng.random(n) < 0.5), careful)
    test = answered(triplets.sample(_N_OBJECTS, _N_TEST, rng), points)
    without = ERKLE(_N_OBJECTS, random_state=1000 + seed).fit(T)
    model = ERKLE(_N_OBJECTS, random_state=1000 + seed).fit(T, participants=who)
    table = model.participants_
    marked = table.at_random == at_random[table.names.astype(np.int64)]
    return {
        "without": 1.0 - without.score(test),
        "with": 1.0 - model.score(test),
        "marked rightly": float(marked.mean()),
    }


def on_things(seed: int) -> dict[str, Any]:
    """Share of held-out answers of THINGS predicted rightly, without and with participants."""
    T, who, test = things.split(seed, THINGS_ANSWERS)
    without = ERKLE(things.N_OBJECTS, random_state=1000 + seed).fit(T)
    model = ERKLE(things.N_OBJECTS, random_state=1000 + seed).fit(T, participants=who)
    table = model.participants_
    return {
        "without": things.three_way(without, test),
        "with": things.three_way(model, test),
        "participants": len(table.names),
        "at random": int(table.at_random.sum()),
        "lapses": np.quantile(table.lapse, [0.1, 0.5, 0.9]).tolist(),
    }


def units(names: list[str], n_seeds: int, quick: bool) -> list[Unit]:
    found = [Unit(simulated, (seed, d, share)) for d, share in WORLDS for seed in range(n_seeds)]
    return found + ([Unit(on_things, (0,))] if things.available() and not quick else [])
