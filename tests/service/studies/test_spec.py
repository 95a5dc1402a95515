"""Settings of a study: all of them have bounds, none is unknown, and a wrong one is told in a sentence."""

import math

import pytest

from erkle.active.strategies import STRATEGIES
from erkle.service.studies.complaints import Complaints, Fault
from erkle.service.studies.spec import StudySettings, check_objects, checked

NAMES = ["Paris", "Lyon", "Madrid", "Rome"]


def test_nothing_said_gives_the_defaults():
    assert checked({}) == StudySettings()


def test_what_is_stored_comes_back():
    settings = checked({"holdout": 0.2, "checks": {"catch": [{"anchor": "a", "near": "b", "far": "c"}]}})
    assert checked(settings.model_dump(mode="json")) == settings


def test_each_strategy_there_is_can_be_chosen():
    assert [checked({"strategy": name}).strategy for name in STRATEGIES] == list(STRATEGIES)


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        StudySettings().holdout = 0.5


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"holdout": 1.5}, "holdout is 1.5; pass a share from 0 to 1."),
        ({"holdout": math.nan}, "holdout is nan; pass a share from 0 to 1."),
        ({"holdout": "0.1"}, "holdout is '0.1'; pass a share from 0 to 1."),
        ({"target_error": 0}, "target_error is 0; pass a share between 0 and 1."),
        ({"limits": {"per_participant": 0}}, "limits.per_participant is 0; pass a whole number from 1 to 10,000."),
        ({"limits": {"answers": True}}, "limits.answers is true; pass a whole number of at least 1, or null."),
        ({"limits": {"lifetime_s": 10**400}}, "limits.lifetime_s is a very large number; pass a number of seconds"),
        ({"texts": []}, "texts is a list; pass a mapping with keys such as question, consent,"),
        ({"texts": {"consent": "x" * 20_001}}, "texts.consent has 20,001 characters; pass a text"),
        ({"texts": {"consent": None}}, "texts.consent is empty; pass a text"),
        (
            {"endings": {"failed": {"code": 123}}},
            "endings.failed.code is 123, which is no text; put it between quotes.",
        ),
        ({"skipping": {"reasons": ["x"] * 21}}, "skipping.reasons has 21 entries; pass a list of at most 20 texts."),
        ({"skipping": {"reasons": ["x", ""]}}, "skipping.reasons[1] is ''; pass a text of 1 to 200 characters."),
        ({"checks": {"catch": [{"anchor": "a", "near": "b"}]}}, "checks.catch[0].far is missing; pass the name of an"),
        ({"strategy": "clever"}, "strategy is 'clever'; pass adaptive, random,"),
        ({"hold_out": 0.1}, "hold_out is no setting; did you mean holdout?"),
        ({"limits": {"per_participants": 3}}, "limits.per_participants is no setting; did you mean per_participant?"),
        ({"per_participant": 3}, "per_participant is no setting; did you mean limits.per_participant?"),
        ({"colour": 3}, "colour is no setting; the settings here are texts, strategy,"),
        ([], "What was sent is a list; pass a mapping"),
    ],
)
def test_a_wrong_setting_is_told_in_a_sentence(values, sentence):
    with pytest.raises(Complaints) as caught:
        checked(values)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "data:text/html,x", "//evil.example", "http://", "https://a b", "http://[x", "x\nhttp://a"],
)
def test_an_ending_leads_only_to_the_web(url):
    with pytest.raises(Complaints, match="pass an address that begins with http"):
        checked({"endings": {"completed": {"url": url}}})


def test_an_ending_may_have_an_address_or_none():
    address = "https://app.example.com/submissions/complete?cc=C1"
    assert checked({"endings": {"completed": {"url": address}}}).endings.completed.url == address
    assert checked({"endings": {"completed": {"url": ""}}}).endings.completed.url == ""


def test_all_faults_are_told_at_once():
    with pytest.raises(Complaints) as caught:
        checked({"holdout": 2, "limits": {"answers": 0}})
    assert [fault.place for fault in caught.value.found] == [("holdout",), ("limits", "answers")]


def _catch(*names):
    return checked({"checks": {"catch": [dict(zip(("anchor", "near", "far"), names, strict=True))]}})


def test_a_fault_has_a_kind_whatever_its_sentence_says():
    with pytest.raises(Complaints) as caught:
        checked({"colour": 1, "strategy": "is no setting", "texts": {"consents": ""}})
    kinds = {complaint.place: complaint.fault for complaint in caught.value.found}
    assert kinds == {
        ("colour",): Fault.UNKNOWN_KEY,
        ("strategy",): Fault.WRONG_VALUE,
        ("texts", "consents"): Fault.UNKNOWN_KEY,
    }


def test_catch_questions_are_about_three_objects_that_there_are():
    check_objects(_catch("Paris", "Lyon", "Rome"), NAMES)
    with pytest.raises(Complaints, match=r"checks.catch\[0\] names an object twice"):
        check_objects(_catch("Paris", "Lyon", "Paris"), NAMES)
    with pytest.raises(Complaints, match=r"checks.catch\[0\].near is 'Lyons', .*; did you mean 'Lyon'\?"):
        check_objects(_catch("Paris", "Lyons", "Rome"), NAMES)
    with pytest.raises(Complaints, match="pass the name of an object of the study"):
        check_objects(_catch("Paris", "Lyon", "Q"), NAMES)
