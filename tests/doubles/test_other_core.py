"""A core whose choices are not this project's conforms."""

import attrs
import pytest

from conformance.campaign import Limits, campaign
from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.kit import CORES
from conformance.cores.scene import Scene
from judge.engine import SpecEngine
from model.config import AutoOffsetReset, SharePartitionConfig
from model.operations import AcknowledgementBatch, Initialize, Operation
from model.profile import KAFKA
from model.states import AcknowledgeType, AcquireMode
from tests.doubles.other_core import OtherCore


@pytest.mark.parametrize("profile", ["kip", "kafka"])
@pytest.mark.parametrize("count", [0, 1])
def test_other_choices_conform(profile: str, count: int) -> None:
    found = campaign(OtherCore(profile, count), Limits(sequences=40), CORES, seed=count)
    assert [one.deviation for one in found.faults] == []
    assert found.steps > 800


class AllOrNone(EngineTarget):
    """The specification under ``kafka``, but that a refused request renews nothing."""

    def __init__(self, *, duration: int) -> None:
        """Let a lock last for so many times its duration."""
        strict = attrs.evolve(KAFKA, renewal_survives_refusal=False)
        super().__init__(
            "spec", "kafka", lambda: SpecEngine(strict), lambda _e, op: _for(op, duration)
        )


def _for(operation: Operation, times: int) -> Operation:
    if not isinstance(operation, Initialize):
        return operation
    config = operation.config
    longer = config.record_lock_duration_ms * times
    return attrs.evolve(operation, config=attrs.evolve(config, record_lock_duration_ms=longer))


RENEWED_AND_REFUSED = (
    asks.CoreTakeOver(SharePartitionConfig(5, 20, 100, AutoOffsetReset.EARLIEST)),
    asks.CoreProduce(((0, 3),)),
    asks.CoreFetch("m1", AcquireMode.BATCH_OPTIMIZED, 500, 500, 1),
    asks.CoreAdvanceTime(50),
    asks.CoreAcknowledge(
        "m1",
        (
            AcknowledgementBatch(0, 1, (AcknowledgeType.RENEW,)),
            AcknowledgementBatch(9, 9, (AcknowledgeType.ACCEPT,)),
        ),
    ),
    asks.CoreAdvanceTime(50),
)


@pytest.mark.parametrize(("duration", "conforms"), [(1, True), (2, False)])
def test_under_kafka_a_refused_request_may_renew_nothing(duration: int, *, conforms: bool) -> None:
    core = AllOrNone(duration=duration)
    scene = Scene(core, core.hello())
    assert [scene.ask(ask) is None for ask in RENEWED_AND_REFUSED] == [True] * 5 + [conforms]
