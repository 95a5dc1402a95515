"""Participants in a real browser: what they do is kept once, whatever happens on the way, and no page complains."""

import io
import re
import threading
import time
import wave
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
import uvicorn

from erkle.service import Configuration, create_app
from erkle.service.app import SERVER
from erkle.service.passwords import hashed
from erkle.service.reading import read_upload
from erkle.store import Kind, Medium, Object, State
from people import PASSWORD, THINGS, settings

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
# A press counts after 150 ms; a double click takes up to 500 ms.
SETTLED_MS, SINGLE_MS = 200, 550


class Site(NamedTuple):
    """A server that listens, and its store."""

    url: str
    app: object

    @property
    def store(self):
        return self.app.state.store

    def study(self, objects=THINGS, title="Cities", media=None, owner=None, **changes):
        """A new open study without practice, with the settings that are given."""
        changes = {"checks": {"practice": 0}, **changes}
        study = self.store.create_study(title, objects, settings(**changes), owner=owner, media=media or {}).id
        self.store.change_state(study, State.OPEN)
        return study

    def answers(self, page, study, n_answers):
        """The answers that are kept, after waiting for so many; meanwhile the page goes on."""
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline and self.count(study) < n_answers:
            page.wait_for_timeout(50)
        return list(self.store.log(study))

    def count(self, study):
        return self.store.counts(study).answers


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A real server for all tests of this file; each has studies of its own."""
    app = create_app(Configuration(data=tmp_path_factory.mktemp("site")))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", **SERVER))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield Site(f"http://127.0.0.1:{port}", app)
    server.should_exit = True
    thread.join(30)


@pytest.fixture
def visitor(visiting, site):
    """Another person's page: ``visitor()``."""
    return partial(visiting, site.url)


@pytest.fixture
def page(visitor):
    """The page of one person at a desk."""
    return visitor()


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
    return THINGS[answer.near], THINGS[answer.far], THINGS[answer.head]


def hold(page, pattern):
    """Hold requests back; the function that comes back lets them go on."""
    waiting, free = [], []
    page.route(pattern, lambda route: route.continue_() if free else waiting.append(route))

    def release():
        free.append(True)
        for route in waiting:
            route.continue_()

    return release


@pytest.mark.parametrize("way", ["click", "touch", "ArrowLeft", "ArrowRight", "f", "J"])
def test_a_press_answers_the_question_that_is_shown(site, visitor, way):
    study = site.study()
    page = visitor(**(PHONE if way == "touch" else {}))
    left, right, head = things(begin(page, study))
    side = "left" if way in ("ArrowLeft", "f", "touch") else "right"
    button = page.locator(f"[data-side={side}] button")
    if way == "click":
        button.click()
    elif way == "touch":
        button.tap()
    else:
        page.keyboard.press(way)
    near, far = (left, right) if side == "left" else (right, left)
    (answer,) = site.answers(page, study, 1)
    assert names(answer) == (near, far, head)
    assert answer.client["side"] == side
    assert answer.client["input"] == {"click": "click", "touch": "touch"}.get(way, "key")
    assert answer.client["touch"] == (way == "touch")
    assert (answer.client["width"], answer.client["height"]) == tuple(page.viewport_size.values())
    assert SETTLED_MS / 2 < answer.response_ms < 10_000


def test_the_next_question_is_there_before_the_answer_has_arrived(site, page):
    study = site.study()
    first = begin(page, study)
    release = hold(page, "**/answer")
    page.keyboard.press("f")
    assert shown(page) != first
    expect(page.locator(".saving")).to_have_text("Saving …")
    page.keyboard.press("f")
    expect(page.locator(".waiting")).to_have_text("Saving your answers …")
    assert site.count(study) == 0
    release()
    shown(page)
    assert names(site.answers(page, study, 2)[0])[2] == things(first)[2]
    expect(page.locator(".saving")).to_have_text("Saved")


def test_a_double_click_and_a_key_held_down_answer_once(site, page):
    study = site.study()
    begin(page, study)
    page.locator("[data-side=left] button").dblclick()
    shown(page)
    page.wait_for_timeout(SINGLE_MS)
    for _ in range(8):
        page.keyboard.down("j")  # The same key again, not released, is a repeat.
        page.wait_for_timeout(60)
    page.keyboard.up("j")
    press(page, "f")
    assert [answer.client["input"] for answer in site.answers(page, study, 3)] == ["click", "key", "key"]


def test_a_double_tap_answers_once(site, visitor):
    study, page = site.study(), visitor(**PHONE)
    begin(page, study)
    button = page.locator("[data-side=left] button")
    button.tap()
    page.wait_for_timeout(SETTLED_MS)
    button.tap()
    page.wait_for_timeout(SINGLE_MS)
    assert len(site.answers(page, study, 1)) == 1


