"""Figure 3b: training error on musicians."""

from erkle.experiments.curves import Curves
from erkle.experiments.fig3a import METHODS
from erkle.experiments.figure import Claim, Figure

__all__ = ["FIGURE"]


def _claims(curves: Curves) -> list[Claim]:
    end = {method: curves.of("music", method, "train_error").last for method in METHODS}
    return [
        Claim(
            "STE-ERKLE fails to fit many of the answers it has seen; PA-ERKLE fits them better.",
            f"STE-ERKLE {end['STE-ERKLE']:.3f}, PA-ERKLE {end['PA-ERKLE']:.3f}; with ten passes "
            f"{end['STE-ERKLE 10 passes']:.3f} and {end['PA-ERKLE 10 passes']:.3f}",
            end["PA-ERKLE"] < end["STE-ERKLE"] and end["PA-ERKLE 10 passes"] < end["STE-ERKLE 10 passes"],
        )
    ]


FIGURE = Figure("3b", "Training error on musicians (aset400)", "music", METHODS, "train_error", _claims)
