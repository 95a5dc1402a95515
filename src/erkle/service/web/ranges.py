"""Parts of a file by their bytes, which browsers ask for when they play a sound or a film (RFC 9110, section 14)."""

import re

_ONE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


class Unsatisfiable(ValueError):
    """A range with no byte of the file in it."""


def span(header: str | None, size: int) -> tuple[int, int] | None:
    """First byte, and the one after the last, that a Range header asks for; None where it asks for all.

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
            return None  # No range at all, to be taken for none.
    if start >= end:
        raise Unsatisfiable(f"The file has {size} bytes; ask for some of them.")
    return start, end
