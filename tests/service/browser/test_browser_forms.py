"""The forms for researchers: every setting has a field, nothing entered is lost silently, and bad files are refused."""

import io
import json
import re

import pytest
from PIL import Image
from researching import DESKTOP, PHONE, assert_accessible, assert_fits, open_session

from erkle.service.studies.spec import StudySettings
from erkle.store import Object
from people import THINGS, settings

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect


def picture():
    """A picture of noise, as a file that cannot be cut without losing something."""
    file = io.BytesIO()
    Image.effect_noise((60, 60), 90).save(file, "PNG")
    return file.getvalue()


def paths(value, above=()):
    """The dotted paths of all settings."""
    if not isinstance(value, dict):
        yield ".".join(above)
        return
    for key, inside in value.items():
        yield from paths(inside, (*above, key))


FIELDS = """async () => {
    const { SettingsForm } = await import("/static/studio/form/settings-form.js");
    const { SECTIONS } = await import("/static/studio/form/settings.js");
    const { get } = await import("/static/studio/server.js");
    const form = new SettingsForm(await get("/api/studies/defaults"));
    for (const name of Object.keys(SECTIONS)) form.section(name);
    return [[...form.fields.keys()], form.read()];
}"""


def test_every_setting_has_a_field_and_the_form_changes_none(signed_in):
    fields, read = signed_in.evaluate(FIELDS)
    defaults = StudySettings().model_dump(mode="json")
    assert sorted(fields) == sorted(paths(defaults))
    assert read == defaults


def test_the_settings_of_a_study_reach_the_server(site, signed_in, draft):
    page = signed_in
    page.goto(f"/studies/{draft}")
    page.locator(".actions summary").click()
    page.get_by_role("button", name="Settings").click()
    for title in ("Skipping", "Endings", "Participants in the middle", "Names", "Appearance"):
        page.locator(".fold > summary", has_text=re.compile(f"^{title}$")).click()
    page.get_by_label("Skipped questions allowed").fill("30")
    late = page.get_by_role("group", name="Too late: the study is closed")
    late.get_by_label("Text").fill("Too late, *sorry*.")
    late.get_by_label("Code").fill("LATE")
    late.get_by_label("Redirect to").fill("https://example.org/late")
    page.get_by_label("When the study is paused or closed").select_option("complete")
    page.get_by_label("When they are excluded").select_option("fail")
    page.get_by_label("Show participants the names").check()
    page.get_by_label("Background of the questions").select_option("dark")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The settings are saved.")).to_be_visible()
    kept = site.store.studies.get(draft).settings
    assert kept["skipping"]["most"] == 0.3
    assert kept["endings"]["closed"] == {
        "text": "Too late, *sorry*.",
        "code": "LATE",
        "url": "https://example.org/late",
    }
    assert kept["unfinished"] == {"stopped": "complete", "excluded": "fail"}
    assert (kept["show_names"], kept["appearance"]) == (True, "dark")


