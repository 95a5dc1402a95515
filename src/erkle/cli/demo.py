"""`erkle demo`: a map of Europe from answers about which city is nearer, a tenth of them wrong."""

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

_PIECE = 100
_N_TRUE = 20_000


def demo(
    answers: Annotated[int, typer.Option(help="Number of simulated answers.")] = 10_000,
    wrong: Annotated[float, typer.Option(help="Share of them that are wrong.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Decides the questions and the wrong answers.")] = 0,
    out: Out = Path("erkle-demo"),
) -> None:
    """Learn a map of Europe from answers to "is Paris nearer to Lyon or to Madrid?", a tenth of them wrong."""
    with results_folder(out):
        _run(answers, wrong, seed, out)


def _run(n_answers: int, wrong: float, seed: int, out: Path) -> None:
    """Simulate, learn, compare with the truth, and leave kernel.npz and map.png behind."""
    from erkle.datasets import city_answers, load_cities
    from erkle.kernels.low_rank import LowRank
    from erkle.online import ERKLE

    if n_answers < 100:
        raise ValueError(f"--answers is {n_answers}; pass at least 100.")
    if not 0.0 <= wrong <= 1.0:
        raise ValueError(f"--wrong is {wrong}; pass a share from 0 to 1.")
    cities = load_cities()
    T = city_answers(n_answers, wrong, seed)
    learner = ERKLE(len(cities.names), kernel=LowRank(), random_state=seed)
    compile_first(learner)
    anchor, b, c = (cities.names[i] for i in T[0])
    console.print(f"Is {anchor} nearer to {b} or to {c}? ", style="bold", end="")
    console.print(f"{n_answers:,} such questions about {len(cities.names)} cities, {per_cent(wrong)} answered wrongly.")
    curve = _learn(learner, T)
    _show(learner, curve, cities, seed, out)


def _learn(learner: ERKLE, T: NDArray[np.int64]) -> ErrorCurve:
    from erkle.cli.learn.curve import ErrorCurve

    curve = ErrorCurve()
    learner.partial_fit([])
    with learning_bar(len(T)) as show:
        for start in range(0, len(T), _PIECE):
            curve.add(learner.prequential(T[start : start + _PIECE]))
            show(curve)
    with waiting("Fitting all answers once more."):
        learner.consolidate()
    return curve


def _show(learner: ERKLE, curve: ErrorCurve, cities: Cities, seed: int, out: Path) -> None:
    from erkle import metrics
    from erkle.cli.learn.findings import choice
    from erkle.datasets import city_answers
    from erkle.embedding import align
    from erkle.pictures import maps_figure, save

    learner.save(out / "kernel.npz", labels=list(cities.names))
    learned = align(learner.embedding(2), cities.positions, scale=True)
    titles = (f"learned from {curve.n_answers:,} answers", "where they really are")
    save(maps_figure(learned, cities.positions, list(cities.names), titles), out / "map.png")
    # Questions of another seed, answered rightly: how much of Europe has been understood, noise aside.
    truth = city_answers(_N_TRUE, 0.0, seed + 1)
    apart = metrics.procrustes_disparity(learned, cities.positions)
    console.print(f"Predicted wrongly before learning: {per_cent(curve.prequential)}, wrong answers included.")
    console.print(f"Chosen: {choice(learner.selection_)}.")
    console.print(f"Wrong on {_N_TRUE:,} questions with right answers: {per_cent(1.0 - learner.score(truth))}")
    console.print(f"Distance of the learned map from the true one (Procrustes, 0 to 1): {apart:.3f}")
    console.print(f"Look at {out / 'map.png'}; the kernel is in {out / 'kernel.npz'}.", style="bold")
