"""Goals, and what the counts of a search cover of them."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

import pytest

from conformance import goals as module
from conformance.coordinators import group_goals, share_goals
from conformance.cores import goals as cores
from conformance.cores.target import Capabilities
from conformance.goals import Goal, Group, Scope, coverage, lacking, recognised, rule_goals
from conformance.wire import goals as wire
from model.rules import RULES, Rule, RuleKind

NUMBERS = Scope[int](lambda numbers: numbers)
SMALL = NUMBERS("a small number", lambda n: n < 5)
NEGATIVE = NUMBERS("a negative number", lambda n: n < 0, "renew")
NEVER = Goal(Group.ANSWER, "a number is answered", never="numbers do not talk")
GOALS = (SMALL, NEGATIVE, NEVER)
CAN_ACQUIRE = Goal(Group.RULE, "CAN_ACQUIRE", any_of=(SMALL, NEGATIVE))
ALL = (*GOALS, CAN_ACQUIRE)
CAN, CANNOT = Capabilities(), Capabilities(renew=False)


@pytest.mark.parametrize(
    ("numbers", "names"),
    [
        ((7, 3, 4), ["a small number"]),
        ((3, -1), ["a small number", "a negative number"]),
        ((7,), []),
        ((), []),
    ],
)
def test_a_situation_occurs_where_its_predicate_holds_of_a_view(
    numbers: Iterable[int], names: list[str]
) -> None:
    assert list(recognised(GOALS)(numbers)) == names


def test_a_rule_is_covered_by_any_goal_that_puts_it_at_stake() -> None:
    found = coverage(ALL, {"a small number": 2, "a negative number": 1}, CAN)
    assert [(goal.name, count) for goal, count in found.covered] == [
        ("a small number", 2),
        ("a negative number", 1),
        ("CAN_ACQUIRE", 3),
    ]
    assert found.missed == ()


def test_a_goal_that_cannot_be_covered_is_skipped_with_the_reason() -> None:
    found = coverage(ALL, {}, CANNOT)
    assert [goal.name for goal in found.missed] == ["a small number", "CAN_ACQUIRE"]
    assert [(goal.name, reason) for goal, reason in found.skipped] == [
        ("a negative number", "it cannot: renew"),
        ("a number is answered", "the kit does not ask for it: numbers do not talk"),
    ]


def test_totals_leave_out_goals_that_are_skipped() -> None:
    found = coverage(ALL, {"a small number": 2}, CANNOT)
    assert list(found.totals()) == [(Group.SITUATION, 1, 1), (Group.RULE, 1, 1)]


def test_a_rule_is_skipped_if_no_goal_can_put_it_at_stake() -> None:
    rule = Goal(Group.RULE, "CAN_ACQUIRE", any_of=(NEGATIVE,))
    assert lacking(rule, CANNOT) == "it cannot: renew"
    assert lacking(rule, CAN) == ""


def test_a_rule_is_put_at_stake_by_the_goals_that_the_table_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stakes = {"core": ["a * number"], "broker": ["a negative number"]}
    rules = {"CAN_ACQUIRE": Rule(RuleKind.GUARD, "CAN_ACQUIRE", at_stake=stakes)}
    monkeypatch.setattr(module, "RULES", {RuleKind.GUARD: rules})
    assert list(rule_goals(GOALS, "core")) == [CAN_ACQUIRE]
    assert [rule.any_of for rule in rule_goals(GOALS, "broker")] == [(NEGATIVE,)]
    assert list(rule_goals([NEVER], "core")) == []


@pytest.mark.parametrize(
    ("kit", "goals"),
    [
        ("core", cores.goals(Capabilities())),
        ("broker", wire.GOALS),
        ("coordinator", share_goals.GOALS),
        ("group", group_goals.GOALS),
    ],
)
def test_each_goal_that_the_table_names_is_one_of_the_kit(
    kit: str, goals: tuple[Goal, ...]
) -> None:
    rules = [rule for rules in RULES.values() for rule in rules.values()]
    kits = {"core", "broker", "coordinator", "group"}
    assert {name for rule in rules for name in rule.at_stake} == kits
    named = [name for rule in rules for name in rule.at_stake.get(kit, ())]
    assert [n for n in named if not any(fnmatchcase(goal.name, n) for goal in goals)] == []


def test_a_need_that_is_no_capability_raises() -> None:
    with pytest.raises(AttributeError):
        lacking(Goal(Group.ANSWER, "x", ("fly",)), CAN)


def test_a_rule_that_needs_what_a_core_lacks_is_skipped_though_its_goals_were_covered() -> None:
    name = "WRITTEN_DELIVERY_COMPLETE_COUNT"
    counts = {"acknowledge is answered NONE": 3}
    (rule,) = (goal for goal in cores.goals(Capabilities()) if goal.name == name)
    has, lacks = Capabilities(), Capabilities(delivery_complete_count=False)
    assert coverage((rule,), counts, has).covered == ((rule, 3),)
    found = coverage((rule,), counts, lacks)
    assert found.covered == ()
    assert [why for _goal, why in found.skipped] == ["it cannot: delivery_complete_count"]