def test_a_press_on_a_question_nobody_can_have_seen_does_not_count(site, page):
    study = site.study()
    begin(page, study)
    press_f = (
        'for (const kind of ["keydown", "keyup"]) dispatchEvent(new KeyboardEvent(kind, { key: "f", code: "KeyF" }))'
    )
    page.evaluate(f"for (let i = 0; i < 5; i += 1) {press_f}")
    shown(page)
    assert len(site.answers(page, study, 1)) == 1


def test_answers_given_offline_arrive_in_order_when_the_network_is_back(site, page):
    study = site.study()
    first = begin(page, study)
    page.context.set_offline(True)
    second = press(page, "f")
    expect(page.locator(".saving")).to_have_text("Offline, answers are kept here")
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
    assert site.store.counts(study).refusals == 0


def test_a_reload_goes_on_where_it_was(site, page):
    study = site.study()
    begin(page, study)
    question = press(page, "f")
    site.answers(page, study, 1)
    page.reload()
    assert shown(page) == question
    press(page, "j")
    assert len(site.answers(page, study, 2)) == 2
    assert site.store.counts(study).participants == 1


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
    assert site.store.counts(study).refusals == 1


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
    expect(page.get_by_role("link", name="Go on to platform.test")).to_have_attribute("href", ending["url"])
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
    assert site.store.counts(study).participants == 0
    page.reload()
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Begin").click()
    shown(page)
    assert site.store.counts(study).participants == 1


def test_who_fails_the_checks_gets_another_code(site, page):
    catch = [{"head": "Paris", "near": "Lyon", "far": "Oslo"}]
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


def test_two_people_at_the_same_time_do_not_meet(site, visitor):
    study = site.study(limits={"per_participant": 3}, endings={"completed": {"code": "BOTH"}})
    one, two = visitor(), visitor(**PHONE)
    begin(one, study, "?PROLIFIC_PID=one")
    begin(two, study, "?PROLIFIC_PID=two")
    for number in range(3):
        one.keyboard.press("f")
        two.locator("[data-side=right] button").tap()
        if number < 2:
            one.wait_for_timeout(400)
            shown(one), shown(two)
    for page in (one, two):
        expect(page.locator(".code")).to_have_text("BOTH")
    kept = site.answers(one, study, 6)
    assert sorted(answer.client["input"] for answer in kept) == ["key"] * 3 + ["touch"] * 3
    assert len({(answer.participant, answer.client["input"]) for answer in kept}) == 2


def test_names_and_texts_of_a_study_stay_text(site, page):
    evil = [f"<img src=x onerror='window.broken = 1'> {number}" for number in range(4)]
    objects = [Object(name, {"text": "<script>window.broken = 1</script>"}) for name in evil]
    reasons = ["<b onmouseover='window.broken = 1'>why</b>"]
    texts = {
        "question": "Which?<script>window.broken = 1</script>",
        "instructions": "<img src=x onerror='broken = 1'>Do",
    }
    study = site.study(objects, title="<svg onload='window.broken = 1'>", skipping={"reasons": reasons}, texts=texts)
    begin(page, study)
    expect(page.locator(".choice .name").first).to_contain_text("<img src=x")
    expect(page.locator(".choice .text").first).to_have_text("<script>window.broken = 1</script>")
    page.get_by_role("button", name="Skip").click()
    page.get_by_role("button", name=reasons[0]).hover()
    assert page.locator(".stage img, .stage script, svg, dialog b").count() == 0
    assert page.evaluate("window.broken") is None


def test_all_parameters_of_the_link_are_kept(site, page):
    study = site.study()
    begin(page, study, "?PROLIFIC_PID=p1&STUDY_ID=s%20%26&anything=%C3%A4")
    (person,) = site.store.participants(study)
    assert person.parameters == {"PROLIFIC_PID": "p1", "STUDY_ID": "s &", "anything": "ä"}


def test_another_person_in_the_same_browser_joins_anew_and_the_first_can_come_back(site, page):
    study = site.study()
    begin(page, study, "?PROLIFIC_PID=one")
    second = press(page, "f")
    site.answers(page, study, 1)
    begin(page, study, "?PROLIFIC_PID=two")
    assert site.store.counts(study).participants == 2
    begin(page, study, "?PROLIFIC_PID=one&SESSION_ID=again")
    assert spoken(page) == second
    assert site.store.counts(study).participants == 2


def test_the_study_says_which_parameters_tell_people_apart(site, page):
    study = site.study(identify_by=["seat"])
    begin(page, study, "?seat=1&PROLIFIC_PID=same")
    begin(page, study, "?seat=2&PROLIFIC_PID=same")
    page.goto(f"/s/{study}?seat=2&PROLIFIC_PID=other")
    shown(page)
    assert site.store.counts(study).participants == 2


