"""Researchers in a real browser: they set up a server, create, open and watch studies, and sign in and out."""

import json
import re
import threading

import numpy as np
import pytest
from researching import SHADES, open_session

from erkle.client import Client
from erkle.service.accounts.sessions import setup_link
from erkle.service.learning import Fold
from erkle.store import Imported
from people import PASSWORD, THINGS, settings

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

HOSTILE = "<img src=x onerror=document.title='broken'>"


@pytest.fixture
def page(new_page):
    """A page of a visitor who is not signed in."""
    return new_page()


@pytest.fixture
def client(site):
    """A client of the API, for participants."""
    with Client(site.url) as client:
        yield client


def answer(client, study, n_answers, name="somebody"):
    """Take part as somebody who finds neighbours in the list similar, and return the participant's id."""
    reply = client.join(study, {"PROLIFIC_PID": name})
    for _ in range(n_answers):
        question = reply.questions[0]
        choice = min((question.left.id, question.right.id), key=lambda each: abs(each - question.anchor.id))
        reply = client.answer(study, reply.participant, question.token, choice, 900)
    return reply.participant


def sign_in(page, account, password=PASSWORD):
    """Fill in the form of /login."""
    page.get_by_label("Name").fill(account.name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def choose_in_menu(page, item):
    """Choose an item in the account menu."""
    page.locator(".topbar summary").click()
    page.get_by_role("button", name=item).click()


def import_file(page, file):
    """Choose a file in the open dialog, and import it."""
    page.locator("dialog input[type=file]").set_input_files(file)
    page.locator("dialog").get_by_role("button", name="Import").click()


def positions(page):
    """Return the positions of the points of the map."""
    return page.locator(".mark").evaluate_all("marks => marks.map(mark => mark.getAttribute('transform'))")


def study_of(page):
    """Return the id of the study that the page shows."""
    return page.url.rpartition("/")[2]


def test_the_setup_link_creates_the_first_account(server, visiting):
    page = visiting(server.url)
    page.goto(setup_link(server.store, server.url))
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url("**/studies")
    [account] = server.store.accounts.all()
    assert (account.name, account.admin) == ("ann", True)
    expect(page.get_by_text("ann", exact=True)).to_be_visible()


def test_a_study_with_pictures_is_created_and_opened_and_its_map_follows_the_answers(signed_in, client, pictures):
    page = signed_in
    page.get_by_role("link", name="New study", exact=True).click()
    page.get_by_label("Title").fill("Shades")
    page.get_by_role("button", name="Files", exact=True).click()
    page.get_by_label("Drop files here").set_input_files(pictures)
    expect(page.locator(".thumbnails img")).to_have_count(len(SHADES))
    page.get_by_text("Attention checks").click()
    page.get_by_role("button", name="Add catch question").click()
    for role, shade in [("Anchor", "white"), ("Right answer", "silver"), ("Wrong answer", "black")]:
        page.get_by_label(role).select_option(shade)
    page.get_by_role("button", name="Create study").click()

    expect(page.get_by_role("heading", name="Shades")).to_be_visible()
    expect(page.locator(".map-empty")).to_be_visible()
    page.get_by_role("button", name="Open study").click()
    expect(page.locator(".study-title [data-state=open]")).to_be_visible()

    somebody = answer(client, study_of(page), 8)
    expect(page.locator("[data-figure=answers] .figure")).to_have_text("8")
    page.wait_for_function("() => document.querySelector('.mark')?.hasAttribute('transform')")
    before = positions(page)
    answer(client, study_of(page), 12, "somebody else")
    moved = "before => before !== document.querySelector('.mark').getAttribute('transform')"
    page.wait_for_function(moved, arg=before[0])
    assert len(positions(page)) == len(SHADES)
    assert positions(page) != before
    expect(page.locator(".mark.pictured image").first).to_have_attribute(
        "href", re.compile(f"^/media/{study_of(page)}/")
    )

    # The table of participants is refreshed every four seconds; a reload is faster.
    page.reload()
    row = page.locator(f"[data-participant='{somebody}']")
    row.get_by_role("checkbox").check()
    page.get_by_role("button", name="Exclude").click()
    expect(row).to_contain_text("excluded")


def test_a_researcher_signs_out_and_in_and_returns_to_the_same_page_but_never_to_another_server(signed_in, account):
    page = signed_in
    choose_in_menu(page, "Sign out")
    page.wait_for_url("**/login")
    page.goto("/studies/new")
    page.wait_for_url("**/login?next=*")
    sign_in(page, account, "something else")
    expect(page.get_by_role("alert")).to_be_visible()
    sign_in(page, account)
    page.wait_for_url("**/studies/new")
    for elsewhere in ["//example.org", "https://example.org", "/\\example.org", "javascript:alert(1)"]:
        page.goto(f"/login?next={elsewhere}")
        sign_in(page, account)
        page.wait_for_url("**/studies")


def test_titles_and_names_are_never_markup(signed_in, client):
    page = signed_in
    page.goto("/studies/new")
    page.get_by_label("Title").fill(HOSTILE)
    page.get_by_label("Objects, one per line").fill("\n".join([HOSTILE, *THINGS]))
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    page.get_by_role("button", name="Open study").click()
    expect(page.locator(".study-title [data-state=open]")).to_be_visible()
    answer(client, study_of(page), 10)
    expect(page.locator(".name[transform] text", has_text=HOSTILE[:16])).to_have_count(1)
    page.locator(".map-surface").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".map-card strong")).to_be_visible()
    page.goto("/studies")
    expect(page.get_by_role("link", name=HOSTILE)).to_be_visible()
    assert page.locator("img[src=x]").count() == 0
    assert page.title() != "broken"


