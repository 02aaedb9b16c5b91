"""Large request logs of brokers that do as they should, written in seconds."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

_BEGIN = 1_700_000_000_000
_LOCK_MS = 30_000
Batch = dict[str, Any]


def write_log(path: Path, partitions: int, cycles: int, seed: int = 0) -> int:
    """Write a log in which each share-partition goes through so many cycles; return its lines.

    In a cycle records are appended, acquired, acknowledged one by one and written.
    """
    lines = 0
    with path.open("w") as file:
        for cycle in range(cycles):
            for number in range(partitions):
                dice = Random(f"{seed}:{number}:{cycle}")  # noqa: S311 - no secret
                time = _BEGIN + cycle * 400 + number * 3.0
                for line in _cycle(number, cycle, time, dice):
                    file.write(line)
                    lines += 1
    return lines


def _cycle(number: int, cycle: int, time: float, dice: Random) -> Iterator[str]:
    topic = {"topicId": f"topic{number:04}"}
    first, last = cycle * 50, cycle * 50 + 49
    member = f"member-{number}-{cycle % 2}"
    if not cycle:
        asked = {"partition": 0, "stateEpoch": 1, "startOffset": 0}
        yield _state("INITIALIZE_SHARE_GROUP_STATE", (time - 20, 1), topic, asked, {})
        read = {"stateEpoch": 1, "startOffset": 0, "stateBatches": []}
        leader = {"partition": 0, "leaderEpoch": 0}
        yield _state("READ_SHARE_GROUP_STATE", (time - 10, 1), topic, leader, read)
    answer = {"index": 0, "errorCode": 0, "baseOffset": first, "logStartOffset": 0}
    produced = {"responses": [{**topic, "partitionResponses": [answer]}]}
    yield _line("PRODUCE", time, 2, {"transactionalId": None}, produced)
    acquired = [{"firstOffset": first, "lastOffset": last, "deliveryCount": 1}]
    yield _fetch(time + 5, topic, member, cycle // 2 * 2, acquired)
    types = [1] if dice.random() < 0.7 else [dice.choice((1, 1, 1, 3)) for _ in range(50)]
    states = [{1: 2, 3: 4}[kind] for kind in (types if len(types) > 1 else types * 50)]
    yield _write(time + 8, topic, first, last, states)
    batch = {"firstOffset": first, "lastOffset": last, "acknowledgeTypes": types}
    yield _acknowledge(time + 7, topic, member, cycle // 2 * 2 + 1, [batch])


def _fetch(time: float, topic: Batch, member: str, epoch: int, acquired: list[Batch]) -> str:
    part = {
        "partitionIndex": 0,
        "errorCode": 0,
        "acknowledgeErrorCode": 0,
        "acquiredRecords": acquired,
    }
    request = {
        "groupId": "g",
        "memberId": member,
        "shareSessionEpoch": epoch,
        "maxRecords": 500,
        "shareAcquireMode": 0,
        "topics": [],
    }
    return _line("SHARE_FETCH", time, 1.5, request, _answer(topic, part))


def _acknowledge(time: float, topic: Batch, member: str, epoch: int, batches: list[Batch]) -> str:
    asked = {**topic, "partitions": [{"partitionIndex": 0, "acknowledgementBatches": batches}]}
    request = {
        "groupId": "g",
        "memberId": member,
        "shareSessionEpoch": epoch,
        "isRenewAck": False,
        "topics": [asked],
    }
    part = {"partitionIndex": 0, "errorCode": 0}
    return _line("SHARE_ACKNOWLEDGE", time, 5, request, _answer(topic, part))


def _answer(topic: Batch, part: Batch) -> Batch:
    return {
        "errorCode": 0,
        "acquisitionLockTimeoutMs": _LOCK_MS,
        "responses": [{**topic, "partitions": [part]}],
    }


def _write(time: float, topic: Batch, first: int, last: int, states: list[int]) -> str:
    runs = [
        (state, [offset for offset, _ in run])
        for state, run in groupby(enumerate(states, start=first), key=lambda pair: pair[1])
    ]
    asked = {
        "partition": 0,
        "leaderEpoch": 0,
        "stateEpoch": 1,
        "startOffset": first,
        "deliveryCompleteCount": last - first + 1,
        "stateBatches": [
            {
                "firstOffset": run[0],
                "lastOffset": run[-1],
                "deliveryState": state,
                "deliveryCount": 1,
            }
            for state, run in runs
        ],
    }
    return _state("WRITE_SHARE_GROUP_STATE", (time, 2), topic, asked, {})


def _state(name: str, when: tuple[float, float], topic: Batch, asked: Batch, answer: Batch) -> str:
    request = {"groupId": "g", "topics": [{**topic, "partitions": [asked]}]}
    results = [{**topic, "partitions": [{"partition": 0, "errorCode": 0, **answer}]}]
    return _line(name, *when, request, {"results": results})


def _line(name: str, time: float, total: float, request: Batch, response: Batch) -> str:
    version = 13 if name == "PRODUCE" else 1
    stamp = int(time + total)
    clock = datetime.fromtimestamp(stamp // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    data = {
        "requestHeader": {"requestApiVersion": version, "requestApiKeyName": name},
        "request": request,
        "response": response,
        "connection": "10.0.0.1:9092-10.0.0.2:5000-0-0",
        "totalTimeMs": total,
    }
    text = json.dumps(data, separators=(",", ":"))
    return f"[{clock},{stamp % 1000:03}] DEBUG Completed request:{text} (kafka.request.logger)\n"
