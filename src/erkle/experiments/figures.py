"""All figures of the paper."""

from pathlib import Path

from erkle.experiments import fig1a, fig1b, fig1c, fig2a, fig2b, fig3a, fig3b, fig3c, fig4a, fig4b
from erkle.experiments.fig4a import STAND_IN
from erkle.experiments.figure import Figure
from erkle.experiments.protocol import Protocol
from erkle.experiments.units import Unit, units_of

__all__ = ["FIGURES", "chosen_figures", "units_for"]

_MODULES = (fig1a, fig1b, fig1c, fig2a, fig2b, fig3a, fig3b, fig3c, fig4a, fig4b)
FIGURES: dict[str, Figure] = {module.FIGURE.name: module.FIGURE for module in _MODULES}


def chosen_figures(names: list[str], protocol: Protocol) -> list[Figure]:
    """The figures of these names; all of them for none or "all"."""
    if not names or names == ["all"]:
        names = list(FIGURES)
    for name in names:
        if name not in FIGURES:
            raise ValueError(f"There is no figure {name!r}; pass some of {', '.join(FIGURES)}, or all.")
    figures = [FIGURES[name] for name in dict.fromkeys(names)]
    return [_of_own_scenes(figure, protocol.scenes) if protocol.scenes else figure for figure in figures]


def _of_own_scenes(figure: Figure, scenes: str) -> Figure:
    """The figure of the user's answers in place of the stand-in."""
    if figure.world != "scenes":
        return figure
    file = Path(scenes).name
    note = f"Answers of {file}, split anew at random in each trial."
    return figure._replace(title=figure.title.replace(STAND_IN, file), note=note)


def units_for(figures: list[Figure], protocol: Protocol, n_trials: int) -> list[Unit]:
    """Every unit the figures need, once."""
    return list(
        dict.fromkeys(
            unit
            for figure in figures
            for trial in range(n_trials)
            for method in figure.methods
            for unit in units_of(figure.world, method, trial, protocol)
        )
    )
