import json
from collections.abc import Iterable
from typing import Any

import attrs
import pytest

from judge.choices import recorded_answers, recorded_choice
from judge.compare import first_mismatch, persisted_mismatch
from judge.engine import SpecEngine
from judge.written import Around
from model import operations as ops
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Difference, Guard
from model.outcome import Answer, Choice
from model.profile import KAFKA, KIP
from model.ranges import AcquiredRange, StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from model.trace import TraceEvent
from spec.coordinator import Durable
from spec.invariants import violated
from spec.partition import SharePartition, Step
from spec.step import apply, new_partition
from spec.view import durable, snapshot
from tests.spec.worlds import SMALL, acknowledgement, fetch, refusal, run, spans, started, states
from tests.traces import EACH_TRACE, FOLDER, NAMES, trace_events

KNOWN = json.loads((FOLDER.parent / "known.json").read_text())
ONE_OF_EACH: list[ops.Operation] = [
    ops.Produce((), 100),
    fetch("c1", (0, 4)),
    ops.SkipAcquire("c1"),
    acknowledgement("c1", (0, 4, 1)),
    ops.MemberLeaves("c1"),
    ops.AdvanceTime(1),
    ops.CompleteWrite(0, ErrorCode.NONE),
    ops.AdvanceLogStart(3),
    ops.ResetOffset(3),
]


def difference(
    event: TraceEvent, step: Step, before: SharePartitionSnapshot, after: SharePartitionSnapshot
) -> str | None:
    """How the event differs from what the specification shows, if it does."""
    leader = SpecEngine(step.partition.profile, step.partition)
    mismatch = first_mismatch(event, step.outcome, Around(before, after, leader))
    if mismatch is not None:
        return f"{mismatch.difference.name}: {mismatch.recorded}, not {mismatch.expected}"
    if event.time_ms != step.partition.now:
        return f"time: {event.time_ms}, not {step.partition.now}"
    return None


def misread(event: TraceEvent, before: SharePartition) -> str | None:
    """How what a new leader read differs from what is durable, if it does."""
    if not before.ready or not isinstance(event.operation, ops.Initialize):
        return None
    mismatch = persisted_mismatch(event, durable(before))
    return mismatch.difference.name if mismatch else None


def unaccounted(events: Iterable[TraceEvent]) -> dict[int, str]:
    """Return what is wrong by line; a share-partition is not followed past its first.

    The invariants, which look at whole windows, are asked at every tenth line.
    """
    new = new_partition(KAFKA)
    partitions: dict[str, tuple[SharePartition, SharePartitionSnapshot]] = {}
    wrong: dict[int, str] = {}
    lost: set[str] = set()
    for line, event in enumerate(events, 1):
        if event.partition in lost:
            continue
        partition, seen = partitions.get(event.partition, (new, snapshot(new)))
        choice, answers = recorded_choice(event), recorded_answers(event)
        try:
            step = apply(partition, event.operation, choice, answers, event.seq)
        except IllegalChoiceError as error:
            found: str | None = str(error)
        else:
            after = snapshot(step.partition)
            found = misread(event, partition) or difference(event, step, seen, after)
            partitions[event.partition] = step.partition, after
            if found is None and line % 10 == 0 and (broken := violated(step.partition)):
                found = f"invariant {broken[0].name}"
        if found is not None:
            wrong[line] = found
            lost.add(event.partition)
    return wrong


def check_trace(name: str, events: Iterable[TraceEvent], known: list[dict[str, object]]) -> None:
    wrong = unaccounted(events)
    listed = {entry["line"] for entry in known if entry["file"] == name}
    assert set(wrong) - listed == set(), wrong
    assert listed - set(wrong) == set(), "these lines are accounted for: take them off the list"


@EACH_TRACE
def test_every_line_of_a_kafka_trace_conforms(name: str) -> None:
    check_trace(name, trace_events(name), KNOWN)


def test_every_known_deviation_is_a_line_of_a_trace_with_its_reason() -> None:
    assert len(NAMES) == 4
    for entry in KNOWN:
        assert set(entry) == {"file", "line", "reason"}
        assert entry["file"] in NAMES


