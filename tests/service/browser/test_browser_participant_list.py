"""The list of participants: search, filter, sort, and decisions about several of them, on a desktop and on a phone."""

import csv
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from erkle.service.accounts.sessions import COOKIE
from erkle.store import Imported, Standing, State
from people import PASSWORD, THINGS, settings

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
WINDOWS = {"desktop": {}, "small": {"viewport": {"width": 800, "height": 800}}, "phone": PHONE}


@pytest.fixture
def account(site):
    """An account that no other test uses."""
    return site.store.accounts.create(f"ann{len(site.store.accounts.all())}", PASSWORD)


def add(site, study, name, n_answers=12, left=None):
    """Import a participant who answers rightly, or always on the left."""
    rng, rows = np.random.default_rng(len(name)), []
    for number in range(n_answers):
        anchor, first, second = (int(each) for each in rng.choice(len(THINGS), 3, replace=False))
        near, far = sorted((first, second), key=lambda each: abs(each - anchor))
        shown = near if left else first
        details = {"response_ms": 900 + number, "parameters": {"PROLIFIC_PID": name, "SESSION_ID": f"s-{name}"}}
        rows.append(Imported(name, anchor, near, far, left=shown, strategy="random", **details))
    site.store.imports.append(study, rows)


@pytest.fixture
def study(site, account):
    """A study with twelve participants, one of whom always chooses the left."""
    study = site.store.studies.create("Fruit & vegetables", THINGS, settings(), owner=account.id).id
    for number in range(11):
        add(site, study, f"pid{number}", n_answers=10 + number)
    add(site, study, "lefty", n_answers=30, left=True)
    return study


@pytest.fixture
def listed(site, visitor, account, study):
    """Open the dashboard in a window of some size: ``listed("phone")``."""

    def listed(window="desktop"):
        page = visitor(**WINDOWS[window])
        session = site.store.sessions.open(account.id, 3600.0)
        page.context.add_cookies([{"name": COOKIE, "value": session.token, "url": site.url}])
        page.goto(f"/studies/{study}")
        expect(people(page)).to_have_count(12)
        return page

    return listed


def people(page):
    return page.locator("[data-participant]")


def names(page):
    return people(page).locator(".who-name code").all_text_contents()


