"""What people see is the same for everybody: one size of all pictures, and the colours of the study; it is recorded."""

import io

import pytest
from PIL import Image
from taking_part import PHONE, expect, shown

from erkle.store import Medium, Object

SIZES = [(400, 400), (900, 300), (300, 900), (40, 30), (640, 480)]
SCREENS = {
    "desktop": {"viewport": {"width": 1280, "height": 800}},
    "small desktop": {"viewport": {"width": 1024, "height": 640}},
    "phone": PHONE,
    "small phone": {**PHONE, "viewport": {"width": 375, "height": 667}},
    "landscape": {**PHONE, "viewport": {"width": 844, "height": 390}},
}
FRAMES = """[...document.querySelectorAll('.frame')].map((frame) => getComputedStyle(frame))
  .map(({ width, height }) => `${parseFloat(width)} ${parseFloat(height)}`)"""


def picture(size):
    """A picture with a transparent corner."""
    data, image = io.BytesIO(), Image.new("RGBA", size, (30, 140, 90, 255))
    image.paste((0, 0, 0, 0), (0, 0, size[0] // 2, size[1] // 2))
    image.save(data, "WEBP")
    return data.getvalue()


@pytest.fixture(scope="module")
def pictures():
    """Pictures of different shapes, one of them with a text."""
    objects = [Object(f"object {number}", {"image": f"{number}.webp"}) for number in range(len(SIZES))]
    objects[1] = Object("with a text", {"image": "1.webp", "text": "a longer text " * 8})
    media = {f"{number}.webp": Medium("image/webp", picture(size)) for number, size in enumerate(SIZES)}
    return {"objects": objects, "media": media}


def asked(page, site, study, n_questions):
    """Answer questions, and return the sizes of the frames in each."""
    page.goto(f"/s/{study}")
    page.get_by_role("button", name="Begin").click()
    found = []
    for number in range(n_questions):
        shown(page)
        page.wait_for_function("() => [...document.querySelectorAll('.stage img')].every((image) => image.complete)")
        found.append(page.evaluate(FRAMES))
        page.locator(".candidate[data-side=left] button").click()
        site.answers(page, study, number + 1)
    return found


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("names", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_all_pictures_have_one_size_which_is_recorded(site, visitor, pictures, screen, names):
    study = site.study(**pictures, show_names=names, limits={"per_participant": 5})
    page = visitor(**SCREENS[screen])
    found = asked(page, site, study, 5)
    assert len({size for sizes in found for size in sizes}) == 1
    assert all(len(sizes) == 3 for sizes in found)
    width, height = map(float, found[0][0].split())
    assert width == pytest.approx(height, abs=0.01)
    for answer in site.store.answers.log(study):
        assert answer.client["picture"] == pytest.approx(width, abs=0.02)
        assert (answer.client["width"], answer.client["height"]) == tuple(SCREENS[screen]["viewport"].values())


def test_pictures_beside_words_have_the_size_of_all_others(site, visitor, pictures):
    objects = [*pictures["objects"][:3], "a word", "a phrase of several words that is rather long", "another"]
    study = site.study(objects, media={n: m for n, m in pictures["media"].items() if n[0] in "012"}, holdout=1.0)
    found = asked(visitor(), site, study, 15)
    assert len({size for sizes in found for size in sizes}) == 1
    assert len({len(sizes) for sizes in found}) > 1
    recorded = [answer.client["picture"] for answer in site.store.answers.log(study)]
    assert [size is None for size in recorded] == [not sizes for sizes in found]


@pytest.mark.parametrize("screen", ["desktop", "small phone"])
def test_everything_of_a_question_with_pictures_fits_into_the_window(site, visitor, pictures, screen):
    plain = [Object(each.name, {"image": each.payload["image"]}) for each in pictures["objects"]]
    study = site.study(plain, media=pictures["media"], checks={"practice": 1})
    page = visitor(**SCREENS[screen])
    page.goto(f"/s/{study}")
    page.get_by_role("button", name="Begin").click()
    shown(page)
    page.get_by_role("button", name="Skip this question").wait_for()
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


@pytest.mark.parametrize("system", ["dark", pytest.param("light", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("appearance", ["light", "dark", "auto"])
def test_the_study_decides_about_light_and_dark_and_it_is_recorded(site, visitor, pictures, appearance, system):
    study = site.study(**pictures, appearance=appearance)
    page = visitor(color_scheme=system)
    asked(page, site, study, 1)
    wanted = system if appearance == "auto" else appearance
    [answer] = site.store.answers.log(study)
    assert (answer.client["scheme"], answer.client["pixel_ratio"]) == (wanted, 1)
    ground, plate = page.evaluate(
        "['body', '.frame'].map((e) => getComputedStyle(document.querySelector(e)).backgroundColor)"
    )
    assert (ground == "rgb(246, 245, 242)") == (wanted == "light")
    assert plate == "rgb(255, 255, 255)"


def test_names_of_objects_without_a_picture_are_always_shown(site, page):
    page.goto(f"/s/{site.study([Object(name, {'text': f'about {name}'}) for name in 'ABC'])}")
    page.get_by_role("button", name="Begin").click()
    shown(page)
    assert sorted(page.locator(".object .name").all_text_contents()) == ["A", "B", "C"]
    expect(page.locator(".object .text")).to_have_count(3)


@pytest.mark.parametrize("names", [False, True])
def test_names_of_pictures_are_shown_only_if_the_study_says_so(site, page, pictures, names):
    page.goto(f"/s/{site.study(**pictures, show_names=names)}")
    page.get_by_role("button", name="Begin").click()
    shown(page)
    expect(page.locator(".object .name")).to_have_count(3 if names else 0)
