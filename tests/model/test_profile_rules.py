import attrs

from model.profile import KAFKA, KAFKA_4_4, KIP, PROFILES, Profile
from model.profile_rules import RULES, differences, value_of, value_text


def test_every_rule_of_a_profile_has_a_sentence() -> None:
    assert RULES.keys() == {field.name for field in attrs.fields(Profile)} - {"name"}
    for rule in RULES.values():
        assert rule.sentence.endswith(".")
        assert "``" not in rule.sentence


def test_differences_are_what_the_values_say() -> None:
    found = {rule.name: values for rule, values in differences([KIP, KAFKA])}
    pairs = {
        field.name: (getattr(KIP, field.name), getattr(KAFKA, field.name))
        for field in attrs.fields(Profile)
    }
    expected = {name: of for name, of in pairs.items() if name != "name" and of[0] != of[1]}
    assert found == expected
    assert found["sweep_ms"] == (0, 5000)
    assert list(differences([KIP, KIP])) == []
    assert {rule.defect for rule, _ in differences([KAFKA, KAFKA_4_4])} == {True}
    assert len(list(differences(list(PROFILES.values())))) == len(RULES)


def test_values_in_words() -> None:
    texts = {value_text(value_of(KAFKA, rule)) for rule in RULES.values()}
    assert texts >= {"yes", "no", "2,000", "40"}
