"""Settings of a study have bounds, unknown settings are refused, and each error is a sentence with its values."""

import difflib
import math

import pytest

from erkle.active.strategies import STRATEGIES
from erkle.service.studies.complaints import Complaints, Fault
from erkle.service.studies.spec import StudySettings, check_objects, checked
from erkle.store import Object
from people import missing

NAMES = ["Paris", "Lyon", "Madrid", "Rome"]


def test_no_settings_are_the_defaults():
    assert checked({}) == StudySettings()


def test_stored_settings_are_read_back_unchanged():
    settings = checked({"holdout": 0.2, "checks": {"catch": [{"anchor": "a", "near": "b", "far": "c"}]}})
    assert checked(settings.model_dump(mode="json")) == settings


def test_every_strategy_can_be_chosen():
    assert [checked({"strategy": name}).strategy for name in STRATEGIES] == list(STRATEGIES)


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        StudySettings().holdout = 0.5


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        ({"holdout": 1.5}, Fault.WRONG_VALUE, ["holdout", "1.5", "from 0 to 1"]),
        ({"holdout": math.nan}, Fault.WRONG_VALUE, ["holdout", "nan", "from 0 to 1"]),
        ({"holdout": "0.1"}, Fault.WRONG_VALUE, ["holdout", "'0.1'", "from 0 to 1"]),
        ({"target_error": 0}, Fault.WRONG_VALUE, ["target_error", "0 and 1"]),
        ({"limits": {"per_participant": 0}}, Fault.WRONG_VALUE, ["limits.per_participant", " 0;", "1 to 10,000"]),
        ({"limits": {"answers": True}}, Fault.WRONG_VALUE, ["limits.answers", "true", "at least 1"]),
        ({"limits": {"lifetime_s": 10**400}}, Fault.WRONG_VALUE, ["limits.lifetime_s", "2,592,000"]),
        ({"limits": {"idle_s": 1}}, Fault.WRONG_VALUE, ["limits.idle_s", " 1;", "60"]),
        ({"identity_proof": "yes"}, Fault.WRONG_VALUE, ["identity_proof", "'yes'", "signature"]),
        ({"identity_proof": "signature", "identify_by": []}, Fault.WRONG_VALUE, ["identify_by", "identity_proof"]),
        ({"texts": []}, Fault.WRONG_VALUE, ["texts", "a list", "question, consent"]),
        ({"texts": {"consent": "x" * 20_001}}, Fault.WRONG_VALUE, ["texts.consent", "20,001", "20,000"]),
        ({"texts": {"consent": None}}, Fault.WRONG_VALUE, ["texts.consent", "empty"]),
        ({"endings": {"failed": {"code": 123}}}, Fault.WRONG_VALUE, ["endings.failed.code", "123", "quotes"]),
        ({"skipping": {"reasons": ["x"] * 21}}, Fault.WRONG_VALUE, ["skipping.reasons", "21", "20"]),
        ({"skipping": {"reasons": ["x", ""]}}, Fault.WRONG_VALUE, ["skipping.reasons[1]", "''", "1 to 200"]),
        ({"checks": {"catch": [{"anchor": "a", "near": "b"}]}}, Fault.WRONG_VALUE, ["checks.catch[0].far", "missing"]),
        ({"strategy": "clever"}, Fault.WRONG_VALUE, ["strategy", "'clever'", "adaptive, random"]),
        ({"hold_out": 0.1}, Fault.UNKNOWN_KEY, ["hold_out", "holdout?"]),
        ({"limits": {"per_participants": 3}}, Fault.UNKNOWN_KEY, ["limits.per_participants", "per_participant?"]),
        ({"per_participant": 3}, Fault.UNKNOWN_KEY, ["per_participant", "limits.per_participant?"]),
        ({"colour": 3}, Fault.UNKNOWN_KEY, ["colour", "texts, strategy"]),
        ([], Fault.WRONG_VALUE, ["a list", "a mapping"]),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_what_is_expected(values, kind, words):
    with pytest.raises(Complaints) as caught:
        checked(values)
    [complaint] = caught.value.found
    assert complaint.fault == kind
    assert missing(complaint.sentence, words) == []


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "data:text/html,x", "//evil.example", "http://", "https://a b", "http://[x", "x\nhttp://a"],
)
def test_an_ending_leads_only_to_the_web(url):
    with pytest.raises(Complaints, match=r"endings\.completed\.url .* http://"):
        checked({"endings": {"completed": {"url": url}}})


