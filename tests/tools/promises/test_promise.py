from model.guards import Difference, Guard
from model.rules import RULES, RuleKind, rules_for
from tools.promises.catalogue import BEHAVIOURS

STAND_FOR_NONE = {
    "ANSWER_COMES": "a bound on what a recording awaits, for which those here are too short",
    "WRITE_IS_OUTSTANDING": "whoever records names only writes that are outstanding",
    "PARTITION_IS_INITIALIZED": "whoever records initializes first",
    "CHECKPOINT_IS_THE_STATE": "whoever records tells the state as it is",
    "EXCEPTION": "no rule gives an exception: it is no answer at all",
    "ACQUISITION": "of a draft, not of a KIP",
    "MARKED": "of a draft, not of a KIP",
}


def test_every_rule_stands_for_a_promise() -> None:
    named = {rule for promise in RULES[RuleKind.PROMISE] for rule in rules_for(promise)}
    assert {rule.name for rule in (*Guard, *Difference)} - named == STAND_FOR_NONE.keys()


def test_every_promise_is_covered() -> None:
    assert {behaviour.promise for behaviour in BEHAVIOURS} == RULES[RuleKind.PROMISE].keys()
    assert len({behaviour.name for behaviour in BEHAVIOURS}) == len(BEHAVIOURS) > 90
