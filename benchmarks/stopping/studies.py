"""Simulated studies: every prediction made before learning, and the true error along the way.

A study is simulated once and kept in .cache/stopping until the sources change, so that forecasts can be compared on the
same studies.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.people.cached_results import stamp
from benchmarks.stopping.worlds import World
from erkle import ERKLE, files
from erkle.active import Adaptive, Asker

_ROOT = Path(__file__).parents[2]
_FOLDER = _ROOT / ".cache" / "stopping"
# Sources of erkle that a study depends on. The forecast is not one of them.
_SOURCES = (
    *("active", "answer_models.py", "datasets", "kernels", "losses.py", "steps.py", "triplets", "_compiled"),
    *("online/models", "online/selection", "online/erkle.py", "online/replay.py", "online/participants.py"),
)
# The true error is measured whenever there are this many times as many answers.
_RATIO = 1.04
# Share of the questions that are drawn at random when the others are adaptive, as in the service.
_HOLDOUT = 0.1


class Study(NamedTuple):
    """A simulated study.

    Attributes
    ----------
    n_objects : () array
    wrong, held_out : (m,) arrays
        Whether each question was drawn at random, and if so, whether the prediction before its answer was wrong.
    at, errors : (k,) arrays
        Numbers of answers, and the true errors after them.
    lapses : (k, 3) array
        The share of slips as it was estimated then: rate, low and high.
    """

    n_objects: NDArray[np.int64]
    wrong: NDArray[np.bool_]
    held_out: NDArray[np.bool_]
    at: NDArray[np.int64]
    errors: NDArray[np.float64]
    lapses: NDArray[np.float64]


def study(name: str, world: World, seed: int) -> Study:
    """The study from its file; it is simulated first if there is no file."""
    own = (Path(__file__), Path(__file__).with_name("worlds.py"))
    path = _FOLDER / f"{name.replace(' ', '')}-{seed}-{stamp(_SOURCES, own)}.npz"
    if not path.exists():
        _FOLDER.mkdir(parents=True, exist_ok=True)
        files.save_npz(path, simulate(world, seed)._asdict(), {})
    arrays, _ = files.load_npz(path)
    return Study(**arrays)


def simulate(world: World, seed: int) -> Study:
    """Learn answer by answer, and measure the true error from time to time."""
    drawn = world.source.draw(seed, world.per_object)
    n_answers = len(drawn.stream)
    learner = ERKLE(drawn.n_objects, random_state=seed)
    asker = Asker(drawn.questions, Adaptive(), _HOLDOUT, seed)
    moments = np.array(world.moments) * drawn.n_objects
    grid = moments[0] / 2 * _RATIO ** np.arange(np.log(2 * n_answers / moments[0]) / np.log(_RATIO))
    at = np.unique([*grid.astype(int), *moments, n_answers])
    wrong, held_out, errors, lapses = np.zeros(n_answers, np.bool_), np.ones(n_answers, np.bool_), [], []
    done = 0
    for end in at.tolist():
        if world.adaptive:
            for place in range(done, end):
                [asked] = asker.ask(learner)
                asker.answer(learner, asked, drawn.answer(asked.query))
                held_out[place] = asked.held_out
                wrong[place] = asked.held_out and asker.held_out_wrong[-1]
        else:
            wrong[done:end] = learner.prequential(drawn.stream[done:end]) <= 0.0
        done = end
        errors.append(drawn.error(learner))
        lapses.append(learner.lapse_)
    return Study(np.array(drawn.n_objects), wrong, held_out, at, np.array(errors), np.array(lapses))
