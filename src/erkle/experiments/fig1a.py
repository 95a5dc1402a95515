"""Figure 1a: learning rates."""

from erkle.experiments.curves import Curves
from erkle.experiments.figure import Claim, Figure

__all__ = ["FIGURE"]


def _claims(curves: Curves) -> list[Claim]:
    end = {method: curves.of("small", method, "test_error").last for method in FIGURE.methods}
    inverse = curves.of("small", "STE-ERKLE 1/j", "test_error")
    third = inverse.at(0.3 * inverse.x[-1])
    gained = (third - inverse.last) / third
    steady = max(end["STE-ERKLE"], end["PA-ERKLE"])
    decaying = min(end["STE-ERKLE 1/j"], end["STE-ERKLE 1/sqrt j"])
    return [
        Claim(
            "With the rate 1/j there is no significant improvement after 3,000 answers.",
            f"{third:.3f} at three tenths of the answers, {inverse.last:.3f} at the end: {gained:.0%} less",
            gained < 0.15,
        ),
        Claim(
            "1/√j does better than 1/j, but levels off sooner than the rates that do not fall.",
            f"1/j {end['STE-ERKLE 1/j']:.3f}, 1/√j {end['STE-ERKLE 1/sqrt j']:.3f}, constant {end['STE-ERKLE']:.3f}",
            end["STE-ERKLE"] < end["STE-ERKLE 1/sqrt j"] < end["STE-ERKLE 1/j"],
        ),
        Claim(
            "A constant rate and passive-aggressive steps vastly outperform rates that fall.",
            f"constant {end['STE-ERKLE']:.3f}, PA {end['PA-ERKLE']:.3f}, best falling rate {decaying:.3f}",
            steady < 0.9 * decaying,
        ),
    ]


FIGURE = Figure(
    "1a",
    "Learning rates of ERKLE (small synthetic set)",
    "small",
    ("STE-ERKLE 1/j", "STE-ERKLE 1/sqrt j", "STE-ERKLE", "PA-ERKLE"),
    "test_error",
    _claims,
)
