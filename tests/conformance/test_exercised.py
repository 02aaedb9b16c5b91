"""What one operation exercised has a name, and a rule bounds it where another answer breaks it."""

import pytest

from conformance.campaign import play
from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.kit import CORES
from conformance.cores.scene import Scene
from conformance.exercised import exercised
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.states import AcquireMode
from tests.doubles.small_core import SmallCore

BEGIN = (
    asks.CoreTakeOver(SharePartitionConfig(2, 4, 100)),
    asks.CoreProduce(((0, 2), (0, 2), (0, 2))),
)
ALL = asks.CoreFetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 3)
ONE = asks.CoreFetch("m2", AcquireMode.RECORD_LIMIT, 500, 1, 3)
WHOLE = asks.CoreFetch("m1", AcquireMode.BATCH_OPTIMIZED, 500, 1, 3)
FAILS, WAITS = (ErrorCode.COORDINATOR_NOT_AVAILABLE,), (ErrorCode.PENDING,)
HALF, DUE = asks.CoreAdvanceTime(50), asks.CoreAdvanceTime(100)


def acknowledge(
    first: int, types: tuple[int, ...], answers: tuple[ErrorCode, ...] = ()
) -> asks.Ask:
    batch = AcknowledgementBatch(first, first + max(1, len(types)) - 1, types)
    return asks.CoreAcknowledge("m1", (batch,), answers)


def last_names(*steps: asks.Ask) -> set[str]:
    target = EngineTarget("spec")
    scene = Scene(target, target.hello())
    for step in (*BEGIN, *steps):
        before = scene.partition
        assert scene.ask(step) is None
    return set(exercised(before, scene.past[-1].event, scene.partition))


NONE, INVALID = "is answered NONE", "is answered INVALID_REQUEST"
GONE = "below the start offset"
UNFINISHED = "is bounded by START_STOPS_AT_UNFINISHED"
JUDGED = "is bounded by ACKNOWLEDGEMENT_JUDGED"


@pytest.mark.parametrize(
    ("steps", "moves", "others"),
    [
        ((ONE,), {"never delivered → ACQUIRED"}, {"is bounded by WITHIN_RECORD_LIMIT"}),
        ((ALL,), {"never delivered → ACQUIRED"}, {"is bounded by WITHIN_WINDOW_LIMIT"}),
        ((WHOLE,), {"never delivered → ACQUIRED"}, {"is bounded by WITHIN_MAXIMUM_AND_ONE_BATCH"}),
        ((ALL, ALL), set(), {"is bounded by CAN_ACQUIRE", "is answered skipped"}),
        (
            (ONE, ALL),
            {"never delivered → ACQUIRED", "ACQUIRED → ACQUIRED"},
            {"is bounded by ONLY_AVAILABLE_IS_ACQUIRED", "is bounded by WITHIN_WINDOW_LIMIT"},
        ),
        (
            (WHOLE, acknowledge(0, (2,)), acknowledge(1, (2,), WAITS), ALL),
            {
                "AVAILABLE → ACQUIRED",
                "AVAILABLE pending → AVAILABLE pending",
                "never delivered → ACQUIRED",
            },
            {"is bounded by NO_ACQUIRE_DURING_WRITE", "is bounded by WITHIN_WINDOW_LIMIT"},
        ),
        (
            (ALL, acknowledge(0, (1, 2))),
            {f"ACQUIRED → {GONE} ACCEPT", "ACQUIRED → AVAILABLE RELEASE"},
            {JUDGED},
        ),
        ((ALL, acknowledge(2, (1,))), {"ACQUIRED → ACKNOWLEDGED ACCEPT"}, {JUDGED, UNFINISHED}),
        (
            (ALL, acknowledge(0, (3,), FAILS)),
            {"ACQUIRED → ACQUIRED REJECT"},
            {JUDGED, "is answered an error"},
        ),
        ((ALL, acknowledge(0, (4,))), {"ACQUIRED → ACQUIRED RENEW"}, {JUDGED}),
        ((ALL, acknowledge(0, (9,))), set(), {JUDGED, INVALID}),
        (
            (ONE, acknowledge(0, (1,))),
            {"ACQUIRED → ACQUIRED ACCEPT"},
            {JUDGED, "is answered INVALID_RECORD_STATE"},
        ),
        ((ALL, acknowledge(4, (1,))), set(), {"is bounded by ACKNOWLEDGED_WAS_DELIVERED", INVALID}),
        (
            (ALL, asks.CoreMemberLeaves("m1", WAITS)),
            {"ACQUIRED → AVAILABLE pending"},
            {"is answered PENDING"},
        ),
        ((ALL, asks.CoreMemberLeaves("m3")), set(), set()),
        (
            (ONE, HALF, ALL, HALF),
            {"ACQUIRED → AVAILABLE"},
            {"is bounded by LOCK_ENDS_ON_TIME", "is bounded by LOCK_LASTS_ITS_DURATION"},
        ),
        ((ALL, DUE), {"ACQUIRED → AVAILABLE"}, {"is bounded by LOCK_ENDS_ON_TIME"}),
        (
            (ALL, acknowledge(2, (1,), WAITS), asks.CoreCompleteWrite(0, ErrorCode.NONE)),
            {"ACKNOWLEDGED pending → ACKNOWLEDGED NONE"},
            {UNFINISHED},
        ),
        ((ALL, asks.CoreAdvanceLogStart(1)), {f"ACQUIRED → {GONE}"}, set()),
        ((ALL, BEGIN[0]), {"ACQUIRED → never delivered"}, set()),
        (
            (ALL, acknowledge(2, (1,)), BEGIN[0]),
            {"ACQUIRED → never delivered", "ACKNOWLEDGED → ACKNOWLEDGED"},
            set(),
        ),
    ],
)
def test_what_an_operation_exercises(
    steps: tuple[asks.Ask, ...], moves: set[str], others: set[str]
) -> None:
    names = last_names(*steps)
    (operation,) = {n.split(" is ")[0] for n in names if " is " in n and not n.startswith("a ")}
    answered = {name for name in others if "answered" in name} or {NONE}
    assert {n.replace(f": {operation}", "") for n in names if " → " in n} == moves
    assert {n.removeprefix(f"{operation} ") for n in names if n.startswith(f"{operation} ")} == (
        others | answered
    )


def test_an_operation_that_deviates_exercises_nothing() -> None:
    wide = SmallCore("ignores the limit of the window")
    one = asks.CoreFetch("m1", AcquireMode.RECORD_LIMIT, 500, 1, 5)
    steps: tuple[asks.Ask, ...] = (*BEGIN, one, ALL)
    scene, _at, found = play(wide, wide.hello(), steps, CORES)
    assert found
    assert scene.exercised["acquire is answered NONE"] == 1
    assert scene.exercised["acquire is bounded by WITHIN_RECORD_LIMIT"] == 1
