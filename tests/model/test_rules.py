from clients.duties import Duty
from model.guards import CoordinatorGuard, Difference
from model.rules import RULES, VERDICT_RULES, RuleKind, rules_for


def test_names_that_code_has_are_those_of_the_table() -> None:
    assert RULES[RuleKind.DUTY].keys() == {duty.value for duty in Duty}
    assert RULES[RuleKind.COORDINATOR].keys() == CoordinatorGuard.__members__.keys()
    assert RULES[RuleKind.DIFFERENCE].keys() == Difference.__members__.keys()


def test_each_rule_has_a_sentence_of_its_own_and_names_promises_that_exist() -> None:
    for kind in (RuleKind.GUARD, RuleKind.COORDINATOR, RuleKind.DIFFERENCE, RuleKind.PROMISE):
        sentences = {rule.sentence for rule in RULES[kind].values()}
        assert len(sentences) == len(RULES[kind])
        assert "" not in sentences
    named = {promise for rules in RULES.values() for r in rules.values() for promise in r.promises}
    assert named == RULES[RuleKind.PROMISE].keys()


def test_a_promise_has_the_rules_that_name_it() -> None:
    assert "NO_RECORD_LOST" in rules_for(VERDICT_RULES["NO_RECORD_LOST"].promises[0])
    assert rules_for("no promise") == ()
