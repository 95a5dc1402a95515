"""Features of objects in a real browser: new studies, the card of features, and objects that are added."""

import io
import re

import numpy as np
import pytest
from researching import DESKTOP, PHONE, assert_accessible, assert_fits, open_session

from erkle.store import Imported, Object, State
from people import THINGS, settings

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

SIZES = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
# The first model of a test run may have to be compiled.
LEARNED_MS = 60_000
HOSTILE = "a/b <img src=x onerror=document.title='broken'>"


def file(name, data):
    """A file as a browser chooses it."""
    return {"name": name, "mimeType": "", "buffer": data}


def table(names, n_columns=3, seed=0):
    """A CSV file with random vectors of objects."""
    rng = np.random.default_rng(seed)
    header = ["name", *(f"x{column}" for column in range(n_columns))]
    rows = [[name, *(f"{value:.3f}" for value in rng.standard_normal(n_columns))] for name in names]
    return "\n".join(",".join(row) for row in [header, *rows]).encode()


def archive(names, **blocks):
    """An NPZ file with blocks of features."""
    data = io.BytesIO()
    np.savez(data, names=np.array(names), **blocks)
    return data.getvalue()


def choose(part, *files):
    """Choose files of features."""
    part.get_by_label("Drop feature files").set_input_files(list(files))


def card(page):
    """The card of features."""
    return page.get_by_role("region", name="Features")


def npz_link(page):
    return page.get_by_role("link", name="features.npz")


def on_the_line(n_answers):
    """Answers about the things, as if they were on a line."""
    rng, rows = np.random.default_rng(0), []
    for number in range(n_answers):
        anchor, *pair = (int(each) for each in rng.choice(len(THINGS), 3, replace=False))
        near, far = sorted(pair, key=lambda other: abs(other - anchor))
        rows.append(Imported(f"p{number % 3}", anchor, near, far))
    return rows


def with_features(site, account, n_answers=0, **blocks):
    """Create an open study with features, and return its id."""
    study = site.study(owner=account.id)
    if n_answers:
        site.store.imports.append(study, on_the_line(n_answers))
    rng = np.random.default_rng(0)
    wanted = blocks or {"clip": 4}
    shape = {name: (len(THINGS), n_columns) for name, n_columns in wanted.items()}
    site.store.features.add(study, {name: rng.standard_normal(shape[name]).astype(np.float32) for name in wanted})
    return study


def names_of(site, study):
    return [each.name for each in site.store.studies.objects(study)]


@pytest.fixture
def looking(site, new_page, account):
    """Open a signed-in page of some size: ``looking(size)``."""

    def looking(size):
        page = new_page(**size)
        open_session(site, page, account)
        return page

    return looking


@SIZES
def test_a_new_study_gets_features_and_its_page_says_what_does_not_match(site, looking, size):
    page = looking(size)
    page.goto("/studies/new")
    page.get_by_label("Title").fill("Towns")
    page.get_by_label("Objects, one per line").fill("\n".join(THINGS))
    form = page.get_by_role("group", name="Files of features")
    clip, other = file("clip.csv", table([*THINGS[:4], "Atlantis"])), file("other.tsv", b"name\tx\n")
    choose(page, clip, other, file("vectors.parquet", b"PAR1"), file("empty.npy", b""))
    sentences = form.get_by_role("alert").locator("p")
    expect(sentences).to_have_text([re.compile("^vectors.parquet .*CSV"), re.compile("^empty.npy .*empty")])
    assert_fits(page)
    assert_accessible(page)
    form.get_by_role("button", name="Remove other.tsv").click()
    expect(form.get_by_role("listitem")).to_have_text([re.compile("clip.csv")])
    page.get_by_role("button", name="Create study").click()

    remarks = page.get_by_role("status").filter(has_text="Atlantis")
    expect(remarks).to_contain_text("2 objects have no vector in these files")
    expect(card(page).get_by_role("listitem")).to_contain_text("3 columns, 4 of 6 objects")
    expect(npz_link(page)).to_be_visible()
    expect(page.locator(".map-preliminary")).to_contain_text("Nobody has answered yet", timeout=LEARNED_MS)
    expect(card(page).locator(".feature-worth")).to_contain_text("clip is not judged yet")
    expect(page.locator(".mark[transform]")).to_have_count(len(THINGS))
    assert_fits(page)
    assert_accessible(page)
    remarks.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_text("Atlantis")).to_have_count(0)
    page.reload()
    expect(card(page).get_by_role("listitem")).to_contain_text("clip")
    expect(page.get_by_text("Atlantis")).to_have_count(0)


