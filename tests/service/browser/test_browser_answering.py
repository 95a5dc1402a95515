"""Answering in a real browser: a press is exactly one answer to the question that is shown."""

from taking_part import PHONE, SETTLED_MS, SINGLE_MS, begin, expect, hold, names, objects_in, press, sentence, shown

from erkle.store import Kind


def assert_answered(page, answer, question, side, how):
    left, right, anchor = objects_in(question)
    assert names(answer) == ((left, right) if side == "left" else (right, left)) + (anchor,)
    assert (answer.client["side"], answer.client["input"]) == (side, how)
    assert (answer.client["width"], answer.client["height"]) == tuple(page.viewport_size.values())
    assert SETTLED_MS / 2 < answer.response_ms < 10_000


def test_clicks_and_keys_answer_the_question_that_is_shown(site, page):
    study = site.study()
    asked = [begin(page, study)]
    page.locator("[data-side=right] button").click()
    expect(page.locator(".stage h1")).not_to_have_text(asked[0])
    asked.append(shown(page))
    asked += [press(page, key) for key in ("ArrowLeft", "ArrowRight", "f", "J")]
    answers = site.answers(page, study, 5)
    ways = [("right", "click"), ("left", "key"), ("right", "key"), ("left", "key"), ("right", "key")]
    for answer, question, (side, how) in zip(answers, asked, ways, strict=False):
        assert_answered(page, answer, question, side, how)
        assert not answer.client["touch"]


def test_a_touch_answers_the_question_that_is_shown(site, visitor):
    study, page = site.study(), visitor(**PHONE)
    question = begin(page, study)
    page.locator("[data-side=left] button").tap()
    (answer,) = site.answers(page, study, 1)
    assert_answered(page, answer, question, "left", "touch")
    assert answer.client["touch"]


def test_the_next_question_is_shown_before_the_answer_has_arrived(site, page):
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
    assert names(site.answers(page, study, 2)[0])[2] == objects_in(first)[2]
    expect(page.locator(".saving")).to_have_text("Saved")


def test_a_double_click_and_a_held_key_answer_once(site, page):
    study = site.study()
    begin(page, study)
    page.locator("[data-side=left] button").dblclick()
    shown(page)
    page.clock.fast_forward(SINGLE_MS)
    for _ in range(8):
        # Pressing a key again without releasing it is a repeat.
        page.keyboard.down("j")
        page.clock.fast_forward(SETTLED_MS)
    page.keyboard.up("j")
    press(page, "f")
    assert [answer.client["input"] for answer in site.answers(page, study, 3)] == ["click", "key", "key"]


def test_a_double_tap_answers_once(site, visitor):
    study, page = site.study(), visitor(**PHONE)
    first, button, heading = begin(page, study), page.locator("[data-side=left] button"), page.locator(".stage h1")
    # From here on, time passes only when the test says so.
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 1"))
    button.tap()
    expect(heading).not_to_have_text(first)
    second = sentence(page)
    page.clock.run_for(SETTLED_MS)
    page.evaluate("addEventListener('click', () => (document.body.dataset.clicked = ''))")
    button.tap()
    page.locator("body[data-clicked]").wait_for()
    assert sentence(page) == second
    page.clock.run_for(SINGLE_MS)
    button.tap()
    expect(heading).not_to_have_text(second)
    assert len(site.answers(page, study, 2)) == 2


def test_a_press_on_a_question_that_was_just_shown_does_not_count(site, page):
    study = site.study()
    begin(page, study)
    press_f = (
        'for (const kind of ["keydown", "keyup"]) dispatchEvent(new KeyboardEvent(kind, { key: "f", code: "KeyF" }))'
    )
    page.evaluate(f"for (let i = 0; i < 5; i += 1) {press_f}")
    shown(page)
    assert len(site.answers(page, study, 1)) == 1


def test_a_question_can_be_skipped_with_a_reason(site, page):
    study = site.study(skipping={"reasons": ["Too hard", "Too easy"]})
    first = begin(page, study)
    page.get_by_role("button", name="Skip this question").click()
    page.keyboard.press("f")  # While the menu is open, keys do not answer.
    page.get_by_role("button", name="Back to the question").click()
    assert sentence(page) == first
    page.get_by_role("button", name="Skip this question").click()
    with page.expect_response("**/skip"):
        page.get_by_role("button", name="Too easy").click()
    expect(page.locator(".stage h1")).not_to_have_text(first)
    assert [skip.reason for skip in site.store.answers.skips(study)] == ["Too easy"]
    assert site.count(study) == 0


def test_there_is_no_skip_button_if_skipping_is_not_allowed(site, page):
    begin(page, site.study(skipping={"allowed": False}))
    expect(page.get_by_role("button", name="Skip")).not_to_be_visible()


def test_practice_is_marked_progress_is_shown_and_fast_answers_are_remarked_on(site, page):
    study = site.study(checks={"practice": 1, "too_fast_ms": 60_000}, limits={"per_participant": 4})
    begin(page, study)
    expect(page.get_by_text("Practice question")).to_be_visible()
    expect(page.locator(".count")).to_have_text("0 of 4")
    press(page, "f")
    expect(page.get_by_text("Practice question")).not_to_be_visible()
    expect(page.locator(".remark")).to_be_visible()
    press(page, "f")
    expect(page.locator(".count")).to_have_text("1 of 4")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "1")
    assert [answer.kind == Kind.PRACTICE for answer in site.answers(page, study, 2)] == [True, False]


def test_a_screen_reader_says_the_question_and_both_answers_are_buttons(site, page):
    first = begin(page, site.study())
    left, right, _ = objects_in(first)
    expect(page.get_by_role("heading", name=first)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name=left)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name=right)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".stage h1")).not_to_have_text(first)
    expect(page.get_by_role("heading", name=shown(page))).to_be_focused()
