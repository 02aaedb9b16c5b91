"""Random asks reach what there is to reach, and leave out what an implementation cannot do."""

from collections.abc import Sequence
from random import Random
from typing import get_args

import attrs

from conformance.campaign import Limits, campaign
from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.generate import Mixture, mixture, next_ask
from conformance.cores.kit import CORES
from conformance.cores.scene import Scene
from conformance.cores.target import Capabilities, Reply, Request
from judge.engine import SpecEngine
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import Acknowledge, Acquire, Operation
from model.outcome import Answer, Choice, Outcome
from model.profile import KIP
from model.ranges import OffsetRange
from model.states import AcknowledgeType, AcquireMode
from spec.policies import chosen_offsets
from spec.read import learn
from tests.doubles.small_core import SmallCore

EVERYTHING = EngineTarget("spec").hello().capabilities
NOTHING = Capabilities(
    ("record_limit",), renew=False, advance_log_start=False, take_over=False, pending_writes=False
)


def mixed(seed: int, can: Capabilities = EVERYTHING) -> Mixture:
    return mixture(Random(seed), can)  # noqa: S311 - tests need no secrets


def test_the_same_seed_gives_the_same_mixture() -> None:
    assert mixed(4) == mixed(4)
    assert len({str(mixed(seed)) for seed in range(60)}) > 40


def test_mixtures_contain_and_omit_every_class_of_command() -> None:
    kinds = [set(mixed(seed).weights) for seed in range(60)]
    assert set.union(*kinds) == set(get_args(asks.Ask))
    always = {asks.CoreProduce, asks.CoreFetch, asks.CoreAcknowledge, asks.CoreAdvanceTime}
    assert set.intersection(*kinds) == always


def test_missing_capabilities_are_not_used() -> None:
    for seed in range(60):
        mix = mixed(seed, NOTHING)
        assert not {asks.CoreAdvanceLogStart, asks.CoreTakeOver, asks.CoreCompleteWrite} & set(
            mix.weights
        )
        assert AcknowledgeType.RENEW not in mix.types
        assert mix.errors == ()
        assert not mix.malformed
        assert [mode.value for mode in mix.modes] == ["record_limit"]


def test_mixtures_reach_far_now_and_then_and_mostly_stay_near() -> None:
    mixes = [mixed(seed) for seed in range(600)]
    assert {mix.config.delivery_count_limit for mix in mixes} >= {1, 2, 3, 5, 10}
    assert {mix.config.partition_max_record_locks for mix in mixes} >= {4, 8, 20, 50, 200}
    assert {max(mix.sizes) for mix in mixes} >= {5, 11, 24, 49}
    assert {mix.log_start for mix in mixes} == {0, 1000, 2**31 - 20, 2**40, 2**62}
    assert {len(mix.members) for mix in mixes} == {1, 3, 8}
    resets = [mix.config.auto_offset_reset for mix in mixes]
    assert 50 < resets.count(AutoOffsetReset.LATEST) < 200
    assert sum(mix.log_start == 0 for mix in mixes) > 400
    doubles = attrs.evolve(EVERYTHING, large_offsets=False)
    assert max(mixed(seed, doubles).log_start for seed in range(60)) == 2**40
    assert {mixed(seed, NOTHING).log_start for seed in range(60)} == {0}


def test_commands_aim_at_held_records() -> None:
    found = campaign(SmallCore(), Limits(sequences=60), CORES, seed=2)
    assert found.asked["acknowledge NONE"] > found.asked["acknowledge INVALID_RECORD_STATE"] / 10
    assert found.asked["complete_write COORDINATOR_NOT_AVAILABLE"] > 0


def test_a_command_uses_the_values_of_its_mixture() -> None:
    target = SmallCore()
    mix = attrs.evolve(mixed(1), weights={asks.CoreCompact: 1.0})
    scene = Scene(target, target.hello())
    assert next_ask(Random(0), mix, scene) == asks.CoreCompact(0)  # noqa: S311 - as above


