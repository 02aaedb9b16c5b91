import attrs

from model.profile import KAFKA, Profile
from model.profile_rules import RULES, value_of, value_text


def test_every_rule_of_a_profile_has_a_sentence() -> None:
    assert RULES.keys() == {field.name for field in attrs.fields(Profile)} - {"name"}
    for rule in RULES.values():
        assert rule.sentence.endswith(".")
        assert "``" not in rule.sentence


def test_values_in_words() -> None:
    texts = {value_text(value_of(KAFKA, rule)) for rule in RULES.values()}
    assert texts >= {"yes", "no", "2,000", "40"}
