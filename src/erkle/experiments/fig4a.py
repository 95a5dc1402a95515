"""Figure 4a: test error with few answers."""

from erkle.experiments.curves import Curves
from erkle.experiments.figure import Claim, Figure

__all__ = ["FIGURE", "METHODS", "NOTE", "STAND_IN"]

METHODS = ("STE-ERKLE", "PA-ERKLE", "STE-Batch", "GNMDS-Batch", "CKL-Batch", "popularity")
STAND_IN = "zappos85"
NOTE = (
    f"A stand-in: the paper's outdoor scenes are not public, so this is {STAND_IN} under the same protocol, "
    "questions chosen adaptively."
)


def _claims(curves: Curves) -> list[Claim]:
    of = {method: curves.of("scenes", method, "test_error") for method in METHODS}
    half = 0.5 * of["STE-ERKLE"].x[-1]
    marks = of["STE-Batch"].x
    behind = sum(of["STE-ERKLE"].at(x) > of["STE-Batch"].at(x) for x in marks)
    return [
        Claim(
            "STE-ERKLE consistently outperforms STE-Batch.",
            f"{of['STE-ERKLE'].last:.3f} against {of['STE-Batch'].last:.3f} at the end; behind at {behind} of "
            f"{len(marks)} marks",
            behind == 0,
        ),
        Claim(
            "PA-ERKLE is comparable to or better than GNMDS-Batch from 500 answers on.",
            f"at half {of['PA-ERKLE'].at(half):.3f} against {of['GNMDS-Batch'].at(half):.3f}, "
            f"at the end {of['PA-ERKLE'].last:.3f} against {of['GNMDS-Batch'].last:.3f}",
            all(of["PA-ERKLE"].at(x) < 1.02 * of["GNMDS-Batch"].at(x) for x in marks if x >= half),
        ),
    ]


FIGURE = Figure("4a", f"Test error with few answers ({STAND_IN})", "scenes", METHODS, "test_error", _claims, note=NOTE)
