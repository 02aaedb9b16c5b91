"""Deviations of Apache Kafka's GroupCoordinatorShard as JUnit tests.

What GroupCoordinatorService does with the answers of share coordinators is statements of its own.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import attrs

from conformance.coordinators.group_checks import NONE, PENDING, call_text
from conformance.coordinators.group_reply import StateCall
from conformance.coordinators.group_scene import GroupCapabilities, GroupExchange
from conformance.cores.protocol import DriverTarget
from conformance.java import JavaCase, JavaSteps, JavaWriter, NoTestError, equals, holds, java_text
from conformance.kit import AnyKit
from judge.finding import CRASHED, Finding
from spec.group_membership import JOINING, LEAVING

Waiting = dict[int, tuple[str, list[StateCall]]]
"""By its id each call without an answer: the operation that it is of, and its share-partitions."""

_KEY = r"[\w.]+:-?\d+"
_ERRORS = re.compile(r"[A-Z_]+(?: or [A-Z_]+)*")


@attrs.frozen
class LastRequest:
    """The request that deviates: its call, and the calls for what share coordinators answered."""

    deviation: Finding
    operation: str
    call: str
    after: list[str]

    @property
    def statements(self) -> Iterator[str]:
        """Yield all its calls."""
        return (f"{each};" for each in (self.call, *self.after) if each)


def _steps(target: DriverTarget[GroupCapabilities], kit: AnyKit, case: JavaCase) -> JavaSteps:
    """Play a deviation once more. Raises TargetError and NoTestError."""
    hello = target.hello()
    scene = kit.stage(target, hello)
    deviation = next((found for ask in case.fault.sequence if (found := scene.ask(ask))), None)
    if deviation is None:
        raise NoTestError(f"{case.name} did not show when it was played again")
    *before, last = scene.exchanges
    waiting: Waiting = {}
    steps = [(f"open({scene.belief.max_members});", "")]
    for exchange in before:
        after = _after(exchange, waiting)
        if not _is_refused(exchange):
            call = _call(exchange)
            steps += [(f"{call};", _comment(exchange))] if call else []
            steps += [(f"{each};", "") for each in after]
    request = LastRequest(deviation, last.request["op"], _call(last), _after(last, waiting))
    return JavaSteps(deviation, hello, steps, [*_asserted(request)])


def _is_refused(exchange: GroupExchange) -> bool:
    """Whether a request changes nothing, as it is refused: an exception, for the class."""
    is_late = exchange.request["op"] == "answer"
    return not (is_late or exchange.calls) and exchange.status not in (NONE, PENDING)


def _call(exchange: GroupExchange) -> str:
    """Return the call that stands for a request; empty where the class has none for it."""
    call = _CALLS.get(exchange.request["op"])
    if call is None:
        raise NoTestError("it needs a group with settings of its own")
    return call(exchange)


def _heartbeat(exchange: GroupExchange) -> str:
    """Return a heartbeat, whose epoch is relative to what the member was given last."""
    request = exchange.request
    member, epoch, topics = java_text(request["member"]), request["epoch"], request["topics"]
    known = exchange.before.members.get(request["member"])
    if epoch == LEAVING:
        return f"leave({member})"
    if epoch == JOINING and topics:
        return f"join({member}, {_texts(topics)})"
    given = f"epochs.get({member})"
    if known is None or epoch == JOINING:
        number = f"{epoch}"
    elif epoch != known.epoch:
        number = f"{given} {'+' if epoch > known.epoch else '-'} {abs(epoch - known.epoch)}"
    elif topics is None:
        return f"stay({member})"
    elif topics:
        return f"subscribe({member}, {_texts(topics)})"
    else:
        number = given
    named = "null" if topics is None else f"List.of({_texts(topics)})"
    return f"heartbeat({member}, {number}, {named})"


def _grow(name: str) -> Callable[[GroupExchange], str]:
    return lambda exchange: f"{name}({_of_topic(exchange)}, {exchange.request['partitions']})"


def _of_topic(exchange: GroupExchange) -> str:
    return java_text(exchange.request["topic"])


def _alter(exchange: GroupExchange) -> str:
    offsets = exchange.request["offsets"]
    return f"alter({_texts(f'{topic}:{part} at {start}' for topic, part, start in offsets)})"


def _texts(texts: Iterable[str]) -> str:
    return ", ".join(map(java_text, texts))


_CALLS: Mapping[str, Callable[[GroupExchange], str]] = {
    "create_topic": _grow("createTopic"),
    "add_partitions": _grow("addPartitions"),
    "delete_topic": lambda exchange: f"deleteTopic({_of_topic(exchange)})",
    "heartbeat": _heartbeat,
    "advance_time": lambda exchange: f"passTime({exchange.request['ms']:_})",
    "alter_offsets": _alter,
    "delete_offsets": lambda exchange: f"askToDeleteOffsets({_texts(exchange.request['topics'])})",
    "delete_group": lambda _exchange: "askToDeleteGroup()",
    "fail_over": lambda _exchange: "failOver()",
    "describe_offsets": lambda _exchange: "",
    "answer": lambda _exchange: "",
}
"""For each request the call that stands for it."""


def _comment(exchange: GroupExchange) -> str:
    texts = [exchange.status] if exchange.status not in (NONE, PENDING) else []
    texts += map(call_text, exchange.calls)
    return f"  // {'; '.join(texts)}" if texts else ""


def _after(exchange: GroupExchange, waiting: Waiting) -> list[str]:
    """Return the calls for what share coordinators answered; those that wait are kept."""
    request, lines = exchange.request, list[str]()
    operation = request["op"]
    if operation == "answer":
        return _answered(*waiting.pop(request["id"], ("", [])), request["status"])
    if operation == "fail_over":
        waiting.clear()  # Answers come to the instance before.
    for id_, group in groupby(exchange.calls, key=lambda call: call.id):
        calls = list(group)
        if calls[0].status == PENDING:
            waiting[id_] = operation, calls
        else:
            lines += _answered(operation, calls, calls[0].status)
    return ["deleteGroup()"] if operation == "delete_group" and not exchange.calls else lines


def _answered(operation: str, calls: Collection[StateCall], status: str) -> list[str]:
    if not calls:
        return []
    if operation == "delete_group":
        return ["deleteGroup()"] * (status == NONE)
    if operation == "delete_offsets":
        topics = dict.fromkeys(call.topic for call in calls)
        return [f"deleteOffsets({_texts(topics)})"] * (status == NONE)
    keys = _texts(f"{call.topic}:{call.partition}" for call in calls)
    return [f"{'initialized' if status == NONE else 'uninitialized'}({keys})"]


# What a test asserts.


def _asserted(last: LastRequest) -> Iterator[str]:
    """Yield the last calls and what they must do. Raises NoTestError where nothing is known."""
    deviation = last.deviation
    if last.operation == "answer" and deviation.name == "REQUEST_ANSWER":
        raise NoTestError("GroupCoordinatorService answers what waited, and not the class")
    lines = list(_ASSERTIONS[deviation.name](last) if deviation.name in _ASSERTIONS else ())
    if not lines:
        raise NoTestError(f"no assertion in Java is known for the rule {deviation.name}")
    return iter(lines)


def _epoch_rises(last: LastRequest) -> Iterator[str]:
    yield from ("int before = described().groupEpoch();", *last.statements)
    seen = "described().groupEpoch()"
    yield from holds(f"{seen} > before", '"the group epoch was " + before + " and is "', seen)


def _epoch_stays(last: LastRequest) -> Iterator[str]:
    yield from ("int before = described().groupEpoch();", *last.statements)
    yield from equals("before", "described().groupEpoch()", "the group epoch")


def _first_offset(last: LastRequest) -> Iterator[str]:
    """Assert at which start offset a share-partition is initialized, if it is."""
    (key,) = re.findall(_KEY, last.deviation.recorded)
    offsets = [f"{offset}L" for offset in re.findall(r"-?\d+", last.deviation.expected)]
    yield f"{last.call};"
    seen = f"initializing.getOrDefault({java_text(key)}, {offsets[0]})"
    yield from _is_one_of(offsets, seen, f"the start offset of {key}")


def _is_one_of(allowed: Sequence[str], seen: str, told: str) -> Iterator[str]:
    if len(allowed) == 1:
        yield from equals(allowed[0], seen, told)
    else:
        told = java_text(f"{told} is {' or '.join(allowed)}, and it is ")
        yield from holds(f"List.of({', '.join(allowed)}).contains({seen})", told, seen)


def _is_initialized(last: LastRequest) -> Iterator[str]:
    """Assert of what share-partitions share coordinators are asked, or are not."""
    recorded = last.deviation.recorded
    is_due = recorded.startswith("no call for ")
    keys = re.findall(_KEY if is_due else f"(?<=initialize ){_KEY}", recorded)
    if not keys:
        return
    yield f"{last.call};"
    told = f"{', '.join(keys)} {'is' if is_due else 'is not'} to be initialized, and the calls are "
    has = (f"initializing.containsKey({java_text(key)})" for key in keys)
    condition = (" && " if is_due else " || ").join(has)
    yield from holds(condition, f'"{told}"', "initializing", truth=is_due)


def _members_are(last: LastRequest) -> Iterator[str]:
    """Assert who is a member once time has passed."""
    expected = re.findall(r"\bm\d+", last.deviation.expected)
    yield f"{last.call};"
    yield from equals(f"Set.of({_texts(expected)})", "members()", "the members")


def _is_deleted(last: LastRequest) -> Iterator[str]:
    """Assert that share coordinators are asked to delete, or that the group is not deleted."""
    keys = re.findall(_KEY, last.deviation.recorded)
    if last.operation == "answer":
        yield from last.statements
        yield "assertNotEquals(Errors.NONE, status,"
        yield f'    "the deletion of a group that has the state of {", ".join(keys)}");'
        return
    yield f"{last.call};"
    told = f'"the state of {", ".join(keys)} is to be deleted, and the calls are "'
    has = (f"deleting.contains({java_text(key)})" for key in keys)
    yield from holds(" && ".join(has), told, "deleting")


def _group_is_there(last: LastRequest) -> Iterator[str]:
    error = {"no group": "GROUP_ID_NOT_FOUND", "a group": NONE}.get(last.deviation.expected)
    if error:
        yield from last.statements
        seen = "Errors.forCode(described().errorCode())"
        yield from equals(f"Errors.{error}", seen, "the description of the group")


def _answer_is(last: LastRequest) -> Iterator[str]:
    """Assert the answer to a request, or what it has of a topic or partition."""
    if not _ERRORS.fullmatch(last.deviation.expected):
        return
    errors = [f"Errors.{error}" for error in last.deviation.expected.split(" or ")]
    part, _, _error = last.deviation.recorded.rpartition(" ")
    if part:
        yield from last.statements
        seen = f"answers.getOrDefault({java_text(part)}, status)"
        yield from _is_one_of(errors, seen, f"the answer about {part}")
    else:
        deletes = last.operation == "delete_group"
        call = f"{{ {' '.join(last.statements)} }}" if deletes else last.call
        yield f"Errors answer = errorOf(() -> {call});"
        yield from _is_one_of(errors, "answer", "the answer")


def _offsets_are_described(last: LastRequest) -> Iterator[str]:
    """Assert of which share-partitions offsets are described; those are share coordinators'."""
    texts = last.deviation.recorded, last.deviation.expected
    recorded, expected = (sorted(re.findall(_KEY, text)) for text in texts)
    if recorded != expected:
        yield from equals(f"Set.of({_texts(expected)})", "listed()", "whose offsets are described")


