"""What tests of the participants' page share: opening a study, answering, and holding requests back."""

import re

import pytest

from people import THINGS

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
# Milliseconds after which a press counts, with some reserve: the page ignores presses in the first 150.
SETTLED_MS = 200
# Milliseconds after which a click or a tap is never the second of a double click or double tap.
SINGLE_MS = 550
# Milliseconds after which the page sends a failed request again: the longest pause is 15,000, plus a quarter.
RETRY_MS = 20_000


def begin(page, study, query=""):
    """Open the link of a study, press Begin, and return the sentence of the first question."""
    page.goto(f"/s/{study}{query}")
    page.get_by_role("button", name="Begin").click()
    return shown(page)


def shown(page):
    """Wait until the question can be answered, and return its sentence."""
    page.locator(".stage[data-ready]").wait_for()
    page.clock.fast_forward(SETTLED_MS)
    return sentence(page)


def sentence(page):
    """Return the sentence that a screen reader says for the question."""
    return page.locator(".stage h1").text_content()


def press(page, key):
    """Answer with a key, and return the sentence of the next question."""
    before = sentence(page)
    page.keyboard.press(key)
    expect(page.locator(".stage h1")).not_to_have_text(before)
    return shown(page)


def objects_in(sentence):
    """Return (A, B, C) of "A or B: which is more like C?"."""
    return re.fullmatch(r"(.+) or (.+): which is more like (.+)\?", sentence).groups()


def names(answer):
    """Return the names (near, far, anchor) of an answer."""
    return THINGS[answer.near], THINGS[answer.far], THINGS[answer.anchor]


def hold(page, pattern):
    """Hold requests back, and return a function that releases them."""
    waiting, free = [], []
    page.route(pattern, lambda route: route.continue_() if free else waiting.append(route))

    def release():
        free.append(True)
        for route in waiting:
            route.continue_()

    return release