def test_features_of_pictures_have_the_names_of_the_files(site, signed_in, pictures):
    page = signed_in
    page.goto("/studies/new")
    page.get_by_label("Title").fill("Shades")
    page.get_by_role("button", name="Files", exact=True).click()
    page.get_by_label("Drop files here").set_input_files(pictures)
    vectors = np.random.default_rng(0).standard_normal((len(pictures), 40))
    choose(page, file("vectors.npz", archive([path.stem for path in pictures], clip=vectors, size=vectors[:, :2])))
    page.get_by_role("button", name="Create study").click()
    rows = card(page).get_by_role("listitem")
    expect(rows).to_contain_text(["40 columns, 5 of 5 objects", "2 columns, 5 of 5 objects"])
    assert set(site.store.features.all(page.url.rpartition("/")[2])) == {"clip", "size"}


def test_an_npz_file_among_the_objects_is_refused_when_it_is_chosen(signed_in):
    page = signed_in
    page.goto("/studies/new")
    page.get_by_role("button", name="Files", exact=True).click()
    page.get_by_label("Drop files here").set_input_files([file("clip.npz", archive(THINGS, clip=np.eye(6)))])
    expect(page.get_by_role("alert").filter(has_text="clip.npz")).to_contain_text("Features")


BAD = {
    "a word among the numbers": (b"name,colour\nParis,red\n", "red"),
    "names of nothing": (table(["Atlantis", "Avalon"]), "names none of the objects"),
    "the same vector for all": (b"name,x\nParis,1\nLyon,1\nOslo,1\n", "same vector"),
}


@pytest.mark.parametrize("bad", BAD)
def test_an_error_in_features_is_shown_at_their_field_and_what_was_entered_stays(site, signed_in, bad):
    page, (data, words) = signed_in, BAD[bad]
    page.goto("/studies/new")
    page.get_by_label("Title").fill("Towns")
    page.get_by_label("Objects, one per line").fill("\n".join(THINGS))
    choose(page, file("clip.csv", data))
    page.get_by_role("button", name="Create study").click()
    form = page.get_by_role("group", name="Files of features")
    expect(form.get_by_role("alert")).to_contain_text(words)
    expect(page.get_by_role("alert")).to_have_count(1)
    form.get_by_role("button", name="Remove clip.csv").click()
    expect(form.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("heading", name="Towns")).to_be_visible()
    assert names_of(site, page.url.rpartition("/")[2]) == THINGS


@pytest.mark.parametrize("page_of", ["a new study", "a study"])
def test_chosen_features_are_not_left_without_a_question(signed_in, draft, page_of):
    page, asked = signed_in, []
    page.goto("/studies/new" if page_of == "a new study" else f"/studies/{draft}")
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    choose(page, file("clip.csv", table(THINGS)))
    expect(page.get_by_role("button", name="Remove clip.csv")).to_be_visible()
    page.get_by_role("link", name="Studies").click(no_wait_after=True)
    expect(page.get_by_role("button", name="Remove clip.csv")).to_be_visible()
    assert asked == ["beforeunload"]


@SIZES
def test_features_are_added_replaced_and_removed(site, looking, draft, size):
    page = looking(size)
    page.goto(f"/studies/{draft}")
    rows = card(page).get_by_role("listitem")
    about = card(page).get_by_text("CLIP vectors")
    expect(about).to_be_visible()
    expect(npz_link(page)).to_have_count(0)
    assert_fits(page)
    assert_accessible(page)

    choose(page, file("clip.csv", table(THINGS[:5])))
    expect(card(page).get_by_text("learned again from the start")).to_be_visible()
    assert_accessible(page)
    card(page).get_by_role("button", name="Add features").click()
    expect(rows).to_contain_text(["3 columns, 5 of 6 objects"])
    expect(card(page).get_by_role("status").filter(has_text="no vector")).to_contain_text(THINGS[5])
    expect(about).not_to_be_visible()
    expect(npz_link(page)).to_be_visible()
    expect(page.locator(".mark[transform]")).to_have_count(len(THINGS), timeout=LEARNED_MS)
    with page.expect_download() as started:
        npz_link(page).click()
    with np.load(started.value.path()) as found:
        assert sorted(found.files) == ["clip", "names"]
    assert_fits(page)
    assert_accessible(page)

    choose(page, file("clip.csv", table(THINGS, n_columns=2)))
    card(page).get_by_role("button", name="Add features").click()
    expect(rows).to_contain_text(["2 columns, 6 of 6 objects"])
    expect(card(page).get_by_role("status").filter(has_text="no vector")).to_have_count(0)

    for answer in ("Cancel", "Remove features"):
        card(page).get_by_role("button", name="Remove clip").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("learned again from the start")
        assert_fits(page)
        assert_accessible(page)
        assert list(site.store.features.all(draft)) == ["clip"]
        dialog.get_by_role("button", name=answer).click()
        expect(dialog).to_have_count(0)
    expect(rows).to_have_count(0)
    expect(about).to_be_visible()
    expect(npz_link(page)).to_have_count(0)
    # Nothing is known about the objects any more.
    expect(page.locator(".map-empty")).to_be_visible()
    expect(page.locator(".mark[transform]")).to_have_count(0)


