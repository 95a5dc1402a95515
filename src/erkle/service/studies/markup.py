"""Researchers' Markdown as HTML that a page may show: a few tags, no scripts, no styles, no pictures from elsewhere.

Markdown that has HTML in it shows it as text. What comes out is cleaned once more, for one safe step may have a hole.
"""

from functools import lru_cache

import nh3
from markdown_it import MarkdownIt

_TEXT = {"p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "a"}
_BLOCKS = {"ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}
# A deep nest of quotations or lists would take long, and nobody reads it.
_markdown = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
_markdown.disable(["image", "html_block", "html_inline"])


@lru_cache(maxsize=200)
def html(markdown: str) -> str:
    r"""HTML of a text in Markdown; links open in a window of their own and tell nobody where they were followed.

    >>> html("Is it *alike*? <script>alert(1)</script>")
    '<p>Is it <em>alike</em>? &lt;script&gt;alert(1)&lt;/script&gt;</p>\n'
    >>> html("[here](javascript:alert(1))")
    '<p>[here](javascript:alert(1))</p>\n'
    """
    return nh3.clean(
        _markdown.render(markdown),
        tags=_TEXT | _BLOCKS,
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
