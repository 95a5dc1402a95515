"""The tables that compare learners, in Markdown: errors and seconds, with the lowest error in bold."""

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
_ABOUT_PEOPLE = """\
## People's answers

Held-out error and, in brackets, CPU seconds of one fit, as above. The columns are public data sets with their number of
answers to learn. The values are means over {trials} trials, each with its own split: a fifth of the questions is held
out, with all their answers. Both libraries learn and predict the same answers.

- *Default* is the learner with its default parameters. cblearn's embeddings then have two dimensions, and LORE has
  λ = 0.01. erkle's default learner, `ERKLE(n)`, is told nothing but the number of objects.
- *In hindsight* means the settings with the lowest held-out error, averaged over the trials. Users cannot know them, so
  these errors are too low. They are the best of six numbers of dimensions d from 1 to 20; for LORE, of six values of λ
  from 0.003 to 0.03, or of all pairs of these and d = 2, 5 or 15. For erkle, nothing is chosen in hindsight.
- The last column is the CPU time of trying all settings on eggs300. A fit is stopped after 120 CPU seconds.
- LORE runs with SciPy, like the other methods. Its default is PyTorch, which gives nearly the same errors and can be
  faster. FORTE and OENN need PyTorch and were not measured.
"""
_NO_PEOPLE = """\
People's answers were not compared, because the environment variable `ERKLE_DATA` names no folder with data sets."""


def report(points: list[Fit], people: list[Fit]) -> str:
    """For points and for people's answers: the explanation, the table, and the chosen settings."""
    of_people = _section(_ABOUT_PEOPLE, people, "eggs300, 3,000") if people else _NO_PEOPLE
    return _section(_ABOUT, points, "10,000") + "\n\n" + of_people


def _section(about: str, fits: list[Fit], tried_on: str) -> str:
    trials = len({fit.seed for fit in fits})
    lines = [about.format(trials=trials), table(fits, tried_on), "", "Chosen settings, one per column:", ""]
    return "\n".join([*lines, chosen(fits)])


def table(fits: list[Fit], tried_on: str) -> str:
    """One row per learner and one column per task; the last column is the time of all settings on ``tried_on``."""
    tasks = list(dict.fromkeys(fit.task for fit in fits))
    learners = list(dict.fromkeys(fit.learner for fit in fits))
    cells = {(fit.learner, fit.task): _mean(fits, fit.learner, fit.task) for fit in fits}
    lowest = {task: min(f"{cells[learner, task][0]:.3f}" for learner in learners) for task in tasks}
    rows = []
    for learner in learners:
        of_tasks = [_cell(*cells[learner, task][:2], lowest[task]) for task in tasks]
        rows.append([learner, *of_tasks, _seconds(cells[learner, tried_on][2])])
    return markdown(["learner", *tasks, "CPU s, all settings"], rows)


def chosen(fits: list[Fit]) -> str:
    """The settings of the learners that were tuned."""
    names: dict[str, dict[str, str]] = {}
    for fit in fits:
        names.setdefault(fit.learner, {})[fit.task] = fit.settings
    tuned = {learner: of for learner, of in names.items() if set(of.values()) != {"defaults"}}
    return "\n".join(f"- {learner}: {'; '.join(of.values())}" for learner, of in tuned.items())


def _mean(fits: list[Fit], learner: str, task: str) -> np.ndarray:
    return np.mean([fit[4:] for fit in fits if (fit.learner, fit.task) == (learner, task)], axis=0)


def _cell(error: float, seconds: float, lowest: str) -> str:
    if not np.isfinite(error):
        return f"stopped at {seconds:.0f} s"
    text = f"{error:.3f}"
    return f"{f'**{text}**' if text == lowest else text} ({_seconds(seconds)})"


def _seconds(seconds: float) -> str:
    return "< 0.01" if seconds < 0.005 else f"{seconds:.2f}" if seconds < 10 else f"{seconds:.0f}"
