"""Long fits say how far they have got."""

import time

import pytest

from erkle import summing
from erkle.cli import screen
from erkle.cli.learn.fitting import FitClock, in_words
from erkle.online.models.fit_progress import FitProgress, tell

STEP = FitProgress(3_000_000, fit=2, n_fits=4, iteration=6, n_iterations=10)


def test_the_time_left_follows_from_the_time_taken():
    assert "candidate 2 of 4, iteration 6 of 10" in in_words(STEP, 60.0)
    assert in_words(STEP, 60.0).endswith("about 100 s left")
    assert in_words(STEP, 600.0).endswith("about 17 min left")
    assert in_words(STEP._replace(fit=1, iteration=1), 1.0).endswith("iteration 1 of 10")


def test_the_clock_starts_again_with_each_review(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    clock, said = FitClock(), []
    for n_answers in (3_000_000, 4_000_000, 4_000_000):
        for step in (STEP._replace(fit=1, iteration=1), STEP):
            said.append(clock.say(step._replace(n_answers=n_answers)))
            now[0] += 60.0
    assert [words.rpartition(", ")[2] for words in said] == 3 * ["iteration 1 of 10", "about 100 s left"]


@pytest.fixture
def every_line(monkeypatch):
    monkeypatch.setattr(screen, "SECONDS_BETWEEN_LINES", 0.01)


@pytest.mark.usefixtures("every_line")
def test_a_long_fit_is_a_line_until_learning_goes_on(capsys):
    with screen.learning_bar(100):
        tell(STEP)
        time.sleep(0.2)
    assert "Fitting 3,000,000 answers again: candidate 2 of 4, iteration 6 of 10" in capsys.readouterr().err
    tell(STEP)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("without_pictures")
def test_the_command_says_how_far_fits_have_got(erkle, answers, tmp_path, monkeypatch):
    monkeypatch.setattr(summing, "_PART", 100)
    monkeypatch.setattr(summing, "IN_PARTS_FROM", 600)
    heard, say = [], FitClock.say
    monkeypatch.setattr(FitClock, "say", lambda clock, step: (heard.append(step), say(clock, step))[1])
    assert erkle("learn", answers, "--rank", "2", "--consolidate", "0.5", "--out", tmp_path).returncode == 0
    n_fitted = {step.n_answers for step in heard}
    assert min(n_fitted) >= 600
    # The last fit is not that of a review.
    assert max(n_fitted) == 1000
    assert len(n_fitted) > 1