BAD = [
    ("holiday.heic", b"\0\0\0\x18ftypheic" + bytes(40), "HEIC"),
    ("drawing.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
    ("film.mov", b"\0\0\0\x14ftypqt  " + bytes(40), "QuickTime"),
    ("report.pdf", b"%PDF-1.7 ...", "report.pdf"),
    ("nothing.png", b"", "empty"),
    ("cut.png", picture()[:1500], "damaged"),
    ("text.jpg", b"\xff\xd8\xff" + b"not a picture", "damaged"),
]


@pytest.mark.parametrize("size", [pytest.param(DESKTOP, marks=pytest.mark.thorough), PHONE], ids=["desktop", "phone"])
def test_bad_files_are_refused_when_they_are_chosen_and_the_good_ones_stay(site, new_page, account, size):
    page = new_page(**size)
    open_session(site, page, account)
    sent = []
    page.on("request", lambda request: sent.append(request) if request.method == "POST" else None)
    page.goto("/studies/new")
    page.get_by_role("button", name="Files", exact=True).click()
    good = ("good.png", picture())
    files = [{"name": name, "mimeType": "", "buffer": data} for name, data in [*((n, d) for n, d, _ in BAD), good]]
    page.get_by_label("Drop files here").set_input_files(files)
    sentences = page.get_by_role("alert").locator("p")
    expect(sentences).to_have_count(len(BAD))
    for sentence, (name, _, word) in zip(sentences.all(), BAD, strict=True):
        expect(sentence).to_contain_text(name)
        expect(sentence).to_contain_text(word)
    expect(page.locator(".thumbnails li")).to_have_count(1)
    expect(page.get_by_text(re.compile(r"^1 file, [1-9]\d*.kB"))).to_be_visible()
    assert sent == []
    expect(page.get_by_label("Show participants the names")).not_to_be_checked()
    assert_fits(page)
    assert_accessible(page)


def test_what_is_typed_into_a_new_study_survives_leaving_the_page(site, signed_in):
    page = signed_in
    page.goto("/studies/new")
    page.get_by_label("Title").fill("Towns")
    page.get_by_label("Objects, one per line").fill("\n".join(THINGS))
    page.get_by_text("Skipping", exact=True).click()
    page.get_by_label("Skipped questions allowed").fill("20")
    page.get_by_text("Attention checks").click()
    page.get_by_role("button", name="Add catch question").click()
    for role, name in zip(("Anchor", "Right answer", "Wrong answer"), THINGS[:3], strict=True):
        page.get_by_label(role).select_option(name)
    page.goto("/studies")
    page.goto("/studies/new")
    expect(page.get_by_label("Title")).to_have_value("Towns")
    expect(page.get_by_label("Objects, one per line")).to_have_value("\n".join(THINGS))
    page.get_by_role("button", name="Create study").click()
    page.wait_for_url(re.compile("/studies/(?!new)[^/]+$"))
    settings = site.store.studies.get(page.url.rpartition("/")[2]).settings
    assert settings["skipping"]["most"] == 0.2
    assert settings["checks"]["catch"] == [dict(zip(("anchor", "near", "far"), THINGS[:3], strict=True))]
    page.goto("/studies/new")
    expect(page.get_by_label("Title")).to_have_value("")


def test_chosen_files_are_not_left_without_a_question(signed_in, pictures):
    page, asked = signed_in, []
    page.goto("/studies/new")
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_role("button", name="Files", exact=True).click()
    page.get_by_label("Drop files here").set_input_files(pictures)
    expect(page.locator(".thumbnails li")).to_have_count(len(pictures))
    page.get_by_role("link", name="Cancel").click(no_wait_after=True)
    expect(page.locator(".thumbnails li")).to_have_count(len(pictures))
    assert asked == ["beforeunload"]


@pytest.mark.parametrize("way", ["Escape", "Cancel"])
def test_changed_settings_are_discarded_only_after_a_question(signed_in, draft, way):
    page = signed_in
    page.goto(f"/studies/{draft}")

    def leave():
        if way == "Escape":
            page.keyboard.press("Escape")
            page.keyboard.press("Escape")
        else:
            page.get_by_role("button", name="Cancel").click()

    page.locator(".actions summary").click()
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Title").fill("Towns")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Keep editing").click()
    expect(page.get_by_label("Title")).to_have_value("Towns")
    leave()
    if way == "Escape":
        # The second Escape has dismissed the question, and the form is still there.
        expect(page.get_by_label("Title")).to_have_value("Towns")
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", name="Cities")).to_be_visible()


def test_whoever_is_signed_out_meanwhile_loses_nothing(site, signed_in, account):
    page = signed_in
    page.goto("/studies/new")
    page.get_by_label("Title").fill("Towns")
    page.get_by_label("Objects, one per line").fill("\n".join(THINGS))
    page.context.clear_cookies()
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("alert").filter(has_text="signed out")).to_be_visible()
    expect(page.get_by_label("Title")).to_have_value("Towns")
    open_session(site, page, account)
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("heading", name="Towns")).to_be_visible()