def test_a_question_can_be_skipped_with_a_reason(site, page):
    study = site.study(skipping={"reasons": ["Too hard", "Too easy"]})
    first = begin(page, study)
    page.get_by_role("button", name="Skip this question").click()
    page.keyboard.press("f")  # Keys answer nothing while the menu is open.
    page.get_by_role("button", name="Back to the question").click()
    assert spoken(page) == first
    page.get_by_role("button", name="Skip this question").click()
    page.get_by_role("button", name="Too easy").click()
    expect(page.locator(".stage h1")).not_to_have_text(first)
    # "Saved" may still be of before.
    while not site.store.skips(study):
        page.wait_for_timeout(50)
    assert [skip.reason for skip in site.store.skips(study)] == ["Too easy"]
    assert site.count(study) == 0


def test_where_skipping_is_not_allowed_there_is_no_way_to(site, page):
    begin(page, site.study(skipping={"allowed": False}))
    expect(page.get_by_role("button", name="Skip")).not_to_be_visible()


def test_practice_is_marked_and_progress_is_told(site, page):
    study = site.study(checks={"practice": 1}, limits={"per_participant": 4})
    begin(page, study)
    expect(page.get_by_text("Practice question")).to_be_visible()
    expect(page.locator(".count")).to_have_text("0 of 4")
    press(page, "f")
    expect(page.get_by_text("Practice question")).not_to_be_visible()
    press(page, "f")
    expect(page.locator(".count")).to_have_text("1 of 4")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "1")
    assert [answer.kind == Kind.PRACTICE for answer in site.answers(page, study, 2)] == [True, False]


def test_who_is_too_fast_is_told(site, page):
    begin(page, site.study(checks={"practice": 0, "too_fast_ms": 60_000}))
    press(page, "f")
    expect(page.locator(".remark")).to_contain_text("very quick")


def test_a_paused_study_says_so_and_goes_on_by_itself(site, page):
    study = site.study()
    first = begin(page, study)
    site.store.change_state(study, State.PAUSED)
    page.keyboard.press("f")
    expect(page.get_by_role("heading", name="The study is paused")).to_be_visible()
    site.store.change_state(study, State.OPEN)
    page.get_by_role("button", name="Look again now").click()
    asked = {shown(page), press(page, "f")}
    press(page, "f")
    # What was answered too late is asked again.
    assert first in asked
    assert len(site.answers(page, study, 2)) == 2


def test_a_closed_study_says_so(site, page):
    study = site.study()
    begin(page, study)
    site.store.change_state(study, State.CLOSED)
    page.keyboard.press("f")
    expect(page.get_by_role("heading", name="The study is closed")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="The study is closed")).to_be_visible()
    assert site.count(study) == 0


def test_a_study_that_is_not_there_says_so(site, page):
    page.goto("/s/nothing")
    expect(page.get_by_role("heading", name="There is no such study")).to_be_visible()


def test_a_participant_that_the_server_does_not_know_can_start_again(site, page):
    study = site.study()
    begin(page, study)
    key = f"erkle:{study}:participant"
    page.evaluate(
        f"localStorage.setItem('{key}', JSON.stringify({{participant: 'nobody', parameters: {{}}, begun: true}}))"
    )
    page.reload()
    page.get_by_role("button", name="Start again").click()
    page.get_by_role("button", name="Begin").click()
    shown(page)


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


def test_a_preview_shows_questions_and_sends_nothing(site, page):
    account = site.store.create_account("ann", hashed(PASSWORD))
    study = site.study(owner=account.id, limits={"per_participant": 3})
    page.goto(f"/s/{study}?preview=1")
    expect(page.get_by_role("heading", name="Please sign in")).to_be_visible()
    assert page.request.post("/api/login", data={"name": "ann", "password": PASSWORD}).ok
    posted = []
    page.on("request", lambda request: posted.append(request.url) if request.method != "GET" else None)
    begin(page, study, "?preview=1")
    expect(page.locator(".banner")).to_have_text("Preview: nothing is kept")
    for _ in range(20):
        if page.get_by_role("heading", name="That was the preview").count():
            break
        page.keyboard.press("f")
        page.wait_for_timeout(SETTLED_MS + 100)
    expect(page.get_by_role("heading", name="That was the preview")).to_be_visible()
    assert posted == []
    assert site.store.counts(study).participants == 0


def picture(shade):
    import io

    from PIL import Image

    data = io.BytesIO()
    Image.new("RGB", (300, 200), (shade, 80, 120)).save(data, "WEBP")
    return data.getvalue()


