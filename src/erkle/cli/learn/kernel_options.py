"""Which kernel the options of `erkle learn` ask for; options without meaning for it are refused, not ignored."""

from erkle.kernels.low_rank import LowRank

__all__ = ["kernel_from_options"]

_MOVES = ("loss", "step", "direction", "passes")
_LOW_RANK = ("rank", "trace", "consolidate")


def kernel_from_options(
    given: set[str], exact: bool, rank: str, trace: float | None, consolidate: str
) -> LowRank | None:
    """The kernel, None for the exact one; ``given`` are the options that the user wrote.

    >>> kernel_from_options({"rank"}, False, "10", None, "auto")
    LowRank(rank=10, trace=None, consolidate='auto')
    """
    kernel = None if exact else LowRank(_rank(rank), trace, _share(consolidate))
    for name in ("exact", *_LOW_RANK, *_MOVES, "tol"):
        if name in given and (trouble := _trouble(name, given, kernel)):
            raise ValueError(trouble)
    return kernel


def _trouble(name: str, given: set[str], kernel: LowRank | None) -> str | None:
    """Why an option does not fit."""
    if "start" in given:
        return f"--start and --{name} were both given; a saved kernel is gone on with as it was begun."
    if kernel is None:
        low_rank = (
            f"--exact and --{name} were both given; --{name} is for kernels of low rank, so leave out one of them."
        )
        return low_rank if name in _LOW_RANK else None
    if name == "tol":
        return "--tol was given without --exact; only the exact kernel has projections to be that close."
    if kernel.chooses and name in _MOVES:
        return f"--{name} was given without --exact or a number for --rank; the default learner chooses its own moves."
    if kernel.chooses and name == "trace":
        return "--trace was given without a number for --rank; the default learner chooses its own."
    if kernel.consolidates and name in _MOVES:
        return f"--{name} and --consolidate were both given; fits choose their own moves, so leave out one of them."
    return None


def _rank(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"--rank is {text!r}; pass auto or an integer of at least 1.") from None


def _share(text: str) -> float | str:
    if text in ("auto", "off"):
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--consolidate is {text!r}; pass auto, off or a share such as 0.05.") from None
