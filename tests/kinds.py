"""Every kind of learner that `erkle learn` offers."""

from erkle import Dense, LowRank, PassiveAggressiveI

# Options of the command, the same parameters in Python, and whether all answers are fitted again at the end.
KINDS = {
    "default": ([], {}, True),
    "never fitted": (["--consolidate", "off"], {"kernel": LowRank(consolidate="off")}, False),
    "of rank 3": (
        ["--rank", "3", "--trace", "0.001", "--step", "pa1", "--passes", "2"],
        {"kernel": LowRank(3, 0.001), "step": PassiveAggressiveI(), "passes": 2},
        False,
    ),
    "of rank 3, fitted": (["--rank", "3", "--consolidate", "0.2"], {"kernel": LowRank(3, None, 0.2)}, True),
    "exact": (["--exact", "--passes", "2"], {"kernel": Dense(), "passes": 2}, False),
}
