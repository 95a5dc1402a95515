"""Trouble in a real browser, on a desktop and on a phone: nobody ends without words and the code meant for them."""

import pytest
from taking_part import PHONE, RETRY_MS, begin, expect, hold, shown

from erkle.service.accounts.passwords import hashed
from erkle.service.participation.endings import Ending
from erkle.store import Standing, State
from people import PASSWORD

# The page asks every 20 seconds whether the study has been stopped, and every 15 whether it continues.
NOTICED_MS = 21_000
CODES = {ending: {"text": f"Words for *{ending}*.", "code": f"CODE-{ending.upper()}"} for ending in Ending}
HEADINGS = {
    "completed": "All done",
    "failed": "The study ends here",
    "screened": "You cannot take part",
    "full": "The study is full",
    "closed": "The study is closed",
    "declined": "You are not taking part",
}


@pytest.fixture(params=[pytest.param("desktop", marks=pytest.mark.thorough), "phone"])
def page(request, visitor):
    """The page of a participant, on both kinds of device."""
    return visitor(**(PHONE if request.param == "phone" else {}))


@pytest.fixture
def study(site):
    """Create an open study whose endings have different texts and codes: ``study(unfinished={...})``."""

    def study(**changes):
        return site.study(**{"limits": {"per_participant": 3}, "endings": CODES, **changes})

    return study


