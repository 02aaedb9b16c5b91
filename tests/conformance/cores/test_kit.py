"""The kind of cores: how its asks are made simpler, and what they say of a log."""

import attrs
import pytest

from conformance.campaign import Fault, alone, play, unknown
from conformance.cores import asks
from conformance.cores.kafka import KNOWN
from conformance.cores.kit import CORES
from conformance.deviation import target_finding
from conformance.kit import features_of
from conformance.known import read_known
from model.config import SharePartitionConfig
from model.guards import Guard
from model.operations import AcknowledgementBatch
from model.profile import KIP
from model.states import AcquireMode
from tools.promises.catalogue import BEHAVIOURS
from tools.promises.faces import core

ACKNOWLEDGE = asks.CoreAcknowledge("m2", (AcknowledgementBatch(3, 6, (1,)),))


def test_simpler_commands_differ_in_one_respect() -> None:
    assert list(CORES.simpler(asks.CoreAdvanceLogStart(3))) == [asks.CoreAdvanceLogStart(2)]
    assert list(CORES.simpler(asks.CoreAdvanceLogStart(1))) == []
    committed = asks.CoreProduce(((0, 2),))
    assert list(CORES.simpler(asks.CoreProduceAborted(2))) == [
        committed,
        asks.CoreProduceAborted(1),
    ]
    found = list(CORES.simpler(ACKNOWLEDGE))
    assert asks.CoreAcknowledge("m1", ACKNOWLEDGE.batches) in found
    assert asks.CoreAcknowledge("m2", (AcknowledgementBatch(3, 3, (1,)),)) in found


def test_a_produce_says_how_many_offsets_it_appends() -> None:
    assert CORES.produced(asks.CoreProduce(((1, 2), (0, 4)))) == 7
    assert CORES.produced(asks.CoreProduceAborted(2)) == 3
    assert CORES.produced(ACKNOWLEDGE) == 0


def test_offsets_move_down_but_not_below_the_log() -> None:
    each = asks.CoreAcknowledge("m2", (AcknowledgementBatch(3, 6, (1, 2, 1, 2)),))
    moved = asks.CoreAcknowledge("m2", (AcknowledgementBatch(0, 3, (1, 2, 1, 2)),))
    assert CORES.moved_down(each, 4) == CORES.moved_down(each, 3) == moved
    lower = asks.CoreAcknowledge("m2", (AcknowledgementBatch(1, 4, (1,)),))
    assert CORES.moved_down(ACKNOWLEDGE, 2) == lower
    assert CORES.moved_down(asks.CoreMemberLeaves("m1"), 4) == asks.CoreMemberLeaves("m1")


def test_a_plainer_sequence_begins_at_0() -> None:
    first = asks.CoreTakeOver(SharePartitionConfig(), log_start=1000)
    far = asks.CoreAcknowledge("m2", (AcknowledgementBatch(1003, 1006, (1,)),))
    (plain,) = CORES.plainer((first, far))
    assert plain == (asks.CoreTakeOver(SharePartitionConfig()), ACKNOWLEDGE)
    assert list(CORES.plainer(plain)) == []


(LAZY,) = (b for b in BEHAVIOURS if b.name == "never acquires anything")
BEGIN: tuple[asks.Ask, ...] = (
    asks.CoreTakeOver(SharePartitionConfig()),
    asks.CoreProduce(((0, 3),)),
)
FETCH = asks.CoreFetch("m1", AcquireMode.RECORD_LIMIT, 10, 10, 10)
OFFERED_IN_VAIN = (*BEGIN, *[FETCH] * 20)


@pytest.mark.parametrize("bound", [2, None])
def test_the_bound_of_fetches_is_an_argument_that_the_report_names(bound: int | None) -> None:
    kit, target = attrs.evolve(CORES, offered_within=bound), core(LAZY)
    fetches = bound or KIP.offered_within
    (text,) = kit.bounds(target.hello())
    assert f"at most {fetches} fetches " in text
    _stage, at, (deviation,) = play(target, target.hello(), OFFERED_IN_VAIN, kit)
    assert at == len(BEGIN) + fetches
    assert deviation.name == Guard.RECORD_IS_OFFERED.name


def test_the_first_leader_distinguishes_no_sequence_from_others() -> None:
    assert features_of(CORES, BEGIN) == ("Produce",)
    assert features_of(CORES, (*BEGIN, BEGIN[0])) == ("Produce", "TakeOver")


def test_no_known_deviation_of_kafka_hides_a_leader_that_delivers_nothing() -> None:
    faults = alone(core(LAZY), OFFERED_IN_VAIN, CORES).faults
    assert [fault.deviation.name for fault in faults] == ["RECORD_IS_OFFERED"]
    assert unknown(faults, read_known(KNOWN, CORES.read)) == [*faults]


BELOW = "ONLY_AVAILABLE_IS_ACQUIRED"
COUNT = "DELIVERY_COMPLETE_COUNT"
BACK = "START_NEVER_GOES_BACK"


@pytest.mark.parametrize(
    ("rule", "operation", "known", "other"),
    [
        (BELOW, "acquire", (BELOW, "offset N is not available"), (BELOW, "offset N is ACQUIRED")),
        (BACK, "release", (BACK, "from N to N, below the log"), (BACK, "from N to N")),
        (
            COUNT,
            "complete_write",
            ("a write fails", "ARCHIVED instead of ARCHIVING"),
            (COUNT, "more"),
        ),
    ],
)
def test_known_deviations_of_kafka_account_for_their_cause_alone(
    rule: str, operation: str, known: tuple[str, ...], other: tuple[str, ...]
) -> None:
    found = target_finding(rule, operation, "", "", "")
    kinds = ("AdvanceLogStart", "AdvanceTime", "CompleteWrite")
    faults = [
        Fault[asks.Ask](attrs.evolve(found, cause=cause), (), (), kinds) for cause in (known, other)
    ]
    assert unknown(faults, read_known(KNOWN, CORES.read)) == faults[1:]
