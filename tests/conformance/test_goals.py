"""Goals, and what the counts of a search cover of them."""

from fnmatch import fnmatchcase
from random import Random
from typing import Any

import pytest

from conformance.campaign import Campaign, Limits, campaign
from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.kit import CORES, Cores
from conformance.cores.target import Capabilities
from conformance.goals import Goal, GoalKind, coverage, goals
from conformance.kit import AnyKit
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.guards import Difference, Guard
from model.rules import RULES
from model.states import AcquireMode

SMALL = Goal(GoalKind.SITUATION, "a small number")
NEGATIVE = Goal(GoalKind.SITUATION, "a negative number", ("renew",))
NEVER = Goal(GoalKind.ANSWER, "a number is answered", never="numbers do not talk")
GOALS = (SMALL, NEGATIVE, NEVER)
CAN_ACQUIRE = Goal(GoalKind.RULE, "CAN_ACQUIRE", any_of=(SMALL, NEGATIVE))
ALL = (*GOALS, CAN_ACQUIRE)
CAN, CANNOT = Capabilities(), Capabilities(renew=False)


def test_a_goal_that_cannot_be_covered_is_skipped_with_the_reason() -> None:
    found = coverage(ALL, {}, CANNOT)
    assert [goal.name for goal in found.missed] == ["a small number", "CAN_ACQUIRE"]
    assert [(goal.name, reason) for goal, reason in found.skipped] == [
        ("a negative number", "it cannot: renew"),
        ("a number is answered", "the kit does not ask for it: numbers do not talk"),
    ]


def test_totals_leave_out_goals_that_are_skipped() -> None:
    found = coverage(ALL, {"a small number": 2}, CANNOT)
    assert list(found.totals()) == [(GoalKind.SITUATION, 1, 1), (GoalKind.RULE, 1, 1)]


@pytest.mark.parametrize("kit", ["core", "broker", "coordinator", "group"])
def test_each_name_in_the_table_of_rules_is_one_of_the_kit(kit: str) -> None:
    listed = goals(kit)
    rules = [rule for rules in RULES.values() for rule in rules.values()]
    kits = {"core", "broker", "coordinator", "group"}
    assert {name for rule in rules for name in rule.at_stake} == kits
    stakes = [name for rule in rules for name in rule.at_stake.get(kit, ())]
    named = [name.replace("bounded by it", "bounded by *") for name in stakes]
    assert [n for n in named if not any(fnmatchcase(goal.name, n) for goal in listed)] == []


def test_a_rule_that_needs_what_a_core_lacks_is_skipped_though_its_goals_were_covered() -> None:
    name = "WRITTEN_DELIVERY_COMPLETE_COUNT"
    counts = {"a write of acknowledge is answered NONE": 3}
    (rule,) = (goal for goal in goals("core", counts) if goal.name == name)
    has, lacks = Capabilities(), Capabilities(delivery_complete_count=False)
    assert coverage((rule,), counts, has).covered == ((rule, 3),)
    found = coverage((rule,), counts, lacks)
    assert found.covered == ()
    assert [why for _goal, why in found.skipped] == ["it cannot: delivery_complete_count"]


ENSURED = {
    "ANSWER_COMES": "the kit itself answers writes and ends dead letters",
    "WRITE_IS_OUTSTANDING": "the kit itself names only writes that are outstanding",
    "PARTITION_IS_INITIALIZED": "the kit itself initializes first",
    "CHECKPOINT_IS_THE_STATE": "the kit asks for the state after each operation",
    "EXCEPTION": "the kit reports a core that throws as one that stopped",
    "PERSISTED": "the kit itself hands over what is durable",
    "ACQUISITION": "the kit asks for no marks",
    "MARKED": "the kit asks for no marks",
}


def test_every_rule_is_put_at_stake_by_a_search_of_a_core_or_ensured_by_the_kit() -> None:
    rules = {goal.name for goal in goals("core") if goal.group is GoalKind.RULE}
    assert rules | ENSURED.keys() == {rule.name for rule in (*Guard, *Difference)}
    assert not rules & ENSURED.keys()


def test_what_a_core_cannot_do_is_skipped_with_the_reason() -> None:
    can = Capabilities(("record_limit",), renew=False, advance_log_start=False, take_over=False)
    reasons = {goal.name: why for goal, why in coverage(goals("core"), {}, can).skipped}
    assert reasons["ACQUIRED → ACQUIRED: acknowledge RENEW"] == "it cannot: renew"
    assert reasons["ACQUIRED → ARCHIVING: advance_time"] == "it cannot: dead_letter_queue"
    assert reasons["DEAD_LETTER_IS_ARCHIVING"] == "it cannot: dead_letter_queue"
    assert reasons["alter_config is answered NONE"] == "it cannot: alter_config"
    assert reasons["release is answered an error"] == "it cannot: write_errors"
    assert reasons["WITHIN_MAXIMUM_AND_ONE_BATCH"] == "it cannot: batch_optimized"
    assert "ACQUIRED → AVAILABLE: advance_time" not in reasons
    both = "ACKNOWLEDGED pending → below the start offset: advance_log_start"
    assert reasons[both] == "it cannot: advance_log_start, pending_writes"


def test_errors_need_writes_that_can_wait() -> None:
    odd = Capabilities(write_errors=(ErrorCode.COORDINATOR_NOT_AVAILABLE,))
    reasons = {goal.name: why for goal, why in coverage(goals("core"), {}, odd).skipped}
    assert reasons["release is answered an error"] == "it cannot: write_errors"


def test_what_a_search_came_by_besides_the_table_counts() -> None:
    found = coverage(
        goals("core", ["an odd → state: acquire"]), {"an odd → state: acquire": 2}, CAN
    )
    assert ("an odd → state: acquire", 2) in {(goal.name, n) for goal, n in found.covered}


def search(kit: AnyKit, target: object, sequences: int) -> Campaign[Any]:
    return campaign(target, Limits(seconds=600, sequences=sequences), kit, seed=5)


@pytest.mark.slow
def test_a_search_of_a_core_reaches_most_of_the_table_and_little_else() -> None:
    listed = {goal.name for goal in goals("core")}
    counts = search(CORES, EngineTarget("spec"), 150).exercised
    assert len(listed & counts.keys()) > 0.7 * len(listed)
    assert len(counts.keys() - listed) < 0.1 * len(listed)


def test_a_search_that_never_acknowledges_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of all counts: what a search leaves out is missing, whatever else it does."""

    def fetching(_kit: Cores, _random: Random, _hello: object) -> tuple[asks.Ask, Any]:
        fetch = asks.CoreFetch("m1", AcquireMode.RECORD_LIMIT, 500, 1, 3)
        rest = iter((asks.CoreProduce(((0, 2),)), *(fetch,) * 9))
        return asks.CoreTakeOver(SharePartitionConfig(2, 4, 100)), lambda _stage: next(rest, None)

    monkeypatch.setattr(Cores, "draws", fetching)
    found = search(CORES, EngineTarget("spec"), 2).coverage
    missed = {goal.name for goal in found.missed}
    assert {"acknowledge is answered NONE", "ACKNOWLEDGEMENT_JUDGED"} <= missed
    assert {"LOCK_ENDS_ON_TIME", "ACQUIRED → AVAILABLE: advance_time"} <= missed
    assert "WITHIN_RECORD_LIMIT" in {goal.name for goal, _count in found.covered}
