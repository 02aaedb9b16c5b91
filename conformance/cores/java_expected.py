"""What a test in Java asserts of the operation that deviates, by the rule that it breaks."""

from collections.abc import Callable, Iterator, Mapping

import attrs

from conformance.cores.scene import Exchanged, Scene
from conformance.cores.target import CoreHello
from conformance.java import NoTestError, java_text, number
from conformance.vectors.free import allowed_of, lowest_start
from judge.choices import recorded_answers
from judge.engine import SpecEngine
from judge.finding import CRASHED, Finding, FindingKind
from judge.words import ranges_text
from model.guards import Difference
from model.operations import Acknowledge, AcknowledgementBatch, Acquire
from model.outcome import Choice, Write
from model.ranges import OffsetRange, RecordRange, delivery_counts, never_delivered
from model.rules import VERDICT_RULES
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState
from model.trace import TraceEvent
from spec.acknowledge import judge
from spec.partition import SharePartition
from spec.validation import validate


@attrs.frozen
class LastStep:
    """The operation that deviates: the last of a scene."""

    deviation: Finding
    scene: Scene
    hello: CoreHello

    @property
    def exchange(self) -> Exchanged:
        """Return how the core was asked and answered."""
        return self.scene.exchanges[-1]

    @property
    def before(self) -> SharePartition:
        """Return the share-partition by the rules before it; without an answer it stays so."""
        told = self.scene.past[self.exchange.seq :]
        return told[0].before if told else self.scene.partition

    @property
    def event(self) -> TraceEvent:
        """Return the operation with its answer, as in a trace."""
        return self.scene.past[-1].event


def asserted(last: LastStep, call: str) -> list[str]:
    """Return the lines that make the last call and assert what it must do.

    Raises NoTestError where no assertion is known for the rule.
    """
    deviation = last.deviation
    rule = VERDICT_RULES.get(deviation.name)
    write = _ASSERTIONS.get(rule.asserts if rule and rule.asserts else deviation.name)
    is_guard = deviation.kind is FindingKind.GUARD
    if write is None and is_guard and deviation.operation == "acknowledge":
        write = _judged  # The other guards of an acknowledgement are about its answer.
    if write is None:
        raise NoTestError(f"no assertion in Java is known for the rule {deviation.name}")
    return [line for text in write(last, call) for line in text.splitlines()]


def _crashed(last: LastStep, call: str) -> Iterator[str]:
    """Assert that there is an answer, and of an acknowledgement that it is one of those allowed."""
    if last.exchange.operation["op"] == "acknowledge":
        return _judged(last, f"assertDoesNotThrow(() ->\n    {call})")
    return iter((f"assertDoesNotThrow(() -> {call});",))


def _judged(last: LastStep, call: str) -> Iterator[str]:
    operation = last.exchange.operation
    batches = (
        AcknowledgementBatch(first, last_, tuple(types))
        for first, last_, types in operation["batches"]
    )
    asked = Acknowledge(operation["member"], tuple(batches))
    malformed = validate(asked, last.before.profile)
    codes = {malformed} if malformed.value else judge(last.before, asked).allowed
    allowed = ", ".join(f"Errors.{name}" for name in sorted(code.name for code in codes))
    yield f"CompletableFuture<Void> answered = {call};"
    yield f"assertTrue(List.of({allowed}).contains(errorOf(answered)),"
    yield '    "the acknowledgement is answered with " + errorOf(answered));'


def _completed(last: LastStep, call: str) -> Iterator[str]:
    """Assert that each call that waited has ended by now, and how."""
    yield f"{call};"
    for done in last.scene.expected.completed:
        yield f'assertTrue(answered{done.seq}.isDone(), "it is answered");'
        yield f"assertEquals(Errors.{done.status.name}, errorOf(answered{done.seq}));"


def _can_acquire(_last: LastStep, _call: str) -> Iterator[str]:
    yield 'assertTrue(sharePartition.canAcquireRecords(), "a fetch may acquire records");'


def _status(last: LastStep, call: str) -> Iterator[str]:
    expected = last.deviation.expected
    if expected in {"can acquire", "can acquire nothing"}:
        truth = "assertTrue" if expected == "can acquire" else "assertFalse"
        yield f"{truth}(sharePartition.canAcquireRecords());"
    elif expected == "PENDING":
        yield f'assertFalse({call}.isDone(), "its write is outstanding");'
    else:
        yield f'assertEquals(Errors.{expected}, errorOf({call}), "what it answers");'