def test_features_that_the_server_refuses_stay_chosen_with_its_sentence(signed_in, draft):
    page = signed_in
    page.goto(f"/studies/{draft}")
    choose(page, file("clip.csv", b"name,x\nParis,red\n"))
    card(page).get_by_role("button", name="Add features").click()
    expect(card(page).get_by_role("alert")).to_contain_text("clip.csv, line 2: has 'red'")
    expect(card(page).get_by_role("button", name="Add features")).to_be_enabled()
    card(page).get_by_role("button", name="Remove clip.csv").click()
    expect(card(page).get_by_role("alert")).to_have_count(0)
    expect(card(page).get_by_role("button", name="Add features")).to_have_count(0)


def test_any_name_of_features_is_shown_as_text_and_can_be_removed(site, signed_in, draft):
    page = signed_in
    site.store.features.add(draft, {HOSTILE: np.eye(6, dtype=np.float32)})
    page.goto(f"/studies/{draft}")
    expect(card(page).get_by_role("heading", name=HOSTILE)).to_be_visible()
    card(page).get_by_role("button", name=f"Remove {HOSTILE}").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove features").click()
    expect(card(page).get_by_role("listitem")).to_have_count(0)
    assert site.store.features.all(draft) == {}
    assert page.title() != "broken"


def test_the_card_says_what_each_block_is_worth_and_follows_changes_of_others(site, signed_in, account):
    page, study = signed_in, with_features(site, account, clip=4, size=2)
    worth = [
        ("clip", "clip helps: 21.0 % of answers were predicted wrongly with it, 31.0 % without it."),
        ("size", "size does not help: predictions with it were clearly worse than without it."),
    ]
    page.route("**/events", lambda route: route.fulfill(status=404))

    def live(route):
        answer = route.fetch()
        numbers = {"n_objects": 6, "verdict": "helps", "share": 0.5, "weight": 1.0, "error_with": 0.2}
        blocks = [{"name": name, "sentence": sentence, "error_without": 0.3, **numbers} for name, sentence in worth]
        route.fulfill(response=answer, json={**answer.json(), "features": blocks})

    page.route("**/live", live)
    page.goto(f"/studies/{study}")
    sentences = card(page).locator(".feature-worth")
    expect(sentences).to_have_text([sentence.replace(" %", "\u00a0%") for _, sentence in worth])
    site.store.features.remove(study, "clip")
    del worth[0]
    expect(sentences).to_have_text([worth[0][1]])


def test_the_participants_are_shown_again_when_the_same_answers_have_been_learned_again(site, signed_in, account):
    page, study = signed_in, with_features(site, account, n_answers=60)
    page.goto(f"/studies/{study}")
    agreement = page.locator("[data-participant] [data-label=Agreement]").first
    expect(agreement).to_contain_text("%", timeout=LEARNED_MS)
    # The list is refreshed at most every four seconds.
    page.wait_for_timeout(4500)
    with page.expect_response(re.compile("/participants$"), timeout=LEARNED_MS):
        card(page).get_by_role("button", name="Remove clip").click()
        page.get_by_role("button", name="Remove features").click()


@SIZES
def test_objects_are_added_to_a_running_study(site, looking, account, pictures, size):
    study, page = with_features(site, account, n_answers=60), looking(size)
    page.goto(f"/studies/{study}")
    expect(page.get_by_role("button", name="Edit objects")).to_have_count(0)
    page.get_by_role("button", name="Add objects").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("cannot remove")
    expect(dialog).to_contain_text("learned again from the start")
    expect(dialog).to_contain_text("clip (4 columns)")
    dialog.get_by_label("New objects, one per line").fill("Bonn\n\n Köln \n")
    dialog.get_by_label("Drop files here").set_input_files(pictures[:2])
    choose(dialog, file("clip.csv", table(["Bonn", "dim grey", "Paris", "Atlantis"], n_columns=4)))
    expect(dialog.locator(".thumbnails li")).to_have_count(2)
    assert_fits(page)
    assert_accessible(page)
    dialog.get_by_role("button", name="Add objects").click()
    expect(dialog).to_have_count(0)
    new = ["Bonn", "Köln", "black", "dim grey"]
    assert names_of(site, study) == [*THINGS, *new]
    remarks = page.get_by_role("status").filter(has_text="Atlantis")
    expect(remarks).to_contain_text("2 objects have no vector in these files: 'Köln', 'black'")
    expect(card(page).get_by_role("listitem")).to_contain_text("4 columns, 8 of 10 objects")
    expect(page.locator(".mark[transform]")).to_have_count(10, timeout=LEARNED_MS)
    for name in new:
        expect(page.locator(".name", has_text=name)).to_have_count(1)
    assert_fits(page)
    assert_accessible(page)


