"""Participants in a real browser: they are told apart by their links, and texts of researchers are never markup."""

from taking_part import PHONE, SETTLED_MS, begin, expect, press, sentence, shown

from erkle.service.accounts.passwords import hashed
from erkle.store import Object
from people import PASSWORD


def test_two_participants_answer_at_the_same_time(site, visitor):
    study = site.study(limits={"per_participant": 2}, endings={"completed": {"code": "BOTH"}})
    one, two = visitor(), visitor(**PHONE)
    begin(one, study, "?PROLIFIC_PID=one")
    asked = begin(two, study, "?PROLIFIC_PID=two")
    press(one, "f")
    two.locator("[data-side=right] button").tap()
    expect(two.locator(".stage h1")).not_to_have_text(asked)
    shown(two)
    two.clock.fast_forward(SETTLED_MS)
    one.keyboard.press("f")
    two.locator("[data-side=right] button").tap()
    for page in (one, two):
        expect(page.locator(".code")).to_have_text("BOTH")
    saved = site.answers(one, study, 4)
    assert sorted(answer.client["input"] for answer in saved) == ["key"] * 2 + ["touch"] * 2
    assert len({(answer.participant, answer.client["input"]) for answer in saved}) == 2


def test_another_participant_in_the_same_browser_joins_and_the_first_can_come_back(site, page):
    study = site.study()
    begin(page, study, "?PROLIFIC_PID=one&STUDY_ID=s%20%26&anything=%C3%A4")
    (person,) = site.store.participants.all(study)
    assert person.parameters == {"PROLIFIC_PID": "one", "STUDY_ID": "s &", "anything": "ä"}
    second = press(page, "f")
    site.answers(page, study, 1)
    begin(page, study, "?PROLIFIC_PID=two")
    assert site.store.studies.counts(study).participants == 2
    begin(page, study, "?PROLIFIC_PID=one&SESSION_ID=again")
    assert sentence(page) == second
    assert site.store.studies.counts(study).participants == 2


def test_the_study_defines_which_parameters_identify_participants(site, page):
    study = site.study(identify_by=["seat"])
    begin(page, study, "?seat=1&PROLIFIC_PID=same")
    begin(page, study, "?seat=2&PROLIFIC_PID=same")
    page.goto(f"/s/{study}?seat=2&PROLIFIC_PID=other")
    shown(page)
    assert site.store.studies.counts(study).participants == 2


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


def test_names_and_texts_of_a_study_are_never_markup(site, page):
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


def test_a_preview_shows_questions_and_sends_nothing(site, page):
    account = site.store.accounts.create("previewer", hashed(PASSWORD))
    study = site.study(owner=account.id, limits={"per_participant": 3})
    page.goto(f"/s/{study}?preview=1")
    expect(page.get_by_role("heading", name="sign in")).to_be_visible()
    assert page.request.post("/api/login", data={"name": "previewer", "password": PASSWORD}).ok
    posted = []
    page.on("request", lambda request: posted.append(request.url) if request.method != "GET" else None)
    begin(page, study, "?preview=1")
    expect(page.locator(".banner")).to_contain_text("Preview")
    end = page.get_by_role("heading", name="All done")
    while not end.is_visible():
        before = page.locator("h1").text_content()
        page.clock.fast_forward(SETTLED_MS)
        page.keyboard.press("f")
        expect(page.locator("h1")).not_to_have_text(before)
        page.locator(".stage[data-ready]").or_(end).wait_for()
    assert posted == []
    assert site.store.studies.counts(study).participants == 0
