"""Figure 1b: ERKLE against batch methods."""

from erkle.experiments.curves import Curves
from erkle.experiments.figure import Claim, Figure

__all__ = ["FIGURE"]


def _claims(curves: Curves) -> list[Claim]:
    end = {method: curves.of("small", method, "test_error").last for method in FIGURE.methods}
    batch = min(end[name] for name in ("STE-Batch", "GNMDS-Batch", "CKL-Batch"))
    one = max(end["PA-ERKLE"], end["STE-ERKLE"])
    ten = max(end["PA-ERKLE 10 passes"], end["STE-ERKLE 10 passes"])
    why = "Our batch solver goes to the optimum of the regularised problem; the paper's stopped before it."
    return [
        Claim(
            "With one pass both ERKLE methods slightly outperform all batch methods.",
            f"PA {end['PA-ERKLE']:.3f}, STE {end['STE-ERKLE']:.3f}; best batch {batch:.3f}",
            one < batch,
            "" if one < batch else why,
        ),
        Claim(
            "With ten passes they outperform the batch methods by a large margin.",
            f"PA {end['PA-ERKLE 10 passes']:.3f}, STE {end['STE-ERKLE 10 passes']:.3f}; best batch {batch:.3f}",
            ten < 0.9 * batch,
            "" if ten < 0.9 * batch else why,
        ),
        Claim(
            "Ten passes are far better than one.",
            f"PA {end['PA-ERKLE']:.3f} to {end['PA-ERKLE 10 passes']:.3f}, "
            f"STE {end['STE-ERKLE']:.3f} to {end['STE-ERKLE 10 passes']:.3f}",
            ten < min(end["PA-ERKLE"], end["STE-ERKLE"]),
        ),
    ]


FIGURE = Figure(
    "1b",
    "Test error of ERKLE and of batch methods (small synthetic set)",
    "small",
    (
        "STE-ERKLE",
        "STE-ERKLE 10 passes",
        "PA-ERKLE",
        "PA-ERKLE 10 passes",
        "STE-Batch",
        "GNMDS-Batch",
        "CKL-Batch",
        "popularity",
    ),
    "test_error",
    _claims,
)