@pytest.fixture(scope="module")
def pictures(site):
    """A study of pictures, and what it is made of."""
    objects = [Object(name, {"image": f"{number}.webp"}) for number, name in enumerate(THINGS)]
    media = {f"{number}.webp": Medium("image/webp", picture(40 * number)) for number in range(len(THINGS))}
    return {"objects": objects, "media": media}


def test_pictures_are_there_when_the_question_is(site, page, pictures):
    study = site.study(**pictures)
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/media/" in request.url else None)
    begin(page, study)
    for _ in range(4):
        before = spoken(page)
        page.keyboard.press("f")
        expect(page.locator(".stage h1")).not_to_have_text(before)
        # At once, without waiting for anything: all three are whole.
        assert page.evaluate(
            "[...document.querySelectorAll('.stage img')].map((image) => image.complete && image.naturalWidth)"
        ) == [300, 300, 300]
        shown(page)
    assert asked


def test_time_runs_from_when_the_pictures_are_seen(site, page, pictures):
    study = site.study(**pictures)
    release = hold(page, "**/media/**")
    page.goto(f"/s/{study}")
    page.get_by_role("button", name="Begin").click()
    page.locator(".stage[data-loading]").wait_for()
    page.wait_for_timeout(1500)
    page.keyboard.press("f")  # There is nothing to answer yet.
    release()
    shown(page)
    page.keyboard.press("f")
    (answer,) = site.answers(page, study, 1)
    assert answer.response_ms < 1400


def test_a_picture_that_does_not_come_does_not_hold_up_the_study(site, page, pictures):
    study = site.study(**pictures)
    page.route("**/media/**", lambda route: route.abort())
    begin(page, study)
    expect(page.get_by_text("This picture could not be loaded.").first).to_be_visible()
    press(page, "f")
    assert len(site.answers(page, study, 1)) == 1


@pytest.mark.parametrize(("width", "height"), [(320, 568), (640, 400), (844, 390), (1280, 800)])
def test_nothing_moves_between_questions_and_nothing_is_cut_off(site, visitor, pictures, width, height):
    page = visitor(viewport={"width": width, "height": height})
    begin(page, site.study(**pictures))
    boxes = set()
    for _ in range(4):
        found = [page.locator(part).bounding_box() for part in (".prompt", ".head", ".candidates", ".below")]
        boxes.add(tuple(tuple(box.values()) for box in found))
        press(page, "f")
    assert len(boxes) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for button in page.locator("button:visible").all():
        assert min(button.bounding_box()["width"], button.bounding_box()["height"]) >= 44


def test_a_screen_reader_is_told_the_question_and_everything_is_a_button(site, page):
    sentence = begin(page, site.study())
    left, right, _ = things(sentence)
    expect(page.get_by_role("heading", name=sentence)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name=left)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name=right)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".stage h1")).not_to_have_text(sentence)
    expect(page.get_by_role("heading", name=shown(page))).to_be_focused()


RECORD = """async (colour) => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 48 });
  const recorder = new MediaRecorder(canvas.captureStream(20), { mimeType: "video/webm" });
  const parts = [];
  recorder.ondataavailable = (event) => parts.push(event.data);
  const stopped = new Promise((resolve) => (recorder.onstop = resolve));
  recorder.start();
  for (let frame = 0; frame < 8; frame++) {
    const context = canvas.getContext("2d");
    context.fillStyle = colour;
    context.fillRect(frame, frame, 40, 30);
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  recorder.stop();
  await stopped;
  return [...new Uint8Array(await new Blob(parts).arrayBuffer())];
}"""


def sound(pitch):
    """A second of a tone, as a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as tone:
        tone.setnchannels(1)
        tone.setsampwidth(1)
        tone.setframerate(8000)
        tone.writeframes(bytes(128 + 100 * ((i * pitch // 4000) % 2) for i in range(8000)))
    return file.getvalue()


def test_real_films_and_sounds_can_be_played_and_answered(site, page):
    page.goto("/login")
    files = {f"{colour}.webm": bytes(page.evaluate(RECORD, colour)) for colour in ("red", "green")}
    files |= {f"{pitch}.wav": sound(pitch) for pitch in (300, 500)}
    draft = read_upload("title: Films and sounds", [(name, io.BytesIO(data)) for name, data in files.items()])
    assert {medium.type for medium in draft.media.values()} == {"video/webm", "audio/wav"}
    study = site.study(draft.objects, draft.title, draft.media, limits={"per_participant": 3})
    begin(page, study)
    # In three of four things there is at least one film and one sound; each is there to be played, from the start.
    for kind in ("video", "audio"):
        player = page.locator(kind).first
        player.evaluate("async (player) => { player.muted = true; await player.play(); }")
        page.wait_for_function(f"document.querySelector('{kind}').currentTime > 0")
    page.locator(".candidate[data-side=left] button").click()
    [answer] = site.answers(page, study, 1)
    assert answer.near == answer.left