class Forgetting(EngineTarget):
    """Keeps what its dead-letter queue could not take, and gives it to that no more."""

    def apply(self, seq: int, operation: Request, answers: Sequence[ErrorCode]) -> Reply:
        if not operation.get("fails"):
            return super().apply(seq, operation, answers)
        return super().apply(seq, {"op": "advance_time", "ms": 0}, ()) | {"ranges": []}


def test_the_dead_letter_queue_fails_at_times() -> None:
    faults = campaign(Forgetting("spec"), Limits(sequences=60), CORES).faults
    assert {fault.deviation.name for fault in faults} == {"DEAD_LETTER_IS_QUEUED"}
    fault = faults[0]
    assert fault.sequence[-1] == asks.CoreFinishDeadLetter(0, fails=True)
    assert fault.steps[-1].asked.endswith("nothing; the queue fails")
    assert campaign(EngineTarget("spec"), Limits(sequences=60), CORES).faults == ()


class Shunning(SpecEngine):
    """Never gives a record again to the member that released it."""

    def __init__(self) -> None:
        """Judge nothing itself."""
        super().__init__(attrs.evolve(KIP, offered_within=10**6))
        self._releaser: dict[int, str] = {}

    def apply(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> Outcome:
        """Apply one operation."""
        held = self.partition.window.held
        if isinstance(operation, Acquire):
            offered = chosen_offsets(learn(self.partition, operation), operation)
            shunned = {o for o in offered if self._releaser.get(o) == operation.member}
            choice = Choice(_single(set(offered) - shunned), _single(shunned))
        outcome = super().apply(operation, choice, answers, seq)
        if isinstance(operation, Acknowledge):
            freed = (o for o in held if o not in self.partition.window.held)
            self._releaser |= dict.fromkeys(freed, operation.member)
        return outcome


def _single(offered: set[int]) -> tuple[OffsetRange, ...]:
    return tuple(OffsetRange(offset, offset) for offset in sorted(offered))


def test_a_member_is_alone_at_times_with_what_it_released() -> None:
    shunning = EngineTarget("spec", new=Shunning)
    (fault,) = campaign(shunning, Limits(sequences=60), CORES, seed=11).faults
    assert fault.deviation.name == "RECORD_IS_OFFERED"


def drawn(weights: dict[type[asks.Ask], float], *steps: asks.Ask) -> list[asks.Ask]:
    target = SmallCore()
    scene = Scene(target, target.hello())
    for step in (
        asks.CoreTakeOver(SharePartitionConfig(5, 8, 100)),
        asks.CoreProduce(((0, 3),)),
        *steps,
    ):
        scene.ask(step)
    mix, random = attrs.evolve(mixed(1), weights=weights), Random(0)  # noqa: S311 - as above
    return [next_ask(random, mix, scene) for _ in range(200)]


FETCH = asks.CoreFetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 3)


def test_a_write_is_answered_when_one_is_outstanding() -> None:
    weights: dict[type[asks.Ask], float] = {asks.CoreCompleteWrite: 1.0, asks.CoreProduce: 1.0}
    pending = asks.CoreMemberLeaves("m1", (ErrorCode.PENDING,))
    idle, writing = (
        sum(isinstance(ask, asks.CoreCompleteWrite) for ask in drawn(weights, *steps))
        for steps in ((), (FETCH, pending))
    )
    assert idle < 40
    assert writing > 80


def test_the_log_start_mostly_moves_into_the_window() -> None:
    asked = drawn({asks.CoreAdvanceLogStart: 1.0}, FETCH)
    moves = [ask.by for ask in asked if isinstance(ask, asks.CoreAdvanceLogStart)]
    assert len(moves) == 200
    assert sum(by <= 3 for by in moves) > sum(by > 3 for by in moves) > 0
