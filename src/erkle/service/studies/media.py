"""Pictures, sounds and films: what a file is, its first bytes say, and its name does not.

Pictures are decoded and drawn anew, so that nothing hidden in them is ever served: no place where they were taken, no
script. Sounds and films are kept as they are. A medium's name is a hash of its bytes: the same bytes have one name.
"""

import io
from collections.abc import Mapping
from hashlib import sha256
from threading import Lock
from typing import NamedTuple

from PIL import Image, ImageCms, ImageOps

from erkle.files import FileError
from erkle.store import Medium

TYPES: Mapping[str, str] = {
    "webp": "image/webp",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "wav": "audio/wav",
    "m4a": "audio/mp4",
    "mp4": "video/mp4",
    "webm": "video/webm",
}
_FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP")
_SIDE, _THUMB = 1200, 160
_PIXELS = 50_000_000
_COLOURS = 4096
# A picture of the largest size takes some 200 MB while it is decoded: one at a time.
_decoding = Lock()


class Prepared(NamedTuple):
    """What an object shows of a file: the names of its media by their part, such as image or audio."""

    payload: dict[str, str]
    media: dict[str, Medium]


def prepared(name: str, data: bytes) -> Prepared:
    """The media of a file, or a `FileError` that says why it cannot be shown."""
    extension = kind_of(name, data)
    if extension is None:
        return _picture(name, data)
    title, medium = _named(extension, data)
    return Prepared({medium.type.partition("/")[0]: title}, {title: medium})


def kind_of(name: str, data: bytes) -> str | None:
    """The extension of a sound or film; None for what may be a picture.

    >>> kind_of("bell", b"ID3...")
    'mp3'
    >>> kind_of("logo.svg", b"<svg onload='alert(1)'/>")
    Traceback (most recent call last):
    erkle.files.FileError: logo.svg: is an SVG drawing, which may hold programs; save it as PNG.
    """
    start = data[:512]
    if start[4:8] == b"ftyp":
        return _of_brand(name, start[8:12])
    if start[:4] == b"RIFF" and start[8:12] == b"WAVE":
        return "wav"
    if start[:4] == b"OggS" and b"theora" not in start:
        return "ogg"
    if start[:4] == b"\x1aE\xdf\xa3" and b"webm" in start:
        return "webm"
    # An MPEG frame of layer III; or a tag before the first of them.
    if start[:3] == b"ID3" or (len(start) > 1 and start[0] == 0xFF and start[1] & 0xE6 == 0xE2):
        return "mp3"
    if b"<svg" in start.lower() or name.lower().endswith((".svg", ".svgz")):
        raise FileError(f"{name}: is an SVG drawing, which may hold programs; save it as PNG.")
    return None


def is_sound(name: str, data: bytes) -> bool:
    """Whether a medium has the hash of its bytes for a name, and they are of the kind that the name says."""
    stem, _, extension = name.rpartition(".")
    is_picture = extension == "webp" and data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    is_named = extension in TYPES and stem == sha256(data).hexdigest()[:40]
    return is_named and (is_picture or kind_of(name, data) == extension)


def _of_brand(name: str, brand: bytes) -> str:
    if brand in (b"M4A ", b"M4B ") or name.lower().endswith(".m4a"):
        return "m4a"
    if brand in (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1", b"avif", b"avis"):
        raise FileError(f"{name}: is a HEIC or AVIF picture, which not every browser shows; save it as JPEG or PNG.")
    if brand == b"qt  ":
        raise FileError(f"{name}: is a QuickTime film, which not every browser shows; save it as MP4.")
    return "mp4"


def _picture(name: str, data: bytes) -> Prepared:
    with _decoding:
        try:
            image = _decoded(name, data)
            shown = _encoded(image)
            image.thumbnail((_THUMB, _THUMB), Image.Resampling.LANCZOS)
            thumb = _encoded(image)
        except FileError:
            raise
        # Damage shows as OSError, SyntaxError, ValueError, struct.error, IndexError, zlib.error and more.
        except Exception:
            raise FileError(f"{name}: cannot be read as a picture, sound or film; {_ACCEPTED}.") from None
    (image_name, image_medium), (thumb_name, thumb_medium) = _named("webp", shown), _named("webp", thumb)
    return Prepared({"image": image_name, "thumb": thumb_name}, {image_name: image_medium, thumb_name: thumb_medium})


_ACCEPTED = "use JPEG, PNG, GIF, WebP, MP3, OGG, WAV, M4A, MP4 or WebM"


def _decoded(name: str, data: bytes) -> Image.Image:
    try:
        image: Image.Image = Image.open(io.BytesIO(data), formats=_FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise FileError(f"{name}: has more than {_PIXELS:,} pixels; make it smaller.") from None
    if image.width * image.height > _PIXELS:
        raise FileError(f"{name}: has more than {_PIXELS:,} pixels ({image.width} x {image.height}); make it smaller.")
    # A large JPEG is decoded at an eighth, a quarter or half of its size, as long as that is enough.
    image.draft("RGB", (_SIDE, _SIDE))
    image.load()
    image = _in_plain_colours(ImageOps.exif_transpose(image))
    image.thumbnail((_SIDE, _SIDE), Image.Resampling.LANCZOS)
    return image


def _in_plain_colours(image: Image.Image) -> Image.Image:
    """The picture in sRGB, of 8 bits, with transparency where it has some."""
    mode = "RGBA" if image.has_transparency_data else "RGB"
    if image.mode.startswith("I;16") or image.mode == "I":
        image = image.point(lambda value: value / 257).convert("L")
    if image.mode in ("RGB", "CMYK") and (profile := image.info.get("icc_profile")):
        try:
            source = ImageCms.getOpenProfile(io.BytesIO(profile))
            return ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB") or image
        except ImageCms.PyCMSError:
            pass  # A broken profile: the colours may be a little wrong.
    return image.convert(mode)


def _encoded(image: Image.Image) -> bytes:
    """WebP without metadata: a drawing of few colours as it is, a photograph nearly so."""
    drawing = image.getcolors(_COLOURS) is not None
    file = io.BytesIO()
    image.save(
        file, "WEBP", lossless=drawing, quality=70 if drawing else 88, method=4, exif=b"", xmp=b"", icc_profile=b""
    )
    return file.getvalue()


def _named(extension: str, data: bytes) -> tuple[str, Medium]:
    return f"{sha256(data).hexdigest()[:40]}.{extension}", Medium(TYPES[extension], data)
