"""What comes from outside becomes what every database can hold.

What a participant's browser sends is made to fit, whatever it is: a strange parameter must not cost an answer. What a
researcher writes is refused where it does not fit: it must not change in silence.
"""

import json
import math
import re
from enum import StrEnum
from typing import Any, TypeVar

from erkle.store import limits
from erkle.store.errors import StoreError

Json = dict[str, Any]
Member = TypeVar("Member", bound=StrEnum)

# PostgreSQL has no NUL in text, and half a surrogate pair is no text in UTF-8.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
# NUL as JSON writes it, and not a backslash before the text u0000.
_NUL_IN_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{limits.ID}}}", re.ASCII)
_INSIDE = 200


def is_id(value: object) -> bool:
    """Whether it may be an id or a token; what may not be one is looked for in no database.

    >>> is_id("Zm9v_-"), is_id("x' OR 1=1"), is_id(7)
    (True, False, False)
    """
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def bounded_text(value: object, most: int) -> str:
    r"""Text of at most so many characters, in which what is no text is replaced.

    >>> bounded_text("a\0b and more", 3)
    'a\ufffdb'
    """
    text = value[:most] if isinstance(value, str) else _representation(value, most)
    return _NO_TEXT.sub("\ufffd", text)


def bounded_json(value: object, most: int) -> Json:
    """An object of at most so many characters of JSON; a larger one becomes its beginning.

    >>> bounded_json({"width": 1280}, 100)
    {'width': 1280}
    >>> bounded_json({"width": "9" * 100}, 20)
    {'cut': '{"width": "999999999'}
    """
    if value is None:
        return {}
    clean = cleaned(value)
    text = json.dumps(clean, ensure_ascii=False, allow_nan=False)
    return clean if isinstance(clean, dict) and len(text) <= most else {"cut": text[:most]}


def cleaned(value: object, levels: int = limits.JSON_DEPTH) -> Any:
    r"""The same as texts, numbers, lists and dictionaries that JSON and every database can hold; it is never refused.

    What is no text is replaced, what is no number is None, and what lies deeper than so many levels becomes a text.

    >>> cleaned({"a\0": [1, math.nan, 2**70], "b": {"c": {"d": 1}}}, levels=2)
    {'a\ufffd': [1, None, '1180591620717411303424'], 'b': {'c': "{'d': 1}"}}
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _NO_TEXT.sub("\ufffd", value)
    if isinstance(value, int):
        return int(value) if value.bit_length() < 64 else _representation(value, _INSIDE)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict | list | tuple) and levels > 0:
        if isinstance(value, dict):
            return {_key(key): cleaned(inside, levels - 1) for key, inside in value.items()}
        return [cleaned(inside, levels - 1) for inside in value]
    return bounded_text(value, _INSIDE)


def strict_text(value: object, name: str, most: int) -> str:
    """The text itself, or a sentence that names what is wrong with it.

    >>> strict_text("", "The title", 200)
    Traceback (most recent call last):
    erkle.store.errors.StoreError: The title is ''; pass a text of 1 to 200 characters.
    """
    if not isinstance(value, str) or not 0 < len(value) <= most:
        raise StoreError(f"{name} is {_shortened(value)}; pass a text of 1 to {most} characters.")
    if found := _NO_TEXT.search(value):
        raise StoreError(
            f"{name} has {found.group()!r} in it (character {found.start()}), which is no text; remove it."
        )
    return value


def strict_member(value: object, name: str, members: type[Member]) -> Member:
    """The member of an enumeration that has this value, or a sentence that lists them.

    >>> strict_member("odd", "The side", StrEnum("Side", "left right"))
    Traceback (most recent call last):
    erkle.store.errors.StoreError: The side is 'odd'; pass one of left, right.
    """
    if not isinstance(value, str) or value not in list(members):
        raise StoreError(f"{name} is {bounded_text(value, 40)!r}; pass one of {', '.join(members)}.")
    return members(value)


def strict_json(value: object, name: str) -> Json:
    """The object itself, or a sentence that says that JSON cannot hold it.

    >>> strict_json({"share": math.nan}, "The settings")
    Traceback (most recent call last):
    erkle.store.errors.StoreError: The settings cannot be written as JSON (Out of range float values ...); ...
    """
    if not isinstance(value, dict):
        raise StoreError(f"{name} is {_shortened(value)}; pass a dictionary.")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"{name} cannot be written as JSON ({error}); pass texts, numbers and lists of them."
        ) from None
    if _NO_TEXT.search(text) or _NUL_IN_JSON.search(text):
        raise StoreError(f"{name} has a character in it that is no text; remove NUL bytes and half surrogate pairs.")
    loaded: Json = json.loads(text)
    return loaded


def _key(key: object) -> str:
    return _NO_TEXT.sub("\ufffd", key) if isinstance(key, str) else bounded_text(key, _INSIDE)


def _representation(value: object, most: int) -> str:
    # A whole number of more than 4,300 digits has no text in Python.
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of some {math.ceil(value.bit_length() * math.log10(2))} digits"
    try:
        return repr(value)[:most]
    except Exception:
        return f"a {type(value).__name__}"


def _shortened(value: object) -> str:
    text = _representation(value, 60)
    return text if len(text) < 60 else f"{text} ..."
