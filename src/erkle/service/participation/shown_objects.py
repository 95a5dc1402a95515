"""Things: objects of a study as a page shows them."""

from pydantic import BaseModel

from erkle.store import Object

__all__ = ["Thing", "thing_of"]


class Thing(BaseModel):
    """An object; what is not text is the address of a file."""

    id: int
    name: str
    text: str | None = None
    image: str | None = None
    thumb: str | None = None
    audio: str | None = None
    video: str | None = None


def thing_of(study: str, number: int, given: Object) -> Thing:
    """The object with this number.

    >>> thing_of("s", 3, Object("Oslo", {"image": "0a.webp"})).image
    '/media/s/0a.webp'
    """
    files = {
        kind: f"/media/{study}/{name}"
        for kind in ("image", "thumb", "audio", "video")
        if isinstance(name := given.payload.get(kind), str)
    }
    text = given.payload.get("text")
    return Thing(id=number, name=given.name, text=text if isinstance(text, str) else None, **files)
