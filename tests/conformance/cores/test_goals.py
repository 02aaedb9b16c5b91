"""Every goal can be covered; a predicate holds where its situation occurs, and not elsewhere."""

from typing import Any

import pytest

from conformance.campaign import Campaign, Limits, campaign, play
from conformance.cores import asks
from conformance.cores import goals as cores_goals
from conformance.cores.builtin import EngineTarget
from conformance.cores.goals import SITUATIONS, covered, goals
from conformance.cores.kit import CORES
from conformance.cores.scene import Scene
from conformance.cores.target import Capabilities
from conformance.goals import Group, coverage, recognised
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.guards import Difference, Guard
from model.operations import AcknowledgementBatch
from model.states import AcknowledgeType, AcquireMode
from tests.conformance.helpers import Seen, noting
from tests.doubles.small_core import SmallCore

SPEC = EngineTarget("spec")
CAN = SPEC.hello().capabilities

NEVER = {
    "records enter the window without being acquired": "the specification's policy takes them all",
    "never delivered → ARCHIVED: the log has lost it": "as above",
    "a fetch goes past the limit of the window, to the end of a log batch": "kafka alone allows it",
}
"""What the specification under kip never does as a target: it is at an implementation's choice."""


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

FAILS = ErrorCode.COORDINATOR_NOT_AVAILABLE
WAITS = (ErrorCode.PENDING,)
EXPIRE, FAIL, TAKE_OVER = asks.AdvanceTime(100), asks.CompleteWrite(0, FAILS), object()
FETCH = asks.Fetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 5)


def acknowledge(offset: int, kind: AcknowledgeType, *answers: ErrorCode) -> asks.Ask:
    return asks.Acknowledge("m1", (AcknowledgementBatch(offset, offset, (kind,)),), answers)


GAP, ACCEPT, RELEASE, REJECT = (acknowledge(0, AcknowledgeType(n), *WAITS) for n in range(4))
RELEASED = acknowledge(0, AcknowledgeType.RELEASE)
AGAIN = (FETCH, RELEASED, FETCH)
"""Delivered, released, and delivered again."""

ARCHIVED_BEHIND = (
    asks.AdvanceTime(50),
    acknowledge(0, AcknowledgeType.RENEW),
    asks.AdvanceTime(50, (FAILS,)),
)
"""Offset 1 is archived by an expiry that is not durable, and offset 0 stays held before it."""

QUEUE = True
ENDS: dict[str, tuple[object, ...]] = {
    "ACKNOWLEDGED": (ACCEPT,),
    "ARCHIVED": (GAP,),
    "ARCHIVING": (QUEUE, REJECT),
}
"""By the state that a pending write would give: the acknowledgement, and the queue if needed."""

PASSED, READS = "below the start offset: the log start offset passes", "a new leader reads"
NEW, FAILED = "never delivered", "its write fails"
SELDOM: dict[str, tuple[object, ...]] = {
    **{f"{s} pending → {NEW}: {READS}": (2, FETCH, *end, TAKE_OVER) for s, end in ENDS.items()},
    **{f"{s} pending → AVAILABLE: {READS}": (3, *AGAIN, *e, TAKE_OVER) for s, e in ENDS.items()},
    f"AVAILABLE pending → AVAILABLE: {READS}": (3, *AGAIN, RELEASE, TAKE_OVER),
    f"ARCHIVED pending → {PASSED}": (2, FETCH, GAP, asks.AdvanceLogStart(1)),
    f"ARCHIVING pending → {PASSED}": (2, QUEUE, FETCH, REJECT, asks.AdvanceLogStart(1)),
    **{
        f"{state} pending → {after}: {FAILED}": (limit, *queue, FETCH, *end, EXPIRE, FAIL)
        for state, end in ENDS.items()
        for limit, after, queue in (
            (2, "AVAILABLE", ()),
            (1, "ARCHIVED", ()),
            (1, "ARCHIVING", (QUEUE,)),
        )
        if (state, after) != ("ARCHIVING", "ARCHIVED")
    },
    "release is answered COORDINATOR_NOT_AVAILABLE": (1, FETCH, asks.MemberLeaves("m1", (FAILS,))),
    "AVAILABLE pending → ARCHIVED pending: the log has lost it": (
        3,
        FETCH,
        RELEASED,
        acknowledge(1, AcknowledgeType.RELEASE, *WAITS),
        asks.Compact(0),
        asks.Compact(0),
        asks.Produce(((0, 1),)),
        FETCH,
    ),
    f"ARCHIVED → {NEW}: {READS}": (1, FETCH, *ARCHIVED_BEHIND, TAKE_OVER),
    f"ARCHIVED → AVAILABLE: {READS}": (
        2,
        FETCH,
        acknowledge(1, AcknowledgeType.RELEASE),
        FETCH,
        *ARCHIVED_BEHIND,
        TAKE_OVER,
    ),
    f"ARCHIVED → ARCHIVING: {READS}": (
        2,
        QUEUE,
        FETCH,
        acknowledge(1, AcknowledgeType.REJECT),
        asks.FinishDeadLetter(0, (FAILS,)),
        TAKE_OVER,
    ),
    f"ARCHIVING → {NEW}: {READS}": (1, QUEUE, FETCH, asks.AdvanceTime(100, (FAILS,)), TAKE_OVER),
    f"ARCHIVING → AVAILABLE: {READS}": (
        2,
        QUEUE,
        *AGAIN,
        asks.AdvanceTime(100, (FAILS,)),
        TAKE_OVER,
    ),
    **{
        f"the write of a dead letter is answered {error.name}": (
            2,
            QUEUE,
            FETCH,
            acknowledge(0, AcknowledgeType.REJECT),
            asks.FinishDeadLetter(0, (error,)),
        )
        for error in (FAILS, ErrorCode.FENCED_STATE_EPOCH)
    },
}
"""Goals that a short search may miss, each with steps that cover it.

First the delivery count limit, then the steps, with QUEUE where there is a dead-letter queue.
"""


