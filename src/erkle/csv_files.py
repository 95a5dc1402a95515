r"""CSV text that every spreadsheet shows as it is, and that erkle reads back exactly.

Cells may come from strangers. A spreadsheet evaluates a cell that begins with ``=``, ``+``, ``-`` or ``@``. It may also
split the file at semicolons or tabs instead of commas, and then a cell can begin in the middle of ours. Therefore
`safe` puts an apostrophe before each place where a formula could begin, and `plain` removes it again:
``plain(safe(text)) == text`` for any text. Cells with line ends of any kind are quoted.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator

# Characters after which a program may begin a new cell or row: separators and everything that ends a line.
_SEPARATORS = r"[;\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]"
# Characters that begin a formula, in their usual and their full-width form.
_FORMULA = r"=+\-@＝＋－＠"
# Blanks at the start are protected as well, because readers remove them.
_AT_START = rf"(?=[\"']*[\s{_FORMULA}])"
_INSIDE = rf"(?=[\"'\s]*[{_FORMULA}])"
_UNSAFE = re.compile(rf"\A{_AT_START}|(?<={_SEPARATORS}){_INSIDE}")
_PROTECTED = re.compile(rf"\A'{_AT_START}|(?<={_SEPARATORS})'{_INSIDE}")
_BLANK_END = re.compile(r"\s'*\Z")
_PROTECTED_END = re.compile(r"\s'+\Z")


def csv_rows(rows: Iterable[Iterable[object]]) -> Iterator[str]:
    r"""Yield each row as a line of CSV that ends in a line feed.

    Parameters
    ----------
    rows : iterable of iterables
        Cells. Text becomes `safe`; other cells are converted with ``str``.

    Examples
    --------
    >>> list(csv_rows([["a\rb", "=1"], [-1, 0.5]]))
    ['"a\rb",\'=1\n', '-1,0.5\n']
    """
    row_text = io.StringIO(newline="")
    # The writer quotes cells with a character of its own line end. With LF alone, it would not quote CR.
    writer = csv.writer(row_text, lineterminator="\r\n")
    for row in rows:
        writer.writerow([safe(cell) if isinstance(cell, str) else cell for cell in row])
        yield row_text.getvalue().removesuffix("\r\n") + "\n"
        row_text.seek(0)
        row_text.truncate()


def csv_text(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    r"""The text of a CSV file.

    Parameters
    ----------
    header : iterable
        Names of the columns.
    rows : iterable of iterables
        Cells, as for `csv_rows`.

    Returns
    -------
    text : str

    Examples
    --------
    >>> csv_text(["object", "x"], [["Paris", 0.5], ["Washington, D.C.", -1.0]])
    'object,x\nParis,0.5\n"Washington, D.C.",-1.0\n'
    """
    return "".join(csv_rows([header, *rows]))


def safe(text: str) -> str:
    """Return a cell in which no spreadsheet finds a formula; `plain` undoes it.

    >>> safe("=1+1"), safe("Paris"), safe("'tis"), safe("x;=1+1")
    ("'=1+1", 'Paris', "'tis", "x;'=1+1")
    """
    guarded = _UNSAFE.sub("'", text)
    return f"{guarded}'" if _BLANK_END.search(guarded) else guarded


def plain(cell: str) -> str:
    """Return a cell as it was before `safe`; most cells of other programs are unchanged.

    >>> plain("'=1+1"), plain("Paris"), plain("'tis"), plain("x;'=1+1")
    ('=1+1', 'Paris', "'tis", 'x;=1+1')
    """
    if "'" not in cell:
        return cell
    found = cell[:-1] if _PROTECTED_END.search(cell) else cell
    return _PROTECTED.sub("", found)
