"""`python -m benchmarks.marks`: how often participants are marked who answer carefully, and who do not.

Careful participants answer according to an answer model in which 2 % are slips. The others slip in 10 %, always choose
the same side, toss coins, or answer too fast. Everything goes through the store, the learner and the dashboard.
"""

import os

# One BLAS thread. It must be set before a BLAS is loaded.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.data import markdown
from erkle import AnswerModel, triplets
from erkle.datasets import answered
from erkle.service.dashboard.participants.marks import MarkKind
from erkle.service.dashboard.participants.rows import rows_of_log
from erkle.service.studies.spec import StudySettings
from erkle.store import Imported, Kind, Store

BEHAVIOURS = ("careful", "many slips", "left only", "right only", "at random", "too fast")
# The limits of the marks were chosen on seeds 0 to 7.
_SEEDS = range(100, 120)
_OBJECTS, _DIMENSIONS, _ANSWERS = 40, 2, 50
# Careful participants of a study, and participants of each of the other behaviours.
_CAREFUL, _EACH = 40, 2
_PEOPLE = AnswerModel(3.0, power=0.5, lapse=0.02)
_SLIPPING = AnswerModel(3.0, power=0.5, lapse=0.1)
# Every 15th question is a catch question, as by default; a tenth of the others are repeated.
_CATCH_EVERY, _REPEATED = 15, 0.1


def main() -> None:
    counts = {behaviour: Counter[str]() for behaviour in BEHAVIOURS}
    for seed in _SEEDS:
        for behaviour, kinds in marked(seed):
            counts[behaviour].update({"people": 1, "any": bool(kinds), **dict.fromkeys(kinds, 1)})
    columns = ["people", "any", *MarkKind]
    rows = [[behaviour, *(str(counts[behaviour][name]) for name in columns)] for behaviour in BEHAVIOURS]
    print(markdown(["answers", "participants", "marked", *MarkKind], rows))


def marked(seed: int) -> list[tuple[str, set[str]]]:
    """Return the behaviour of each participant of a simulated study, and the kinds of their marks."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((_OBJECTS, _DIMENSIONS))
    catches = _easiest(points, rng)
    names = [f"o{number}" for number in range(_OBJECTS)]
    catch = [dict(zip(("anchor", "near", "far"), (names[i] for i in each), strict=True)) for each in catches]
    settings = StudySettings.model_validate({"checks": {"catch": catch}}).model_dump(mode="json")
    behaviours = ["careful"] * _CAREFUL + [name for name in BEHAVIOURS[1:] for _ in range(_EACH)]
    rng.shuffle(behaviours)
    people = [_answers(f"{i} {name}", name, points, catches, rng) for i, name in enumerate(behaviours)]
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "erkle.db") as store:
        study = store.studies.create("Marks", names, settings)
        # In turns, as if all took part at the same time.
        store.imports.append(study.id, [answer for turn in zip(*people, strict=True) for answer in turn])
        rows = rows_of_log(store, study)
    return [(str(row.parameters["participant"]).split(" ", 1)[1], {mark.kind for mark in row.marks}) for row in rows]


def _answers(
    name: str, behaviour: str, points: np.ndarray, catches: np.ndarray, rng: np.random.Generator
) -> list[Imported]:
    """Return the answers of one participant."""
    kinds = [Kind.CATCH if (i + 1) % _CATCH_EVERY == 0 else Kind.CHOSEN for i in range(_ANSWERS)]
    questions = triplets.sample(_OBJECTS, _ANSWERS, rng)
    for i, kind in enumerate(kinds):
        if kind is Kind.CATCH:
            questions[i] = rng.choice(catches)
        elif i > 10 and rng.random() < _REPEATED and kinds[i - 10] is Kind.CHOSEN:
            kinds[i], questions[i] = Kind.REPEATED, questions[i - 10]
    questions = triplets.orient(questions, rng.random(_ANSWERS) < 0.5)
    model = _SLIPPING if behaviour == "many slips" else _PEOPLE
    left, near = questions[:, 1], answered(questions, points, model, rng)[:, 1]
    if behaviour in ("left only", "right only"):
        near = questions[:, 1 if behaviour == "left only" else 2]
    elif behaviour == "at random":
        near = np.where(rng.random(_ANSWERS) < 0.5, left, questions[:, 2])
    far = questions[:, 1:].sum(axis=1) - near
    # Medians of careful participants are between one and five seconds.
    median = 250.0 if behaviour == "too fast" else float(np.exp(rng.uniform(np.log(1000), np.log(5000))))
    times = rng.lognormal(np.log(median), 0.5, _ANSWERS)
    rows = zip(questions[:, 0].tolist(), near.tolist(), far.tolist(), left.tolist(), kinds, times, strict=True)
    return [
        Imported(name, anchor, n, f, left=shown, kind=kind, strategy="random", response_ms=int(ms))
        for anchor, n, f, shown, kind, ms in rows
    ]


def _easiest(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return five questions about very different distances, each with its right answer."""
    T = answered(triplets.sample(_OBJECTS, 2000, rng), points)
    near, far = (np.linalg.norm(points[T[:, 0]] - points[T[:, column]], axis=1) for column in (1, 2))
    return T[np.argsort(near - far)[:5]]


if __name__ == "__main__":
    main()
