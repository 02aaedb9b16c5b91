"""Share coordinators: the right one conforms, and each planted fault is found."""

import json
from typing import Any
from uuid import UUID

import attrs
import pytest

from conformance.campaign import Campaign, Fault, Limits, alone, campaign, replayed, unknown
from conformance.coordinators import share_asks as asks
from conformance.coordinators.share_kit import SHARE_COORDINATORS
from conformance.coordinators.share_scene import ShareCapabilities
from conformance.cores.protocol import DriverTarget
from conformance.goals import GoalKind
from conformance.shrink import shrunk
from conformance.target import TargetError
from model.ranges import StateBatch
from model.share_state_requests import InitializeState, ReadState, WriteState
from model.state_topic import SharePartitionKey
from model.states import RecordState
from tests.doubles.share_coordinator import FAULTS, DoubleCoordinator
from tools.documents.findings import known_of

KEY = SharePartitionKey("g", next(iter(asks.TOPICS)), 0)
KNOWN = known_of("kafka-coordinator")
OLD = tuple(field.name for field in attrs.fields(ShareCapabilities))


def searched(sequences: int, double: DoubleCoordinator) -> Campaign[asks.StateAsk]:
    limits = Limits(sequences=sequences, examples=1, shrink_seconds=0)
    return campaign(DriverTarget(double, ShareCapabilities), limits, SHARE_COORDINATORS)


def played(double: DoubleCoordinator, *sequence: asks.StateAsk) -> Fault[asks.StateAsk] | None:
    target = DriverTarget(double, ShareCapabilities)
    faults = alone(target, sequence or SEQUENCE, SHARE_COORDINATORS).faults
    return faults[0] if faults else None


def test_the_right_coordinator_conforms_and_the_search_covers_nearly_every_goal() -> None:
    found = searched(200, DoubleCoordinator())
    assert found.faults == ()
    missed, covered = found.coverage.missed, found.coverage.covered
    assert not [goal for goal in missed if goal.group is GoalKind.RULE]
    assert len(missed) < 0.1 * len(covered)
    assert not found.coverage.skipped
    assert {goal.group for goal, _count in covered} == {
        *(GoalKind.ANSWER, GoalKind.TRANSITION, GoalKind.RULE)
    }


def test_a_coordinator_that_chooses_otherwise_conforms() -> None:
    assert searched(60, DoubleCoordinator(varied=True)).faults == ()


def test_what_a_release_lacks_is_no_deviation() -> None:
    found = searched(30, DoubleCoordinator("", "kafka", OLD))
    assert found.faults == ()
    assert {name.split()[0] for name in found.asked} >= {"WriteState", "FailOver", "PruneTopic"}
    assert "DeleteState" not in {name.split()[0] for name in found.asked}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(fault: str) -> None:
    tried = (searched(sequences, DoubleCoordinator(fault)) for sequences in (5, 60))
    assert any(each.faults for each in tried)


def test_the_defects_of_kafka_4_4_are_told_apart_and_end_no_sequence() -> None:
    assert not searched(30, DoubleCoordinator(profile="kafka_4_4")).faults
    double = DoubleCoordinator(profile="kafka_4_4", says="kafka")
    found = searched(60, double)
    assert {f.deviation.probable_cause for f in found.faults} == {k.difference for k in KNOWN}
    target = DriverTarget(double, ShareCapabilities)
    assert all(r.fault for r in replayed(target, target.hello(), KNOWN, SHARE_COORDINATORS))
    assert unknown(found.faults, KNOWN) == []


BATCH = StateBatch(0, 3, RecordState.ACKNOWLEDGED, 1)
WRITE = WriteState(KEY, 1, 0, 0, 4, (BATCH,))
SEQUENCE = (
    asks.OpenCoordinator(2, 1000),
    InitializeState(KEY, 1, 0),
    asks.FindPartition(KEY),
    WRITE,
    asks.PassTime(1000),
    asks.TakeSnapshots(),
    asks.PruneTopic(),
    asks.FailOver(),
    ReadState(KEY, 1),
    asks.DeleteTopic(KEY.topic_id),
)


def test_a_sequence_is_played_again_from_its_json() -> None:
    plain = json.loads(json.dumps(SHARE_COORDINATORS.plain(SEQUENCE, short=True)))
    assert SHARE_COORDINATORS.read(plain) == SEQUENCE
    assert played(DoubleCoordinator()) is None
    fault = played(DoubleCoordinator("nothing is pruned"))
    assert fault
    assert fault.deviation.where == "PRUNING_GOES_ON in PruneTopic"
    texts = [step.asked for step in fault.steps]
    assert texts[0] == "a coordinator: 2 updates per snapshot, idle after 1000 ms"
    assert texts[3] == (
        "WriteState of group 'g', topic 1, partition 0: state epoch 1, leader epoch 0, "
        "start offset 0, delivery complete count 4, 0–3 ACKNOWLEDGED(1)"
    )
    assert fault.steps[3].after.endswith("delivery complete count 4, 0–3 ACKNOWLEDGED(1)")


def test_a_sequence_is_shrunk_to_what_shows_the_fault() -> None:
    def shows(sequence: tuple[asks.StateAsk, ...]) -> int | None:
        found = played(DoubleCoordinator("an update loses a batch"), *sequence)
        return len(found.sequence) - 1 if found else None

    other = SharePartitionKey("h", UUID(int=1), 0)
    longer = (SEQUENCE[0], InitializeState(other, 1, 0), *SEQUENCE[1:])
    short = (attrs.evolve(BATCH, last=0),)
    assert shrunk(longer, shows, SHARE_COORDINATORS) == (
        asks.OpenCoordinator(),
        InitializeState(KEY, 1, -1),
        attrs.evolve(WRITE, start_offset=-1, delivery_complete_count=-1, state_batches=short),
    )


class Wrong(DoubleCoordinator):
    def __init__(self, **fields: object) -> None:
        super().__init__()
        self._fields = fields

    def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        return {**super()._request(message), **self._fields}


@pytest.mark.parametrize(
    "reply",
    [
        {"response": None},
        {"response": {"results": []}},
        {"response": {"results": [{"partitions": [{"errorCode": 4711}]}]}},
        {"records": 3},
        {"records": [3]},
        {"records": [{"key": 1, "value": None}]},
        {"records": [{}, {}]},
    ],
    ids=str,
)
def test_an_answer_that_cannot_be_is_a_deviation(reply: dict[str, Any]) -> None:
    fault = played(Wrong(**reply))
    assert fault
    assert fault.deviation.where == "UNREADABLE_ANSWER in InitializeState"


def test_two_records_for_one_request_are_a_deviation() -> None:
    class Twice(DoubleCoordinator):
        def _request(self, message: dict[str, Any]) -> dict[str, Any]:
            reply = super()._request(message)
            return {**reply, "records": 2 * reply["records"]}

    fault = played(Twice())
    assert fault
    assert fault.deviation.probable_cause == ("InitializeState", "several records")


def test_a_coordinator_that_cannot_begin_is_told_in_one_line() -> None:
    class Broken(DoubleCoordinator):
        def _reset(self, _message: dict[str, Any]) -> dict[str, Any]:
            return {"error": "no config"}

    with pytest.raises(TargetError, match="cannot reset: no config"):
        played(Broken())