def sequence(limit: object, *steps: object) -> list[asks.Ask]:
    assert isinstance(limit, int)
    config = SharePartitionConfig(limit, 8, 100, dead_letter_queue=QUEUE in steps)
    begin: asks.Ask = asks.TakeOver(config)
    rest = [begin if step is TAKE_OVER else step for step in steps if step is not QUEUE]
    return [begin, asks.Produce(((0, 1), (0, 1))), *rest]  # type: ignore[list-item] # only asks are left


@pytest.fixture(scope="module")
def searched() -> tuple[Campaign[Any], Seen]:
    results: Seen = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cores_goals, "_situations_in", recognised(noting(SITUATIONS, results)))
        return campaign(SPEC, Limits(seconds=600, sequences=200), CORES, seed=5), results


@pytest.mark.slow
def test_a_search_covers_nearly_every_goal(searched: tuple[Campaign[Any], Seen]) -> None:
    counts = searched[0].exercised
    missed = {goal.name for goal in coverage(goals(CAN), counts, CAN).missed}
    assert NEVER.keys() <= missed <= SELDOM.keys() | NEVER.keys()
    assert counts.keys() <= {goal.name for goal in goals(CAN)}


@pytest.mark.slow
def test_every_predicate_holds_of_some_operations_and_not_of_others(
    searched: tuple[Campaign[Any], Seen],
) -> None:
    results = searched[1]
    assert {goal.name for goal in SITUATIONS if False not in results[goal.name]} == set()
    assert {goal.name for goal in SITUATIONS if True not in results[goal.name]} <= NEVER.keys()


@pytest.mark.parametrize("name", SELDOM)
def test_a_rare_goal_can_be_covered(name: str) -> None:
    scene, _at, deviation = play(SPEC, SPEC.hello(), sequence(*SELDOM[name]), CORES)
    assert deviation is None
    assert scene.exercised[name] > 0


def test_goals_that_implementations_may_never_cover_are_optional() -> None:
    assert {goal.name for goal in goals(CAN) if goal.optional} == NEVER.keys()


def test_every_rule_is_put_at_stake_by_a_goal_or_ensured_by_the_kit() -> None:
    rules = {goal.name for goal in goals(CAN) if goal.group is Group.RULE}
    assert rules | ENSURED.keys() == {rule.name for rule in (*Guard, *Difference)}
    assert not rules & ENSURED.keys()


def test_goals_that_an_implementation_cannot_cover_are_skipped_with_the_reason() -> None:
    can = Capabilities(("record_limit",), renew=False, advance_log_start=False, take_over=False)
    reasons = {goal.name: reason for goal, reason in coverage(goals(can), {}, can).skipped}
    assert reasons["a renewal together with other types"] == "it cannot: renew"
    assert reasons["ACQUIRED → ARCHIVING: its lock expires"] == "it cannot: dead_letter_queue"
    assert reasons["DEAD_LETTER_IS_ARCHIVING"] == "it cannot: dead_letter_queue"
    assert reasons["finish_dead_letter is answered NONE"] == "it cannot: dead_letter_queue"
    assert reasons["alter_config is answered NONE"] == "it cannot: alter_config"
    assert reasons["release is answered an error"] == "it cannot: write_errors"
    batches = "a fetch goes past its maximum of records, to the end of a log batch"
    assert reasons[batches] == "it cannot: batch_optimized"
    assert "ACQUIRED → AVAILABLE: its lock expires" not in reasons
    both = "a write is answered after the log start offset passed its records"
    assert reasons[both] == "it cannot: pending_writes, advance_log_start"


