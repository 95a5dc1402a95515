"""`erkle demo`: learn a map of Europe from answers about which of two cities is nearer, a tenth of them wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from erkle.cli.options import Out, results_folder
from erkle.cli.screen import compile_first, console, learning_bar, per_cent, waiting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from erkle.cli.learn.curve import ErrorCurve
    from erkle.datasets import Cities
    from erkle.online import ERKLE

# Answers learned between two updates of the bar.
_PIECE = 100
# Questions that the learned kernel is tested on.
_N_TEST = 20_000
# Questions with the nearer city first. The last one is hard: both cities are about 500 km from Berlin.
_EXAMPLES = (("Paris", "Lyon", "Madrid"), ("Lisbon", "Madrid", "Moscow"), ("Berlin", "Munich", "Warsaw"))


def demo(
    answers: Annotated[int, typer.Option(help="Number of simulated answers.")] = 10_000,
    wrong: Annotated[float, typer.Option(help="Share of the answers that are wrong.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of the questions and of the wrong answers.")] = 0,
    out: Out = Path("erkle-demo"),
) -> None:
    """Learn a map of Europe from simulated answers to "Is Paris nearer to Lyon or to Madrid?"."""
    if answers < 100:
        raise ValueError(f"--answers is {answers}; pass at least 100.")
    if not 0.0 <= wrong <= 1.0:
        raise ValueError(f"--wrong is {wrong}; pass a share from 0 to 1.")
    with results_folder(out):
        _run(answers, wrong, seed, out)


def _run(n_answers: int, wrong: float, seed: int, out: Path) -> None:
    """Simulate answers, learn them, compare with the true map, and write kernel.npz and map.png."""
    question = 'questions such as "Is Paris nearer to Lyon or to Madrid?"'
    console.print(f"Learning a map of Europe from {n_answers:,} answers to {question}", style="bold", soft_wrap=True)
    n_wrong = round(wrong * n_answers)
    console.print(f"{n_wrong:,} of the answers are wrong on purpose. The learner gets no coordinates.")
    with waiting("Loading libraries"):
        from erkle.datasets import city_answers, load_cities
        from erkle.online import ERKLE

    cities = load_cities()
    learner = ERKLE(len(cities.names), random_state=seed)
    compile_first(learner)
    curve = _learn(learner, city_answers(n_answers, wrong, seed))
    with waiting("Drawing the map"):
        off = _write(learner, n_answers, cities, out)
    _report(learner, off, curve, wrong, seed, cities)
    console.print(f"The map is in {out / 'map.png'}, beside the true one.", style="bold", soft_wrap=True)
    console.print(f"The learner is in {out / 'kernel.npz'}.", soft_wrap=True)


def _learn(learner: ERKLE, T: NDArray[np.int64]) -> ErrorCurve:
    from erkle.cli.learn.curve import ErrorCurve

    curve = ErrorCurve()
    learner.partial_fit([])
    with learning_bar(len(T)) as show:
        for start in range(0, len(T), _PIECE):
            curve.add(learner.prequential(T[start : start + _PIECE]))
            show(curve)
    with waiting("Fitting all answers once more"):
        learner.consolidate()
    return curve


def _write(learner: ERKLE, n_answers: int, cities: Cities, out: Path) -> NDArray[np.float64]:
    """Write the learner and the picture; return how many kilometres each city is off."""
    import numpy as np

    from erkle.embedding import align
    from erkle.pictures import maps_figure, save

    learner.save(out / "kernel.npz", labels=list(cities.names))
    learned = align(learner.embedding(2), cities.positions, scale=True)
    off = np.linalg.norm(learned - cities.positions, axis=1)
    _, low, high = learner.lapse_
    shown = _knows_slips(learner) and high >= 0.005
    slips = f", {100 * low:.0f} to {100 * high:.0f} % of them slips" if shown else ""
    titles = (
        f"learned from {n_answers:,} answers{slips}",
        f"where they really are: half are off by {np.median(off):,.0f} km or less",
    )
    save(maps_figure(learned, cities.positions, list(cities.names), titles), out / "map.png")
    return np.asarray(off)


def _knows_slips(learner: ERKLE) -> bool:
    from erkle.online.selection.evidence import is_lapse_known

    return is_lapse_known(learner.lapse_, learner.n_triplets_seen_)


def _report(
    learner: ERKLE, off: NDArray[np.float64], curve: ErrorCurve, wrong: float, seed: int, cities: Cities
) -> None:
    """Print in words what was learned."""
    import numpy as np

    from erkle.datasets import city_answers

    # Correct answers to new questions, from another seed.
    score = learner.score(city_answers(_N_TEST, 0.0, seed + 1))
    farthest = int(off.argmax())
    chosen = next(candidate for candidate in learner.selection_ if candidate.status == "leads")
    console.print("What it learned:", style="bold")
    console.print(f"  It predicts {per_cent(score)} of {_N_TEST:,} new questions correctly.")
    limit = f" (at most {per_cent(max(wrong, 1.0 - wrong))} is possible, because of the wrong answers)" if wrong else ""
    console.print(
        f"  While learning, it predicted {per_cent(1.0 - curve.prequential)} of the answers correctly "
        f"before it saw them{limit}.",
        soft_wrap=True,
    )
    console.print(
        f"  Half of the cities are within {np.median(off):,.0f} km of their true place; "
        f"{cities.names[farthest]} is farthest off, by {off[farthest]:,.0f} km.",
        soft_wrap=True,
    )
    if _knows_slips(learner):
        console.print(
            f"  It estimates that {learner.lapse_}. In fact, {per_cent(wrong)} are wrong on purpose.", soft_wrap=True
        )
    console.print(f"  It chose rank {chosen.setting['rank']} itself, from {len(learner.selection_)} settings.")
    for names in _EXAMPLES:
        console.print(f"  {_example(learner, names, cities)}")


def _example(learner: ERKLE, names: tuple[str, str, str], cities: Cities) -> str:
    """What is predicted for a question; the nearer city comes second in ``names``."""
    anchor, near, far = names
    [[_, sure]] = learner.predict_proba([[cities.names.index(name) for name in names]]).tolist()
    if sure >= 0.5:
        return f"{anchor} is nearer to {near} than to {far}: predicted with {per_cent(sure)} confidence."
    return (
        f"{anchor} is nearer to {near} than to {far}: predicted the other way with {per_cent(1.0 - sure)} confidence."
    )
