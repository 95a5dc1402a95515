"""Researchers' Markdown becomes HTML with a few tags, and nothing that runs, styles or loads."""

import re
import time

import pytest

from erkle.service.studies.markup import html

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src='javascript:alert(1)'></iframe>",
    "<a href='javascript:alert(1)'>x</a>",
    "<b style='position:fixed'>x</b>",
    "<style>*{display:none}</style>",
    "<!-- --><base href='https://evil.example'>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#115;cript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "[x]( javascript:alert(1))",
    "[x](\u0001javascript:alert(1))",
    "<javascript:alert(1)>",
    "[a]: javascript:alert(1)\n\n[a]",
    '[x](https://a.example "onmouseover=alert(1) x=\\"")',
    "![x](https://evil.example/pixel.png)",
    "![x](javascript:alert(1))",
    "```<script>\nalert(1)\n```",
    "`<img src=x>`",
    "# <script>alert(1)</script>",
    "|<script>|\n|-|\n|<img onerror=x>|",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;",
    "<scr<script>ipt>alert(1)</script>",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_runs_or_loads(attack):
    tags = re.findall(r"<[^>]*>", html(attack))
    for tag in tags:
        name = re.match(r"</?([a-z0-9]+)", tag)[1]
        assert name in {"p", "a", "pre", "code", "h1", "table", "thead", "tbody", "tr", "th", "td"}
        assert not re.search(r"\s(on\w+|style|src)\s*=", re.sub(r'"[^"]*"', '""', tag))
        assert not re.search(r"href=\"\s*(?!https?:|mailto:|&lt;|/)", tag)


def test_links_open_in_a_new_window_and_send_no_referrer():
    assert html("[x](https://a.example)") == (
        '<p><a href="https://a.example" target="_blank" rel="noopener noreferrer nofollow">x</a></p>\n'
    )


def test_common_markdown_is_supported():
    text = "# Title\n\nSome *words*, **strong**.\n\n1. one\n2. two\n\n> said\n\n|a|\n|-|\n|b|\n"
    for tag in ("h1", "em", "strong", "ol", "li", "blockquote", "table", "td"):
        assert f"<{tag}>" in html(text)


@pytest.mark.parametrize(
    "text",
    ["[" * 20_000, "> " * 10_000, "*a " * 6000, "|a" * 1000 + "\n" + "|-" * 1000 + "\n" + "|1\n" * 600, "`" * 20_000],
)
def test_a_text_of_the_greatest_length_is_rendered_in_time(text):
    began = time.perf_counter()
    html(text[:20_000])
    assert time.perf_counter() - began < 20.0