def _start(last: LastStep, call: str) -> Iterator[str]:
    yield f"{call};"
    yield f"assertEquals({last.deviation.expected}, sharePartition.startOffset());"


def _least_start(last: LastStep, call: str) -> Iterator[str]:
    yield f"{call};"
    lowest = number(lowest_start(last.before, last.event))
    told = f"the start offset is {lowest} at least, and it is "
    yield _true(f"sharePartition.startOffset() >= {lowest}", told)


def _furthest_start(last: LastStep, call: str) -> Iterator[str]:
    yield f"{call};"
    event, engine = last.event, SpecEngine(last.before.profile, last.before)
    engine.apply(event.operation, Choice(), recorded_answers(event), event.seq)
    furthest = engine.snapshot().start_offset
    told = f"{furthest} is not finished, and the start offset is "
    yield _true(f"sharePartition.startOffset() <= {number(furthest)}", told)


def _true(condition: str, told: str) -> str:
    return f"assertTrue({condition},\n    {java_text(told)} + sharePartition.startOffset());"


def _end(last: LastStep, call: str) -> Iterator[str]:
    """Assert the end offset, which Apache Kafka has as the last one in flight, if there is one."""
    yield f"{call};"
    after = _expected(last)
    end = after.end_offset - bool(after.records)
    yield f"assertEquals({number(end)}, sharePartition.endOffset());"


def _complete(last: LastStep, call: str) -> Iterator[str]:
    if not last.hello.capabilities.delivery_complete_count:
        raise NoTestError("this release has no delivery complete count")
    yield f"{call};"
    told, expected = "the delivery complete count", last.deviation.expected
    yield f'assertEquals({expected}, sharePartition.deliveryCompleteCount(), "{told}");'


def _records(last: LastStep, call: str) -> Iterator[str]:
    """Assert the state of each record that is in another one than expected."""
    yield f"{call};"
    recorded = _by_offset(last.event.after, last)
    expected = _by_offset(_expected(last), last)
    for offset in sorted(recorded.keys() | expected.keys()):
        is_, wanted = recorded.get(offset), expected.get(offset)
        if is_ == wanted:
            continue
        if _state(is_) != _state(wanted):
            told = f"offset {offset}"
            state = java_text(_state(wanted))
            yield f'assertEquals({state}, stateOf({number(offset)}), "{told}");'
        elif last.hello.version.startswith("4.0."):
            raise NoTestError("4.0 hides whether a write is outstanding")
        else:
            truth = "assertTrue" if wanted and wanted.pending else "assertFalse"
            told = f"a write of offset {offset} is outstanding"
            yield f'{truth}(isWriteOutstanding({number(offset)}), "{told}");'


def _expected(last: LastStep) -> SharePartitionSnapshot:
    state = last.deviation.state_expected
    if state is None:
        raise NoTestError(f"{last.deviation.name} allows more than one state")
    return state


def _by_offset(state: SharePartitionSnapshot, last: LastStep) -> Mapping[int, RecordRange]:
    start = last.scene.partition.window.start_offset
    return {
        offset: attrs.evolve(record, first=offset, last=offset)
        for record in state.records or ()
        for offset in range(max(start, record.first), record.last + 1)
    }


def _state(record: RecordRange | None) -> str:
    if record is None or never_delivered(record):
        return "not in flight"
    return f"{record.state.name}({record.delivery_count}) {record.owner or ''}".strip()


def _acquired(last: LastStep, call: str) -> Iterator[str]:
    """Assert that nothing but what may be acquired is."""
    allowed = allowed_of(last.before, _whole_log(last))
    yield from _only(
        call, " && ".join(map(_outside, allowed)), f"{ranges_text(allowed)} may be acquired"
    )


def _outside(part: OffsetRange) -> str:
    if part.first == part.last:
        return f"offset != {number(part.first)}"
    return f"(offset < {number(part.first)} || offset > {number(part.last)})"


def _only(call: str, beyond: str, told: str) -> Iterator[str]:
    """Yield the assertion that a fetch acquires no offset of which a condition holds."""
    yield f"List<Long> acquired = offsets({call});"
    others = f"acquired.stream().filter(offset -> {beyond}).toList()" if beyond else "acquired"
    yield f"assertEquals(List.of(), {others},"
    yield f'    "{told.replace("–", "-")}, and what is acquired is " + acquired);'


