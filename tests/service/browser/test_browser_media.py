"""Pictures, films and sounds in a real browser: there in time, in their places, and playable."""

import io
import wave

import pytest
from PIL import Image
from taking_part import begin, expect, hold, press, shown, spoken

from erkle.service.studies.reading import read_upload
from erkle.store import Medium, Object
from people import THINGS


def picture(shade):
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
        found = [page.locator(part).bounding_box() for part in (".prompt", ".anchor", ".candidates", ".below")]
        boxes.add(tuple(tuple(box.values()) for box in found))
        press(page, "f")
    assert len(boxes) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for button in page.locator("button:visible").all():
        assert min(button.bounding_box()["width"], button.bounding_box()["height"]) >= 44


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
