"""Network problems in a real browser: every answer arrives exactly once, after outages, lost replies and reloads."""

import pytest
from taking_part import RETRY_MS, begin, expect, names, objects_in, press, shown

FAILURES = [
    {"status": 500},
    {"status": 503, "json": {"error": {"reason": "busy", "sentence": "Later."}}},
    {"status": 429, "headers": {"Retry-After": "1"}, "json": {"error": {"reason": "rate", "sentence": "Later."}}},
    # A captive portal, and a proxy that does not know the server.
    {"status": 200, "body": "<html>Please sign in to this network</html>"},
    {"status": 404, "body": "<html>Unknown host</html>"},
]


def test_answers_given_offline_arrive_in_order_when_the_network_is_back(site, page):
    study = site.study()
    first = begin(page, study)
    page.context.set_offline(True)
    second = press(page, "f")
    expect(page.locator(".saving")).to_have_attribute("data-state", "offline")
    page.keyboard.press("j")
    expect(page.locator(".waiting")).to_contain_text("offline")
    assert site.count(study) == 0
    page.context.set_offline(False)
    shown(page)
    saved = site.answers(page, study, 2)
    (left, right, anchor), (left2, right2, anchor2) = objects_in(first), objects_in(second)
    assert [names(answer) for answer in saved] == [(left, right, anchor), (right2, left2, anchor2)]
    expect(page.locator(".saving")).to_have_text("Saved")


def test_an_answer_is_sent_again_after_every_kind_of_failure(site, page):
    study = site.study()
    begin(page, study)
    sent, ended, failures = [], [], iter([*FAILURES, None])

    def fail(route):
        sent.append(route.request.post_data)
        failure = next(failures, "none")
        if failure == "none":
            route.continue_()
        elif failure is None:
            route.abort()
        else:
            route.fulfill(**failure)

    page.route("**/answer", fail)
    for event in ("requestfinished", "requestfailed"):
        page.on(event, lambda request: ended.append(request) if request.url.endswith("/answer") else None)
    press(page, "f")
    for n_failed in range(1, len(FAILURES) + 2):
        while len(ended) < n_failed:
            page.wait_for_timeout(5)
        expect(page.locator(".saving")).to_have_attribute("data-state", "retrying")
        # A jump of the clock ends the pause before the next attempt.
        page.clock.fast_forward(RETRY_MS)
    assert len(site.answers(page, study, 1)) == 1
    assert len(sent) == len(FAILURES) + 2
    assert len(set(sent)) == 1
    expect(page.locator(".saving")).to_have_text("Saved")


def test_an_answer_whose_acknowledgement_was_lost_counts_once(site, page):
    study = site.study()
    begin(page, study)
    lost = []

    def lose(route):
        if not lost:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    page.route("**/answer", lose)
    press(page, "f")
    expect(page.locator(".saving")).to_have_attribute("data-state", "retrying")
    page.clock.fast_forward(RETRY_MS)
    expect(page.locator(".saving")).to_have_text("Saved")
    press(page, "f")
    assert lost == [200]
    assert len(site.answers(page, study, 2)) == 2
    assert site.store.studies.counts(study).refusals == 0


def test_a_reload_continues_with_the_same_question(site, page):
    study = site.study()
    begin(page, study)
    question = press(page, "f")
    site.answers(page, study, 1)
    page.reload()
    assert shown(page) == question
    press(page, "j")
    assert len(site.answers(page, study, 2)) == 2
    assert site.store.studies.counts(study).participants == 1


def test_answers_that_were_not_sent_survive_a_reload(site, page):
    study = site.study()
    first = begin(page, study)
    page.route("**/answer", lambda route: route.abort())
    second = press(page, "f")
    page.keyboard.press("j")
    expect(page.locator(".waiting")).to_contain_text("cannot be reached")
    page.unroute("**/answer")
    page.reload()
    third = shown(page)
    saved = [names(answer)[2] for answer in site.answers(page, study, 2)]
    assert saved == [objects_in(first)[2], objects_in(second)[2]]
    assert third not in (first, second)


def test_an_answer_that_the_server_refuses_is_dropped_and_the_study_continues(site, page):
    study = site.study()
    first = begin(page, study)
    other = page.context.new_page()
    other.clock.install()
    other.goto(f"/s/{study}")
    assert shown(other) == first
    press(other, "f")
    site.answers(other, study, 1)
    press(page, "j")
    press(page, "f")
    saved = site.answers(page, study, 2)
    assert [answer.client["side"] for answer in saved] == ["left", "left"]
    assert site.store.studies.counts(study).refusals == 1


@pytest.mark.parametrize("blocked", [["localStorage"], ["localStorage", "sessionStorage"]], ids=["local", "all"])
def test_the_study_works_without_storage_and_shows_a_warning(site, page, blocked):
    study = site.study(limits={"per_participant": 2}, endings={"completed": {"code": "C1X9"}})
    for area in blocked:
        page.add_init_script(f"Object.defineProperty(window, '{area}', {{ get() {{ throw new Error('blocked') }} }})")
    begin(page, study)
    expect(page.locator(".banner.warn")).to_be_visible()
    press(page, "f")
    page.keyboard.press("f")
    expect(page.locator(".code")).to_have_text("C1X9")
