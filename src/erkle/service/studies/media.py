"""Images, audio and video. The first bytes of a file decide what it is, not its name.

Images are decoded and encoded again, so that the server never sends hidden data such as scripts or the place where a
photo was taken. Audio and video are stored unchanged. The name of a medium is a hash of its bytes.
"""

import io
from collections.abc import Iterable, Mapping
from contextlib import suppress
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
# Longest side of an image, in pixels.
SIDE = 1200
# Longest side of a thumbnail, in pixels.
_THUMB = 160
# Most pixels of an uploaded image, and of one of its sides: the longest that a JPEG can have.
_PIXELS = 50_000_000
_LONGEST_SIDE = 65_535
# Images with at most this many colours are drawings, which are compressed without loss.
_COLOURS = 4096
# One image at a time, because decoding the largest takes hundreds of megabytes.
_decoding = Lock()


class Prepared(NamedTuple):
    """The media of a file, and their names by kind, such as image or audio."""

    payload: dict[str, str]
    media: dict[str, Medium]


def prepared(name: str, data: bytes) -> Prepared:
    """Return the media of a file, or raise `FileError` if it cannot be shown."""
    extension = kind_of(name, data)
    if extension is None:
        return _picture(name, data)
    title, medium = _named(extension, data)
    return Prepared({medium.type.partition("/")[0]: title}, {title: medium})


def n_pixels(data: bytes) -> int:
    """Return the number of pixels of a file that may be an image, without decoding it; 0 for other files."""
    # A damaged header raises OSError, SyntaxError, ValueError, struct.error and more; `prepared` refuses the file then.
    with suppress(Exception), Image.open(io.BytesIO(data), formats=_FORMATS) as image:
        return image.width * image.height
    return 0


def kind_of(name: str, data: bytes) -> str | None:
    """Return the extension of an audio or video file, or None for what may be an image.

    >>> kind_of("bell", b"ID3...")
    'mp3'
    >>> kind_of("logo.svg", b"<svg onload='alert(1)'/>")
    Traceback (most recent call last):
    erkle.files.FileError: logo.svg: is an SVG drawing, which may contain scripts; save it as PNG.
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
    # An ID3 tag, or the first frame of MPEG layer III.
    if start[:3] == b"ID3" or (len(start) > 1 and start[0] == 0xFF and start[1] & 0xE6 == 0xE2):
        return "mp3"
    if b"<svg" in start.lower() or name.lower().endswith((".svg", ".svgz")):
        raise FileError(f"{name}: is an SVG drawing, which may contain scripts; save it as PNG.")
    return None


def is_valid(name: str, pieces: Iterable[bytes]) -> bool:
    """Return whether a medium's name is the hash of its bytes, with the extension of their kind."""
    stem, _, extension = name.rpartition(".")
    start, digest = b"", sha256()
    for piece in pieces:
        start = start or piece
        digest.update(piece)
    is_picture = extension == "webp" and start[:4] == b"RIFF" and start[8:12] == b"WEBP"
    is_named = extension in TYPES and stem == digest.hexdigest()[:40]
    return is_named and (is_picture or kind_of(name, start) == extension)


def _of_brand(name: str, brand: bytes) -> str:
    if brand in (b"M4A ", b"M4B ") or name.lower().endswith(".m4a"):
        return "m4a"
    if brand in (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1", b"avif", b"avis"):
        raise FileError(f"{name}: is a HEIC or AVIF image, which some browsers cannot show; save it as JPEG or PNG.")
    if brand == b"qt  ":
        raise FileError(f"{name}: is a QuickTime video, which some browsers cannot play; save it as MP4.")
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
        # A damaged file raises OSError, SyntaxError, ValueError, struct.error, IndexError, zlib.error and more.
        except Exception:
            raise FileError(f"{name}: cannot be read as an image, audio or video; {_ACCEPTED}.") from None
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
    # Each row of pixels takes further memory, however short it is.
    if max(image.size) > _LONGEST_SIDE:
        raise FileError(f"{name}: is more than {_LONGEST_SIDE:,} pixels long; make it smaller.")
    # Decode a large JPEG at an eighth, a quarter or half of its size, if that is large enough.
    image.draft("RGB", (SIDE, SIDE))
    image.load()
    image = _in_plain_colours(ImageOps.exif_transpose(image))
    image.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    return image


def _in_plain_colours(image: Image.Image) -> Image.Image:
    """Convert an image to sRGB with 8 bits per channel, and keep its transparency."""
    mode = "RGBA" if image.has_transparency_data else "RGB"
    if image.mode.startswith("I;16") or image.mode == "I":
        image = image.point(lambda value: value / 257).convert("L")
    if image.mode in ("RGB", "CMYK") and (profile := image.info.get("icc_profile")):
        try:
            source = ImageCms.getOpenProfile(io.BytesIO(profile))
            return ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB") or image
        except ImageCms.PyCMSError:
            pass  # A broken profile: the colours may be slightly wrong.
    return image.convert(mode)


def _encoded(image: Image.Image) -> bytes:
    """Return the image as WebP without metadata, without loss if it has few colours."""
    drawing = image.getcolors(_COLOURS) is not None
    file = io.BytesIO()
    image.save(
        file, "WEBP", lossless=drawing, quality=70 if drawing else 88, method=4, exif=b"", xmp=b"", icc_profile=b""
    )
    return file.getvalue()


def _named(extension: str, data: bytes) -> tuple[str, Medium]:
    return f"{sha256(data).hexdigest()[:40]}.{extension}", Medium(TYPES[extension], data)