def assert_ending(page, ending):
    """The page shows the words and the code of an ending, and says nothing else."""
    expect(page.locator(".code")).to_have_text(f"CODE-{ending.upper()}")
    expect(page.locator("article em")).to_have_text(ending)
    expect(page.get_by_role("heading", name=HEADINGS[ending])).to_be_focused()
    expect(page.locator("#announcer")).to_have_text("")
    expect(page.get_by_text("Saving")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def answer(page):
    """Answer the question with a tap or a click, and wait for the next one or for the end."""
    shown(page)
    before = page.locator(".stage h1").text_content()
    page.locator(".candidate[data-side=left] button").click()
    page.wait_for_function("(before) => document.querySelector('.stage h1')?.textContent !== before", arg=before)


def test_whoever_is_in_the_middle_when_a_study_is_closed_finishes(site, page, study):
    closing = study()
    begin(page, closing)
    answer(page)
    site.store.studies.change_state(closing, State.CLOSED)
    answer(page)
    answer(page)
    assert_ending(page, "completed")
    assert site.count(closing) == 3
    page.reload()
    assert_ending(page, "completed")


@pytest.mark.parametrize("state", [State.PAUSED, State.CLOSED])
def test_the_page_notices_by_itself_that_the_study_completes_for_everybody(site, page, study, state):
    closing = study(unfinished={"stopped": "complete"})
    begin(page, closing)
    answer(page)
    shown(page)
    page.get_by_role("button", name="Skip this question").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    site.store.studies.change_state(closing, state)
    page.clock.fast_forward(NOTICED_MS)
    assert_ending(page, "completed")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize(("excluded", "ending"), [("complete", "completed"), ("fail", "failed")])
def test_an_excluded_participant_gets_words_and_a_code(site, page, study, excluded, ending):
    running = study(unfinished={"excluded": excluded})
    begin(page, running)
    [person] = site.store.participants.all(running)
    site.store.participants.exclude(running, [person.id])
    page.locator(".candidate[data-side=left] button").click()
    assert_ending(page, ending)
    assert site.count(running) == 0
    assert site.store.participants.get(running, person.id).state == Standing(ending)


def test_an_ending_that_is_shown_in_another_browser_is_saved(site, page, study):
    completing = study(texts={"consent": "Do you agree?"}, unfinished={"stopped": "complete"})
    ann = site.store.participants.join(completing, {"PROLIFIC_PID": "ann"}, "PROLIFIC_PID=ann")
    site.store.questions.issue(completing, ann.id, [(0, 1, 2)])
    site.store.studies.change_state(completing, State.PAUSED)
    page.goto(f"/s/{completing}?PROLIFIC_PID=ann")
    assert_ending(page, "completed")
    assert site.store.participants.get(completing, ann.id).state == Standing.COMPLETED


def test_the_ending_of_a_closed_study_is_saved_of_participants_only(site, page, visitor, study):
    closed = study(texts={"consent": "Do you agree?"})
    ann = site.store.participants.join(closed, {"PROLIFIC_PID": "ann"}, "PROLIFIC_PID=ann")
    site.store.studies.change_state(closed, State.CLOSED)
    for who, browser in (("ann", page), ("bob", visitor())):
        browser.goto(f"/s/{closed}?PROLIFIC_PID={who}")
        assert_ending(browser, "closed")
    [only] = site.store.participants.all(closed)
    assert (only.id, only.state) == (ann.id, Standing.CLOSED)


def test_answers_given_offline_count_although_the_study_was_closed_meanwhile(site, page, study):
    closing = study()
    begin(page, closing)
    page.context.set_offline(True)
    answer(page)
    site.store.studies.change_state(closing, State.CLOSED)
    page.context.set_offline(False)
    site.answers(page, closing, 1)
    answer(page)
    answer(page)
    assert_ending(page, "completed")
    assert site.count(closing) == 3


@pytest.fixture
def gone(site, monkeypatch):
    """Move the clock of the server forward by two hours."""

    def gone():
        late = site.store._clock() + 2 * 3600 * 1_000_000
        for module in ("advancing", "participation"):
            monkeypatch.setattr(f"erkle.service.participation.{module}.now", lambda: late)
        monkeypatch.setattr(site.store, "_clock", lambda: late)

    return gone


def test_whoever_returns_hours_after_the_closing_gets_the_ending_of_a_closed_study(site, page, visitor, study, gone):
    closing = study()
    begin(page, closing, "?PROLIFIC_PID=ann")
    answer(page)
    site.store.studies.change_state(closing, State.CLOSED)
    gone()
    page.reload()
    assert_ending(page, "closed")
    # In another browser as well, before anything else is read.
    other = visitor()
    other.goto(f"/s/{closing}?PROLIFIC_PID=ann")
    assert_ending(other, "closed")


def test_whoever_returns_to_a_paused_study_waits_and_continues_by_themselves(site, page, study, gone):
    paused = study()
    begin(page, paused)
    answer(page)
    site.store.studies.change_state(paused, State.PAUSED)
    gone()
    page.reload()
    expect(page.get_by_role("heading", name="The study is paused")).to_be_focused()
    expect(page.locator("#announcer")).to_have_text("")
    site.store.studies.change_state(paused, State.OPEN)
    page.clock.fast_forward(NOTICED_MS)
    answer(page)
    answer(page)
    assert_ending(page, "completed")


def test_a_newcomer_to_a_paused_study_waits_and_begins_by_themselves(site, page, study):
    paused = study()
    site.store.studies.change_state(paused, State.PAUSED)
    page.goto(f"/s/{paused}")
    expect(page.get_by_role("heading", name="The study is paused")).to_be_focused()
    site.store.studies.change_state(paused, State.OPEN)
    page.clock.fast_forward(NOTICED_MS)
    expect(page.get_by_role("button", name="Begin")).to_be_visible()


@pytest.mark.parametrize("identity", ["", "?PROLIFIC_PID=late"])
@pytest.mark.parametrize("ending", ["closed", "full"])
def test_whoever_comes_too_late_is_told_before_consent_and_instructions(site, page, study, ending, identity):
    texts = {"consent": "Do you agree?", "instructions": "Read this."}
    over = study(texts=texts, limits={"per_participant": 3, "participants": 1})
    site.store.participants.join(over, {"PROLIFIC_PID": "ann"}, "PROLIFIC_PID=ann")
    if ending == "closed":
        site.store.studies.change_state(over, State.CLOSED)
    page.goto(f"/s/{over}{identity}")
    assert_ending(page, ending)
    assert len(site.store.participants.all(over)) == 1


def test_a_study_that_fills_up_while_somebody_reads_the_consent_text_says_so(site, page, study):
    filling = study(texts={"consent": "Do you agree?"}, limits={"per_participant": 3, "participants": 1})
    page.goto(f"/s/{filling}")
    button = page.get_by_role("button", name="I agree")
    expect(button).to_be_visible()
    site.store.participants.join(filling)
    button.click()
    assert_ending(page, "full")


def test_whoever_declines_gets_words_and_a_code(site, page, study):
    asking = study(texts={"consent": "Do you agree?"})
    page.goto(f"/s/{asking}")
    page.get_by_role("button", name="I do not agree").click()
    assert_ending(page, "declined")


def test_a_second_browser_with_the_same_identity_continues_also_after_the_closing(site, page, visitor, study):
    closing = study()
    begin(page, closing, "?PROLIFIC_PID=ann")
    answer(page)
    site.store.studies.change_state(closing, State.CLOSED)
    other = visitor()
    begin(other, closing, "?PROLIFIC_PID=ann")
    answer(other)
    answer(other)
    assert_ending(other, "completed")
    page.clock.fast_forward(NOTICED_MS)
    assert_ending(page, "completed")
    third = visitor()
    third.goto(f"/s/{closing}?PROLIFIC_PID=ann")
    assert_ending(third, "completed")
    assert site.count(closing) == 3


def test_nothing_says_that_answers_are_saved_while_the_page_only_asks(page, study):
    begin(page, study())
    release = hold(page, "**/resume")
    page.clock.fast_forward(NOTICED_MS)
    page.clock.run_for(2000)
    expect(page.locator(".saving")).to_have_text("Saved")
    release()
    page.clock.run_for(2000)
    expect(page.locator(".saving")).to_have_text("Saved")


def test_without_a_connection_the_page_says_so_and_not_that_answers_are_unsent(page, study):
    begin(page, study())
    page.route("**/resume", lambda route: route.abort())
    page.clock.fast_forward(NOTICED_MS)
    expect(page.locator(".saving")).to_have_attribute("data-state", "reconnecting")
    page.unroute("**/resume")
    page.clock.fast_forward(RETRY_MS)
    expect(page.locator(".saving")).to_have_attribute("data-state", "saved")


def test_the_preview_shows_every_ending_and_goes_nowhere(site, page):
    account = site.store.accounts.create(f"previewer of {page.viewport_size}", hashed(PASSWORD))
    url = "https://platform.test/done?cc=C1&who={survey_code}"
    endings = {**CODES, "completed": {**CODES["completed"], "url": url}}
    study = site.study(owner=account.id, endings=endings, limits={"per_participant": 1})
    page.goto("/login")
    assert page.request.post("/api/login", data={"name": account.name, "password": PASSWORD}).ok
    page.goto(f"/s/{study}?preview=1")
    page.get_by_role("button", name="Begin").click()
    shown(page)
    expect(page.locator(".saving")).to_have_text("Not saved")
    page.locator(".candidate[data-side=left] button").click()
    assert_ending(page, "completed")
    expect(page.locator(".afterwards")).to_contain_text(url)
    page.clock.run_for(20_000)
    assert f"/s/{study}" in page.url
    for name in ("Failed", "Screened out", "Full", "Closed", "Declined"):
        page.get_by_role("navigation", name="Endings").get_by_role("link", name=name, exact=True).click()
        assert_ending(page, name.split()[0].lower())
        expect(page.locator(".afterwards")).not_to_contain_text("https")
    page.goto(f"/s/{study}?preview=1#full")
    page.reload()
    assert_ending(page, "full")
    assert site.store.studies.counts(study).participants == 0
