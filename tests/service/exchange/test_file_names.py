"""Names of exported files: safe in every file system and in the header, with the title and the date."""

from datetime import date
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle.service.exchange.file_names import disposition, file_name

DAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Fruit and vegetables", "fruit-and-vegetables-2026-11-18-answers.csv"),
        ("  Fruit / vegetables: 2  ", "fruit-vegetables-2-2026-11-18-answers.csv"),
        ("../../etc/passwd", "etc-passwd-2026-11-18-answers.csv"),
        ("!?", "study-2026-11-18-answers.csv"),
        ("Äpfel und Öl", "äpfel-und-öl-2026-11-18-answers.csv"),
        ("水果", "水果-2026-11-18-answers.csv"),
    ],
)
def test_a_file_is_named_after_the_title_and_the_date(title, expected):
    assert file_name(title, DAY, "answers.csv") == expected


def test_old_browsers_get_a_name_in_ascii():
    header = disposition("Äpfel und Öl", DAY, "answers.csv")
    assert 'filename="apfel-und-ol-2026-11-18-answers.csv"' in header
    assert unquote(header.partition("filename*=UTF-8''")[2]) == "äpfel-und-öl-2026-11-18-answers.csv"


@given(st.text())
def test_whatever_the_title_the_name_is_safe_and_short(title):
    name = file_name(title, DAY, "answers.csv")
    assert name.endswith("-2026-11-18-answers.csv")
    assert len(name) <= 100
    assert not set(name) & set('/\\:*?"<>| \n\r\t\0')
    assert not name.startswith((".", "-"))
    header = disposition(title, DAY, "answers.csv")
    assert header.isascii()
    assert header.isprintable()
