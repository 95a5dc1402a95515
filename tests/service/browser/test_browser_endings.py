"""Endings in a real browser: codes, the way back to a platform, and studies that do not continue."""

from urllib.parse import urlsplit

from taking_part import begin, expect, hold, objects_in, press, shown

from people import THINGS, settings

PLATFORM = {"code": "C1X9-PL7A", "url": "https://platform.test/done?cc=C1X9-PL7A"}


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


def test_the_code_can_be_copied_and_the_page_then_goes_to_the_url_of_the_ending(site, visitor):
    study = site.study(limits={"per_participant": 1}, endings={"completed": PLATFORM})
    page = visitor(permissions=["clipboard-read", "clipboard-write"])
    page.context.route("https://platform.test/**", lambda route: route.fulfill(body="Welcome back"))
    begin(page, study)
    page.keyboard.press("f")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == PLATFORM["code"]
    expect(page.get_by_role("link", name="platform.test")).to_have_attribute("href", PLATFORM["url"])
    assert urlsplit(page.url).path == f"/s/{study}"
    page.clock.run_for(7000)
    page.wait_for_url(PLATFORM["url"])


def test_the_url_of_an_ending_is_filled_from_the_link_of_this_browser_also_after_a_reload(site, page, visitor):
    url = "https://platform.test/done?code={survey_code}"
    study = site.study(limits={"per_participant": 1}, endings={"completed": {"url": url}}, identify_by=["puid"])
    begin(page, study, "?puid=7&survey_code=a%20b")
    page.keyboard.press("f")
    link = page.get_by_role("link", name="platform.test")
    expect(link).to_have_attribute("href", url.replace("{survey_code}", "a%20b"))
    page.goto(f"/s/{study}")
    expect(link).to_have_attribute("href", url.replace("{survey_code}", "a%20b"))
    other = visitor()
    other.goto(f"/s/{study}?puid=7")
    expect(other.get_by_role("link", name="platform.test")).to_have_attribute("href", url.replace("{survey_code}", ""))


def test_a_link_without_the_proof_that_a_study_demands_says_so(site, page):
    study = site.study(identity_proof="signature")
    page.goto(f"/s/{study}?puid=7")
    expect(page.get_by_role("heading", name="You cannot take part")).to_be_visible()
    expect(page.locator("article")).to_contain_text("does not prove who you are")


def test_a_draft_says_that_it_does_not_exist_and_its_preview_asks_to_sign_in(site, page):
    draft = site.store.studies.create("Secret", THINGS, settings()).id
    page.goto(f"/s/{draft}")
    expect(page.get_by_role("heading", name="does not exist")).to_be_visible()
    page.goto(f"/s/{draft}?preview=1")
    expect(page.get_by_role("heading", name="sign in")).to_be_visible()


def test_after_a_jump_of_the_servers_clock_the_page_shows_another_question(site, page, monkeypatch):
    study = site.study(limits={"per_participant": 3}, endings={"completed": {"code": "C1X9"}})
    begin(page, study)
    press(page, "f")
    site.answers(page, study, 1)
    late = site.store._clock() + 2 * 3600 * 1_000_000
    monkeypatch.setattr("erkle.service.participation.advancing.now", lambda: late)
    monkeypatch.setattr(site.store, "_clock", lambda: late)
    # The first two answers are refused, because their questions have expired. Nothing on the page tells.
    for _ in range(4):
        if page.locator(".stage").is_visible():
            shown(page)
            page.keyboard.press("f")
            page.wait_for_timeout(300)
    expect(page.locator(".code")).to_have_text("C1X9")
    assert site.count(study) == 3


def test_a_participant_can_stay_on_the_last_page(site, page):
    study = site.study(limits={"per_participant": 1}, endings={"completed": PLATFORM})
    begin(page, study)
    page.keyboard.press("f")
    page.get_by_role("button", name="Stay on this page").click()
    page.clock.run_for(20_000)
    assert urlsplit(page.url).path == f"/s/{study}"


def test_without_consent_there_is_an_ending_and_nothing_is_saved(site, page):
    endings = {"completed": {"code": "DONE"}, "declined": {"code": "NO-CONSENT"}}
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


def test_a_participant_who_fails_the_checks_gets_another_code(site, page):
    catch = [{"anchor": "Paris", "near": "Lyon", "far": "Oslo"}]
    checks = {"practice": 0, "catch": catch, "catch_every": 1, "fail_after": 1}
    study = site.study(checks=checks, endings={"completed": {"code": "DONE"}, "failed": {"code": "FAILED"}})
    left, _, _ = objects_in(begin(page, study))
    page.keyboard.press("f" if left == "Oslo" else "j")
    expect(page.locator(".code")).to_have_text("FAILED")


def test_a_study_that_does_not_exist_says_so(page):
    page.goto("/s/nothing")
    expect(page.get_by_role("heading", name="does not exist")).to_be_visible()
