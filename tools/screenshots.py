"""Take the screenshots of the documentation, or of every page for researchers.

    python tools/screenshots.py docs/images           the screenshots of the documentation
    python tools/screenshots.py --every FOLDER        every page, light and dark, on a desktop, a laptop and a phone

A server with simulated studies runs meanwhile. Chromium must be installed. Answers are random, but always the same.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page, expect, sync_playwright

from erkle.client import Client
from erkle.datasets import load_cities
from erkle.service import Configuration, create_app
from erkle.service.accounts.passwords import hashed
from erkle.service.accounts.sessions import COOKIE
from erkle.service.configuration import SERVER
from erkle.service.studies import media
from erkle.service.studies.spec import StudySettings
from erkle.store import Imported, Kind, Object, State, Store

DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}}
LAPTOP: dict[str, Any] = {"viewport": {"width": 1050, "height": 800}}
PHONE: dict[str, Any] = {"viewport": {"width": 375, "height": 740}, "is_mobile": True, "has_touch": True}
SHAPES = ["Amber", "Cobalt", "Dune", "Ember", "Fern", "Frost", "Moss", "Ochre", "Petal", "Sage", "Slate", "Tide"]
FRUIT = ["apple", "pear", "lemon", "orange", "leek", "kohlrabi", "carrot", "plum"]


def picture(number: int) -> bytes:
    """A spiral of dots, whose colour and density depend on the number."""
    rng, image = np.random.default_rng(number), Image.new("RGB", (480, 360), "#edeae1")
    pen, hue = ImageDraw.Draw(image), 30 * number
    for step in np.linspace(0, 1, 60):
        angle, size = 14 * step + number, 6 + 14 * step
        x, y = 240 + 130 * step * np.cos(angle), 180 + 130 * step * np.sin(angle)
        colour = f"hsl({(hue + rng.integers(-20, 20)) % 360}, {55 + number % 3 * 15}%, {rng.integers(35, 60)}%)"
        box = [x - size, y - size, x + size, y + size]
        (pen.ellipse if number % 2 else pen.rectangle)(box, fill=colour)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def answers(places: np.ndarray, n_answers: int, wrong: float = 0.1, people: int = 20) -> Iterator[Imported]:
    """Answers of simulated participants who know the places; some answers are wrong."""
    rng, now = np.random.default_rng(0), time.time_ns() // 1000
    for number in range(n_answers):
        anchor, near, far = (int(each) for each in rng.choice(len(places), 3, replace=False))
        first, second = (np.linalg.norm(places[each] - places[anchor]) for each in (near, far))
        if (first > second) != (rng.random() < wrong):
            near, far = far, near
        kind = Kind.HELD_OUT if number % 10 == 0 else Kind.CHOSEN
        # Two per second, up to now.
        at = now - 500_000 * (n_answers - number)
        yield Imported(f"p{number % people}", anchor, near, far, kind=kind, answered_at=at, issued_at=at - 1_500_000)


def vectors(places: np.ndarray) -> dict[str, np.ndarray]:
    """Features: rough positions, which some objects lack, and vectors of random numbers."""
    rng = np.random.default_rng(1)
    rough = (places / places.std() + 0.3 * rng.standard_normal(places.shape)).astype(np.float32)
    rough[-3:] = np.nan
    return {"rough-positions": rough, "noise": rng.standard_normal((len(places), 512)).astype(np.float32)}


class Studies:
    """The studies of the screenshots, by what they show."""

    def __init__(self, store: Store, url: str) -> None:
        self.store, self.url = store, url
        self.account = store.accounts.create("ann", hashed("correct horse battery"), admin=True)
        self.nobody = store.accounts.create("bob", hashed("correct horse battery"))
        cities = load_cities()
        self.rich = self._study("Cities of Europe: which is nearer?", cities.names, limits={"answers": 4000})
        store.imports.append(self.rich, answers(cities.positions, 3000))
        self.early = self._study("Cities, first answers", cities.names)
        store.imports.append(self.early, answers(cities.positions, 120, people=4))
        self.featured = self._study("Cities with features", cities.names)
        store.imports.append(self.featured, answers(cities.positions, 1200, wrong=0.05))
        store.features.add(self.featured, vectors(cities.positions))
        self.described = self._study("Cities, before the first answer", cities.names)
        store.features.add(self.described, {"rough-positions": vectors(cities.positions)["rough-positions"]})
        self.draft = self._pictured("Shapes and colours")
        self.fruit = self._study("Fruit and vegetables", FRUIT, limits={"participants": 200})
        self.busy = self._study("Fruit, with people in the middle", FRUIT, checks={"practice": 0})
        for study in (self.rich, self.early, self.featured, self.described, self.fruit, self.busy):
            store.studies.change_state(study, State.OPEN)
        self._begin(self.busy, 3)
        self.closed = self._study("Fruit, last year", FRUIT)
        store.studies.change_state(self.closed, State.CLOSED)
        self.taken = {scheme: self._taken(scheme) for scheme in ("light", "dark")}

    def _taken(self, scheme: str) -> dict[str, str]:
        """Studies that participants take part in, with pictures and with words, and one that is paused."""
        common: dict[str, Any] = {
            "appearance": scheme,
            "texts": {
                "consent": "We keep your answers and **nothing that names you**.\n\nYou may stop at any time.",
                "instructions": "Think of the *taste*, not of the shape.",
                "question": "Which of the two is more like the one on top?",
            },
            "limits": {"per_participant": 2},
            "endings": {"completed": {"code": "C1X9-PL7A", "url": "https://platform.example/done?cc=C1X9-PL7A"}},
        }
        long = Object("Jerusalem artichoke", {"text": "A root of a sunflower, which has nothing to do with Jerusalem."})
        words = [*FRUIT[:3], long]
        found = {
            "pictures": self._pictured("Shapes and colours", **common),
            "names": self._pictured("Shapes and colours, with names", **common, show_names=True),
            "words": self._study("Fruit and vegetables", words, appearance=scheme, checks={"practice": 0}),
            "paused": self._study("A study that waits", FRUIT, appearance=scheme),
        }
        for kind, study in found.items():
            self.store.studies.change_state(study, State.OPEN)
            if kind == "paused":
                self.store.studies.change_state(study, State.PAUSED)
        return found

    def _study(self, title: str, objects: list[Any], **changes: Any) -> str:
        settings = StudySettings(**{"target_error": 0.15, **changes}).model_dump(mode="json")
        return self.store.studies.create(title, objects, settings, owner=self.account.id).id

    def _pictured(self, title: str, **changes: Any) -> str:
        objects, files = [], {}
        for number, name in enumerate(SHAPES):
            prepared = media.prepared(name, picture(number))
            files |= prepared.media
            objects.append(Object(name, prepared.payload))
        settings = StudySettings(**changes).model_dump(mode="json")
        with self.store.unfinished.create(title, objects, settings, self.account.id) as study:
            self.store.unfinished.add_media(study.id, files)
        return study.id

    def _begin(self, study: str, n_people: int) -> None:
        with Client(self.url) as client:
            for number in range(n_people):
                reply = client.join(study, {"PROLIFIC_PID": f"p{number}"})
                question = reply.questions[0]
                client.answer(study, reply.participant, question.token, question.left.id, 900)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, Store]]:
    """A server on a free port, and its store."""
    app = create_app(Configuration(data=folder))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", **SERVER))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", app.state.store
    finally:
        app.state.shutdown.asked.set()
        server.should_exit = True
        thread.join()


class Camera:
    """Opens pages as one of the accounts, and takes their pictures."""

    def __init__(self, browser: Browser, studies: Studies, folder: Path, **options: Any) -> None:
        self.studies, self.folder = studies, folder
        self.context = browser.new_context(base_url=studies.url, reduced_motion="reduce", **options)
        self.page = self.context.new_page()

    def sign_in(self, account: str) -> None:
        """Sign in without the form."""
        session = self.studies.store.sessions.open(account, 3600.0)
        self.context.add_cookies([{"name": COOKIE, "value": session.token, "url": self.studies.url}])

    def take(self, name: str, full: bool = True) -> None:
        """Save a picture of the page."""
        size = self.page.viewport_size
        if full:
            # A window as high as the page, so that maps and charts have their final size before the picture is taken.
            height = self.page.evaluate("document.documentElement.scrollHeight")
            self.page.set_viewport_size({"width": size["width"], "height": max(size["height"], height)})
        self.page.wait_for_timeout(500)
        self.page.screenshot(path=self.folder / f"{name}.png", full_page=full)
        wide = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        print(f"{name}{f': {wide} px too wide' if wide > 0 else ''}", flush=True)
        self.page.set_viewport_size(size)

    def open(self, study: str) -> None:
        """Open the dashboard of a study, and wait until it has loaded."""
        self.page.goto(f"/studies/{study}")
        self.page.locator(".figures").wait_for()
        if self.studies.store.answers.last(study):
            expect(self.page.locator("[data-figure=learned] small, [data-figure=learned] .small")).to_have_text(
                "up to date", timeout=120_000
            )
            self.page.wait_for_timeout(1500)

    def menu(self, item: str) -> None:
        """Choose an item of the menu of a study."""
        self.page.locator(".actions summary").click()
        self.page.get_by_role("button", name=item).click()


def draw_new_study(page: Page, n_files: int = 12) -> None:
    """Fill in the page of a new study, with pictures."""
    page.goto("/studies/new")
    page.get_by_label("Title").fill("Shapes and colours")
    page.get_by_role("button", name="Files", exact=True).click()
    files = [
        {"name": f"{name.lower()}.png", "mimeType": "image/png", "buffer": picture(number)}
        for number, name in enumerate(SHAPES[:n_files])
    ]
    page.get_by_label("Drop files here").set_input_files(files)
    expect(page.locator(".thumbnails img")).to_have_count(n_files)


def every_page(camera: Camera, name: Callable[[str], str]) -> None:
    """Take a picture of every page for researchers, with its dialogs and menus."""
    page, studies = camera.page, camera.studies
    page.goto("/login")
    camera.take(name("sign-in"))
    page.goto("/nothing")
    camera.take(name("not-found"))
    page.goto("/setup#token")
    camera.take(name("setup"))
    page.goto("/enter#token")
    page.get_by_role("alert").wait_for()
    camera.take(name("enter"))
    camera.sign_in(studies.nobody.id)
    page.goto("/studies")
    camera.take(name("studies-empty"))
    camera.context.clear_cookies()
    camera.sign_in(studies.account.id)
    page.goto("/studies")
    camera.take(name("studies"))
    page.locator(".topbar summary").click()
    camera.take(name("menu-account"), full=False)
    for item in ("Invite a colleague", "Change password"):
        page.get_by_role("button", name=item).click()
        page.locator("dialog").wait_for()
        camera.take(name(f"dialog-{item.split()[0].lower()}"), full=False)
        page.keyboard.press("Escape")
        page.locator(".topbar summary").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Import", exact=True).click()
    camera.take(name("dialog-import-study"), full=False)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Duplicate").first.click()
    camera.take(name("dialog-duplicate"), full=False)
    page.keyboard.press("Escape")
    page.goto("/studies/new")
    camera.take(name("new-study"))
    draw_new_study(page)
    bad = [
        {"name": "holiday.heic", "mimeType": "image/heic", "buffer": b"\0\0\0\x18ftypheic" + bytes(40)},
        {"name": "broken.png", "mimeType": "image/png", "buffer": picture(0)[:200]},
    ]
    page.get_by_label("Drop files here").set_input_files(bad)
    expect(page.locator(".drop-zone ~ .notice p")).to_have_count(2)
    page.get_by_label("Drop feature files").set_input_files(
        [
            {"name": "clip-vit-l14.npz", "mimeType": "", "buffer": bytes(1_400_000)},
            {"name": "measurements.csv", "mimeType": "", "buffer": bytes(2100)},
            {"name": "vectors.parquet", "mimeType": "", "buffer": bytes(99)},
        ]
    )
    expect(page.locator(".file-list li")).to_have_count(2)
    camera.take(name("new-study-files"))
    for fold in page.locator(".fold summary").all():
        fold.click()
    camera.take(name("new-study-open"))
    page.evaluate("sessionStorage.clear()")
    for study, label in [
        (studies.fruit, "dashboard-empty"),
        (studies.early, "dashboard-early"),
        (studies.rich, "dashboard-rich"),
        (studies.featured, "dashboard-features"),
        (studies.described, "dashboard-only-features"),
        (studies.closed, "dashboard-closed"),
        (studies.draft, "draft"),
    ]:
        camera.open(study)
        camera.take(name(label))
    features(camera, name)
    camera.open(studies.draft)
    page.locator(".actions summary").click()
    camera.take(name("menu-study"), full=False)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Edit objects").click()
    camera.take(name("draft-objects"), full=False)
    page.keyboard.press("Escape")
    camera.menu("Settings")
    camera.take(name("settings"), full=False)
    page.get_by_label("Title").fill("Another title")
    page.keyboard.press("Escape")
    camera.take(name("settings-discard"), full=False)
    page.get_by_role("button", name="Discard").click()
    camera.menu("Delete study")
    camera.take(name("dialog-delete"), full=False)
    page.keyboard.press("Escape")
    camera.open(studies.busy)
    page.get_by_role("button", name="Pause").click()
    page.locator("dialog").wait_for()
    camera.take(name("dialog-pause"), full=False)
    page.keyboard.press("Escape")
    camera.menu("Close study")
    page.locator("dialog").wait_for()
    camera.take(name("dialog-close"), full=False)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Import answers").click()
    camera.take(name("dialog-import"), full=False)


def features(camera: Camera, name: Callable[[str], str]) -> None:
    """Take pictures of the card of features, and of the dialogs that remove features and add objects."""
    page, studies = camera.page, camera.studies
    table = b"name,x,y\nAmsterdam,1,2\nAthens,3,1\n"
    for study, label in [(studies.draft, "none"), (studies.featured, "some"), (studies.described, "chosen")]:
        camera.open(study)
        card = page.get_by_role("region", name="Features")
        if label == "chosen":
            card.get_by_label("Drop feature files").set_input_files(
                [
                    {"name": "measurements.csv", "mimeType": "", "buffer": table},
                    {"name": "clip.csv", "mimeType": "", "buffer": table.replace(b"3,1", b"red,1")},
                ]
            )
            card.get_by_role("button", name="Add features").click()
            card.get_by_role("alert").wait_for()
        page.wait_for_timeout(500)
        card.screenshot(path=camera.folder / f"{name(f'features-{label}')}.png")
    card.get_by_role("button", name="Remove clip.csv").click()
    card.get_by_role("button", name="Add features").click()
    card.get_by_role("button", name="Dismiss").wait_for()
    page.wait_for_timeout(4000)
    card.screenshot(path=camera.folder / f"{name('features-notes')}.png")
    camera.studies.store.features.remove(studies.described, "measurements")
    camera.open(studies.featured)
    card.get_by_role("button", name="Remove noise").click()
    camera.take(name("dialog-remove-features"), full=False)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Add objects").click()
    camera.take(name("dialog-add-objects"), full=False)
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("New objects, one per line").fill("Amsterdam\nNeverwhere")
    dialog.get_by_label("Drop files here").set_input_files(
        [{"name": f"{number}.png", "mimeType": "image/png", "buffer": picture(number)} for number in range(5)]
    )
    dialog.get_by_label("Drop feature files").set_input_files(
        [{"name": "rough-positions.csv", "mimeType": "", "buffer": b"name,x,y\nNeverwhere,1,2\n"}]
    )
    dialog.get_by_role("button", name="Add objects").click()
    dialog.get_by_role("alert").wait_for()
    dialog.evaluate("dialog => dialog.scrollTo(0, 0)")
    camera.take(name("dialog-add-objects-top"), full=False)
    dialog.evaluate("dialog => dialog.scrollTo(0, 99999)")
    camera.take(name("dialog-add-objects-bottom"), full=False)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Discard").click()


def participants(camera: Camera, name: Callable[[str], str], scheme: str) -> None:
    """Take pictures of the pages for participants."""
    page, studies = camera.page, camera.studies

    def ready() -> None:
        page.locator(".stage[data-ready]").wait_for()
        page.wait_for_timeout(700)

    page.goto(f"/s/{studies.taken[scheme]['pictures']}")
    page.get_by_role("button", name="I agree").wait_for()
    camera.take(name("take-consent"), full=False)
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Begin").wait_for()
    camera.take(name("take-instructions"), full=False)
    page.get_by_role("button", name="Begin").click()
    ready()
    camera.take(name("take-practice"), full=False)
    page.keyboard.press("ArrowLeft")
    ready()
    camera.take(name("take-question"), full=False)
    page.get_by_role("button", name="Skip this question").click()
    camera.take(name("take-skip"), full=False)
    page.get_by_role("button", name="Back to the question").click()
    for _ in range(2):
        page.wait_for_timeout(700)
        page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Stay on this page").click()
    camera.take(name("take-completed"), full=False)
    for kind in ("names", "words"):
        page.goto(f"/s/{studies.taken[scheme][kind]}")
        if kind == "names":
            page.get_by_role("button", name="I agree").click()
        page.get_by_role("button", name="Begin").click()
        ready()
        camera.take(name(f"take-{kind}"), full=False)
    for study, label in ((studies.taken[scheme]["paused"], "paused"), (studies.closed, "closed"), ("nothing", "gone")):
        page.goto(f"/s/{study}")
        page.locator("h1").wait_for()
        camera.take(name(f"take-{label}"), full=False)
    camera.sign_in(studies.account.id)
    page.goto(f"/s/{studies.taken[scheme]['pictures']}?preview=1")
    page.get_by_role("button", name="I agree").wait_for()
    camera.take(name("preview"), full=False)
    page.goto(f"/s/{studies.taken[scheme]['pictures']}?preview=1#completed")
    page.get_by_text("What participants see").wait_for()
    camera.take(name("preview-ending"))


def documentation(browser: Browser, studies: Studies, folder: Path) -> None:
    """Take the screenshots of the documentation."""
    camera = Camera(browser, studies, folder, viewport={"width": 1280, "height": 1010})
    camera.sign_in(studies.account.id)
    camera.open(studies.rich)
    camera.take("service-dashboard", full=False)
    camera = Camera(browser, studies, folder, viewport={"width": 1000, "height": 900})
    camera.sign_in(studies.account.id)
    draw_new_study(camera.page)
    camera.take("service-new-study", full=False)
    studies.store.studies.change_state(studies.draft, State.OPEN)
    for name, options in [
        ("service-question", {"viewport": {"width": 1180, "height": 760}}),
        ("service-question-phone", PHONE),
    ]:
        camera = Camera(browser, studies, folder, **options)
        camera.page.goto(f"/s/{studies.draft}")
        camera.page.get_by_role("button", name="Begin").click()
        for _ in range(9):
            camera.page.locator(".stage[data-ready]").wait_for()
            camera.page.wait_for_timeout(700)
            camera.page.keyboard.press("ArrowLeft")
        camera.page.locator(".stage[data-ready]").wait_for()
        camera.take(name, full=False)


def main() -> None:
    """Take the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", action="store_true", help="every page, in all schemes and sizes")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as data,
        serving(Path(data)) as (url, store),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"), args=["--no-sandbox"]
        )
        studies = Studies(store, url)
        if not chosen.every:
            documentation(browser, studies, chosen.folder)
        for scheme in ("light", "dark") if chosen.every else ():
            for size, options in (("desktop", DESKTOP), ("laptop", LAPTOP), ("phone", PHONE)):
                camera = Camera(browser, studies, chosen.folder, color_scheme=scheme, **options)
                every_page(camera, lambda page, end=f"-{size}-{scheme}": page + end)
                camera = Camera(browser, studies, chosen.folder, color_scheme=scheme, **options)
                participants(camera, lambda page, end=f"-{size}-{scheme}": page + end, scheme)
        browser.close()


if __name__ == "__main__":
    main()
