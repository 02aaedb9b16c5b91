"""Goals, and what the counts of a search cover of them."""

from collections.abc import Iterable

import pytest

from conformance.cores.target import Capabilities
from conformance.goals import Goal, Group, Scope, coverage, lacking, recognised, rule_goals
from model.guards import Guard

NUMBERS = Scope[int](lambda numbers: numbers)
SMALL = NUMBERS("a small number", lambda n: n < 5, rules=(Guard.CAN_ACQUIRE,))
NEGATIVE = NUMBERS("a negative number", lambda n: n < 0, "renew", rules=(Guard.CAN_ACQUIRE,))
NEVER = Goal(Group.ANSWER, "a number is answered", never="numbers do not talk")
GOALS = (SMALL, NEGATIVE, NEVER)
ALL = (*GOALS, *rule_goals(GOALS))
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
    (rule,) = rule_goals([NEGATIVE])
    assert lacking(rule, CANNOT) == "it cannot: renew"
    assert lacking(rule, CAN) == ""


def test_a_need_that_is_no_capability_raises() -> None:
    with pytest.raises(AttributeError):
        lacking(Goal(Group.ANSWER, "x", ("fly",)), CAN)