@pytest.mark.parametrize("window", WINDOWS)
def test_several_participants_are_flagged_excluded_and_included_in_one_request(site, listed, study, window):
    page, sent = listed(window), []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    for name in ("pid3", "lefty"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    section = page.get_by_role("region", name="Participants")
    expect(section.get_by_text("2 selected")).to_be_visible()
    for button, states in [("Flag", ["flagged"]), ("Exclude", ["flagged", "excluded"]), ("Unflag", ["excluded"])]:
        section.get_by_role("button", name=button, exact=True).click()
        for name in ("pid3", "lefty"):
            row = people(page).filter(has=page.get_by_text(name, exact=True))
            for state in states:
                expect(row.locator(".tags")).to_contain_text(state)
    assert len(sent) == 3
    expect(people(page).filter(has_text="excluded")).to_have_count(2)
    section.get_by_role("button", name="Include").click()
    expect(people(page).filter(has_text="excluded")).to_have_count(0)
    assert site.store.studies.get(study).roster == 2


@pytest.mark.parametrize("window", WINDOWS)
def test_nothing_in_the_list_is_cut_off(listed, window):
    page = listed(window)
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wrap = page.locator(".people .table-wrap")
    assert wrap.evaluate("node => node.scrollWidth - node.clientWidth") <= 1
    controls = page.get_by_role("region", name="Participants").locator("button, a, input, select, td, th")
    for box in controls.evaluate_all(
        "nodes => nodes.filter((node) => node.checkVisibility()).map((node) => node.getBoundingClientRect().toJSON())"
    ):
        assert box["left"] >= -1
        assert box["right"] <= width + 1


def test_the_list_is_searched_and_filtered(listed):
    page = listed()
    page.get_by_label("Search participants").fill("PID1")
    expect(people(page)).to_have_count(2)
    assert set(names(page)) == {"pid1", "pid10"}
    expect(page.get_by_role("status").filter(has_text="2 of 12")).to_have_count(1)
    page.get_by_label("Search participants").fill("s-lefty")
    expect(people(page)).to_have_count(1)
    page.get_by_label("Search participants").fill("")
    page.get_by_label("Review").select_option("Marked")
    expect(people(page)).to_have_count(1)
    expect(people(page)).to_contain_text(re.compile("left in 100.% .* of 30 answers"))
    page.get_by_label("State", exact=True).select_option("Active")
    expect(people(page)).to_have_count(0)
    expect(page.get_by_role("checkbox", name="Select all")).to_have_count(0)
    expect(page.get_by_label("Search participants")).to_be_visible()


def test_only_participants_that_are_shown_are_changed(site, listed, study):
    page = listed()
    page.get_by_role("checkbox", name="Select all").check()
    expect(page.get_by_text("12 selected")).to_be_visible()
    page.get_by_label("Search participants").fill("lefty")
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.get_by_role("button", name="Exclude").click()
    expect(people(page)).to_contain_text("excluded")
    [excluded] = [each for each in site.store.participants.all(study) if each.excluded]
    assert excluded.parameters["PROLIFIC_PID"] == "lefty"


def test_the_order_stays_while_new_answers_arrive(site, listed, study):
    page = listed()
    page.get_by_role("button", name="Answers", exact=True).click()
    expect(page.get_by_role("columnheader", name="Answers")).to_have_attribute("aria-sort", "descending")
    assert names(page) == ["lefty", *(f"pid{number}" for number in range(10, -1, -1))]
    page.get_by_role("checkbox", name="Select pid4").focus()
    people(page).first.hover()
    add(site, study, "pid4", n_answers=40)
    add(site, study, "newcomer", n_answers=25)
    expect(people(page)).to_have_count(13)
    others = [f"pid{number}" for number in range(10, -1, -1) if number != 4]
    assert names(page) == ["pid4", "lefty", "newcomer", *others]
    expect(page.get_by_role("columnheader", name="Answers")).to_have_attribute("aria-sort", "descending")
    expect(page.get_by_role("checkbox", name="Select pid4")).to_be_focused()


def test_the_list_shows_who_joins_and_who_ends_without_an_answer(site, listed, study):
    page = listed()
    site.store.studies.change_state(study, State.OPEN)
    late = site.store.participants.join(study, {"PROLIFIC_PID": "late"}, "PROLIFIC_PID=late")
    site.store.questions.issue(study, late.id, [(0, 1, 2)])
    row = page.locator(f"[data-participant='{late.id}']")
    expect(row).to_contain_text("active")
    site.store.participants.finish(study, late.id, Standing.COMPLETED)
    expect(row).to_contain_text("completed")


def test_the_order_is_chosen_on_a_phone(listed):
    page = listed("phone")
    page.get_by_label("Sort by").select_option("Sort by answers")
    assert names(page)[0] == "lefty"
    page.get_by_role("button", name="Descending").click()
    assert names(page)[0] == "pid0"
    page.get_by_label("Sort by").select_option("Sort by participant")
    assert names(page)[1:4] == ["pid0", "pid1", "pid2"]


def test_the_list_is_used_with_the_keyboard(listed):
    page = listed()
    page.get_by_label("Search participants").focus()
    page.keyboard.type("lefty")
    expect(people(page)).to_have_count(1)
    page.get_by_role("checkbox", name="Select all").focus()
    page.keyboard.press("Space")
    for name in ("Flag", "Unflag", "Exclude"):
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name=name, exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(people(page)).to_contain_text("excluded")
    expect(page.get_by_role("button", name="Exclude")).to_be_focused()


def test_a_popover_shows_the_parameters_and_stays_open_during_updates(site, listed, study):
    page = listed()
    page.get_by_role("button", name="Details of lefty").click()
    popover = page.locator(".popover:popover-open")
    expect(popover).to_contain_text("s-lefty")
    add(site, study, "newcomer")
    expect(people(page)).to_have_count(13)
    expect(popover).to_be_visible()


@pytest.mark.parametrize("window", [pytest.param("desktop", marks=pytest.mark.thorough), "phone"])
def test_participants_are_downloaded_under_the_name_of_the_study(listed, window):
    page = listed(window)
    with page.expect_download() as downloaded:
        page.get_by_role("link", name="Download participants.csv").click()
    assert re.fullmatch(r"fruit-vegetables-\d{4}-\d\d-\d\d-participants.csv", downloaded.value.suggested_filename)
    with downloaded.value.path().open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["puid"] for row in rows] == [*(f"pid{number}" for number in range(11)), "lefty"]
    assert "left in 100 %" in rows[-1]["marks"]
