"""Names of accounts: spellings that look the same are one name, and no name mixes scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erkle.store import StoreError
from erkle.store.names import check_name, folded

SAME = [
    ("Ann", "\uff21\uff4e\uff4e"),
    ("Ann", "ANN "),
    ("Ann", "A\ufe0fnn"),
    ("Ann", "A\u034fnn"),
    ("Ann", "Ann\u2800"),
    ("Zo\u00eb", "Zoe\u0308"),
    ("Stra\u00dfe", "STRASSE"),
    ("\ufb01n", "fin"),
    ("\u212a", "k"),
]
VALID = [
    "Ann",
    "Zo\u00eb",
    "O\u02bcBrien",
    "ann-2@lab.example",
    "\u0410\u043d\u043d\u0430",
    "\u5c71\u7530 Taro",
    "2",
    "\uff21nn",
]
MIXED = ["\u0430nn", "Ann \u0410\u043d\u043d\u0430", "\u03b1nn", "\u5c71\u0430", "\u0627a"]
INVISIBLE = ["\u3164", "\u2800", "\u115f", "\ufe0f"]


@pytest.mark.parametrize(("name", "other"), SAME)
def test_spellings_that_look_the_same_are_one_name(name, other):
    assert folded(name) == folded(other)


@given(st.text())
def test_folding_twice_changes_nothing(name):
    assert folded(folded(name)) == folded(name)


@pytest.mark.parametrize("name", VALID)
def test_a_name_of_one_script_is_valid(name):
    check_name(name)


@pytest.mark.parametrize("name", MIXED)
def test_a_name_that_mixes_scripts_is_refused(store, name):
    with pytest.raises(StoreError, match=r"Latin|Cjk"):
        store.accounts.create(name, "hash")
    assert store.accounts.all() == []


@pytest.mark.parametrize("name", INVISIBLE)
def test_a_name_that_shows_nothing_is_refused(store, name):
    with pytest.raises(StoreError, match="0 visible"):
        store.accounts.create(name, "hash")


def test_a_name_that_grows_when_it_is_folded_still_has_a_limit(store):
    """One character may become 18, and PostgreSQL cannot index a very long text."""
    with pytest.raises(StoreError, match="3600 visible"):
        store.accounts.create("\ufdfa" * 200, "hash")
