"""The table of a comparison of learners, in Markdown: errors and seconds, the lowest error bold whoever has it."""

from collections.abc import Iterable

import numpy as np

from benchmarks.data import markdown
from benchmarks.tuning import Fit

_ABOUT = """\
# Measured by `make compare`

Held-out error by number of answers and, in brackets, CPU seconds of one fit with one thread, on a shared machine;
{trials} trials, means; bold is the lowest error. The set is 100 points in 50 dimensions. *Default* is what the learner
does when told nothing: two dimensions for every embedding, cblearn's and ours. *Tuned* embeddings have 50 dimensions
and a small random start, and the settings with the lowest held-out error on the first trial: of six or seven for
cblearn (iterations stopped early or not, its regularisers, the size of the start), of ten weights for erkle.
The last column is the CPU time of trying all of them at 10,000 answers. A fit would be stopped after 120 CPU seconds.
cblearn's SciPy backend was run, which is its default, not the one that needs PyTorch.
"""


def report(fits: Iterable[Fit]) -> str:
    """What was compared, the table, and the settings that were chosen."""
    fits = list(fits)
    trials = len({fit.seed for fit in fits})
    return "\n".join(
        [_ABOUT.format(trials=trials), table(fits), "", "Settings chosen, task by task:", "", chosen(fits)]
    )


def table(fits: list[Fit]) -> str:
    """A row for each learner, a column for each task; the lowest error of a task is bold."""
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
    """The settings of each learner that had a choice."""
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
    words = f"{error:.3f}"
    return f"{f'**{words}**' if words == lowest else words} ({_seconds(seconds)})"


def _seconds(seconds: float) -> str:
    return "< 0.01" if seconds < 0.005 else f"{seconds:.2f}" if seconds < 10 else f"{seconds:.0f}"
