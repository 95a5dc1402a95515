"""HTTP byte ranges, which browsers request when they play audio or video (RFC 9110, section 14)."""

import re

_ONE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


class Unsatisfiable(ValueError):
    """A range that contains no byte of the file."""


def span(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first byte and the byte after the last that a Range header requests, or None for the whole file.

    >>> span("bytes=10-19", 100), span("bytes=90-", 100), span("bytes=-5", 100), span("bytes=0-1,5-6", 100)
    ((10, 20), (90, 100), (95, 100), None)
    """
    asked = _ONE.fullmatch(header.strip()) if header else None
    if asked is None or asked.groups() == ("", ""):
        return None
    first, last = asked.groups()
    if not first:
        start, end = max(size - int(last), 0), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None  # RFC 9110: ignore an invalid range.
    if start >= end:
        raise Unsatisfiable(f"The range has no byte of the file; request bytes from 0 to {size - 1}.")
    return start, end
