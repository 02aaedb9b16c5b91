"""What a fetch kept back of aborted transactions is seen in what is archived after it."""

import attrs
import pytest

from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.scene import Scene
from conformance.cores.target import Reply
from judge.finding import Finding
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.operations import ArchiveAborted
from model.ranges import AcquiredRange, OffsetRange
from model.states import AcquireMode

CONFIG = SharePartitionConfig(
    5, 20, 100, AutoOffsetReset.EARLIEST, isolation_level=IsolationLevel.READ_COMMITTED
)
BEGIN = asks.CoreTakeOver(CONFIG)
FETCH = asks.CoreFetch("m1", AcquireMode.BATCH_OPTIMIZED, 500, 500, 5)
ABORTED = asks.CoreProduceAborted(2)
ONE = asks.CoreProduce(((0, 1),))


def asked(target: EngineTarget, *sequence: asks.Ask) -> tuple[Scene, Finding | None]:
    scene = Scene(target, target.hello())
    found = [scene.ask(ask) for ask in sequence]
    assert not any(found[:-1])
    return scene, found[-1]


def test_a_fetch_is_an_acquisition_and_an_archiving() -> None:
    scene, found = asked(EngineTarget("spec"), BEGIN, ONE, ABORTED, ONE, FETCH)
    assert found is None
    acquired, archived = (each.event for each in scene.past[-2:])
    assert acquired.outcome.acquired == (AcquiredRange(0, 4, 1),)
    assert archived.operation == ArchiveAborted((OffsetRange(1, 2),))
    assert archived.after.delivery_complete_count == 2
    assert scene.answered["archive_aborted NONE"] == 1
    assert [each.event.seq for each in scene.past] == list(range(len(scene.past)))


def test_the_start_offset_may_pass_them_at_once() -> None:
    scene, found = asked(EngineTarget("spec"), BEGIN, ABORTED, FETCH)
    assert found is None
    assert scene.partition.window.start_offset == 2


def test_a_window_that_is_full_without_the_gap_before_it() -> None:
    small = attrs.evolve(CONFIG, partition_max_record_locks=4)
    sequence = (asks.CoreTakeOver(small), ONE, ABORTED, asks.CoreCompact(0), FETCH)
    assert asked(EngineTarget("spec"), *sequence)[1] is None


def test_under_read_uncommitted_they_are_delivered() -> None:
    plain = attrs.evolve(CONFIG, isolation_level=IsolationLevel.READ_UNCOMMITTED)
    scene, found = asked(EngineTarget("spec"), asks.CoreTakeOver(plain), ABORTED, FETCH)
    assert found is None
    assert scene.past[-1].event.outcome.acquired == (AcquiredRange(0, 2, 1),)


def delivers(reply: Reply) -> Reply:
    """The data of the aborted transaction reaches the member."""
    return reply | {"result": reply["result"] | {"acquired": [[0, 4, 1]], "count": 5}}


def leaves_it_acquired(reply: Reply) -> Reply:
    records = [[0, 4, "ACQUIRED", 1, "m1", False]]
    return reply | {"after": reply["after"] | {"records": records, "delivery_complete_count": 0}}


def forgets_to_count(reply: Reply) -> Reply:
    return reply | {"after": reply["after"] | {"delivery_complete_count": 0}}


@pytest.mark.parametrize("fault", [delivers, leaves_it_acquired, forgets_to_count])
def test_a_wrong_answer_deviates(monkeypatch: pytest.MonkeyPatch, fault: "object") -> None:
    target = EngineTarget("spec")
    right = target.apply
    monkeypatch.setattr(
        target,
        "apply",
        lambda seq, operation, answers: (
            fault(right(seq, operation, answers))  # type: ignore[operator] # a function, see above
            if operation["op"] == "acquire"
            else right(seq, operation, answers)
        ),
    )
    _, found = asked(target, BEGIN, ONE, ABORTED, ONE, FETCH)
    assert found
    assert found.operation == "acquire"
