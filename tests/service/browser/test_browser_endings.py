"""Endings in a real browser: codes, ways back to a platform, and studies that do not go on."""

from urllib.parse import urlsplit

from taking_part import SETTLED_MS, begin, expect, hold, press, shown, spoken, things

from erkle.store import State


def test_the_code_is_shown_only_after_the_server_has_everything(site, page):
    study = site.study(limits={"per_participant": 2}, endings={"completed": {"code": "C1X9-PL7A"}})
    begin(page, study)
    press(page, "f")
    release = hold(page, "**/answer")
    page.keyboard.press("f")
    expect(page.locator(".waiting")).to_be_visible()
    expect(page.get_by_text("C1X9-PL7A")).not_to_be_visible()
    release()
    expect(page.locator(".code")).to_have_text("C1X9-PL7A")
    expect(page.get_by_role("heading", name="All done")).to_be_focused()
    page.reload()
    expect(page.locator(".code")).to_have_text("C1X9-PL7A")
    assert site.count(study) == 2


def test_the_code_can_be_copied(site, visitor):
    study = site.study(limits={"per_participant": 1}, endings={"completed": {"code": "C1X9-PL7A"}})
    page = visitor(permissions=["clipboard-read", "clipboard-write"])
    begin(page, study)
    page.keyboard.press("f")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "C1X9-PL7A"


def test_after_the_end_the_page_goes_where_the_study_says(site, page):
    ending = {"code": "C1X9", "url": "https://platform.test/done?cc=C1X9"}
    study = site.study(limits={"per_participant": 1}, endings={"completed": ending})
    page.clock.install()
    page.context.route("https://platform.test/**", lambda route: route.fulfill(body="Welcome back"))
    begin(page, study)
    page.keyboard.press("f")
    expect(page.get_by_role("link", name="Continue to platform.test")).to_have_attribute("href", ending["url"])
    assert urlsplit(page.url).path == f"/s/{study}"
    page.clock.run_for(7000)
    page.wait_for_url(ending["url"])


def test_who_wants_to_stay_is_not_sent_away(site, page):
    study = site.study(limits={"per_participant": 1}, endings={"completed": {"url": "https://platform.test/"}})
    page.clock.install()
    begin(page, study)
    page.keyboard.press("f")
    page.get_by_role("button", name="Stay on this page").click()
    page.clock.run_for(20_000)
    assert urlsplit(page.url).path == f"/s/{study}"


def test_who_does_not_consent_is_thanked_and_nothing_is_kept(site, page):
    endings = {"completed": {"code": "DONE"}, "screened": {"code": "NO-CONSENT"}}
    study = site.study(texts={"consent": "Do you **agree**?"}, endings=endings)
    page.goto(f"/s/{study}")
    expect(page.locator(".prose strong")).to_have_text("agree")
    page.get_by_role("button", name="I do not agree").click()
    expect(page.locator(".code")).to_have_text("NO-CONSENT")
    assert site.store.studies.counts(study).participants == 0
    page.reload()
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Begin").click()
    shown(page)
    assert site.store.studies.counts(study).participants == 1


def test_who_fails_the_checks_gets_another_code(site, page):
    catch = [{"anchor": "Paris", "near": "Lyon", "far": "Oslo"}]
    checks = {"practice": 0, "catch": catch, "catch_every": 1, "fail_after": 1}
    endings = {"completed": {"code": "DONE"}, "failed": {"code": "FAILED"}}
    study = site.study(checks=checks, endings=endings)
    begin(page, study)
    for _ in range(12):
        if page.locator(".code").count():
            break
        left, _, _ = things(spoken(page))
        before = spoken(page)
        page.keyboard.press("f" if left == "Oslo" else "j")
        page.wait_for_function(
            "before => document.querySelector('.code') || document.querySelector('.stage h1').textContent !== before",
            arg=before,
        )
        page.wait_for_timeout(SETTLED_MS + 100)
    expect(page.locator(".code")).to_have_text("FAILED")


def test_a_paused_study_says_so_and_goes_on_by_itself(site, page):
    study = site.study()
    first = begin(page, study)
    site.store.studies.change_state(study, State.PAUSED)
    page.keyboard.press("f")
    expect(page.get_by_role("heading", name="The study is paused")).to_be_visible()
    site.store.studies.change_state(study, State.OPEN)
    page.get_by_role("button", name="Check now").click()
    asked = {shown(page), press(page, "f")}
    press(page, "f")
    # What was answered too late is asked again.
    assert first in asked
    assert len(site.answers(page, study, 2)) == 2


def test_a_closed_study_says_so(site, page):
    study = site.study()
    begin(page, study)
    site.store.studies.change_state(study, State.CLOSED)
    page.keyboard.press("f")
    expect(page.get_by_role("heading", name="The study is closed")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="The study is closed")).to_be_visible()
    assert site.count(study) == 0


def test_a_study_that_is_not_there_says_so(site, page):
    page.goto("/s/nothing")
    expect(page.get_by_role("heading", name="This study does not exist")).to_be_visible()
