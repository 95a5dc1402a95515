"""The figures of the paper: their methods, data sets and measures."""

from pathlib import Path
from typing import NamedTuple

from erkle.experiments.protocol import Protocol
from erkle.experiments.units import Unit, units_of

_SUBSTITUTE = "zappos85"
_SUBSTITUTED = (
    f"The paper's outdoor scenes are not public. This figure uses {_SUBSTITUTE} instead, with the same protocol and "
    "adaptively chosen questions."
)
_ERKLE = ("STE-ERKLE", "STE-ERKLE 10 passes", "PA-ERKLE", "PA-ERKLE 10 passes")
# Batch fits run to the optimum.
BATCH = ("STE-Batch", "GNMDS-Batch", "CKL-Batch")
# Batch fits by plain gradient steps that stop as in the paper.
PLAIN = ("STE-Batch, plain steps", "GNMDS-Batch, plain steps")
_STEPS = ("GNMDS 1 step", "GNMDS 2 steps")
_RATES = ("STE-ERKLE 1/j", "STE-ERKLE 1/sqrt j", "STE-ERKLE", "PA-ERKLE")
_SMALL = (*_ERKLE, *BATCH, *PLAIN, "popularity")
_PASSES = ("PA-ERKLE by passes", "STE-ERKLE by passes", "GNMDS-Batch by steps", "STE-Batch by steps")
_BY_PASSES = "Test error against passes (ERKLE) and full gradient steps (batch)"
_COUNTED = "The rank counts eigenvalues of at least a thousandth of the largest."
_MUSIC = (*_ERKLE, *BATCH, "popularity")
_SCENES = ("STE-ERKLE", "PA-ERKLE", *BATCH, "popularity")


class Figure(NamedTuple):
    """One figure of the paper.

    Attributes
    ----------
    name, title : str
    dataset : str
        The data set, a key of `DATASETS`.
    methods : tuple of str
        Keys of `METHODS`, in the order of the legend.
    y, x : str
        Fields of `Row`.
    note : str
        A remark that is printed below the figure.
    """

    name: str
    title: str
    dataset: str
    methods: tuple[str, ...]
    y: str
    x: str = "answers"
    note: str = ""


_ALL = (
    Figure("1a", "Learning rates of ERKLE (small synthetic set)", "small", _RATES, "test_error"),
    Figure("1b", "Test error of ERKLE and of batch methods (small synthetic set)", "small", _SMALL, "test_error"),
    Figure("1c", _BY_PASSES, "small", _PASSES, "test_error", x="passes"),
    Figure("2a", "Cumulative run time (large synthetic set)", "large", ("PA-ERKLE", *_STEPS), "seconds"),
    Figure("2b", "Test error (large synthetic set)", "large", ("PA-ERKLE", *_STEPS, "popularity"), "test_error"),
    Figure("3a", "Test error on musicians (aset400)", "music", _MUSIC, "test_error"),
    Figure("3b", "Training error on musicians (aset400)", "music", _MUSIC, "train_error"),
    Figure("3c", "Rank of the kernel on musicians (aset400)", "music", (*BATCH, "PA-ERKLE"), "rank", note=_COUNTED),
    Figure("4a", f"Test error with few answers ({_SUBSTITUTE})", "scenes", _SCENES, "test_error", note=_SUBSTITUTED),
    Figure(
        "4b", f"Training error with few answers ({_SUBSTITUTE})", "scenes", _SCENES, "train_error", note=_SUBSTITUTED
    ),
)
FIGURES = {figure.name: figure for figure in _ALL}


def chosen_figures(names: list[str], protocol: Protocol) -> list[Figure]:
    """The figures with these names; all figures if there are no names, or only "all"."""
    if not names or names == ["all"]:
        names = list(FIGURES)
    for name in names:
        if name not in FIGURES:
            raise ValueError(f"There is no figure {name!r}; pass names from {', '.join(FIGURES)}, or all.")
    figures = [FIGURES[name] for name in dict.fromkeys(names)]
    return [_with_own_scenes(figure, protocol.scenes) if protocol.scenes else figure for figure in figures]


def _with_own_scenes(figure: Figure, scenes: str) -> Figure:
    """The figure with the user's own answers instead of the public data set."""
    if figure.dataset != "scenes":
        return figure
    file = Path(scenes).name
    note = f"Answers from {file}, split at random in each trial."
    return figure._replace(title=figure.title.replace(_SUBSTITUTE, file), note=note)


def units_for(figures: list[Figure], protocol: Protocol, n_trials: int) -> list[Unit]:
    """The units that the figures need, without duplicates."""
    return list(
        dict.fromkeys(
            unit
            for figure in figures
            for trial in range(n_trials)
            for method in figure.methods
            for unit in units_of(figure.dataset, method, trial, protocol)
        )
    )
