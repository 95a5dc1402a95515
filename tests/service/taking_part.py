"""Taking part in a real browser, step by step: what tests of the participants' page share."""

import re

import pytest

from people import THINGS

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
# A press counts after 150 ms; a double click takes up to 500 ms.
SETTLED_MS, SINGLE_MS = 200, 550


def begin(page, study, query=""):
    """Open the link, read the instructions, see the first question."""
    page.goto(f"/s/{study}{query}")
    page.get_by_role("button", name="Begin").click()
    return shown(page)


def shown(page):
    """The sentence of the question that can be answered now."""
    page.locator(".stage[data-ready]").wait_for()
    page.wait_for_timeout(SETTLED_MS)
    return spoken(page)


def spoken(page):
    """What a screen reader says of the question."""
    return page.locator(".stage h1").text_content()


def press(page, key):
    """Answer by a key, and see the next question, which must be another one."""
    before = spoken(page)
    page.keyboard.press(key)
    expect(page.locator(".stage h1")).not_to_have_text(before)
    return shown(page)


def things(sentence):
    """The names in "A or B: which is more like C?"."""
    return re.fullmatch(r"(.+) or (.+): which is more like (.+)\?", sentence).groups()


def names(answer):
    return THINGS[answer.near], THINGS[answer.far], THINGS[answer.anchor]


def hold(page, pattern):
    """Hold requests back; the function that comes back lets them go on."""
    waiting, free = [], []
    page.route(pattern, lambda route: route.continue_() if free else waiting.append(route))

    def release():
        free.append(True)
        for route in waiting:
            route.continue_()

    return release
