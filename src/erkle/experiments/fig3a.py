"""Figure 3a: test error on musicians."""

from erkle.experiments.curves import Curves
from erkle.experiments.figure import Claim, Figure

__all__ = ["FIGURE", "METHODS"]

METHODS = (
    "STE-ERKLE",
    "STE-ERKLE 10 passes",
    "PA-ERKLE",
    "PA-ERKLE 10 passes",
    "STE-Batch",
    "GNMDS-Batch",
    "CKL-Batch",
    "popularity",
)


def _claims(curves: Curves) -> list[Claim]:
    end = {method: curves.of("music", method, "test_error").last for method in METHODS}
    batch = [end[name] for name in ("STE-Batch", "GNMDS-Batch", "CKL-Batch")]
    passive = min(end["PA-ERKLE"], end["PA-ERKLE 10 passes"])
    return [
        Claim(
            "STE-ERKLE does considerably worse than the other methods, because answers conflict.",
            f"STE-ERKLE {end['STE-ERKLE']:.3f}, PA-ERKLE {end['PA-ERKLE']:.3f}, batch {min(batch):.3f} to "
            f"{max(batch):.3f}",
            end["STE-ERKLE"] > 1.05 * max(end["PA-ERKLE"], *batch),
        ),
        Claim(
            "PA-ERKLE does as well as the batch methods, and often better with several passes.",
            f"PA-ERKLE {end['PA-ERKLE']:.3f}, ten passes {end['PA-ERKLE 10 passes']:.3f}, best batch {min(batch):.3f}",
            passive < 1.02 * min(batch),
        ),
    ]


FIGURE = Figure("3a", "Test error on musicians (aset400)", "music", METHODS, "test_error", _claims)
