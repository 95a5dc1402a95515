"""What each figure of the paper shows: which methods, on which data, by which measure."""

from pathlib import Path
from typing import NamedTuple

from erkle.experiments.protocol import Protocol
from erkle.experiments.units import Unit, units_of

_STAND_IN = "zappos85"
_NOTE = (
    f"A stand-in: the paper's outdoor scenes are not public, so this is {_STAND_IN} under the same protocol, "
    "questions chosen adaptively."
)
_ERKLE = ("STE-ERKLE", "STE-ERKLE 10 passes", "PA-ERKLE", "PA-ERKLE 10 passes")
# Batch fits run to the optimum, and by plain gradient steps that end where the paper's did.
BATCH = ("STE-Batch", "GNMDS-Batch", "CKL-Batch")
PLAIN = ("STE-Batch, plain steps", "GNMDS-Batch, plain steps")
_STEPS = ("GNMDS 1 step", "GNMDS 2 steps")
_RATES = ("STE-ERKLE 1/j", "STE-ERKLE 1/sqrt j", "STE-ERKLE", "PA-ERKLE")
_SMALL = (*_ERKLE, *BATCH, *PLAIN, "popularity")
_PASSES = ("PA-ERKLE by passes", "STE-ERKLE by passes", "GNMDS-Batch by steps", "STE-Batch by steps")
_BY_PASSES = "Test error against passes (ERKLE) and full gradient steps (batch)"
_COUNTED = "Eigenvalues of at least a thousandth of the largest are counted."
_MUSIC = (*_ERKLE, *BATCH, "popularity")
_SCENES = ("STE-ERKLE", "PA-ERKLE", *BATCH, "popularity")


class Figure(NamedTuple):
    """One figure of the paper.

    Attributes
    ----------
    name, title : str
    world : str
        The data set, a key of `WORLDS`.
    methods : tuple of str
        Keys of `METHODS`, in the order of the legend.
    y, x : str
        Fields of `Row`.
    note : str
        What a reader must know besides.
    """

    name: str
    title: str
    world: str
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
    Figure("4a", f"Test error with few answers ({_STAND_IN})", "scenes", _SCENES, "test_error", note=_NOTE),
    Figure("4b", f"Training error with few answers ({_STAND_IN})", "scenes", _SCENES, "train_error", note=_NOTE),
)
FIGURES = {figure.name: figure for figure in _ALL}


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
    return figure._replace(title=figure.title.replace(_STAND_IN, file), note=note)


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
