"""Figure 1c: error against passes over the data."""

from erkle.experiments.curves import Curves
from erkle.experiments.figure import Claim, Figure

__all__ = ["FIGURE"]


def _claims(curves: Curves) -> list[Claim]:
    first = {name: float(curves.of("small", name, "test_error", "passes").mean[0]) for name in FIGURE.methods}
    online = max(first["PA-ERKLE by passes"], first["STE-ERKLE by passes"])
    batch = min(first["GNMDS-Batch by steps"], first["STE-Batch by steps"])
    return [
        Claim(
            "If only few passes through the data can be made, ERKLE is the better choice.",
            f"after one: ERKLE {online:.3f} or better, a batch step {batch:.3f} or worse",
            online < batch,
            ""
            if online < batch
            else "One gradient step of the best length from K = I is a strong start: it sums all "
            "answers and a projection removes half of the noise.",
        )
    ]


FIGURE = Figure(
    "1c",
    "Test error against passes (ERKLE) and full gradient steps (batch)",
    "small",
    ("PA-ERKLE by passes", "STE-ERKLE by passes", "GNMDS-Batch by steps", "STE-Batch by steps"),
    "test_error",
    _claims,
    x="passes",
)
