"""Researchers watch their studies in a real browser: the list, the dashboard, and stopping a study."""

import re

import numpy as np
import pytest
from PIL import Image, ImageDraw
from researching import DESKTOP, LAPTOP, PHONE, assert_accessible, assert_fits, open_session

from erkle.client import Client
from erkle.store import Imported, Kind, State
from people import THINGS, settings

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

SIZES = pytest.mark.parametrize(
    "size",
    [pytest.param(DESKTOP, marks=pytest.mark.thorough), pytest.param(LAPTOP, marks=pytest.mark.thorough), PHONE],
    ids=["desktop", "laptop", "phone"],
)


def simulated(n_answers):
    """Answers about objects on a line; every tenth question is drawn at random."""
    rng, rows = np.random.default_rng(0), []
    for number in range(n_answers):
        anchor, near, far = (int(each) for each in rng.choice(len(THINGS), 3, replace=False))
        if abs(anchor - near) > abs(anchor - far):
            near, far = far, near
        kind = Kind.HELD_OUT if number % 2 else Kind.CHOSEN
        rows.append(Imported(f"p{number % 3}", anchor, near, far, kind=kind))
    return rows


@pytest.fixture
def watched(site, account):
    """Create an open study of the account with simulated answers: ``watched(n_answers)``."""

    def watched(n_answers):
        study = site.study(owner=account.id)
        site.store.imports.append(study, simulated(n_answers))
        return study

    return watched


@pytest.fixture
def looking(site, new_page, account):
    """Open a signed-in page of some size: ``looking(size)``."""

    def looking(size):
        page = new_page(**size)
        open_session(site, page, account)
        return page

    return looking


def begin(site, study, name):
    """Let somebody join and answer one question."""
    with Client(site.url) as client:
        reply = client.join(study, {"PROLIFIC_PID": name})
        question = reply.questions[0]
        return client.answer(study, reply.participant, question.token, question.left.id, 900)


@SIZES
def test_studies_are_listed_with_their_state_in_words_and_their_progress(site, looking, account, watched, size):
    page = looking(size)
    page.goto("/studies")
    expect(page.get_by_text("No studies yet")).to_be_visible()
    assert_accessible(page)
    study = watched(30)
    site.store.studies.revise(study, lambda *_: ("Limited", settings(limits={"answers": 120, "participants": 10})))
    begin(site, study, "somebody")
    site.store.studies.create("New", [f"object {number}" for number in range(9)], settings(), owner=account.id)
    page.goto("/studies")
    limited, new = (page.locator(".study-card", has=page.get_by_role("link", name=name)) for name in ("Limited", "New"))
    expect(limited).to_contain_text("31 of 120 answers")
    expect(limited).to_contain_text("4 of 10 participants, 1 active now")
    expect(limited.locator("[data-state]")).to_have_text("Open")
    expect(new.locator("[data-state]")).to_have_text("Draft")
    expect(new).to_contain_text("object 0, object 1")
    assert_fits(page)
    assert_accessible(page)
    new.get_by_role("button", name="Duplicate").click()
    title = page.get_by_role("dialog").get_by_label("Title")
    expect(title).to_have_value("New")
    assert_fits(page)
    assert_accessible(page)
    title.fill("Newer " + "and newer " * 48)
    page.get_by_role("button", name="Duplicate study").click()
    expect(page.get_by_role("heading", name=re.compile("^Newer and newer"))).to_be_visible()
    assert_fits(page)
    expect(page.locator(".study-title .tag:visible")).to_have_text(["Draft"])


@SIZES
def test_before_there_are_enough_answers_the_dashboard_says_so_and_draws_a_sketch(looking, watched, size):
    page = looking(size)
    page.goto(f"/studies/{watched(12)}")
    card = page.get_by_role("region", name="Error")
    expect(card).to_contain_text("too early")
    # The first answers may have to wait until the learner is compiled.
    expect(page.locator(".map-frame.preliminary .map-preliminary")).to_contain_text("Preliminary", timeout=60_000)
    expect(card.locator(".chart")).not_to_be_visible()
    assert "%" not in card.text_content()
    assert_fits(page)
    assert_accessible(page)


@SIZES
def test_the_dashboard_shows_one_error_with_one_interval(looking, watched, size):
    page = looking(size)
    with page.expect_response(re.compile("/participants$")):
        page.goto(f"/studies/{watched(240)}")
    card = page.get_by_role("region", name="Error")
    expect(card.locator(".chart-band").first).to_be_visible()
    expect(page.locator(".map-frame.preliminary")).to_have_count(0)
    expect(page.locator(".map-preliminary")).not_to_be_visible()
    # Only the sentence of the server names the error of now.
    assert "error is now" in card.locator(".stopping").text_content()
    rest = card.text_content().replace(card.locator(".stopping").text_content(), "")
    assert re.findall(r"[\d.]+\s%", card.locator(".chart-readout").text_content()) == ["80\u00a0%"]
    assert "error now" not in rest.lower()
    # Steps and bars, no curve through noise.
    assert card.locator(".chart path").count() == 0
    assert card.locator("rect.chart-band").count() == card.locator("line.chart-line").count() > 0
    assert_fits(page)
    assert_accessible(page)


