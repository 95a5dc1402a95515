"""Errors in the settings of a study: one sentence for each, with its place.

A sentence says what was found and what is expected, and suggests a similar word for a misspelt one. A place is a path
of keys and indices; the reader of a file turns it into a line number.
"""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from enum import Enum, auto
from itertools import islice
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from erkle.service.strict import TOO_MANY_KEYS

Place = tuple[str | int, ...]
Schema = dict[str, Any]
# Errors that are described; nobody reads more at once.
MOST = 30
MORE = "There are more errors than these; correct these first."


# What there is too much of, by the kind of the error.
_COUNTED = {"string_too_long": "characters", "too_long": "entries", TOO_MANY_KEYS: "keys"}

# Comparing two words takes time that grows with their length, so only so many words are compared, and so much of each.
_COMPARED_WORDS = 1000
_COMPARED_LETTERS = 40


class Fault(Enum):
    """The kind of an error, for programs."""

    UNKNOWN_KEY = auto()
    WRONG_VALUE = auto()


class Complaint(NamedTuple):
    """An error: its place, its sentence and its kind."""

    place: Place
    sentence: str
    fault: Fault = Fault.WRONG_VALUE


class Complaints(ValueError):
    """All errors in some settings; the message has a line for each."""

    def __init__(self, found: Iterable[Complaint]) -> None:
        self.found = tuple(found)
        super().__init__("\n".join(complaint.sentence for complaint in self.found))


def complaints(error: ValidationError, model: type[BaseModel]) -> list[Complaint]:
    """Turn the errors that pydantic found into complaints."""
    schema, errors = model.model_json_schema(), error.errors()
    found = [_complaint(each["type"], each["loc"], each["input"], schema) for each in errors[:MOST]]
    return found if len(errors) <= MOST else [*found, Complaint(found[-1].place, MORE)]


def spelled(place: Place) -> str:
    """Return a place as text.

    >>> spelled(("checks", "catch", 0, "anchor"))
    'checks.catch[0].anchor'
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{printable(step)}" for step in place)
    return "".join(steps).removeprefix(".")


def printable(text: str) -> str:
    r"""Return a user's word for use in a sentence: at most 100 characters, all printable.

    >>> printable("hold\ud800out")
    'hold\\ud800out'
    """
    return text[:100] if text[:100].isprintable() else ascii(text[:100])[1:-1]


def shown(value: object) -> str:
    """Describe a value in a few words.

    >>> shown("Paris"), shown(True), shown(None), shown([1, 2]), shown({})
    ("'Paris'", 'true', 'empty', 'a list', 'a mapping')
    """
    if value is None or isinstance(value, bool):
        return "empty" if value is None else str(value).lower()
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    # Python refuses to print integers of more than 4,300 digits.
    text = "a very large number" if isinstance(value, int) and value.bit_length() > 256 else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most similar, or None if none of the first 1,000 is.

    >>> nearest("hold_out", ["holdout", "texts"])
    'holdout'
    """
    by_start = {name[:_COMPARED_LETTERS].lower(): name for name in islice(known, _COMPARED_WORDS)}
    close = get_close_matches(word[:_COMPARED_LETTERS].lower(), by_start, n=1, cutoff=0.7)
    return by_start[close[0]] if close else None


def remedy(word: str, known: Sequence[str]) -> str:
    """Say what to write instead of an unknown word.

    >>> remedy("imag", ("name", "image")), remedy("colour", ("name", "image"))
    ('did you mean image?', 'use one of name, image.')
    """
    close = nearest(word, known)
    return f"did you mean {close}?" if close else f"use one of {', '.join(known)}."


def _complaint(kind: str, place: Place, value: object, schema: Schema) -> Complaint:
    if kind == "extra_forbidden":
        return Complaint(place, _unknown(place, schema), Fault.UNKNOWN_KEY)
    return Complaint(place, _wrong(kind, place, value, schema))


def _wrong(kind: str, place: Place, value: object, schema: Schema) -> str:
    wanted = _wanted(_at(place, schema))
    if kind == "missing":
        return f"{spelled(place)} is missing; pass {wanted}."
    if kind == "string_type" and not isinstance(value, dict | list | None):
        return f"{spelled(place)} is {shown(value)}, which is not text; put it in quotes."
    if kind in _COUNTED and isinstance(value, str | list | dict):
        return f"{spelled(place) or 'The value'} has {len(value):,} {_COUNTED[kind]}; pass {wanted}."
    return f"{spelled(place) or 'The value'} is {shown(value)}; pass {wanted}."


def _unknown(place: Place, schema: Schema) -> str:
    word, siblings = str(place[-1]), list(_at(place[:-1], schema).get("properties", {}))
    if close := nearest(word, siblings):
        return f"{spelled(place)} is not a setting; did you mean {close}?"
    if elsewhere := next((path for path in _paths(schema, schema) if path[-1] == word), None):
        return f"{spelled(place)} is not a setting; did you mean {spelled(elsewhere)}?"
    return f"{spelled(place)} is not a setting; the settings here are {', '.join(siblings)}."


def _wanted(schema: Schema) -> str:
    if "properties" in schema:
        return f"a mapping with keys such as {', '.join(list(schema['properties'])[:4])}"
    return str(schema.get("description", "what the documentation says"))


def _at(place: Place, root: Schema) -> Schema:
    """Return the schema of a place, or an empty schema if there is no such place."""
    schema = root
    for step in place:
        inside = schema.get("items", {}) if isinstance(step, int) else schema.get("properties", {}).get(step, {})
        schema = _resolved(inside, root)
    return schema


def _paths(schema: Schema, root: Schema, above: Place = ()) -> Iterator[Place]:
    for key, inside in _resolved(schema, root).get("properties", {}).items():
        yield (*above, key)
        yield from _paths(inside, root, (*above, key))


def _resolved(schema: Schema, root: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    found: Schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return found