def test_a_known_deviation_that_is_gone_fails() -> None:
    events = trace_events(NAMES[0])[:20]
    check_trace(NAMES[0], events, [])
    stale = [{"file": NAMES[0], "line": 3, "reason": "none"}]
    with pytest.raises(AssertionError, match="take them off the list"):
        check_trace(NAMES[0], events, stale)


def test_a_changed_line_diverges_unless_it_is_known() -> None:
    events = list(trace_events("kafka-core.jsonl.gz")[:20])
    line, event = next((i, e) for i, e in enumerate(events, 1) if e.outcome.acquired)
    taken = event.outcome.acquired[0]
    wrong = AcquiredRange(taken.first, taken.last, taken.delivery_count + 1)
    outcome = attrs.evolve(event.outcome, acquired=(wrong, *event.outcome.acquired[1:]))
    events[line - 1] = attrs.evolve(event, outcome=outcome)
    assert unaccounted(events)[line].startswith(Difference.ACQUIRED.name)
    with pytest.raises(AssertionError):
        check_trace("damaged", events, [])
    check_trace("damaged", events, [{"file": "damaged", "line": line, "reason": "damaged"}])


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"start_offset": 1}, Guard.START_STOPS_AT_UNFINISHED.name),
        ({"end_offset": 99}, Difference.END_OFFSET.name),
        ({"delivery_complete_count": 99}, Difference.DELIVERY_COMPLETE_COUNT.name),
    ],
)
def test_an_impossible_next_state_diverges(change: dict[str, Any], found: str) -> None:
    events = list(trace_events("kafka-core.jsonl.gz")[:20])
    line = next(i for i, e in enumerate(events, 1) if e.outcome.acquired)
    after = attrs.evolve(events[line - 1].after, **change)
    events[line - 1] = attrs.evolve(events[line - 1], after=after)
    assert unaccounted(events)[line].startswith(found)


@pytest.mark.parametrize("operation", ONE_OF_EACH, ids=lambda operation: type(operation).__name__)
def test_a_share_partition_is_initialized_before_it_is_used(operation: ops.Operation) -> None:
    assert refusal(new_partition(KIP), operation) == (
        Guard.PARTITION_IS_INITIALIZED,
        f"{type(operation).__name__} came first",
    )


HELD = run(started(KAFKA), fetch("c1", (0, 10)))
FINISHED = apply(HELD, acknowledgement("c1", (0, 3, 1)), Choice(start_offset=1)).partition
LATER: list[ops.Operation] = [
    ops.Produce((), 100),
    fetch("c2", (0, 10)),
    ops.SkipAcquire("c2"),
    acknowledgement("c2", (4, 4, 1)),
    acknowledgement("c2", (4, 3, 1)),
    ops.MemberLeaves("c2"),
    ops.AdvanceTime(1),
    ops.AdvanceLogStart(0),
    ops.ResetOffset(50),
]


@pytest.mark.parametrize(
    "operation", LATER, ids=[f"{i}-{type(each).__name__}" for i, each in enumerate(LATER)]
)
def test_the_start_offset_moves_last_in_every_operation(operation: ops.Operation) -> None:
    assert apply(FINISHED, operation, Choice(start_offset=1)).partition.window.start_offset == 1
    assert apply(FINISHED, operation, Choice(start_offset=3)).partition.window.start_offset == 3
    assert apply(FINISHED, operation).partition.window.start_offset == 4
    assert refusal(FINISHED, operation, Choice(start_offset=5)) == (
        Guard.START_STOPS_AT_UNFINISHED,
        "to 5, past offset 4",
    )
    assert refusal(FINISHED, operation, Choice(start_offset=0)) == (
        Guard.START_NEVER_GOES_BACK,
        "from 1 to 0",
    )


def test_an_operation_that_is_refused_leaves_the_share_partition() -> None:
    before = snapshot(FINISHED), durable(FINISHED), FINISHED.now
    with pytest.raises(IllegalChoiceError):
        apply(FINISHED, ops.AdvanceTime(100), Choice(expired=()))
    with pytest.raises(InvalidValueError):
        apply(FINISHED, ops.Produce((), 3))
    assert (snapshot(FINISHED), durable(FINISHED), FINISHED.now) == before


def test_an_answer_that_is_missing_is_success() -> None:
    step = apply(HELD, acknowledgement("c1", (0, 0, 1)))
    assert [write.status for write in step.outcome.writes] == [ErrorCode.NONE]
    assert durable(step.partition).delivery_complete_count == 1


