"""Values from outside, made safe to store in every database.

Data from a participant's browser are changed until they fit (``bounded_*``), because an odd parameter must not cost an
answer. Input of researchers is refused if it does not fit (``strict_*``), because it must not change silently.
"""

import json
import math
import re
from bisect import bisect
from enum import StrEnum
from itertools import accumulate
from typing import Any, TypeVar

from erkle.store import limits
from erkle.store.errors import StoreError

Json = dict[str, Any]
Member = TypeVar("Member", bound=StrEnum)

# PostgreSQL cannot store NUL in a text, and UTF-8 cannot encode half of a surrogate pair.
_INVALID = re.compile("[\0\ud800-\udfff]")
# NUL as JSON writes it, which is not the same as an escaped backslash followed by u0000.
_NUL_IN_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{limits.ID}}}", re.ASCII)
# Characters kept of a value inside JSON that must become text.
_NESTED_TEXT = 200


def is_id(value: object) -> bool:
    """Return whether a value has the form of an id or a token; other values are never looked up in the database.

    >>> is_id("Zm9v_-"), is_id("x' OR 1=1"), is_id(7)
    (True, False, False)
    """
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def is_text(value: object, most: int) -> bool:
    """Return whether a value is a text of at most ``most`` characters that every database can hold."""
    return isinstance(value, str) and len(value) <= most and _INVALID.search(value) is None


def bounded_text(value: object, most: int) -> str:
    r"""Return any value as text of at most ``most`` bytes in UTF-8, with invalid characters replaced.

    >>> bounded_text("a\0b and more", 5), bounded_text("naïve", 3)
    ('a\ufffdb', 'na')
    """
    text = value[:most] if isinstance(value, str) else _representation(value, most)
    # Errors are ignored because the cut may divide the last character.
    return _INVALID.sub("\ufffd", text).encode()[:most].decode(errors="ignore")


def stored_json(value: object) -> str:
    """Return JSON as the database stores it: in UTF-8, because an escaped emoji takes three times as many bytes.

    >>> stored_json({"mood": "🙂", "n": [1, 2]})
    '{"mood":"🙂","n":[1,2]}'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_bytes(value: object) -> int:
    """Return the number of bytes that JSON takes in the database.

    >>> json_bytes({"mood": "🙂"})
    15
    """
    return len(stored_json(value).encode())


def bounded_json(value: object, most: int) -> Json:
    """Return any value as a JSON object; one that takes more than ``most`` bytes is cut off and kept as text.

    >>> bounded_json({"width": 1280}, 100)
    {'width': 1280}
    >>> bounded_json({"width": "9" * 100}, 30)
    {'cut': '{"width":"9999999'}
    """
    if value is None:
        return {}
    clean = cleaned(value)
    text = stored_json(clean)
    fits = len(text) <= most and len(text.encode()) <= most
    return clean if isinstance(clean, dict) and fits else {"cut": _beginning(text, most - json_bytes({"cut": ""}))}


def cleaned(value: object, levels: int = limits.JSON_DEPTH) -> Any:
    r"""Return any value as strings, numbers, lists and dictionaries that JSON and every database can hold.

    Invalid characters are replaced, NaN and infinity become None, and values nested deeper than ``levels`` become text.

    >>> cleaned({"a\0": [1, math.nan, 2**70], "b": {"c": {"d": 1}}}, levels=2)
    {'a\ufffd': [1, None, '1180591620717411303424'], 'b': {'c': "{'d': 1}"}}
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _INVALID.sub("\ufffd", value)
    if isinstance(value, int):
        return int(value) if value.bit_length() < 64 else _representation(value, _NESTED_TEXT)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict | list | tuple) and levels > 0:
        if isinstance(value, dict):
            return {_key(key): cleaned(inside, levels - 1) for key, inside in value.items()}
        return [cleaned(inside, levels - 1) for inside in value]
    return bounded_text(value, _NESTED_TEXT)


def strict_text(value: object, name: str, most: int) -> str:
    """Return a text unchanged, or raise an error that says what is wrong with it.

    >>> strict_text("", "The title", 200)
    Traceback (most recent call last):
    erkle.store.errors.StoreError: The title is ''; pass a text of 1 to 200 characters.
    """
    if not isinstance(value, str) or not 0 < len(value) <= most:
        raise StoreError(f"{name} is {_shortened(value)}; pass a text of 1 to {most} characters.")
    if found := _INVALID.search(value):
        raise StoreError(
            f"{name} contains the invalid character {found.group()!r} (at position {found.start()}); remove it."
        )
    return value


def strict_member(value: object, name: str, members: type[Member]) -> Member:
    """Return the member of an enumeration with this value, or raise an error that lists the members.

    >>> strict_member("odd", "The side", StrEnum("Side", "left right"))
    Traceback (most recent call last):
    erkle.store.errors.StoreError: The side is 'odd'; pass one of left, right.
    """
    if not isinstance(value, str) or value not in list(members):
        raise StoreError(f"{name} is {bounded_text(value, 40)!r}; pass one of {', '.join(members)}.")
    return members(value)


def strict_json(value: object, name: str) -> Json:
    """Return a dictionary as JSON stores it, or raise an error if JSON cannot hold it.

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
            f"{name} cannot be written as JSON ({error}); use only strings, numbers, lists and dictionaries."
        ) from None
    if _INVALID.search(text) or _NUL_IN_JSON.search(text):
        raise StoreError(f"{name} contains an invalid character; remove NUL characters and unpaired surrogates.")
    loaded: Json = json.loads(text)
    return loaded


def _beginning(text: str, most: int) -> str:
    """Return the longest beginning of a JSON text that takes at most ``most`` bytes as a JSON string.

    A JSON text contains no control characters, so only quotes and backslashes are escaped.
    """
    ends = accumulate(len(character.encode()) + (character in '"\\') for character in text[: max(most, 0)])
    return text[: bisect([*ends], most)]


def _key(key: object) -> str:
    return _INVALID.sub("\ufffd", key) if isinstance(key, str) else bounded_text(key, _NESTED_TEXT)


def _representation(value: object, most: int) -> str:
    # Python refuses to convert integers of more than 4,300 digits to text.
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of about {math.ceil(value.bit_length() * math.log10(2))} digits"
    try:
        return repr(value)[:most]
    except Exception:
        return f"a {type(value).__name__}"


def _shortened(value: object) -> str:
    text = _representation(value, 60)
    return text if len(text) < 60 else f"{text} ..."