def test_an_error_in_a_new_study_is_shown_at_its_field(signed_in):
    page = signed_in
    page.goto("/studies/new")
    page.get_by_label("Title").fill("Cities")
    page.get_by_label("Objects, one per line").fill("Paris\nLyon")
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("alert")).to_contain_text("2 objects")
    page.get_by_label("Objects, one per line").fill("\n".join(THINGS))
    page.get_by_text("Endings", exact=True).click()
    page.get_by_label("Redirect to").first.fill("ftp://example.org")
    page.get_by_text("Endings", exact=True).click()
    page.get_by_role("button", name="Create study").click()
    error = page.locator(".field", has=page.locator("[aria-invalid]")).locator(".error")
    expect(error).to_contain_text("endings.completed.url")
    expect(error).to_contain_text("http")


def test_identities_places_and_the_signing_key_are_in_the_settings(site, signed_in, draft):
    page = signed_in
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/studies/{draft}")
    for state in ("draft", "open"):
        page.locator(".actions summary").click()
        page.get_by_role("button", name="Settings").click()
        page.get_by_text("Limits", exact=True).click()
        page.get_by_label("Keep a place without an answer").fill("30" if state == "draft" else "45")
        page.get_by_text("Proof of identity", exact=True).click()
        page.get_by_label("What a link must contain").select_option("prolific" if state == "draft" else "signature")
        page.get_by_role("button", name="Copy the signing key").click()
        expect(page.get_by_text("The signing key is copied").last).to_be_attached()
        assert page.evaluate("navigator.clipboard.readText()") == site.store.studies.signing_key(draft)
        page.get_by_role("button", name="Save").click()
        expect(page.locator("dialog")).to_have_count(0)
        kept = site.store.studies.get(draft).settings
        wanted = (1800, "prolific") if state == "draft" else (2700, "signature")
        assert (kept["limits"]["idle_s"], kept["identity_proof"]) == wanted
        if state == "draft":
            page.get_by_role("button", name="Open study").click()
            expect(page.locator(".study-title [data-state=open]")).to_be_visible()


