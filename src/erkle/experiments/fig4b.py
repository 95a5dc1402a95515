"""Figure 4b: training error with few answers."""

from erkle.experiments.curves import Curves
from erkle.experiments.fig4a import METHODS, NOTE, STAND_IN
from erkle.experiments.figure import Claim, Figure

__all__ = ["FIGURE"]


def _claims(curves: Curves) -> list[Claim]:
    end = {method: curves.of("scenes", method, "train_error").last for method in METHODS}
    others = {method: error for method, error in end.items() if method != "PA-ERKLE"}
    best = min(others, key=others.__getitem__)
    return [
        Claim(
            "PA-ERKLE does quite well in training error compared to all other methods.",
            f"PA-ERKLE {end['PA-ERKLE']:.3f}; best other {best} {others[best]:.3f}",
            end["PA-ERKLE"] <= others[best],
        )
    ]


FIGURE = Figure(
    "4b", f"Training error with few answers ({STAND_IN})", "scenes", METHODS, "train_error", _claims, note=NOTE
)
