"""Names of exported files: the title of the study, the date, and what the file contains."""

import unicodedata
from datetime import date
from urllib.parse import quote

# Most characters of the title in a file name.
_LONGEST = 60
_NO_WORDS = "study"


def file_name(title: str, day: date, content: str) -> str:
    """Return a file name from words of any script, in lower case.

    >>> file_name("Fruit & Vegetables", date(2026, 11, 18), "answers.csv")
    'fruit-vegetables-2026-11-18-answers.csv'
    >>> file_name("../..", date(2026, 11, 18), "answers.csv")
    'study-2026-11-18-answers.csv'
    """
    return f"{_slug(unicodedata.normalize('NFC', title)) or _NO_WORDS}-{day.isoformat()}-{content}"


def disposition(title: str, day: date, content: str) -> str:
    """Return the header that makes a browser save a file under its name, for old browsers in ASCII (RFC 6266).

    >>> disposition("Obst", date(2026, 11, 18), "answers.csv")
    'attachment; filename="obst-2026-11-18-answers.csv"'
    """
    name = file_name(title, day, content)
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    plain = f'attachment; filename="{file_name(ascii_title, day, content)}"'
    return plain if name.isascii() else f"{plain}; filename*=UTF-8''{quote(name, safe='')}"


def _slug(title: str) -> str:
    """Join the words of a title with hyphens. Letters, their marks and digits form words."""
    kept = (letter if unicodedata.category(letter)[0] in "LMN" else " " for letter in title.lower())
    return "-".join("".join(kept)[:_LONGEST].split())