def test_settings_are_changed_and_a_study_is_deleted_only_by_typing_its_title(signed_in, draft):
    page = signed_in
    page.goto(f"/studies/{draft}")
    page.locator(".actions summary").click()
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Title").fill("Towns")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Towns")).to_be_visible()
    page.locator(".actions summary").click()
    page.get_by_role("button", name="Delete study").click()
    delete = page.get_by_role("button", name="Delete permanently")
    expect(delete).to_be_disabled()
    page.get_by_label("The study's title").fill("Towns")
    delete.click()
    page.wait_for_url("**/studies")
    expect(page.get_by_text("No studies yet")).to_be_visible()


def test_a_link_invites_one_colleague_who_does_not_see_the_studies_of_others(site, admin, draft, page, new_page):
    open_session(site, page, admin)
    page.goto("/studies")
    choose_in_menu(page, "Invite a colleague")
    link = page.get_by_label("Invitation link").input_value()
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("dialog")).to_have_count(0)

    other = new_page()
    other.goto(link)
    other.get_by_label("Name").fill("bob")
    other.get_by_label("Password").fill("short")
    other.get_by_role("button", name="Create account").click()
    expect(other.locator(".field .error", has_text="10")).to_be_visible()
    other.get_by_label("Password").fill(PASSWORD)
    other.get_by_role("button", name="Create account").click()
    other.wait_for_url("**/studies")
    expect(other.get_by_text("No studies yet")).to_be_visible()
    other.get_by_text("bob", exact=True).click()
    expect(other.get_by_role("button", name="Change password")).to_be_visible()
    expect(other.get_by_role("button", name="Invite a colleague")).to_have_count(0)


def test_a_new_password_ends_all_other_sessions_but_not_this_one(site, signed_in, account, new_page):
    page, other = signed_in, new_page()
    open_session(site, other, account)
    other.goto("/studies")
    expect(other.get_by_role("heading", name="Studies", exact=True)).to_be_visible()
    choose_in_menu(page, "Change password")
    page.get_by_label("Old password").fill("it was another one")
    page.get_by_label("New password").fill("nine words")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("old password")
    page.get_by_label("Old password").fill(PASSWORD)
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator("dialog")).to_have_count(0)
    # The page continues with the new session, also for requests that need its CSRF token.
    choose_in_menu(page, "Sign out")
    page.wait_for_url("**/login")
    page.goto("/studies")
    page.wait_for_url("**/login?next=*")
    other.goto("/studies/new")
    other.wait_for_url("**/login?next=*")
    sign_in(other, account, "nine words")
    other.wait_for_url("**/studies/new")


def test_answers_and_bundles_are_imported(signed_in, draft, tmp_path):
    page = signed_in
    page.goto(f"/studies/{draft}")
    rows = [",".join(names) for names in zip(THINGS, THINGS[1:], THINGS[2:], strict=False)]
    good, bad = tmp_path / "towns.csv", tmp_path / "bad.csv"
    good.write_text("\n".join(["anchor,near,far", *rows, ""]))
    bad.write_text(f"anchor,near,far\n{THINGS[0]},{THINGS[1]},Nowhere\n")
    page.get_by_role("button", name="Import answers").click()
    import_file(page, bad)
    expect(page.get_by_role("alert")).to_contain_text("line 2")
    import_file(page, good)
    expect(page.locator("[data-figure=answers] .figure")).to_have_text(str(len(rows)))
    with page.expect_download() as started:
        page.get_by_role("link", name="bundle.zip").click()
    bundle = tmp_path / "bundle.zip"
    started.value.save_as(bundle)

    lines = tmp_path / "lines.jsonl"
    keys = ("anchor", "near", "far")
    objects = [dict(zip(keys, row.split(","), strict=True)) for row in rows]
    lines.write_text("".join(f"{json.dumps(each)}\n" for each in objects))
    for file, title in [(good, "towns"), (bundle, "Cities"), (lines, "lines")]:
        page.goto("/studies")
        page.get_by_role("button", name="Import").click()
        import_file(page, file)
        page.wait_for_url(re.compile("/studies/[^/]+$"))
        expect(page.get_by_role("heading", name=title)).to_be_visible()
        expect(page.locator("[data-figure=answers] .figure")).to_have_text(str(len(rows)))