def _whole_log(last: LastStep) -> Acquire:
    """Return the fetch as if it read all of the log: what it reads is not what is asserted."""
    operation = last.event.operation
    assert isinstance(operation, Acquire)  # noqa: S101 - the rules are about fetches
    start = last.before.window.start_offset
    read = tuple(OffsetRange(*batch) for batch in last.scene.log if batch[1] >= start)
    return attrs.evolve(operation, fetch_offset=start, log_batches=read)


def _counts(last: LastStep, call: str) -> Iterator[str]:
    """Assert the delivery count with which each record is acquired of which it is another."""
    recorded = delivery_counts(last.event.outcome.acquired)
    expected = delivery_counts(last.scene.expected.acquired)
    yield f"List<AcquiredRecords> acquired = {call};"
    for offset in sorted(expected):
        if recorded.get(offset) != expected[offset]:
            told = f"the delivery count of offset {offset}"
            count = f"countOf({number(offset)}, acquired)"
            yield f'assertEquals({expected[offset]}, {count}, "{told}");'


def _window(last: LastStep, call: str) -> Iterator[str]:
    """Assert that nothing is acquired past the furthest end that the window may have."""
    allowed = allowed_of(last.before, _whole_log(last))
    furthest = max([last.before.window.end_offset - 1, *(part.last for part in allowed)])
    yield from _only(call, f"offset > {number(furthest)}", f"the window may end at {furthest}")


def _offered(last: LastStep, call: str) -> Iterator[str]:
    """Assert that a record which fetches passed over is given, or lies below the start offset."""
    yield f"{call};"
    most = max(last.before.passed_over, key=lambda passed: passed.fetches)
    record = _by_offset(last.event.after, last).get(most.first)
    offset, state = number(most.first), _state(record)
    told = f"{most.first} is passed over by {most.fetches + 1} fetches; the start offset is "
    same = f"!stateOf({offset}).equals({java_text(state)})"
    yield _true(f"sharePartition.startOffset() > {offset} || {same}", told)


def _makes_room(last: LastStep, call: str) -> Iterator[str]:
    """Assert that a window which is full of what is finished does not stay so."""
    yield f"{call};"
    start = last.before.window.start_offset
    same = f"sharePartition.startOffset() > {number(start)}"
    told = last.deviation.expected.removeprefix("not allowed: ")
    yield _true(f"sharePartition.canAcquireRecords() || {same}", f"{told}; the start offset is ")


def _queued(last: LastStep, call: str) -> Iterator[str]:
    """Assert that each record was given to the dead-letter queue that is to be in it."""
    yield f"{call};"
    for offset, record in _by_offset(last.event.after, last).items():
        if record.state is RecordState.ARCHIVING and not record.pending:
            told = f"offset {offset} is given to the dead-letter queue"
            yield f'assertTrue(isQueued({number(offset)}), "{told}");'


def _writes(last: LastStep, call: str) -> Iterator[str]:
    """Assert the state that was written of each record of which another one was."""
    recorded = _written(last.event.outcome.writes)
    expected = _written(last.scene.expected.writes)
    differing = [o for o in sorted(recorded | expected) if recorded.get(o) != expected.get(o)]
    if not differing:
        raise NoTestError("the writes differ in more than the states of records")
    yield "written.clear();"
    yield f"{call};"
    for offset in differing:
        told = f"the state and the delivery count written for offset {offset}"
        wanted = expected.get(offset, "not written")
        yield f'assertEquals("{wanted}", lastWritten({number(offset)}), "{told}");'


def _written(writes: tuple[Write, ...]) -> dict[int, str]:
    return {
        offset: f"{int(batch.state)}({batch.delivery_count})"
        for write in writes
        for batch in write.state_batches
        for offset in range(batch.first, batch.last + 1)
    }


_ASSERTIONS: dict[str, Callable[[LastStep, str], Iterator[str]]] = {
    CRASHED: _crashed,
    Difference.ACQUIRED.name: _counts,
    Difference.COMPLETED.name: _completed,
    Difference.STATUS.name: _status,
    Difference.START_OFFSET.name: _start,
    Difference.END_OFFSET.name: _end,
    Difference.DELIVERY_COMPLETE_COUNT.name: _complete,
    Difference.RECORDS.name: _records,
    Difference.WRITTEN_STATE.name: _writes,
    "can acquire": _can_acquire,
    "least start offset": _least_start,
    "furthest start offset": _furthest_start,
    "acquired": _acquired,
    "window": _window,
    "offered": _offered,
    "room": _makes_room,
    "queued": _queued,
    "answer": _judged,
}
"""What a test can assert: of a difference by its name, of a guard as ``Guard.rule`` has it."""
