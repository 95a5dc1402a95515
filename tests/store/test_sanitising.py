"""Any data from a browser become JSON that every database and every JSON parser can hold."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erkle.store.sanitising import bounded_json, bounded_text, cleaned, json_bytes, strict_json

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.characters(),
    lambda inside: (
        st.lists(inside) | st.dictionaries(st.text() | st.integers() | st.none(), inside) | st.tuples(inside)
    ),
)


def nested(levels):
    value = 1
    for _ in range(levels):
        value = {"a": [value]}
    return value


def depth(value):
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(depth, inside), default=0) if isinstance(value, dict | list) else 0


@given(anything, st.integers(10, 300))
@settings(max_examples=50)
def test_any_value_becomes_valid_json(value, most):
    kept = bounded_json(value, most)
    text = json.dumps(kept, ensure_ascii=False, allow_nan=False)
    assert json.loads(text) == kept
    text.encode()
    assert "\0" not in str(cleaned(value))
    assert json_bytes(kept) <= most
    assert bounded_json(kept, most) == kept


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), st.integers(0, 40))
def test_a_bounded_text_is_a_beginning_that_fits(text, most):
    kept = bounded_text(text, most)
    assert text.startswith(kept)
    assert len(kept.encode()) <= most
    assert kept == text or len(text[: len(kept) + 1].encode()) > most


@pytest.mark.parametrize("levels", [5, 11, 225, 450, 5000])
def test_deeply_nested_values_are_cut(levels):
    kept = bounded_json(nested(levels), 10**6)
    assert depth(kept) <= 20
    assert (kept == nested(levels)) == (levels == 5)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"a": r"\u0000"}, {"a": r"\u0000"}),
        ({"a": "\\\0"}, {"a": "\\\ufffd"}),
        ({"a\0": "\ud800"}, {"a\ufffd": "\ufffd"}),
        ({"a": [math.nan, math.inf, 1.5]}, {"a": [None, None, 1.5]}),
        ({"a": 10**5000}, {"a": "a number of about 5001 digits"}),
        ({"a": 2**63 - 1, "b": -(2**70)}, {"a": 2**63 - 1, "b": str(-(2**70))}),
        ({1: {None: b"x"}}, {"1": {"None": "b'x'"}}),
        ([1], {"cut": "[1]"}),
        (None, {}),
    ],
)
def test_invalid_characters_and_numbers_are_replaced_and_nothing_else(given, kept):
    assert bounded_json(given, 1000) == kept


def test_researchers_may_write_u0000_after_a_backslash_but_no_nul():
    assert strict_json({"a": r"\u0000"}, "The settings") == {"a": r"\u0000"}
    with pytest.raises(ValueError, match=r"settings.*NUL"):
        strict_json({"a": "\\\0"}, "The settings")