def test_a_study_is_created_and_opened_by_keyboard_and_dialogs_return_the_focus(signed_in):
    page = signed_in
    page.get_by_role("link", name="New study", exact=True).press("Enter")
    page.get_by_label("Title").press_sequentially("Keys")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Type or paste")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("\n".join(THINGS))
    page.get_by_label("Title").press("Enter")
    page.get_by_role("button", name="Open study").press("Enter")
    expect(page.locator(".study-title [data-state=open]")).to_be_visible()
    more = page.locator(".actions summary")
    more.press("Enter")
    page.get_by_role("button", name="Close study").press("Enter")
    expect(page.get_by_label("They may finish")).to_be_focused()
    # Another researcher pauses the study while the dialog is open, and the buttons of the header change.
    page.evaluate(
        """async () => {
            const { send } = await import("/static/studio/server.js");
            await send("POST", `/api${location.pathname}/state`, { state: "paused" });
        }"""
    )
    expect(page.locator(".study-title [data-state=paused]")).to_be_visible()
    page.keyboard.press("Escape")
    expect(more).to_be_focused()


@pytest.fixture
def answered(site, account):
    """The id of a study with answers of six participants, the last of whom tosses coins."""
    study = site.store.studies.create("Cities", THINGS, settings(), owner=account.id).id
    rng, rows = np.random.default_rng(0), []
    for number in range(1200):
        anchor, near, far = (int(each) for each in rng.choice(len(THINGS), 3, replace=False))
        person = number % 6
        if (abs(anchor - near) > abs(anchor - far)) != (rng.random() < (0.5 if person == 5 else 0.05)):
            near, far = far, near
        rows.append(Imported(f"p{person}", anchor, near, far))
    site.store.imports.append(study, rows)
    return study


def test_the_dashboard_says_how_people_answer_and_marks_who_answers_at_random(signed_in, answered):
    page = signed_in
    page.goto(f"/studies/{answered}")
    words = page.get_by_role("region", name="How people answer")
    expect(words).to_contain_text(re.compile(r"People seem to compare .* slips"))
    expect(words).to_contain_text("answer model")
    table = page.get_by_role("region", name="Participants")
    marked = table.get_by_role("row").filter(has_text="at random")
    expect(marked).to_have_count(1)
    page.get_by_role("button", name="Lapse").click()
    expect(page.get_by_role("columnheader", name="Lapse")).to_have_attribute("aria-sort", "descending")
    expect(table.get_by_role("row").nth(1)).to_contain_text("at random")
    page.get_by_role("button", name="Lapse").click()
    expect(table.get_by_role("row").last).to_contain_text("at random")

    # An exclusion is learned after a while, and the table follows without new answers.
    marked.get_by_role("checkbox").check()
    table.get_by_role("button", name="Exclude").click()
    expect(marked).to_have_count(0)
    table.get_by_role("button", name="Include").click()
    expect(marked).to_have_count(1)


SIZES = [(1280, 800), (1000, 800), (800, 800), (360, 740)]
LONGEST = "People seem to compare ratios of distances (power 0.1); about 12 % of answers are slips (10 to 14 %)."


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_page_does_not_jump_when_it_says_how_people_answer(signed_in, draft, width, height):
    page, said = signed_in, {"sentence": "", "power": None, "lapse": None}
    page.set_viewport_size({"width": width, "height": height})
    page.route("**/events", lambda route: route.fulfill(status=404))
    chosen = {"ready": True, "own": True, "sequence": 1, "chosen": ""}

    def live(route):
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "learned": 1, "answering": said, "learner": chosen})

    page.route("**/live", live)
    heights = []
    for said["sentence"], chosen["chosen"] in [
        ("It is too early to say how people answer.", "rank 25, ridge 4, answer model: estimated"),
        (LONGEST, "rank 100, ridge 0.03, shift 0.3, answer model: ratios of distances"),
    ]:
        page.goto(f"/studies/{draft}")
        expect(page.locator(".answering")).to_have_text(said["sentence"].replace(" %", "\u00a0%"))
        sections = page.locator("section[aria-label='How people answer'], section[aria-label=Map]").all()
        heights.append([section.bounding_box()["height"] for section in sections])
    assert heights[0] == heights[1]


