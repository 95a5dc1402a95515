"""Researchers in a real browser: set up, create, open, watch, exclude, leave and come back. No page ever complains."""

import re

import pytest
from PIL import Image

from erkle.client import Client
from erkle.service.accounts.sessions import setup_link
from people import PASSWORD, THINGS

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

SHADES = ["black", "dim grey", "grey", "silver", "white"]
HOSTILE = "<img src=x onerror=document.title='broken'>"


@pytest.fixture
def site(server):
    """Every test has a server of its own, for the first account is made once."""
    return server


@pytest.fixture
def link(server):
    """The link of the first start."""
    return setup_link(server.store, server.url)


@pytest.fixture
def signed_in(page, link):
    """The page of the first account, at the list of studies."""
    page.goto(link)
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url("**/studies")
    return page


@pytest.fixture
def client(server, link):
    """The same researcher, by the API."""
    with Client(server.url) as client:
        yield client


@pytest.fixture
def pictures(tmp_path):
    """A grey square of each shade."""
    paths = []
    for number, shade in enumerate(SHADES):
        paths.append(tmp_path / f"{shade}.png")
        Image.new("L", (40, 40), 63 * number).save(paths[-1])
    return paths


def answer(client, study, n_answers, name="somebody"):
    """Somebody who takes part, and finds those alike that are near each other in the list."""
    reply = client.join(study, {"PROLIFIC_PID": name})
    for _ in range(n_answers):
        question = reply.questions[0]
        choice = min((question.left.id, question.right.id), key=lambda thing: abs(thing - question.anchor.id))
        reply = client.answer(study, reply.participant, question.token, choice, 900)
    return reply.participant


def sign_in(page, password=PASSWORD):
    """Fill in the form of /login."""
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def new_study(page, title):
    """A study of the usual things, made by its page."""
    page.goto("/studies/new")
    page.get_by_label("Title").fill(title)
    page.get_by_label("Objects, one per line").fill("\n".join(THINGS))
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("heading", name=title)).to_be_visible()


def menu(page, item):
    """Choose in the menu of the account."""
    page.locator(".topbar summary").click()
    page.get_by_role("button", name=item).click()


def bring(page, file):
    """Choose a file in the dialog that is open, and import it."""
    page.locator("dialog input[type=file]").set_input_files(file)
    page.locator("dialog").get_by_role("button", name="Import").click()


def places(page):
    """Where the points of the map are."""
    return page.locator(".mark").evaluate_all("marks => marks.map(mark => mark.getAttribute('transform'))")


def study_of(page):
    """The study that the page shows."""
    return page.url.rpartition("/")[2]


def test_a_study_with_pictures_is_created_and_opened_and_its_map_moves_while_people_answer(signed_in, client, pictures):
    page = signed_in
    page.get_by_role("link", name="New study", exact=True).click()
    page.get_by_label("Title").fill("Shades")
    page.get_by_role("button", name="Files").click()
    page.locator("input[type=file]").set_input_files(pictures)
    expect(page.locator(".thumbnails img")).to_have_count(len(SHADES))
    page.get_by_text("Attention checks").click()
    page.get_by_role("button", name="Add catch question").click()
    for role, shade in [("Anchor", "white"), ("Right answer", "silver"), ("Wrong answer", "black")]:
        page.get_by_label(role).select_option(shade)
    page.get_by_role("button", name="Create study").click()

    expect(page.get_by_role("heading", name="Shades")).to_be_visible()
    expect(page.get_by_text("The map appears after the first answers.")).to_be_visible()
    page.get_by_role("button", name="Open study").click()
    expect(page.locator(".study-title .tag").first).to_have_text("open")

    somebody = answer(client, study_of(page), 8)
    expect(page.locator("[data-figure=answers] .figure")).to_have_text("8")
    page.wait_for_function("document.querySelector('.mark')?.hasAttribute('transform')")
    before = places(page)
    answer(client, study_of(page), 12, "somebody else")
    moved = "before => before !== document.querySelector('.mark').getAttribute('transform')"
    page.wait_for_function(moved, arg=before[0])
    assert len(places(page)) == len(SHADES)
    assert places(page) != before
    expect(page.locator(".mark.pictured image").first).to_have_attribute(
        "href", re.compile(f"^/media/{study_of(page)}/")
    )

    page.locator(f"[data-participant='{somebody}']").get_by_role("button", name="Exclude").click()
    expect(page.get_by_text("The map is being learned again without their answers.")).to_be_visible()
    expect(page.locator(f"[data-participant='{somebody}']").get_by_role("button", name="Include")).to_be_visible()


