"""What tests of the pages for researchers share: sessions without the form, sizes, and the rules of accessibility."""

import pytest

from erkle.service.accounts.sessions import COOKIE

DESKTOP = {"viewport": {"width": 1280, "height": 800}}
LAPTOP = {"viewport": {"width": 1050, "height": 800}}
PHONE = {"viewport": {"width": 375, "height": 740}, "has_touch": True, "is_mobile": True}
SHADES = ["black", "dim grey", "grey", "silver", "white"]


def open_session(site, page, account):
    """Sign a page in without the form."""
    session = site.store.sessions.open(account.id, 3600.0)
    page.context.add_cookies([{"name": COOKIE, "value": session.token, "url": site.url}])


def assert_fits(page):
    """Fail if the page is wider than its window, or if something is cut off that cannot be scrolled."""
    wide = page.evaluate(
        """() => [...document.querySelectorAll("body *")]
            .filter((each) => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
            .filter((each) => !each.closest(".tall, .visually-hidden, svg"))
            .map((each) => each.outerHTML.slice(0, 80))"""
    )
    assert wide == [], wide
    cut = page.evaluate(
        """() => [...document.querySelectorAll("main *, dialog *")]
            .filter((each) => each.clientWidth && getComputedStyle(each).overflowX === "auto")
            .filter((each) => each.scrollWidth > each.clientWidth + 1 && !each.matches(".tall"))
            .map((each) => each.className)"""
    )
    assert cut == [], cut


def assert_accessible(page):
    """Fail if axe finds anything wrong with the page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    found = axe.Axe().run(page)
    assert found.response["violations"] == [], found.generate_report()