@SIZES
def test_objects_that_the_server_refuses_stay_in_the_dialog_with_its_sentence(site, looking, account, size):
    page, study = looking(size), with_features(site, account)
    page.goto(f"/studies/{study}")
    page.get_by_role("button", name="Add objects").click()
    dialog = page.get_by_role("dialog")
    go = dialog.get_by_role("button", name="Add objects")
    go.click()
    expect(dialog.get_by_role("alert")).to_contain_text("no new object")
    # The dialog is longer than the window, and its buttons cover its end.
    page.wait_for_function(
        """() => {
            const alert = document.querySelector("dialog .error:not([hidden])");
            const { left, width, top, height } = alert.getBoundingClientRect();
            return document.elementFromPoint(left + width / 2, top + height / 2) === alert;
        }"""
    )
    dialog.get_by_label("New objects, one per line").fill(f"Bonn\n{THINGS[0]}")
    go.click()
    expect(dialog.get_by_role("alert")).to_contain_text(THINGS[0])
    dialog.get_by_label("New objects, one per line").fill("Bonn")
    choose(dialog, file("other.csv", table(["Bonn"])))
    go.click()
    expect(dialog.get_by_role("alert")).to_contain_text("the study has 'clip' with 4")
    expect(dialog.get_by_label("New objects, one per line")).to_have_value("Bonn")
    assert names_of(site, study) == THINGS


def test_chosen_files_of_new_objects_are_discarded_only_after_a_question(site, signed_in, account, pictures):
    page, study = signed_in, site.study(owner=account.id)
    page.goto(f"/studies/{study}")
    page.get_by_role("button", name="Add objects").click()
    expect(page.get_by_role("dialog").get_by_label("Drop feature files")).to_have_count(0)
    page.get_by_label("Drop files here").set_input_files(pictures[:1])
    expect(page.locator("dialog .thumbnails li")).to_have_count(1)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keep editing").click()
    expect(page.locator("dialog .thumbnails li")).to_have_count(1)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("dialog")).to_have_count(0)


DROP = """zone => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["name\\nBonn\\n"], "new.csv"));
    zone.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""


@pytest.mark.parametrize("button", ["Edit objects", "Add objects"])
def test_dropped_files_are_discarded_only_after_a_question(site, signed_in, account, draft, button):
    page = signed_in
    study = draft if button == "Edit objects" else site.study(owner=account.id)
    page.goto(f"/studies/{study}")
    page.get_by_role("button", name=button).click()
    page.locator("dialog .drop-zone").evaluate(DROP)
    expect(page.locator("dialog .thumbnails li")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Keep editing")).to_be_visible()


def test_a_draft_with_answers_gets_objects_and_a_closed_study_does_not(site, signed_in, draft):
    page = signed_in
    edit, add = (page.get_by_role("button", name=name) for name in ("Edit objects", "Add objects"))
    page.goto(f"/studies/{draft}")
    expect(edit).to_be_visible()
    expect(add).to_have_count(0)
    site.store.imports.append(draft, on_the_line(12))
    expect(add).to_be_visible()
    expect(edit).to_have_count(0)
    for state in (State.OPEN, State.PAUSED):
        site.store.studies.change_state(draft, state)
        expect(page.locator(f".study-title [data-state={state}]")).to_be_visible()
        expect(add).to_be_visible()
    site.store.studies.change_state(draft, State.CLOSED)
    expect(page.locator(".study-title [data-state=closed]")).to_be_visible()
    expect(add).to_have_count(0)
    expect(edit).to_have_count(0)


def test_the_page_follows_when_somebody_else_adds_objects(site, signed_in, account):
    page, study = signed_in, with_features(site, account, n_answers=60)
    page.goto(f"/studies/{study}")
    expect(page.locator(".mark[transform]")).to_have_count(len(THINGS), timeout=LEARNED_MS)
    site.store.objects.add(study, [Object("Bonn", {}), Object("Köln", {})])
    expect(page.locator(".mark[transform]")).to_have_count(len(THINGS) + 2, timeout=LEARNED_MS)
    expect(page.locator(".name", has_text="Köln")).to_have_count(1)
    expect(card(page).get_by_role("listitem")).to_contain_text("6 of 8 objects")


def test_a_study_without_answers_and_features_has_no_map(site, signed_in, account):
    study = site.store.studies.create("Cities", THINGS, settings(), owner=account.id).id
    signed_in.goto(f"/studies/{study}")
    expect(signed_in.locator(".map-empty")).to_be_visible()
    expect(signed_in.locator(".map-preliminary")).not_to_be_visible()