def test_the_objects_of_a_draft_are_changed(site, signed_in, account, pictures):
    page = signed_in
    files = [("files", (path.name, path.read_bytes(), "image/png")) for path in pictures]
    page.goto("/studies/new")
    page.get_by_label("Title").fill("Shades")
    page.get_by_role("button", name="Files", exact=True).click()
    page.get_by_label("Drop files here").set_input_files(pictures)
    page.get_by_role("button", name="Create study").click()
    page.get_by_role("button", name="Edit objects").click()
    rows = page.locator(".object-rows > li")
    expect(rows).to_have_count(len(files))
    rows.nth(0).get_by_label("Name").fill("coal")
    rows.nth(1).get_by_label("Text").fill("rather dark")
    rows.nth(2).get_by_role("button", name="Remove").click()
    rows.nth(3).locator("input[type=file]").set_input_files({"name": "x.heic", **HEIC})
    expect(rows.nth(3).get_by_role("alert")).to_contain_text("HEIC")
    rows.nth(3).locator("input[type=file]").set_input_files(
        {"name": "other.png", "mimeType": "image/png", "buffer": picture()}
    )
    expect(rows.nth(3).get_by_text("new file", exact=True)).to_be_visible()
    page.get_by_label("New objects, one per line").fill("a word\nanother")
    assert_accessible(page)
    study = page.url.rpartition("/")[2]
    before = site.store.studies.objects(study)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("dialog")).to_have_count(0)
    after = site.store.studies.objects(study)
    assert [each.name for each in after] == [
        "coal",
        before[1].name,
        before[3].name,
        before[4].name,
        "a word",
        "another",
    ]
    assert after[0].payload == before[0].payload
    assert after[1].payload == {**before[1].payload, "text": "rather dark"}
    assert after[2].payload["image"] != before[3].payload["image"]
    page.get_by_role("button", name="Open study").click()
    expect(page.locator(".study-title [data-state=open]")).to_be_visible()
    expect(page.get_by_role("button", name="Edit objects")).to_have_count(0)


HEIC = {"mimeType": "image/heic", "buffer": BAD[0][1]}


def test_what_is_not_edited_in_the_list_of_objects_stays_as_it_is(site, signed_in, account):
    given = [Object("a\nb", {"text": "one\n\ntwo"}), Object(" c ", {"text": " x "}), Object("d", {"text": "y"})]
    study = site.store.studies.create("Texts", given, settings(), owner=account.id).id
    page = signed_in
    page.goto(f"/studies/{study}")
    page.get_by_role("button", name="Edit objects").click()
    page.locator(".object-rows > li").last.get_by_label("Text").fill("z\nz")
    with page.expect_navigation():
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
    assert site.store.studies.objects(study) == [*given[:2], Object("d", {"text": "z\nz"})]


def test_a_form_shows_what_the_server_refuses_and_keeps_what_was_entered(signed_in, draft):
    page = signed_in
    page.goto(f"/studies/{draft}")
    page.get_by_role("button", name="Edit objects").click()
    row = page.locator(".object-rows > li").first
    row.get_by_label("Name").fill(THINGS[1])
    page.get_by_role("button", name="Save").click()
    expect(page.locator("dialog").get_by_role("alert").filter(has_text=THINGS[1])).to_be_visible()
    expect(row.get_by_label("Name")).to_have_value(THINGS[1])
    names = page.evaluate("async (path) => (await fetch(path)).json()", f"/api/studies/{draft}/objects")
    assert [each["name"] for each in names] == THINGS, json.dumps(names)


OPEN = "folds => folds.forEach((fold) => (fold.open = true))"


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_form_and_dialog_fits_and_is_accessible(site, new_page, account, draft, size, scheme):
    page = new_page(color_scheme=scheme, **size)
    for path in ("/login", "/nothing"):
        page.goto(path)
        page.locator("h1").wait_for()
        assert_fits(page)
        assert_accessible(page)
    open_session(site, page, account)
    page.goto("/studies/new")
    page.locator(".fold").first.wait_for()
    page.locator(".fold").evaluate_all(OPEN)
    page.get_by_role("button", name="Add catch question").click()
    assert_fits(page)
    assert_accessible(page)
    page.goto(f"/studies/{draft}")
    for item in ("Settings", "Delete study"):
        page.locator(".actions summary").click()
        page.get_by_role("button", name=item).click()
        page.locator("dialog").wait_for()
        page.locator("dialog .fold").evaluate_all(OPEN)
        assert_fits(page)
        assert_accessible(page)
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Edit objects").click()
    assert_fits(page)
    assert_accessible(page)
