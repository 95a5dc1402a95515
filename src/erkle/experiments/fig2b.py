"""Figure 2b: test error at 5000 objects."""

from erkle.experiments.curves import Curves
from erkle.experiments.figure import Claim, Figure

__all__ = ["FIGURE"]


def _claims(curves: Curves) -> list[Claim]:
    online = curves.of("large", "PA-ERKLE", "test_error")
    steps = [curves.of("large", name, "test_error") for name in ("GNMDS 1 step", "GNMDS 2 steps")]
    best = [min(step.at(x) for step in steps) for x in online.x]
    leads = [own < other for own, other in zip(online.mean, best, strict=True)]
    # The mark from which on PA-ERKLE is never behind again.
    turn = next((x for i, x in enumerate(online.x) if all(leads[i:])), None)
    return [
        Claim(
            "At first the batch methods do better; from about 2,500 answers on PA-ERKLE does.",
            f"PA-ERKLE is ahead for good from {turn:,.0f} answers on" if turn else "PA-ERKLE is behind at the end",
            turn is not None and not leads[0] and turn <= 0.5 * online.x[-1],
        ),
        Claim(
            "PA-ERKLE reaches competitive results in a single pass.",
            f"{online.last:.3f} at the end; batch {best[-1]:.3f}; popularity "
            f"{curves.of('large', 'popularity', 'test_error').last:.3f}",
            online.last < 1.02 * best[-1],
        ),
    ]


FIGURE = Figure(
    "2b",
    "Test error (large synthetic set)",
    "large",
    ("PA-ERKLE", "GNMDS 1 step", "GNMDS 2 steps", "popularity"),
    "test_error",
    _claims,
)
