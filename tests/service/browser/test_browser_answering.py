"""Answers in a real browser: a press is one answer to the question that is shown, however it is made."""

import pytest
from taking_part import PHONE, SETTLED_MS, SINGLE_MS, begin, expect, hold, names, press, shown, spoken, things

from erkle.store import Kind


@pytest.mark.parametrize("way", ["click", "touch", "ArrowLeft", "ArrowRight", "f", "J"])
def test_a_press_answers_the_question_that_is_shown(site, visitor, way):
    study = site.study()
    page = visitor(**(PHONE if way == "touch" else {}))
    left, right, anchor = things(begin(page, study))
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
    assert names(answer) == (near, far, anchor)
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
    while not site.store.answers.skips(study):
        page.wait_for_timeout(50)
    assert [skip.reason for skip in site.store.answers.skips(study)] == ["Too easy"]
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
