"""Figure 3c: ranks of the kernels on musicians."""

from erkle.experiments.curves import Curves
from erkle.experiments.figure import Claim, Figure

__all__ = ["FIGURE"]

_BATCH = ("STE-Batch", "GNMDS-Batch", "CKL-Batch")


def _claims(curves: Curves) -> list[Claim]:
    ranks = {method: curves.of("music", method, "rank") for method in _BATCH}
    texts = [f"{method} {curve.mean[0]:.0f} to {curve.last:.0f}" for method, curve in ranks.items()]
    return [
        Claim(
            "Batch methods give low ranks with few answers, and higher ones as answers come in.",
            ", ".join(texts),
            all(curve.mean[0] < curve.last for curve in ranks.values()),
        )
    ]


FIGURE = Figure(
    "3c",
    "Rank of the kernel on musicians (aset400)",
    "music",
    (*_BATCH, "PA-ERKLE"),
    "rank",
    _claims,
    note="Eigenvalues of at least a thousandth of the largest are counted.",
)
