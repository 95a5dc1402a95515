"""Figure 1b: ERKLE against batch methods."""

from erkle.experiments.curves import Curves
from erkle.experiments.figure import Claim, Figure

__all__ = ["FIGURE"]


_OPTIMUM = ("STE-Batch", "GNMDS-Batch", "CKL-Batch")
_PLAIN = ("STE-Batch, plain steps", "GNMDS-Batch, plain steps")
# Whether it holds against the one and against the other.
_REMARKS = {
    (True, True): "",
    (True, False): "It holds against batch fits run to the optimum, but not against plain gradient steps.",
    (False, True): "It holds against plain gradient steps that end where the paper's did, but not against the optimum.",
    (False, False): "It holds neither against batch fits run to the optimum nor against plain gradient steps that end "
    "where the paper's did.",
}


def _claims(curves: Curves) -> list[Claim]:
    end = {method: curves.of("small", method, "test_error").last for method in FIGURE.methods}
    one, ten = ("PA-ERKLE", "STE-ERKLE"), ("PA-ERKLE 10 passes", "STE-ERKLE 10 passes")
    return [
        _against_batch("With one pass both ERKLE methods slightly outperform all batch methods.", one, 1.0, end),
        _against_batch("With ten passes they outperform the batch methods by a large margin.", ten, 0.9, end),
        Claim(
            "Ten passes are far better than one.",
            f"PA {end['PA-ERKLE']:.3f} to {end['PA-ERKLE 10 passes']:.3f}, "
            f"STE {end['STE-ERKLE']:.3f} to {end['STE-ERKLE 10 passes']:.3f}",
            max(end[name] for name in ten) < min(end[name] for name in one),
        ),
    ]


def _against_batch(paper: str, online: tuple[str, str], share: float, end: dict[str, float]) -> Claim:
    """A claim that both of these make less than a share of every batch method's error."""
    passive, ste = (end[name] for name in online)
    optimum, plain = (min(end[name] for name in batch) for batch in (_OPTIMUM, _PLAIN))
    holds = (max(passive, ste) < share * optimum, max(passive, ste) < share * plain)
    return Claim(
        paper,
        f"PA {passive:.3f}, STE {ste:.3f}; best batch {optimum:.3f} at the optimum, {plain:.3f} by plain steps",
        all(holds),
        _REMARKS[holds],
    )


FIGURE = Figure(
    "1b",
    "Test error of ERKLE and of batch methods (small synthetic set)",
    "small",
    (
        "STE-ERKLE",
        "STE-ERKLE 10 passes",
        "PA-ERKLE",
        "PA-ERKLE 10 passes",
        *_OPTIMUM,
        *_PLAIN,
        "popularity",
    ),
    "test_error",
    _claims,
)