def test_the_map_keeps_its_size_while_answers_arrive(signed_in, answered):
    page = signed_in
    page.set_viewport_size({"width": 1000, "height": 800})
    page.goto(f"/studies/{answered}")
    page.wait_for_function("() => document.querySelector('.mark')?.hasAttribute('transform')")
    frame = page.locator(".map-frame")
    before = frame.bounding_box()["height"]
    # Each narrower window makes texts longer and the card higher; the map must not keep that height.
    for width in (970, 1200, 1000):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert frame.bounding_box()["height"] == pytest.approx(before, abs=1.0)


def test_a_strategy_that_was_replaced_is_shown_with_the_reason(signed_in, draft):
    page = signed_in
    page.route("**/events", lambda route: route.fulfill(status=404))
    row = {"strategy": "adaptive", "fallback": "failed", "kind": "chosen", "asked": 3, "answered": 2}

    def replaced(route):
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "strategies": [row]})

    page.route("**/live", replaced)
    page.goto(f"/studies/{draft}")
    chosen = page.get_by_label("How questions were chosen")
    expect(chosen.locator(".hint")).to_contain_text("3 questions")
    expect(chosen.get_by_role("rowheader")).to_contain_text("adaptive")
    expect(chosen.get_by_role("rowheader")).to_contain_text("failed")


def test_a_strategy_that_chooses_only_its_own_kind_of_question_is_named_once(signed_in, draft):
    page = signed_in
    page.route("**/events", lambda route: route.fulfill(status=404))
    row = {"strategy": "catch", "fallback": None, "kind": "catch", "asked": 3, "answered": 2}

    def caught(route):
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "strategies": [row]})

    page.route("**/live", caught)
    page.goto(f"/studies/{draft}")
    expect(page.get_by_label("How questions were chosen").get_by_role("rowheader")).to_have_text("catch")


def test_an_unknown_address_is_a_page_for_people_and_json_for_programs(page):
    answer = page.goto("/nothing/here")
    assert answer.status == 404
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    reply = page.request.get("/nothing/here", headers={"Accept": "application/json"})
    assert reply.json()["error"]["reason"] == "not-found"
    assert page.request.get("/api/nothing", headers={"Accept": "text/html"}).json()["error"]["reason"] == "not-found"


def test_the_dashboard_says_that_the_model_stands_still_until_it_learns_again(site, signed_in, account, monkeypatch):
    learn, failing = Fold.learn, threading.Event()

    def learn_or_fail(fold, page):
        if page and failing.is_set():
            raise MemoryError
        learn(fold, page)

    monkeypatch.setattr(Fold, "learn", learn_or_fail)
    monkeypatch.setattr("erkle.service.learning.stall.FIRST_PAUSE", 0.1)
    failing.set()
    study = site.study(owner=account.id)
    site.store.imports.append(study, [Imported("ann", 0, 1, 2)] * 12)
    signed_in.goto(f"/studies/{study}")
    notice = signed_in.get_by_role("status").filter(has_text="stood still")
    expect(notice).to_contain_text("memory")
    expect(signed_in.locator("[data-figure=answers] .figure")).to_have_text("12")
    failing.clear()
    expect(signed_in.locator("[data-figure=learned] .figure")).to_have_text("12")
    expect(notice).to_have_count(0)