def _interval_is(last: LastRequest) -> Iterator[str]:
    number, seen = int(last.deviation.expected.split()[0]), f"{last.call}.heartbeatIntervalMs()"
    yield from equals(f"{number:_}", seen, "the heartbeat interval in ms")


def _does_not_throw(last: LastRequest) -> Iterator[str]:
    if last.call:
        yield f"assertDoesNotThrow(() -> {last.call});"


_ASSERTIONS: Mapping[str, Callable[[LastRequest], Iterator[str]]] = {
    CRASHED: _does_not_throw,
    "GROUP_EPOCH_RISES": _epoch_rises,
    "GROUP_EPOCH_STAYS": _epoch_stays,
    "FIRST_OFFSET": _first_offset,
    "NEW_IS_INITIALIZED": _is_initialized,
    "SESSION_TIMEOUT": _members_are,
    "STATE_IS_DELETED": _is_deleted,
    "MEMBERS": _group_is_there,
    "REQUEST_ANSWER": _answer_is,
    "OFFSETS_DESCRIBED": _offsets_are_described,
    "HEARTBEAT_INTERVAL": _interval_is,
}
"""By the rule that is broken; nothing where it has no assertion for what is expected."""

GROUP_COORDINATOR = JavaWriter("GroupCoordinatorShard.java", _steps)
"""Of the share part of a group coordinator of Apache Kafka."""
