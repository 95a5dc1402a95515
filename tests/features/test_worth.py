"""What a block of features was worth, in words that its numbers do not contradict."""

import math

import pytest

from erkle.features import FeatureWorth

NAN = math.nan


def worth(error_with, error_without, loss_with, loss_without, n_answers=400.0):
    return FeatureWorth("clip", 85, 0.7, 1.0, error_with, error_without, loss_with, loss_without, n_answers)


@pytest.mark.parametrize(
    ("errors", "losses", "verdict"),
    [
        ((0.2, 0.3), (0.4, 0.5), "helps"),
        ((0.3, 0.2), (0.5, 0.4), "does not help"),
        ((0.2, 0.3), (0.4, 0.401), "makes no clear difference"),
        # Losses and errors disagree.
        ((0.3, 0.2), (0.4, 0.5), "makes no clear difference"),
        ((0.2, 0.3), (0.5, 0.4), "makes no clear difference"),
        # Candidates far behind have no evidence.
        ((NAN, 0.2), (NAN, 0.4), "does not help"),
        ((0.2, NAN), (0.4, NAN), "helps"),
    ],
)
def test_a_verdict_is_clear_only_if_losses_and_errors_agree(errors, losses, verdict):
    told = worth(*errors, *losses)
    assert told.verdict == verdict
    assert str(told).startswith(f"clip {verdict}: ")
    assert "nan" not in str(told)


def test_few_answers_are_no_judgement():
    assert worth(0.1, 0.4, 0.1, 0.9, 99.0).verdict == "is not judged yet"
