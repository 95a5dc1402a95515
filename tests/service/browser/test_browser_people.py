"""Who takes part in a real browser: people are told apart, and what researchers wrote stays text."""

from taking_part import PHONE, SETTLED_MS, begin, expect, press, shown, spoken

from erkle.service.accounts.passwords import hashed
from erkle.store import Object
from people import PASSWORD


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


def test_all_parameters_of_the_link_are_kept(site, page):
    study = site.study()
    begin(page, study, "?PROLIFIC_PID=p1&STUDY_ID=s%20%26&anything=%C3%A4")
    (person,) = site.store.participants.all(study)
    assert person.parameters == {"PROLIFIC_PID": "p1", "STUDY_ID": "s &", "anything": "ä"}


def test_another_person_in_the_same_browser_joins_anew_and_the_first_can_come_back(site, page):
    study = site.study()
    begin(page, study, "?PROLIFIC_PID=one")
    second = press(page, "f")
    site.answers(page, study, 1)
    begin(page, study, "?PROLIFIC_PID=two")
    assert site.store.studies.counts(study).participants == 2
    begin(page, study, "?PROLIFIC_PID=one&SESSION_ID=again")
    assert spoken(page) == second
    assert site.store.studies.counts(study).participants == 2


def test_the_study_says_which_parameters_tell_people_apart(site, page):
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


def test_a_preview_shows_questions_and_sends_nothing(site, page):
    account = site.store.accounts.create("ann", hashed(PASSWORD))
    study = site.study(owner=account.id, limits={"per_participant": 3})
    page.goto(f"/s/{study}?preview=1")
    expect(page.get_by_role("heading", name="Please sign in")).to_be_visible()
    assert page.request.post("/api/login", data={"name": "ann", "password": PASSWORD}).ok
    posted = []
    page.on("request", lambda request: posted.append(request.url) if request.method != "GET" else None)
    begin(page, study, "?preview=1")
    expect(page.locator(".banner")).to_have_text("Preview: nothing is saved")
    for _ in range(20):
        if page.get_by_role("heading", name="End of the preview").count():
            break
        page.keyboard.press("f")
        page.wait_for_timeout(SETTLED_MS + 100)
    expect(page.get_by_role("heading", name="End of the preview")).to_be_visible()
    assert posted == []
    assert site.store.studies.counts(study).participants == 0
