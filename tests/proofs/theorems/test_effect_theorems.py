import pytest

from proofs.theorems.effect_theorems import EFFECT_THEOREMS, EFFECTS, GUARDS
from proofs.theorems.harness import ProofVerdict, prove
from proofs.theorems.theorem import Theorem
from spec import record as rules
from tests.proofs.standing import each


@each(EFFECT_THEOREMS)
def test_a_rule_of_a_record_does_what_its_fields_say(theorem: Theorem) -> None:
    assert prove(theorem).verdict is ProofVerdict.PROVED


def test_each_rule_of_a_record_has_its_theorem() -> None:
    others = {"Record", "UNDELIVERED", "failed_state", "durable_maximum"}
    rule_names = {rule for rule, *_rest in EFFECTS.values()}
    assert {*GUARDS, *rule_names} == set(rules.__all__) - others


def test_a_guard_that_asks_less_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "is_finished", rules.is_terminal)
    theorem = next(t for t in EFFECT_THEOREMS if t.transition == "is_finished")
    assert prove(theorem).verdict is ProofVerdict.REFUTED