WHITE = "rgb(255, 255, 255)"
PLATES = """selector => [...document.querySelectorAll(selector)]
    .map((each) => getComputedStyle(each)[each.localName === "rect" ? "fill" : "backgroundColor"])"""


def test_transparent_pictures_are_on_white_in_the_dark(site, looking, tmp_path):
    page = looking({"color_scheme": "dark"})
    page.goto("/studies/new")
    page.get_by_label("Title").fill("Lines")
    page.get_by_role("button", name="Files", exact=True).click()
    for name in THINGS:
        picture = Image.new("RGBA", (40, 40))
        ImageDraw.Draw(picture).line([0, 0, 40, len(name)], "black", 3)
        picture.save(tmp_path / f"{name}.png")
    page.get_by_label("Drop files here").set_input_files([tmp_path / f"{name}.png" for name in THINGS])
    expect(page.locator(".thumbnails img")).to_have_count(6)
    assert page.evaluate(PLATES, ".thumbnails img") == [WHITE] * 6
    page.get_by_role("button", name="Create study").click()
    page.get_by_role("button", name="Edit objects").click()
    expect(page.locator(".object-face img")).to_have_count(6)
    assert page.evaluate(PLATES, ".object-face img") == [WHITE] * 6
    site.store.imports.append(page.url.split("/")[-1], simulated(30))
    page.reload()
    expect(page.locator(".mark.pictured").first).to_be_visible(timeout=60_000)
    assert page.evaluate(PLATES, ".mark .plate") == [WHITE] * 6
    page.goto("/studies")
    expect(page.locator(".examples img")).to_have_count(6)
    assert page.evaluate(PLATES, ".examples img") == [WHITE] * 6


def test_a_closed_study_promises_neither_a_map_nor_an_import(site, signed_in, watched):
    page, study = signed_in, watched(0)
    page.goto(f"/studies/{study}")
    expect(page.locator(".map-empty")).to_contain_text("The map appears")
    expect(page.get_by_role("button", name="Import answers")).to_be_visible()
    site.store.studies.change_state(study, State.CLOSED)
    page.reload()
    expect(page.locator(".map-empty")).to_contain_text("There is no map")
    expect(page.get_by_role("button", name="Import answers")).to_have_count(0)


def test_whoever_has_finished_or_is_excluded_is_not_active(site, signed_in, watched):
    study = watched(30)
    people = [begin(site, study, f"q{number}").participant for number in range(3)]
    signed_in.goto(f"/studies/{study}")
    note = signed_in.locator("[data-figure=participants] .small")
    expect(note).to_have_text("3 active now")
    site.store.participants.exclude(study, [people[0]], True)
    expect(note).to_have_text("2 active now")


@SIZES
@pytest.mark.parametrize(("item", "state"), [("Pause", "paused"), ("Close study", "closed")])
def test_stopping_a_study_says_who_is_in_the_middle_and_what_will_happen_to_them(
    site, looking, watched, size, item, state
):
    study, page = watched(0), looking(size)
    for number in range(2):
        begin(site, study, f"q{number}")
    page.goto(f"/studies/{study}")
    if state == "closed":
        page.locator(".actions summary").click()
    page.get_by_role("button", name=item).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 participants are answering now")
    expect(dialog.get_by_label("They may finish")).to_be_checked()
    assert_fits(page)
    assert_accessible(page)
    dialog.get_by_role("button", name="Cancel").click()
    assert site.store.studies.get(study).state == State.OPEN
    if state == "closed":
        page.locator(".actions summary").click()
    page.get_by_role("button", name=item).click()
    dialog.get_by_role("button", name=item.split()[0]).click()
    notice = page.get_by_role("status").filter(has_text=state)
    expect(notice).to_contain_text("2 participants")
    kept = site.store.studies.get(study)
    assert (kept.state, kept.settings["unfinished"]["stopped"]) == (state, "finish")


def test_a_study_can_be_stopped_so_that_everybody_completes_at_once(site, signed_in, watched):
    page, study = signed_in, watched(0)
    begin(site, study, "somebody")
    page.goto(f"/studies/{study}")
    page.get_by_role("button", name="Pause").click()
    page.get_by_label("They stop now").check()
    page.get_by_role("button", name="Pause study").click()
    expect(page.get_by_role("status").filter(has_text="paused")).to_be_visible()
    assert site.store.studies.get(study).settings["unfinished"]["stopped"] == "complete"
    expect(page.get_by_role("status").filter(has_text="participant")).to_have_count(0)


def test_a_connection_that_works_is_not_announced(signed_in, draft):
    signed_in.goto(f"/studies/{draft}")
    expect(signed_in.locator(".study-title .tag:visible")).to_have_text(["Draft"])