def test_whoever_signs_out_is_out_and_comes_back_to_the_same_page_but_to_no_other_server_by_signing_in(signed_in):
    page = signed_in
    page.get_by_text("ann", exact=True).click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/login")
    page.goto("/studies/new")
    page.wait_for_url("**/login?next=*")
    sign_in(page, "something else")
    expect(page.get_by_role("alert")).to_be_visible()
    sign_in(page)
    page.wait_for_url("**/studies/new")
    for elsewhere in ["//example.org", "https://example.org", "/\\example.org", "javascript:alert(1)"]:
        page.goto(f"/login?next={elsewhere}")
        sign_in(page)
        page.wait_for_url("**/studies")


def test_markup_in_titles_and_names_stays_text(signed_in, client):
    page = signed_in
    page.goto("/studies/new")
    page.get_by_label("Title").fill(HOSTILE)
    page.get_by_label("Objects, one per line").fill("\n".join([HOSTILE, *THINGS]))
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    page.get_by_role("button", name="Open study").click()
    expect(page.locator(".study-title .tag").first).to_have_text("open")
    answer(client, study_of(page), 10)
    expect(page.locator(".name[transform] text", has_text=HOSTILE[:16])).to_have_count(1)
    page.locator(".map-surface").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".map-card strong")).to_be_visible()
    page.goto("/studies")
    expect(page.get_by_role("link", name=HOSTILE)).to_be_visible()
    assert page.locator("img[src=x]").count() == 0
    assert page.title() != "broken"


def test_what_is_wrong_with_a_new_study_stands_at_the_field_that_is_wrong(signed_in):
    page = signed_in
    page.goto("/studies/new")
    page.get_by_label("Title").fill("Cities")
    page.get_by_label("Objects, one per line").fill("Paris\nLyon")
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_text("enter at least three")).to_be_visible()
    page.get_by_label("Objects, one per line").fill("\n".join(THINGS))
    page.get_by_text("After the last question").click()
    page.get_by_label("Redirect to").first.fill("ftp://example.org")
    page.get_by_text("After the last question").click()
    page.get_by_role("button", name="Create study").click()
    told = page.locator(".field", has=page.locator("[aria-invalid]")).locator(".error")
    expect(told).to_contain_text("endings.completed.url")
    expect(told).to_contain_text("http")


def test_settings_are_changed_and_a_study_is_deleted_only_by_typing_its_title(signed_in, client):
    page = signed_in
    page.goto("/studies/new")
    page.get_by_label("Title").fill("Cities")
    page.get_by_label("Objects, one per line").fill("\n".join(THINGS))
    page.get_by_role("button", name="Create study").click()
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


def test_who_is_invited_by_a_link_makes_an_account_and_has_no_studies_of_others(signed_in, visitor):
    page = signed_in
    new_study(page, "Cities")
    menu(page, "Invite a colleague")
    link = page.get_by_label("Invitation link").input_value()
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("The link is copied.")).to_be_visible()
    expect(page.locator("dialog")).to_have_count(0)

    other = visitor()
    other.goto(link)
    other.get_by_label("Name").fill("bob")
    other.get_by_label("Password").fill("short")
    other.get_by_role("button", name="Create account").click()
    expect(other.get_by_text("Enter at least 10 characters.")).to_be_visible()
    other.get_by_label("Password").fill(PASSWORD)
    other.get_by_role("button", name="Create account").click()
    other.wait_for_url("**/studies")
    expect(other.get_by_text("No studies yet")).to_be_visible()
    other.get_by_text("bob", exact=True).click()
    expect(other.get_by_role("button", name="Change password")).to_be_visible()
    expect(other.get_by_role("button", name="Invite a colleague")).to_have_count(0)


