"""Trouble on the way in a real browser: what somebody answered arrives once, after outages, losses and reloads."""

import pytest
from taking_part import begin, expect, names, press, shown, things


def test_answers_given_offline_arrive_in_order_when_the_network_is_back(site, page):
    study = site.study()
    first = begin(page, study)
    page.context.set_offline(True)
    second = press(page, "f")
    expect(page.locator(".saving")).to_have_text("Offline, answers stored here")
    page.keyboard.press("j")
    expect(page.locator(".waiting")).to_contain_text("You are offline")
    assert site.count(study) == 0
    page.context.set_offline(False)
    shown(page)
    kept = site.answers(page, study, 2)
    (left, right, head), (left2, right2, head2) = things(first), things(second)
    assert [names(answer) for answer in kept] == [(left, right, head), (right2, left2, head2)]
    expect(page.locator(".saving")).to_have_text("Saved")


@pytest.mark.parametrize(
    "failure",
    [
        {"status": 500},
        {"status": 503, "json": {"error": {"reason": "busy", "sentence": "Later."}}},
        {"status": 429, "headers": {"Retry-After": "1"}, "json": {"error": {"reason": "rate", "sentence": "Later."}}},
        {"status": 200, "body": "<html>Please sign in to the hotel's network</html>"},
        {"status": 404, "body": "<html>The proxy does not know</html>"},
        None,
    ],
    ids=["500", "503", "429", "a hotel's page", "a proxy's 404", "lost"],
)
def test_an_answer_is_sent_again_until_the_server_has_it(site, page, failure):
    study = site.study()
    begin(page, study)
    tries = []

    def fail(route):
        tries.append(route.request.post_data)
        if len(tries) > 1:
            route.continue_()
        elif failure is None:
            route.abort()
        else:
            route.fulfill(**failure)

    page.route("**/answer", fail)
    press(page, "f")
    assert len(site.answers(page, study, 1)) == 1
    assert len(tries) == 2
    assert len(set(tries)) == 1
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
    expect(page.locator(".saving")).to_have_text("Saved")
    press(page, "f")
    assert lost == [200]
    assert len(site.answers(page, study, 2)) == 2
    assert site.store.studies.counts(study).refusals == 0


def test_a_reload_goes_on_where_it_was(site, page):
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
    assert [names(answer)[2] for answer in site.answers(page, study, 2)] == [things(first)[2], things(second)[2]]
    assert third not in (first, second)


def test_an_answer_that_the_server_refuses_is_dropped_and_the_study_goes_on(site, page):
    study = site.study()
    first = begin(page, study)
    other = page.context.new_page()
    other.goto(f"/s/{study}")
    assert shown(other) == first
    press(other, "f")
    press(page, "j")
    press(page, "f")
    kept = site.answers(page, study, 2)
    assert [answer.client["side"] for answer in kept] == ["left", "left"]
    assert site.store.studies.counts(study).refusals == 1


@pytest.mark.parametrize("blocked", [["localStorage"], ["localStorage", "sessionStorage"]], ids=["local", "all"])
def test_without_storage_the_study_works_and_a_notice_says_what_to_mind(site, page, blocked):
    study = site.study(limits={"per_participant": 2}, endings={"completed": {"code": "C1X9"}})
    for area in blocked:
        page.add_init_script(f"Object.defineProperty(window, '{area}', {{ get() {{ throw new Error('blocked') }} }})")
    begin(page, study)
    expect(page.locator(".banner")).to_contain_text("close it before the end")
    press(page, "f")
    page.keyboard.press("f")
    expect(page.locator(".code")).to_have_text("C1X9")
