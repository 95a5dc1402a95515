"""Names of accounts: spellings that look the same are one name, and a name has the letters of one script.

The Cyrillic letter U+0430 looks like a Latin a. A name that mixes scripts could pass for the name of somebody else.
"""

import re
import unicodedata

from erkle.store import limits
from erkle.store.errors import StoreError

# Characters that count as printable but show nothing, in NFKC.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\ufe00-\ufe0f\U000e0100-\U000e01ef]")
# Scripts that are written together.
_TOGETHER = frozenset(
    {"LATIN", "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "BOPOMOFO", "HANGUL"}
)
# Letters such as ʼ, which belong to no script.
_ANY_SCRIPT = frozenset({"MODIFIER"})


def folded(name: str) -> str:
    """Return the same text for all spellings of a name. Accounts are found by it, and attempts to sign in counted.

    >>> folded(" Ann "), folded("ＡＮＮ"), folded("Straße")
    ('ann', 'ann', 'strasse')
    """
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFKC", name))
    # Folding the case can undo the normalisation, so normalise once more.
    return unicodedata.normalize("NFKC", visible.casefold()).strip()


def check_name(name: str) -> None:
    r"""Raise an error if an account cannot have this name.

    >>> check_name("\u0430nn")
    Traceback (most recent call last):
    erkle.store.errors.StoreError: The name ... mixes Cyrillic and Latin letters; use the letters of one script.
    """
    if not 0 < (length := len(folded(name))) <= limits.ACCOUNT_NAME:
        raise StoreError(
            f"The name {name[:60]!r} has {length} visible characters; use 1 to {limits.ACCOUNT_NAME} of them."
        )
    if len(scripts := _scripts(name)) > 1 and not scripts <= _TOGETHER:
        words = " and ".join(sorted(script.capitalize() for script in scripts))
        raise StoreError(f"The name {name!r} mixes {words} letters; use the letters of one script.")


def _scripts(name: str) -> set[str]:
    """Return the first word of each letter's name in Unicode, which is its script."""
    letters = filter(str.isalpha, unicodedata.normalize("NFKC", name))
    return {unicodedata.name(letter, "UNKNOWN").partition(" ")[0] for letter in letters} - _ANY_SCRIPT
