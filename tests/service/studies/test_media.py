"""Images are encoded again, audio and video are recognised by their bytes, and other files are refused."""

import io
import re
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageCms

from erkle.files import FileError
from erkle.service.studies.media import is_valid, prepared
from people import missing


def encoded(image, kind="PNG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def shown(data, part="image", name="cat.png"):
    found = prepared(name, data)
    return Image.open(io.BytesIO(found.media[found.payload[part]].data))


def noise(width, height):
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_an_image_becomes_webp_with_a_thumbnail(kind):
    found = prepared("cat", encoded(Image.new("RGB", (400, 300), "red"), kind))
    assert set(found.payload) == {"image", "thumb"}
    assert {medium.type for medium in found.media.values()} == {"image/webp"}
    picture, thumb = (Image.open(io.BytesIO(found.media[found.payload[part]].data)) for part in ("image", "thumb"))
    assert (picture.size, thumb.size) == ((400, 300), (160, 120))
    assert np.abs(np.array(picture.convert("RGB").getpixel((9, 9))) - (255, 0, 0)).max() < 5


def test_a_large_image_is_made_smaller():
    assert shown(encoded(Image.new("RGB", (3000, 1500)))).size == (1200, 600)
    assert shown(encoded(Image.new("RGB", (3000, 1500)), "JPEG")).size == (1200, 600)


def test_an_image_is_rotated_as_its_metadata_says_and_loses_its_metadata():
    image, exif = Image.new("RGB", (300, 200)), Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "a camera with a secret"
    data = encoded(image, "JPEG", exif=exif, comment=b"a secret")
    again = prepared("cat.jpg", data)
    assert shown(data).size == (200, 300)
    assert not shown(data).getexif()
    assert not any(b"secret" in medium.data or b"EXIF" in medium.data for medium in again.media.values())


def test_a_script_after_an_image_is_removed():
    found = prepared("cat.png", encoded(Image.new("RGB", (9, 9))) + b"<script>alert(1)</script>")
    assert not any(b"script" in medium.data for medium in found.media.values())


def test_of_an_animation_the_first_frame_is_shown():
    first, second = Image.new("RGB", (20, 20), "red"), Image.new("RGB", (20, 20), "blue")
    data = encoded(first, "GIF", save_all=True, append_images=[second])
    assert shown(data).n_frames == 1
    assert shown(data).convert("RGB").getpixel((5, 5)) == (255, 0, 0)


def test_transparency_is_kept():
    assert shown(encoded(Image.new("RGBA", (20, 20), (1, 2, 3, 0)))).convert("RGBA").getpixel((5, 5))[3] == 0


def test_a_drawing_of_few_colours_keeps_them_exactly():
    drawing = Image.fromarray(np.kron([[0, 255], [255, 0]], np.ones((50, 50))).astype(np.uint8)).convert("RGB")
    np.testing.assert_array_equal(np.asarray(shown(encoded(drawing)).convert("RGB")), np.asarray(drawing))


def test_sixteen_bits_of_grey_become_eight():
    steps = np.linspace(0, 65535, 10_000).reshape(100, 100).astype(np.uint16)
    grey = np.asarray(shown(encoded(Image.fromarray(steps))).convert("L")).astype(float)
    np.testing.assert_allclose(grey, steps / 257, atol=1.5)


@pytest.mark.parametrize("profile", [b"broken", "sRGB", "LAB"])
def test_a_colour_profile_is_applied_or_ignored(profile):
    if isinstance(profile, str):
        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile(profile)).tobytes()
    assert shown(encoded(Image.new("RGB", (9, 9), "red"), "JPEG", icc_profile=profile)).info.get("icc_profile") is None


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16"])
def test_images_of_all_modes_are_shown(mode):
    assert shown(encoded(Image.new(mode, (9, 9)), "JPEG" if mode == "CMYK" else "PNG")).size == (9, 9)


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@pytest.mark.parametrize("side", [7100, 10_000, 60_000, 2**31 - 1])
def test_an_image_with_too_many_pixels_is_refused_before_it_is_decoded(side):
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(bytes(1000)))
    with pytest.raises(FileError, match=r"^bomb\.png: "):
        prepared("bomb.png", bomb)


@pytest.mark.parametrize(("width", "height"), [(1, 70_000), (70_000, 1)])
def test_a_very_long_image_is_refused_however_narrow_it_is(width, height):
    with pytest.raises(FileError, match=r"^long\.png: "):
        prepared("long.png", encoded(Image.new("L", (width, height))))


@pytest.mark.parametrize(
    ("name", "data", "part", "extension"),
    [
        ("a.mp3", b"ID3\x04", "audio", "mp3"),
        ("a", b"\xff\xfb\x90\x00", "audio", "mp3"),
        ("a.ogg", b"OggS\x00\x02", "audio", "ogg"),
        ("a.wav", b"RIFF\x00\x00\x00\x00WAVEfmt ", "audio", "wav"),
        ("a.m4a", b"\x00\x00\x00\x20ftypM4A ", "audio", "m4a"),
        ("a.m4a", b"\x00\x00\x00\x20ftypmp42", "audio", "m4a"),
        ("a.mp4", b"\x00\x00\x00\x20ftypisom", "video", "mp4"),
        ("a.webm", b"\x1a\x45\xdf\xa3\x9fB\x82\x84webm", "video", "webm"),
    ],
)
def test_audio_and_video_are_recognised_by_their_first_bytes_and_kept(name, data, part, extension):
    found = prepared(name, data)
    [(key, medium_name)] = found.payload.items()
    assert key == part
    assert medium_name.endswith(f".{extension}")
    assert found.media[medium_name].data == data
    assert found.media[medium_name].type.startswith(part)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("logo.svg", b"<?xml version='1.0'?>", ["SVG"]),
        ("logo.png", b"<svg onload='alert(1)'>", ["SVG"]),
        ("phone.heic", b"\x00\x00\x00\x18ftypheic", ["HEIC"]),
        ("film.mov", b"\x00\x00\x00\x14ftypqt  ", ["QuickTime", "MP4"]),
        ("film.mkv", b"\x1a\x45\xdf\xa3\x9fB\x82\x88matroska", []),
        ("page.jpg", b"<!doctype html><script>alert(1)</script>", []),
        ("empty.png", b"", []),
        ("cut.png", encoded(noise(50, 50))[:1000], []),
        ("drawing.eps", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", []),
    ],
)
def test_a_file_that_cannot_be_shown_is_refused_by_name(name, data, words):
    with pytest.raises(FileError) as caught:
        prepared(name, data)
    assert str(caught.value).startswith(f"{name}: ")
    assert missing(caught.value, words) == []


def test_the_same_bytes_have_the_same_name_and_other_bytes_another():
    data = [encoded(Image.new("RGB", (9, 9), colour)) for colour in ("red", "red", "blue")]
    names = [prepared("x", each).payload["image"] for each in data]
    assert names[0] == names[1] != names[2]


def test_an_image_with_any_byte_changed_is_shown_or_refused_in_a_sentence():
    rng, sentences = np.random.default_rng(0), set()
    for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP"):
        data = encoded(noise(20, 20), kind)
        for _ in range(60):
            changed = bytearray(data)
            changed[rng.integers(len(data) if rng.random() < 0.5 else 60)] = rng.integers(256)
            try:
                found = prepared("x", bytes(changed))
            except FileError as refused:
                sentences.add(str(refused))
            else:
                assert all(is_valid(name, [medium.data]) for name, medium in found.media.items())
    assert sentences
    assert all(re.fullmatch(r"x: [^\n]+; [^\n]+\.", sentence) for sentence in sentences)
