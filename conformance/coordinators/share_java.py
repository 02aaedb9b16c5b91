"""Deviations of Apache Kafka's ShareCoordinatorShard as JUnit tests."""

import re
from collections.abc import Iterator, Mapping

import attrs

from conformance.coordinators import share_asks as asks
from conformance.coordinators.share_messages import APIS, camel
from conformance.coordinators.share_scene import ShareScene
from conformance.java import JavaSteps, JavaWriter, NoTestError, equals, java_text, number
from judge.finding import CRASHED, Finding
from model.errors import ErrorCode
from model.guards import CoordinatorGuard
from model.ranges import StateBatch
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    WriteState,
)
from model.state_topic import SharePartitionKey
from spec.coordinator import Durable

_METHODS: Mapping[type[StateRequest], str] = {
    InitializeState: "initialize",
    ReadState: "read",
    WriteState: "write",
    ReadStateSummary: "readSummary",
    DeleteState: "delete",
}
"""Of the template, for each request."""

_KINDS = {"no record", "a snapshot", "an update", "a tombstone"}


def _steps(scene: ShareScene, deviation: Finding, _hello: object) -> JavaSteps:
    count = len(scene.steps_of(deviation))
    *before, last = zip(scene.commands[:count], scene.steps[:count], strict=True)
    called = ((_call(ask), step.answered) for ask, step in before)
    steps = [(f"{call};", _comment(answer)) for call, answer in called if call]
    return steps, [*_asserted(deviation, last[0], scene.expect_state(count - 1))]


def _call(ask: asks.StateAsk) -> str:
    """Return the call that stands for a command; empty where it changes nothing."""
    match ask:
        case asks.OpenCoordinator(updates, interval):
            return f"open({updates}, {interval:_})"
        case asks.PassTime(ms):
            return f"nowMs += {ms}"
        case asks.DeleteTopic(topic_id):
            return f"deleteTopic({_topic(topic_id)})"
        case asks.FindPartition():
            return ""
        case asks.FailOver() | asks.TakeSnapshots() | asks.PruneTopic():
            return f"{_name(type(ask).__name__)}()"
    values = (_argument(value) for value in attrs.astuple(ask, recurse=False))
    return f"{_METHODS[type(ask)]}({', '.join(filter(None, values))})"


def _name(command: str) -> str:
    return command[0].lower() + command[1:]


def _argument(value: SharePartitionKey | int | tuple[StateBatch, ...]) -> str:
    if isinstance(value, SharePartitionKey):
        return _key(value)
    return number(value) if isinstance(value, int) else ", ".join(map(_batch, value))


def _key(key: SharePartitionKey) -> str:
    if key == asks.PLAIN_KEY:
        return "KEY"
    return f"key({java_text(key.group_id)}, {_topic(key.topic_id)}, {key.partition})"


def _topic(topic_id: object) -> int:
    """Return the number of a topic; any that does not exist has the one after."""
    return [*asks.TOPICS, topic_id].index(topic_id) + 1


def _batch(batch: StateBatch) -> str:
    first, last = number(batch.first), number(batch.last)
    return f"batch({first}, {last}, RecordState.{batch.state.name}, {batch.delivery_count})"


def _comment(answered: str) -> str:
    """Return a comment on an answer that is an error."""
    status = answered.partition(";")[0]
    return f"  // {status}" if status in ErrorCode.__members__ and status != "NONE" else ""


def _asserted(deviation: Finding, ask: asks.StateAsk, after: Durable | None) -> Iterator[str]:
    """Yield the last call and what it must do. Raises NoTestError where nothing is known.

    ``after``: what the rules make of the share-partition, if they know it then.
    """
    call, expected = _call(ask), deviation.expected
    if deviation.name == CRASHED and deviation.operation == type(ask).__name__:
        yield f"assertDoesNotThrow(() -> {call});"
    elif isinstance(ask, asks.PruneTopic) and (found := re.fullmatch(r"below (\d+)", expected)):
        told = "the offset below which the state topic is redundant"
        yield from equals(number(int(found[1])), call, told)
    elif isinstance(ask, StateRequest):
        yield from _of_request(deviation, ask, call, after)
    else:
        raise NoTestError(f"no assertion in Java is known for the rule {deviation.name}")


def _of_request(
    deviation: Finding, request: StateRequest, call: str, after: Durable | None
) -> Iterator[str]:
    """Yield the assertion of an answer, or of what is held of the share-partition after it."""
    expected = deviation.expected
    if expected in ErrorCode.__members__:
        yield from _of_status(expected, request, call, after)
        return
    is_answer = deviation.name == CoordinatorGuard.STATE_IS_ANSWERED.name
    state, where = (call, "answered") if is_answer else (f"held({_key(request.key)})", "durable")
    if not is_answer:
        yield f"{call};"
    kind = expected.removesuffix(", which is due")
    if kind in _KINDS:
        yield from equals(java_text(kind), "appended()", "what is appended to the state topic")
    elif found := re.fullmatch(r"([a-z ]+) (-?\d+)", expected):
        getter = camel(found[1].replace(" ", "_"))
        told = f"the {found[1]} that is {where}"
        yield from equals(number(int(found[2])), f"{state}.{getter}()", told)
    elif found := re.fullmatch(r"offset (\d+) (.+)", expected):
        offset = number(int(found[1]))
        batches = f"{state}.stateBatches().stream()"
        batches += ".map(PersisterStateBatch::from)" if is_answer else ""
        seen = f"stateOf({offset}, {batches})"
        yield from equals(java_text(found[2]), seen, f"offset {offset} as it is {where}")
    else:
        raise NoTestError(f"no assertion in Java is known for the rule {deviation.name}")


def _of_status(
    expected: str, request: StateRequest, call: str, after: Durable | None
) -> Iterator[str]:
    """Yield the assertion of a status, and of the state and the topic as it leaves them."""
    held, refuses = f"held({_key(request.key)})", expected != ErrorCode.NONE.name
    if refuses:
        yield f"ShareGroupOffset before = {held};"
    seen = f"Errors.forCode({call}.errorCode())"
    yield from equals(f"Errors.{expected}", seen, f"the answer to {APIS[type(request)]}")
    if refuses:
        yield from equals("before", held, "what is durable after a refusal")
        appended = "what a refusal appends to the state topic"
        yield from equals(java_text("no record"), "appended()", appended)
    elif after is None:
        yield f'assertNull({held}, "what is durable after a deletion");'
    else:
        for name, value in ("state epoch", after.state_epoch), ("start offset", after.start_offset):
            getter = camel(name.replace(" ", "_"))
            yield from equals(number(value), f"{held}.{getter}()", f"the {name} that is durable")


SHARE_COORDINATOR = JavaWriter("ShareCoordinatorShard.java", _steps)
"""Of a share coordinator of Apache Kafka."""
