from clients.duties import RULES, Duty
from tools.documents.client_rules import duties


def test_every_duty_has_its_sentence_its_source_and_its_check() -> None:
    text = duties() + "\n"
    assert set(RULES) == set(Duty)
    for duty, rule in RULES.items():
        assert f"## {duty.value}\n\n> {rule.sentence}\n>\n> {rule.source}\n\n{rule.check}\n" in text