def test_errors_need_writes_that_can_wait() -> None:
    odd = Capabilities(write_errors=(ErrorCode.COORDINATOR_NOT_AVAILABLE,))
    reasons = {goal.name: reason for goal, reason in coverage(goals(odd), {}, odd).skipped}
    assert reasons["release is answered COORDINATOR_NOT_AVAILABLE"] == "it cannot: write_errors"


def test_an_operation_that_deviates_is_not_counted() -> None:
    wide = SmallCore("ignores the limit of the window")
    one = asks.Fetch("m1", AcquireMode.RECORD_LIMIT, 500, 1, 5)
    steps = [*sequence(2, one), asks.Produce(((0, 20),)), FETCH]
    scene, _at, deviation = play(wide, wide.hello(), steps, CORES)
    assert deviation is not None
    assert scene.exercised["acquire is answered NONE"] == 1
    assert scene.exercised["a fetch is stopped by its maximum of records"] == 1


CONFIG = SharePartitionConfig(2, 4, 100)
ALL = asks.Fetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 3)
ONE = asks.Fetch("m2", AcquireMode.RECORD_LIMIT, 500, 1, 3)


def acknowledged(
    first: int, last: int, types: tuple[int, ...], answers: tuple[ErrorCode, ...] = ()
) -> asks.Ask:
    return asks.Acknowledge("m1", (AcknowledgementBatch(first, last, types),), answers)


def situations(*steps: asks.Ask) -> set[str]:
    """Return the situations in the last of some steps."""
    scene = Scene(SPEC, SPEC.hello())
    for step in (asks.TakeOver(CONFIG), asks.Produce(((0, 2), (0, 2), (0, 2))), *steps):
        before = scene.partition
        assert scene.ask(step) is None
    names = covered(before, scene.events[-1], scene.partition, scene.log)
    return names.keys() & {goal.name for goal in SITUATIONS}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((ONE,), {"a fetch is stopped by its maximum of records"}),
        ((ALL,), {"a fetch is stopped by the limit of the window"}),
        ((ALL, ALL), {"a fetch finds the window full and nothing available"}),
        (
            (ALL, asks.MemberLeaves("m1"), ONE),
            {
                "a fetch is stopped by its maximum of records",
                "a fetch takes what is available again in a full window",
                "a record is delivered for the last time",
            },
        ),
        ((ALL, asks.MemberLeaves("m3")), {"a member leaves that holds nothing"}),
        (
            (ONE, ALL, acknowledged(0, 1, (1,))),
            {"an acknowledgement of a record that another member holds"},
        ),
        ((ALL, acknowledged(2, 3, (1,))), {"a finished record waits behind one that is not"}),
        ((ALL, acknowledged(4, 5, (1,))), {"an acknowledgement past the end offset"}),
        (
            (ALL, asks.AdvanceLogStart(2), acknowledged(0, 1, (1,))),
            {"an acknowledgement wholly below the start offset"},
        ),
        (
            (ONE, asks.AdvanceTime(50), ALL, asks.AdvanceTime(50)),
            {
                "time passes while a lock that is not due is held",
                "some locks expire, and others stay",
            },
        ),
        ((ALL, acknowledged(0, 1, (4,))), set()),
        (
            (ALL, asks.AdvanceTime(50), acknowledged(0, 1, (4, 1))),
            {
                "an acknowledgement with a type for each offset",
                "a renewal after part of the lock's duration",
                "a renewal together with other types",
                "a finished record waits behind one that is not",
            },
        ),
        (
            (ALL, asks.AdvanceLogStart(1)),
            {
                "the log start offset moves into a log batch",
                "the log start offset moves into records that one member holds",
            },
        ),
        (
            (ALL, acknowledged(0, 0, (1,), WAITS), asks.AdvanceTime(100)),
            {"a lock would expire whose write is outstanding"},
        ),
        (
            (ALL, acknowledged(3, 3, (2,)), asks.TakeOver(CONFIG)),
            {
                "a new leader while records are held",
                "a new leader finds records that it does not know between those it does",
            },
        ),
    ],
)
def test_an_operation_covers_its_situations_and_no_others(
    steps: tuple[asks.Ask, ...], expected: set[str]
) -> None:
    assert situations(*steps) == expected