def test_the_first_answer_is_to_the_one_write_of_an_operation() -> None:
    answers = [Answer(ErrorCode.PENDING), Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)]
    step = apply(HELD, acknowledgement("c1", (0, 0, 1)), answers=answers)
    assert [write.status for write in step.outcome.writes] == [ErrorCode.PENDING]


def test_seq_names_the_call_that_a_write_answers() -> None:
    pending = [Answer(ErrorCode.PENDING)]
    waiting = apply(HELD, acknowledgement("c1", (0, 0, 1)), answers=pending, seq=31).partition
    step = apply(waiting, ops.CompleteWrite(0, ErrorCode.NONE))
    assert [done.seq for done in step.outcome.completed] == [31]


def test_a_share_partition_that_failed_stays_as_it_was() -> None:
    done = apply(HELD, acknowledgement("c1", (0, 0, 1)), Choice(start_offset=0)).partition
    malformed = DurableState(5, 0, (StateBatch(0, 1, RecordState.AVAILABLE, 1),))
    step = apply(done, ops.Initialize(SMALL, 0, 100, malformed))
    assert step.outcome.status is ErrorCode.UNKNOWN_SERVER_ERROR
    assert step.partition == attrs.evolve(done, ready=False)


def test_seq_is_0_unless_given() -> None:
    pending = [Answer(ErrorCode.PENDING)]
    waiting = apply(HELD, acknowledgement("c1", (0, 0, 1)), answers=pending).partition
    step = apply(waiting, ops.CompleteWrite(0, ErrorCode.NONE))
    assert [done.seq for done in step.outcome.completed] == [0]


@pytest.mark.parametrize(("durable_start", "holes"), [(-1, ()), (1, ((2, 4),)), (5, ()), (9, ())])
def test_holes_are_forgotten_that_end_before_every_leader_starts(
    durable_start: int, holes: tuple[tuple[int, int], ...]
) -> None:
    partition = run(started(), fetch("c1", (0, 1), (5, 6)), acknowledgement("c1", (0, 6, 1)))
    known = attrs.evolve(partition, durable=Durable(durable_start, 0))
    assert known.log.holes == ((2, 4),)
    assert run(known, ops.AdvanceTime(0)).log.holes == holes


def test_a_hole_is_remembered_for_a_new_leader_that_starts_before_it() -> None:
    partition = run(started(), fetch("c1", (0, 1), (5, 6)), acknowledgement("c1", (0, 6, 1)))
    assert partition.window.start_offset == 7
    assert durable(partition).start_offset == 0
    successor = run(partition, ops.Initialize(partition.config, 0, 100, durable(partition)))
    assert (successor.window.start_offset, states(successor)) == (7, "")


def test_a_hole_that_no_leader_needs_again_is_forgotten() -> None:
    partition = run(started(), fetch("c1", (0, 1), (5, 9)), acknowledgement("c1", (0, 6, 1)))
    assert partition.log.holes == ((2, 4),)
    later = run(partition, acknowledgement("c1", (7, 7, 1)))
    assert durable(later).start_offset == 7
    assert later.log.holes == ()


def test_a_record_in_flight_that_the_log_lost_holds_the_start_offset() -> None:
    partition = run(started(), fetch("c1", (0, 4)), acknowledgement("c1", (0, 1, 1)))
    partition = run(partition, fetch("c2", (6, 7), at=2), acknowledgement("c2", (6, 7, 1)))
    assert states(partition) == "2-4:Q1@c1 6-7:K1"
    choice = Choice(start_offset=6)
    assert refusal(partition, ops.AdvanceTime(0), choice)[0] is Guard.START_STOPS_AT_UNFINISHED


def test_produced_batches_are_not_yet_in_the_window() -> None:
    partition = run(started(end=0), ops.Produce(spans((0, 4)), 5))
    assert (partition.window.end_offset, partition.log.end_offset) == (0, 5)


def test_a_leader_may_take_over_at_any_time() -> None:
    successor = ops.Initialize(HELD.config, 0, 100, DurableState(0, 0))
    for partition in (HELD, FINISHED, new_partition(KIP)):
        assert apply(partition, successor).outcome.status is ErrorCode.NONE