def test_a_password_is_changed_and_ends_the_sessions_elsewhere_but_not_this_one(signed_in, visitor):
    page, other = signed_in, visitor()
    other.goto("/login")
    sign_in(other)
    other.wait_for_url("**/studies")
    menu(page, "Change password")
    page.get_by_label("Old password").fill("it was another one")
    page.get_by_label("New password").fill("nine words")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("old password")
    page.get_by_label("Old password").fill(PASSWORD)
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_text("Your password is changed.")).to_be_visible()
    # The page goes on with the session that the change began.
    menu(page, "Invite a colleague")
    expect(page.get_by_label("Invitation link")).to_be_visible()
    other.goto("/studies/new")
    other.wait_for_url("**/login?next=*")
    sign_in(other, "nine words")
    other.wait_for_url("**/studies/new")


def test_answers_are_imported_in_a_study_and_as_a_study_and_a_bundle_brings_it_all_back(signed_in, tmp_path):
    page = signed_in
    new_study(page, "Cities")
    rows = [f"{head},{near},{far}" for head, near, far in zip(THINGS, THINGS[1:], THINGS[2:], strict=False)]
    good, bad = tmp_path / "towns.csv", tmp_path / "bad.csv"
    good.write_text("\n".join(["head,winner,loser", *rows, ""]))
    bad.write_text(f"head,winner,loser\n{THINGS[0]},{THINGS[1]},Nowhere\n")
    page.get_by_role("button", name="Import answers").click()
    bring(page, bad)
    expect(page.get_by_role("alert")).to_contain_text("line 2")
    bring(page, good)
    expect(page.get_by_text(f"{len(rows)} answers imported.")).to_be_visible()
    expect(page.locator("[data-figure=answers] .figure")).to_have_text(str(len(rows)))
    with page.expect_download() as started:
        page.get_by_role("link", name="bundle.zip").click()
    bundle = tmp_path / "bundle.zip"
    started.value.save_as(bundle)

    for file, title in [(good, "towns"), (bundle, "Cities")]:
        page.goto("/studies")
        page.get_by_role("button", name="Import").click()
        bring(page, file)
        page.wait_for_url(re.compile("/studies/[^/]+$"))
        expect(page.get_by_role("heading", name=title)).to_be_visible()
        expect(page.locator("[data-figure=answers] .figure")).to_have_text(str(len(rows)))


def test_a_study_is_made_and_opened_by_the_keyboard_alone_and_dialogs_give_the_focus_back(signed_in):
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
    expect(page.get_by_text("has no participants yet")).to_be_visible()
    more = page.locator(".actions summary")
    more.press("Enter")
    page.get_by_role("button", name="Close study").press("Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(more).to_be_focused()


def test_a_strategy_that_fell_back_is_named_with_the_reason(signed_in):
    page = signed_in
    new_study(page, "Cities")
    page.route("**/events", lambda route: route.fulfill(status=404))
    row = {"strategy": "adaptive", "fallback": "failed", "kind": "chosen", "asked": 3, "answered": 2}

    def fallen(route):
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "strategies": [row]})

    page.route("**/live", fallen)
    page.reload()
    chosen = page.get_by_label("How questions were chosen")
    expect(chosen.get_by_text("3 questions were replaced")).to_be_visible()
    expect(chosen.get_by_role("rowheader")).to_contain_text("adaptive")
    expect(chosen.get_by_role("rowheader")).to_contain_text("failed")


def test_an_address_with_nothing_says_so_to_people_and_in_json_to_programs(page):
    answer = page.goto("/nothing/here")
    assert answer.status == 404
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    told = page.request.get("/nothing/here", headers={"Accept": "application/json"})
    assert told.json()["error"]["reason"] == "not-found"
    assert page.request.get("/api/nothing", headers={"Accept": "text/html"}).json()["error"]["reason"] == "not-found"
