"""Deviations of Apache Kafka's GroupCoordinatorShard as JUnit tests.

What GroupCoordinatorService does with the answers of share coordinators is statements of its own.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import attrs

from conformance.coordinators.group_checks import NONE, PENDING, call_text
from conformance.coordinators.group_reply import StateCall
from conformance.coordinators.group_scene import GroupExchange, GroupScene
from conformance.java import JavaSteps, JavaWriter, NoTestError, equals, holds, java_text
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
    member: str
    call: str
    after: list[str]

    @property
    def statements(self) -> Iterator[str]:
        """Yield all its calls."""
        return (f"{each};" for each in (self.call, *self.after) if each)


def _steps(scene: GroupScene, deviation: Finding, _hello: object) -> JavaSteps:
    *before, last = scene.exchanges[: scene.length_of(deviation)]
    waiting: Waiting = {}
    steps = [(f"open({scene.belief.max_members});", "")]
    for exchange in before:
        after = _after(exchange, waiting)
        if not _is_refused(exchange):
            call = _call(exchange)
            steps += [(f"{call};", _comment(exchange))] if call else []
            steps += [(f"{each};", "") for each in after]
    names = last.request["op"], last.request.get("member", "")
    request = LastRequest(deviation, *names, _call(last), _after(last, waiting))
    return steps, [*_asserted(request)]


def _is_refused(exchange: GroupExchange) -> bool:
    """Whether a request changes nothing, as it is refused: an exception, for the class."""
    is_late = exchange.request["op"] == "answer"
    return not (is_late or exchange.calls) and exchange.status not in (NONE, PENDING)


def _call(exchange: GroupExchange) -> str:
    """Return the call that stands for a request; empty where the class has none for it."""
    return _CALLS[exchange.request["op"]](exchange)


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


def _configure(exchange: GroupExchange) -> str:
    request = exchange.request
    return f"configure({request['heartbeat_ms']:_}, {request['session_ms']:_})"


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
    "configure": _configure,
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
    if last.operation == "delete_group" and deviation.recorded == "UNKNOWN_SERVER_ERROR":
        raise NoTestError("DefaultStatePersister refuses the deletion, and not the class")
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
    """Assert that there is a group, or none, or whose members name which topics."""
    subscribed = re.findall(r"'(m\d+)': frozenset\(({[^}]*})?", last.deviation.expected)
    if subscribed:
        yield from last.statements
        topics = {name: sorted(re.findall(r"\w+", named)) for name, named in sorted(subscribed)}
        pairs = (f"{java_text(name)}, Set.of({_texts(topics[name])})" for name in topics)
        yield from equals(f"Map.of({', '.join(pairs)})", "subscriptions()", "who names what")
    error = {"no group": "GROUP_ID_NOT_FOUND", "a group": NONE}.get(last.deviation.expected)
    if error:
        yield from last.statements
        seen = "Errors.forCode(described().errorCode())"
        yield from equals(f"Errors.{error}", seen, "the description of the group")


def _answer_is(last: LastRequest) -> Iterator[str]:
    """Assert the answer to a request, or what it has of a topic or partition."""
    if not _ERRORS.fullmatch(last.deviation.expected):
        yield from _is_told(last) if last.operation == "heartbeat" else _is_answered(last)
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


def _is_answered(last: LastRequest) -> Iterator[str]:
    """Assert that there is an answer about each partition that a request names."""
    found = re.fullmatch(r"nothing of \[(.+)\]", last.deviation.recorded)
    if found and last.call:
        yield from last.statements
        parts = re.findall(r"'([^']+)'", found[1])
        has = " && ".join(f"answers.containsKey({java_text(part)})" for part in parts)
        yield from holds(
            has, f'"{", ".join(parts)} is to be answered, and answered is "', "answers"
        )


def _is_told(last: LastRequest) -> Iterator[str]:
    """Assert that a member has been told what it is assigned."""
    yield f"{last.call};"
    member, told = java_text(last.member), f"what {last.member} was told that it is assigned"
    yield from equals(f"assigned({member})", f"told({member})", told)


def _is_initialized_first(last: LastRequest) -> Iterator[str]:
    """Assert that a member is not assigned what is not initialized, or not its own."""
    yield from last.statements
    keys, seen = re.findall(_KEY, last.deviation.recorded), f"assigned({java_text(last.member)})"
    has = " || ".join(f"{seen}.contains({java_text(key)})" for key in keys)
    told = f'"{", ".join(keys)} is not to be assigned, and {last.member} has "'
    yield from holds(has, told, seen, truth=False)


def _somebody_has(last: LastRequest) -> Iterator[str]:
    yield from last.statements
    keys = re.findall(_KEY, last.deviation.recorded)
    has = " && ".join(f"assigned().contains({java_text(key)})" for key in keys)
    yield from holds(has, f'"{", ".join(keys)} is to be assigned, and assigned is "', "assigned()")


def _is_even(last: LastRequest) -> Iterator[str]:
    yield from last.statements
    more, less = re.findall(r"(?:^|; )(m\d+) ", last.deviation.recorded)
    sizes = (f"assigned({java_text(name)}).size()" for name in (more, less))
    told = f'"{more} has more than one share-partition more than {less}: "'
    seen = f"assigned({java_text(more)})"
    yield from holds(f"{next(sizes)} <= {next(sizes)} + 1", told, seen)


def _state_epoch_is(last: LastRequest) -> Iterator[str]:
    """Assert in which state epoch a share-partition is initialized, if it is."""
    if not last.deviation.expected.startswith("state epoch "):
        return
    (key,) = re.findall(_KEY, last.deviation.recorded)
    yield from (f"{last.call};", "int epoch = described().groupEpoch();")
    seen = f"stateEpochs.getOrDefault({java_text(key)}, epoch)"
    yield from equals("epoch", seen, f"the state epoch of {key}")


def _member_epoch_is(last: LastRequest) -> Iterator[str]:
    """Assert that members have caught up, or that an epoch is as told, not ahead and not back."""
    recorded = last.deviation.recorded
    members = re.findall(r"\bm\d+", recorded)
    if recorded.endswith("behind"):
        yield from last.statements
        for member in members:
            seen = f"memberEpoch({java_text(member)})"
            yield from equals("described().groupEpoch()", seen, f"the epoch of {member}")
        return
    (member,) = members
    name, is_own = java_text(member), member == last.member
    if is_own:
        yield f"int before = epochs.getOrDefault({name}, 0);"
    yield from last.statements
    told, seen = f"the epoch of {member}", f"memberEpoch({name})"
    yield from equals(f"epochs.get({name})", seen, told)
    within = f"{'before' if is_own else '0'} <= {seen} && {seen} <= described().groupEpoch()"
    yield from holds(within, f'"{told}, neither back nor ahead, is "', seen)


def _is_replayed(last: LastRequest) -> Iterator[str]:
    yield from ("String before = groupText();", *last.statements)
    yield from equals("before", "groupText()", "the group of who takes over")


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
    "ASSIGNED_IS_INITIALIZED": _is_initialized_first,
    "EVERY_PARTITION_IS_ASSIGNED": _somebody_has,
    "ASSIGNMENT_IS_EVEN": _is_even,
    "STATE_EPOCH": _state_epoch_is,
    "MEMBER_EPOCH": _member_epoch_is,
    "REPLAYED": _is_replayed,
}
"""By the rule that is broken; nothing where it has no assertion for what is expected."""

GROUP_COORDINATOR = JavaWriter("GroupCoordinatorShard.java", _steps)
"""Of the share part of a group coordinator of Apache Kafka."""
