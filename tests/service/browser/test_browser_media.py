"""Pictures, videos and sounds in a real browser: loaded in time, in a fixed place, and playable."""

import io
import wave

import pytest
from PIL import Image
from taking_part import begin, expect, hold, press, sentence, shown

from erkle.service.studies.reading import read_upload
from erkle.store import Medium, Object
from people import THINGS


def picture(shade):
    data = io.BytesIO()
    Image.new("RGB", (300, 200), (shade, 80, 120)).save(data, "WEBP")
    return data.getvalue()


@pytest.fixture(scope="module")
def pictures():
    """The objects and media of a study with pictures."""
    objects = [Object(name, {"image": f"{number}.webp"}) for number, name in enumerate(THINGS)]
    media = {f"{number}.webp": Medium("image/webp", picture(40 * number)) for number in range(len(THINGS))}
    return {"objects": objects, "media": media}


def test_pictures_are_loaded_when_a_question_is_shown(site, page, pictures):
    study = site.study(**pictures, show_names=True)
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/media/" in request.url else None)
    begin(page, study)
    for _ in range(2):
        before = sentence(page)
        page.keyboard.press("f")
        expect(page.locator(".stage h1")).not_to_have_text(before)
        # At once, without waiting.
        assert page.evaluate(
            "[...document.querySelectorAll('.stage img')].map((image) => image.complete && image.naturalWidth)"
        ) == [300, 300, 300]
        shown(page)
    assert asked


def test_the_response_time_starts_when_the_pictures_are_shown(site, page, pictures):
    study = site.study(**pictures, show_names=True)
    release = hold(page, "**/media/**")
    page.goto(f"/s/{study}")
    page.get_by_role("button", name="Begin").click()
    page.locator(".stage[data-loading]").wait_for()
    # Less than the timeout of 8,000 ms after which a question is shown without its pictures.
    page.clock.fast_forward(7000)
    page.keyboard.press("f")  # There is nothing to answer yet.
    release()
    shown(page)
    page.keyboard.press("f")
    (answer,) = site.answers(page, study, 1)
    assert answer.response_ms < 6000


def test_a_question_is_shown_even_if_a_picture_cannot_be_loaded(site, page, pictures):
    study = site.study(**pictures, show_names=True)
    page.route("**/media/**", lambda route: route.abort())
    begin(page, study)
    expect(page.get_by_text("This picture could not be loaded.").first).to_be_visible()
    press(page, "f")
    assert len(site.answers(page, study, 1)) == 1


def test_nothing_moves_between_questions_and_nothing_is_cut_off_at_any_size(site, visitor, pictures):
    # Without the animation of a new question, which moves it by a few pixels.
    page = visitor(reduced_motion="reduce")
    begin(page, site.study(**pictures, show_names=True))
    for width, height in [(320, 568), (640, 400), (844, 390), (1280, 800)]:
        page.evaluate("() => { window.resized = new Promise((done) => addEventListener('resize', () => done(true))); }")
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("window.resized")
        press(page, "f")
        boxes = set()
        for _ in range(3):
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
    """A tone of one second, as a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as tone:
        tone.setnchannels(1)
        tone.setsampwidth(1)
        tone.setframerate(8000)
        tone.writeframes(bytes(128 + 100 * ((i * pitch // 4000) % 2) for i in range(8000)))
    return file.getvalue()


def test_real_videos_and_sounds_can_be_played_and_answered(site, visiting):
    page = visiting(site.url)
    page.goto("/login")
    files = {f"{colour}.webm": bytes(page.evaluate(RECORD, colour)) for colour in ("red", "green")}
    files |= {f"{pitch}.wav": sound(pitch) for pitch in (300, 500)}
    draft = read_upload("title: Videos and sounds", [(name, io.BytesIO(data)) for name, data in files.items()])
    assert {medium.type for medium in draft.media.values()} == {"video/webm", "audio/wav"}
    study = site.study(draft.objects, draft.title, draft.media, limits={"per_participant": 3}, show_names=True)
    # Installed after the recording, which needs the real clock.
    page.clock.install()
    begin(page, study)
    # Any three of these four objects have at least one video and one sound.
    for kind in ("video", "audio"):
        player = page.locator(kind).first
        player.evaluate("async (player) => { player.muted = true; await player.play(); }")
        page.wait_for_function(f"() => document.querySelector('{kind}').currentTime > 0")
    page.locator(".candidate[data-side=left] button").click()
    [answer] = site.answers(page, study, 1)
    assert answer.near == answer.left
