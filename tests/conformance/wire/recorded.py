"""Requests and their answers as recorded from a broker, in JSON that a person can read.

A scenario is a list of steps in a fresh group with a topic ``t`` of two partitions, each with the
log batches 0-1 and 2-3. There is no topic ``u``. A step is one of ``fetch``, ``acknowledge``,
``wait_ms`` and ``disconnect``; partitions are named as in ``t:0``, acknowledgement batches are
[first, last, [type, ...]] and acquired records [first, last, delivery count]. ``differs`` says why
the specification, which answers ``expected``, does not do what was recorded.

``python -m tests.conformance.wire.recorded`` records the answers anew from Apache Kafka.
"""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

from conformance.wire.kafka_broker import kafka_broker
from conformance.wire.target import GroupTopic, WireTarget
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.share_messages import (
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
    ShareResponse,
    TopicPartition,
)
from model.states import AcquireMode

Scenario = dict[str, Any]

RECORDED = Path(__file__).parents[2] / "data" / "golden" / "kafka-4.4.0-share-requests.json"

CONFIG = SharePartitionConfig(
    partition_max_record_locks=200,
    record_lock_duration_ms=1000,
    auto_offset_reset=AutoOffsetReset.EARLIEST,
)
PARTITIONS, BATCHES = 2, ((0, 2), (0, 2))
UNKNOWN = str(UUID(int=1))
WARM = {"member": "warm", "epoch": 0, "partitions": {"t:0": [], "t:1": []}, "max_wait_ms": 200}
"""Comes before anything is produced, so that a broker has read the state of each partition."""

_WAIT_MS = 50


def asked(step: dict[str, Any], group: str, topic_id: str) -> ShareRequest:
    """Return the request of a step."""
    of = dict(step.get("fetch") or step["acknowledge"])
    partitions = tuple(
        PartitionRequest(
            _at(name, topic_id),
            tuple(AcknowledgementBatch(low, high, tuple(types)) for low, high, types in batches),
        )
        for name, batches in of.pop("partitions", {}).items()
    )
    member, epoch, group = of.pop("member"), of.pop("epoch"), of.pop("group", group)
    of["acquire_mode"] = AcquireMode(of.get("acquire_mode", "batch_optimized"))
    if "acknowledge" in step:
        del of["acquire_mode"]
        return ShareAcknowledge(group, member, epoch, partitions, **of)
    wait_ms = of.pop("max_wait_ms", _WAIT_MS)
    forgotten = tuple(_at(name, topic_id) for name in of.pop("forgotten", ()))
    return ShareFetch(group, member, epoch, partitions, forgotten, max_wait_ms=wait_ms, **of)


def _at(name: str, topic_id: str) -> TopicPartition:
    topic, _, partition = name.partition(":")
    return TopicPartition({"t": topic_id, "u": UNKNOWN}[topic], int(partition))


def answer(response: ShareResponse, topic_id: str) -> dict[str, Any]:
    """Return a response; what is NONE or empty is left out."""
    found: dict[str, Any] = {}
    for one in response.partitions:
        topic = {topic_id: "t", UNKNOWN: "u"}.get(
            one.topic_partition.topic_id, one.topic_partition.topic_id
        )
        ranges = [[part.first, part.last, part.delivery_count] for part in one.acquired]
        said = {
            "error": one.error.name,
            "acknowledge_error": one.acknowledge_error.name,
            "acquired": ranges,
        }
        kept = {key: value for key, value in said.items() if value not in ("NONE", [])}
        found[f"{topic}:{one.topic_partition.partition}"] = kept
    whole = {"error": response.error.name} if response.error is not ErrorCode.NONE else {}
    return whole | ({"partitions": dict(sorted(found.items()))} if found else {})


def play(target: WireTarget, scenario: Scenario) -> list[dict[str, Any] | None]:
    """Return what a broker answers to each step; None where nothing is asked."""
    place = target.open(CONFIG, PARTITIONS)
    try:
        opening = asked({"fetch": WARM}, place.group, place.topic_id)
        target.ask(place, opening, str(WARM["member"]))
        for partition in range(PARTITIONS):
            target.produce(place, partition, BATCHES)
        return [_played(target, place, step) for step in scenario["steps"]]
    finally:
        target.finish(place)


def _played(target: WireTarget, place: GroupTopic, step: dict[str, Any]) -> dict[str, Any] | None:
    if "wait_ms" in step:
        target.wait(step["wait_ms"])
    elif "disconnect" in step:
        target.disconnect(step["disconnect"])
    else:
        request = asked(step, place.group, place.topic_id)
        exchange = target.ask(place, request, step.get("connection", request.member_id))
        return answer(exchange.response, place.topic_id)
    return None


def scenarios() -> list[Scenario]:
    """Return what was recorded."""
    found: list[Scenario] = json.loads(RECORDED.read_text())
    return found


def text(recorded: list[Scenario]) -> str:
    """Return scenarios as they stand in the file: a step a line."""
    parts = []
    for scenario in recorded:
        steps = ",\n".join(f"  {json.dumps(step)}" for step in scenario["steps"])
        parts.append(f'{{"name": {json.dumps(scenario["name"])}, "steps": [\n{steps}\n]}}')
    return "[\n" + ",\n".join(parts) + "\n]\n"


def main() -> None:
    """Record the answers of every scenario in the file anew."""
    recorded = scenarios()
    with kafka_broker() as target:
        for scenario in recorded:
            for step, found in zip(scenario["steps"], play(target, scenario), strict=True):
                if found is not None:
                    step["answer"] = found
    RECORDED.write_text(text(recorded))


if __name__ == "__main__":
    main()
