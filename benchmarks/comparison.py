"""The table that compares learners, in Markdown: errors and seconds, with the lowest error in bold."""

from collections.abc import Iterable

import numpy as np

from benchmarks.data import markdown
from benchmarks.tuning import Fit

_ABOUT = """\
# Measured by `make compare`

Held-out error by number of answers and, in brackets, CPU seconds of one fit with one thread, on a shared machine. The
values are means over {trials} trials; the lowest error is bold. The data are 100 points in 50 dimensions.

- *Default* is the learner with its default parameters. Embeddings then have two dimensions, in cblearn and in erkle.
- *Tuned* embeddings have 50 dimensions and a small random start. The settings are those with the lowest held-out error
  on the first trial. For cblearn there are six or seven settings: early stopping, its regularisers, and the size of the
  start. For erkle there are ten weights.
- The last column is the CPU time of trying all settings at 10,000 answers. A fit is stopped after 120 CPU seconds.
- cblearn runs with SciPy, its default backend, and not with PyTorch.
"""


def report(fits: Iterable[Fit]) -> str:
    """The explanation, the table, and the chosen settings."""
    fits = list(fits)
    trials = len({fit.seed for fit in fits})
    return "\n".join(
        [_ABOUT.format(trials=trials), table(fits), "", "Chosen settings, one per column:", "", chosen(fits)]
    )


def table(fits: list[Fit]) -> str:
    """One row per learner and one column per task."""
    tasks = list(dict.fromkeys(fit.task for fit in fits))
    learners = list(dict.fromkeys(fit.learner for fit in fits))
    cells = {(fit.learner, fit.task): _mean(fits, fit.learner, fit.task) for fit in fits}
    lowest = {task: min(f"{cells[learner, task][0]:.3f}" for learner in learners) for task in tasks}
    rows = []
    for learner in learners:
        of_tasks = [_cell(*cells[learner, task][:2], lowest[task]) for task in tasks]
        rows.append([learner, *of_tasks, _seconds(cells[learner, "10,000"][2])])
    return markdown(["learner", *tasks, "CPU s, all settings"], rows)


def chosen(fits: list[Fit]) -> str:
    """The chosen settings of the tuned learners."""
    names: dict[str, dict[str, str]] = {}
    for fit in fits:
        names.setdefault(fit.learner, {})[fit.task] = fit.settings
    several = {learner: of for learner, of in names.items() if "tuned" in learner}
    return "\n".join(f"- {learner}: {'; '.join(of.values())}" for learner, of in several.items())


def _mean(fits: list[Fit], learner: str, task: str) -> np.ndarray:
    return np.mean([fit[4:] for fit in fits if (fit.learner, fit.task) == (learner, task)], axis=0)


def _cell(error: float, seconds: float, lowest: str) -> str:
    if not np.isfinite(error):
        return f"stopped at {seconds:.0f} s"
    text = f"{error:.3f}"
    return f"{f'**{text}**' if text == lowest else text} ({_seconds(seconds)})"


def _seconds(seconds: float) -> str:
    return "< 0.01" if seconds < 0.005 else f"{seconds:.2f}" if seconds < 10 else f"{seconds:.0f}"
