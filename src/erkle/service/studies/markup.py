"""Researchers' Markdown as safe HTML: a few tags, and no scripts, styles or images.

HTML in the Markdown is shown as text. The result is sanitised once more, in case the Markdown parser has a bug.
"""

from functools import lru_cache

import nh3
from markdown_it import MarkdownIt

_TEXT = {"p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "a"}
_BLOCKS = {"ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}
# Deeply nested quotations and lists would take long to render.
_markdown = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
_markdown.disable(["image", "html_block", "html_inline"])


@lru_cache(maxsize=200)
def html(markdown: str) -> str:
    r"""Return the HTML of a text in Markdown. Links open in a new window and send no referrer.

    >>> html("Is it *similar*? <script>alert(1)</script>")
    '<p>Is it <em>similar</em>? &lt;script&gt;alert(1)&lt;/script&gt;</p>\n'
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