def test_an_ending_may_have_an_address_or_not():
    address = "https://app.example.com/submissions/complete?cc=C1"
    assert checked({"endings": {"completed": {"url": address}}}).endings.completed.url == address
    assert checked({"endings": {"completed": {"url": ""}}}).endings.completed.url == ""


def test_an_ending_has_the_text_of_its_kind_unless_it_has_another_one():
    endings = checked({"endings": {"full": {"code": "F"}, "closed": {"text": ""}}}).endings
    assert (endings.full.text, endings.full.code) == (StudySettings().endings.full.text, "F")
    assert endings.closed.text == ""
    texts = [each["text"] for each in StudySettings().endings.model_dump().values()]
    assert len(set(texts)) == len(texts) == 6
    assert all(texts)


def test_all_errors_are_reported_together():
    with pytest.raises(Complaints) as caught:
        checked({"holdout": 2, "limits": {"answers": 0}})
    assert [fault.place for fault in caught.value.found] == [("holdout",), ("limits", "answers")]


def _catch(*names):
    return checked({"checks": {"catch": [dict(zip(("anchor", "near", "far"), names, strict=True))]}})


def test_an_error_has_a_kind_that_does_not_depend_on_its_sentence():
    with pytest.raises(Complaints) as caught:
        checked({"colour": 1, "strategy": "is not a setting", "texts": {"consents": ""}})
    kinds = {complaint.place: complaint.fault for complaint in caught.value.found}
    assert kinds == {
        ("colour",): Fault.UNKNOWN_KEY,
        ("strategy",): Fault.WRONG_VALUE,
        ("texts", "consents"): Fault.UNKNOWN_KEY,
    }


def test_catch_questions_are_about_three_different_objects_of_the_study():
    check_objects(_catch("Paris", "Lyon", "Rome"), NAMES)
    with pytest.raises(Complaints, match=r"^checks\.catch\[0\] "):
        check_objects(_catch("Paris", "Lyon", "Paris"), NAMES)
    with pytest.raises(Complaints, match=r"^checks\.catch\[0\]\.near .*'Lyons'.* 'Lyon'\?"):
        check_objects(_catch("Paris", "Lyons", "Rome"), NAMES)
    with pytest.raises(Complaints, match=r"^checks\.catch\[0\]\.far .*'Q'"):
        check_objects(_catch("Paris", "Lyon", "Q"), NAMES)


def test_few_names_are_compared_for_suggestions_however_many_there_are(monkeypatch):
    compared = []

    class Counting(difflib.SequenceMatcher):
        def set_seq1(self, word):
            compared.append(word)
            super().set_seq1(word)

    monkeypatch.setattr(difflib, "SequenceMatcher", Counting)
    names = [f"{'object' * 20} {number}" for number in range(10_000)]
    catch = [{"anchor": f"{names[0]}?{i}", "near": f"x{i}", "far": f"y{i}"} for i in range(100)]
    with pytest.raises(Complaints) as caught:
        checked({"checks": {"catch": catch}}, [Object(name) for name in names])
    assert len(caught.value.found) == 300
    assert len(compared) < 5000
    assert max(map(len, compared)) <= 100


def test_thousands_of_unknown_settings_are_one_error():
    with pytest.raises(Complaints, match="5,000") as caught:
        checked({f"setting {number}": 1 for number in range(5000)})
    assert len(caught.value.found) == 1
