"""The search finds each fault planted in a group coordinator, and nothing in a correct one."""

from typing import Any

import pytest

from conformance.campaign import Campaign, Limits, campaign
from conformance.coordinators.group_kit import GROUP_COORDINATORS
from conformance.coordinators.group_scene import GroupCapabilities
from conformance.cores.protocol import DriverTarget
from conformance.goals import GoalKind
from conformance.target import TargetError
from tests.doubles.group_coordinator import FAULTS, GroupCoordinatorDouble


def searched(fault: str, sequences: int, seed: int = 0) -> Campaign[object]:
    target = DriverTarget(GroupCoordinatorDouble(fault), GroupCapabilities)
    limits = Limits(sequences=sequences, examples=1, shrink_seconds=0.5)
    return campaign(target, limits, GROUP_COORDINATORS, seed)


def test_a_correct_group_coordinator_conforms() -> None:
    result = searched("", 200)
    assert [fault.steps for fault in result.faults] == []
    missed, covered = result.coverage.missed, result.coverage.covered
    assert [goal.name for goal in missed if goal.group is GoalKind.RULE] == []
    assert len(missed) < 0.1 * len(covered)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found_by_its_rule(fault: str) -> None:
    rules = set[str]()
    for seed in range(60):
        rules |= {found.deviation.name for found in searched(fault, 5, seed).faults}
        if FAULTS[fault] in rules:
            return
    pytest.fail(f"only {sorted(rules)}")


def test_an_answer_that_cannot_be_read_stops_the_run() -> None:
    class Odd(GroupCoordinatorDouble):
        def ask(self, message: dict[str, Any], /) -> dict[str, Any]:
            reply = super().ask(message)
            return {**reply, "group": {"epoch": "one"}} if message["do"] == "apply" else reply

    target = DriverTarget(Odd(), GroupCapabilities)
    with pytest.raises(TargetError, match=r"its answer to create_topic cannot be read: .*group"):
        campaign(target, Limits(sequences=1), GROUP_COORDINATORS)
