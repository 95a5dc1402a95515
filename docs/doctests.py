"""A mkdocstrings extension: examples in a docstring without a heading become code blocks.

Markdown would read ``>>>`` as nested quotes.
"""

import re
from typing import Any

import griffe

# A paragraph that begins with a prompt.
_EXAMPLE = re.compile(r"(?:\A|(?<=\n\n))>>>.*?(?=\n\n|\Z)", re.DOTALL)


class Doctests(griffe.Extension):
    """Puts each example into a code block. Below a heading ``Examples``, griffe does it."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object if it has one."""
        if obj.docstring:
            text, heading, examples = obj.docstring.value.partition("\nExamples\n")
            obj.docstring.value = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text) + heading + examples
