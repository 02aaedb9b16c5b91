import copy
import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import given

from model import operations as ops
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.outcome import Completion, Outcome, Write
from model.ranges import AcquiredRange, OffsetRange, RecordRange, StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import AcquireMode, RecordState
from model.trace import TraceEvent
from model.trace_codec import event_from_row, row_from_event
from model.trace_json import line_from_row, row_from_line
from model.trace_schema import OPERATION_FIELDS
from tests.strategies import EVENTS
from tests.traces import EACH_TRACE, NAMES, trace_events, trace_lines

AFTER = {"start_offset": 0, "end_offset": 5, "delivery_complete_count": 1}
AROUND: dict[str, Any] = {
    "partition": "g:t:0",
    "seq": 0,
    "time_ms": 40,
    "result": {"status": "NONE"},
    "writes": [],
    "completed": [],
    "after": {**AFTER, "records": []},
}
CONFIG = {
    "delivery_count_limit": 3,
    "partition_max_record_locks": 100,
    "record_lock_duration_ms": 15_000,
    "auto_offset_reset": "earliest",
    "isolation_level": "read_committed",
}
PERSISTED = {
    "start_offset": 2,
    "delivery_complete_count": 1,
    "state_batches": [{"first": 2, "last": 4, "state": 2, "delivery_count": 1}],
}
RANGES = [{"first": 0, "last": 4}]

ARGUMENTS: dict[str, dict[str, Any]] = {
    "initialize": {
        "config": CONFIG, "log_start_offset": 1, "log_end_offset": 9, "persisted": PERSISTED,
    },
    "produce": {"log_batches": RANGES, "log_end_offset": 6},
    "acquire": {
        "member": "c1", "acquire_mode": "record_limit", "batch_size": 500,
        "max_fetch_records": 7, "fetch_offset": 0, "log_batches": RANGES,
    },
    "acknowledge": {"member": "c1", "batches": [{"first": 0, "last": 1, "types": [1, 2]}]},
    "release": {"member": "c1"},
    "advance_time": {"ms": 40},
    "complete_write": {"id": 8},
    "advance_log_start": {"log_start_offset": 3},
    "reset_offset": {"start_offset": 3},
    "mark_in_progress": {
        "member": "c1",
        "progress_batches": [{"first": 0, "last": -1, "leader_epoch": 2, "acquisition": 7}],
    },
    "finish_dead_letter": {"ranges": RANGES},
    "archive_aborted": {"ranges": RANGES},
    "alter_config": {"config": CONFIG},
}  # fmt: skip

READ = SharePartitionConfig(3, 100, 15_000, AutoOffsetReset.EARLIEST, IsolationLevel.READ_COMMITTED)

OPERATIONS: dict[str, ops.Operation] = {
    "initialize": ops.Initialize(
        READ,
        1,
        9,
        DurableState(2, 1, (StateBatch(2, 4, RecordState.ACKNOWLEDGED, 1),)),
        time_ms=40,
    ),
    "produce": ops.Produce((OffsetRange(0, 4),), 6),
    "acquire": ops.Acquire("c1", AcquireMode.RECORD_LIMIT, 500, 7, 0, (OffsetRange(0, 4),)),
    "acknowledge": ops.Acknowledge("c1", (ops.AcknowledgementBatch(0, 1, (1, 2)),)),
    "release": ops.MemberLeaves("c1"),
    "advance_time": ops.AdvanceTime(40),
    "complete_write": ops.CompleteWrite(8, ErrorCode.NONE),
    "advance_log_start": ops.AdvanceLogStart(3),
    "reset_offset": ops.ResetOffset(3),
    "mark_in_progress": ops.MarkInProgress("c1", (ops.ProgressBatch(0, -1, 2, 7),)),
    "finish_dead_letter": ops.FinishDeadLetter((OffsetRange(0, 4),)),
    "archive_aborted": ops.ArchiveAborted((OffsetRange(0, 4),)),
    "alter_config": ops.AlterConfig(READ),
}
EVERY = pytest.mark.parametrize("name", OPERATIONS)


def row_of(name: str, **changes: object) -> dict[str, Any]:
    return copy.deepcopy({**AROUND, "op": name, **ARGUMENTS[name], **changes})


@EVERY
def test_a_row_describes_its_operation(name: str) -> None:
    event = event_from_row(row_of(name))
    assert event.operation == OPERATIONS[name]
    assert event.after == SharePartitionSnapshot(0, 5, 1, ())


@EVERY
def test_an_error_names_a_missing_argument(name: str) -> None:
    for field in OPERATION_FIELDS[name]:
        allowed = f"{field} is None; allowed: a value, which {name} needs"
        with pytest.raises(InvalidValueError, match=allowed):
            event_from_row(row_of(name, **{field: None}))
        absent = row_of(name)
        del absent[field]
        with pytest.raises(InvalidValueError, match=allowed):
            event_from_row(absent)


def test_an_acquire_that_was_skipped_needs_its_member_alone() -> None:
    row = {**AROUND, "op": "acquire", "member": "c1", "skipped": True}
    event = event_from_row({**row, "result": {"can_acquire": False}})
    assert event.operation == ops.SkipAcquire("c1")
    assert event.outcome == Outcome(can_acquire=False)
    with pytest.raises(InvalidValueError, match=r"result.can_acquire is None; allowed: true or f"):
        event_from_row({**row, "result": {}})


def test_optional_fields_have_defaults() -> None:
    optional: dict[str, Any] = {
        "renew_acknowledge_enable": False,
        "dead_letter_queue": True,
        "in_progress_staleness_threshold_ms": 0,
        "in_progress_max_lock_extension_ms": 1,
        "in_progress_rebalance_grace_ms": 2,
    }
    config, persisted = {**CONFIG, **optional}, {**PERSISTED}
    persisted.update(state_epoch=4, leader_epoch=5)
    told = event_from_row(row_of("initialize", config=config, persisted=persisted, reset_offset=7))
    assert isinstance(told.operation, ops.Initialize)
    assert told.operation.config == attrs.evolve(READ, **optional)
    assert told.operation.reset_offset == 7
    assert (told.operation.persisted.state_epoch, told.operation.persisted.leader_epoch) == (4, 5)
    request = event_from_row(row_of("acknowledge", entry="request")).operation
    assert isinstance(request, ops.Acknowledge)
    assert request.entry is ops.EntryPoint.REQUEST


def test_a_row_holds_the_whole_outcome() -> None:
    batch = {"first": 0, "last": 0, "state": 4, "delivery_count": 2}
    write = {"id": 6, "start_offset": 0, "delivery_complete_count": 1, "state_batches": [batch]}
    record = {"first": 1, "last": 4, "state": "ACQUIRED", "delivery_count": 1, "member": "c1"}
    event = event_from_row(
        row_of(
            "acquire",
            result={
                "status": "NONE",
                "acquired": [{"first": 1, "last": 4, "delivery_count": 1}],
                "count": 4,
            },
            writes=[{**write, "status": "PENDING"}],
            completed=[{"seq": 3, "status": "FENCED_STATE_EPOCH"}],
            after={**AFTER, "records": [{**record, "pending": False}]},
        )
    )
    archived = StateBatch(0, 0, RecordState.ARCHIVED, 2)
    assert event.outcome == Outcome(
        ErrorCode.NONE,
        (AcquiredRange(1, 4, 1),),
        (Write(6, 0, 1, (archived,), ErrorCode.PENDING),),
        (Completion(3, ErrorCode.FENCED_STATE_EPOCH),),
    )
    acquired = RecordRange(1, 4, RecordState.ACQUIRED, 1, "c1")
    assert event.after == SharePartitionSnapshot(0, 5, 1, (acquired,))


@pytest.mark.parametrize("name", ["Exception", "java.lang.StackOverflowError: a\nb", "o.K$EError"])
def test_a_status_may_be_the_name_of_what_was_thrown(name: str) -> None:
    for operation in ("complete_write", "release"):
        outcome = event_from_row(row_of(operation, result={"status": name})).outcome
        assert outcome == Outcome(ErrorCode.UNKNOWN_SERVER_ERROR, exception=name)
    more = event_from_row(row_of("release", result={"status": name, "exception": "why"}))
    assert more.outcome.exception == f"{name}: why"


@pytest.mark.parametrize("name", ["", "exception", "UNKNOWN_ERROR", "No Exception", "Exceptions"])
def test_any_other_unknown_status_is_refused(name: str) -> None:
    with pytest.raises(InvalidValueError, match=f"result.status is '{name}'"):
        event_from_row(row_of("release", result={"status": name}))


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("release", {"op": "reboot"}, "op is 'reboot'; allowed: initialize, produce, acquire, ack"),
        ("release", {"op": "skip_acquire", "skipped": True}, "op is 'skip_acquire'; allowed: "),
        ("acquire", {"acquire_mode": "all"}, "acquire_mode is 'all'; allowed: batch_optimized, r"),
        ("acknowledge", {"entry": "admin"}, "entry is 'admin'; allowed: request, share_partition"),
        ("release", {"result": {"status": "OK"}}, "result.status is 'OK'; allowed: UNKNOWN_SERVER"),
        ("release", {"result": {}}, "result.status is None; allowed: UNKNOWN_SERVER"),
        ("complete_write", {"result": {"status": "PENDING"}}, "status is .*PENDING"),
        ("complete_write", {"result": {"status": "OK"}}, "result.status is 'OK'; allowed: UNKNOWN"),
        ("release", {"completed": [{"seq": 0, "status": "OK"}]}, "completed.status is 'OK'"),
        ("mark_in_progress", {"result": {"status": "NONE", "marked": ["OK"]}}, "result.marked is "),
        ("release", {"seq": -1}, "seq is -1; allowed: an integer from 0"),
        ("release", {"time_ms": None}, "time_ms is None; allowed: an integer from 0"),
        ("produce", {"log_end_offset": 4}, "log_end_offset is 4; allowed: past the last log batch"),
        (
            "initialize",
            {"config": {**CONFIG, "auto_offset_reset": "x"}},
            "auto_offset_reset is 'x'",
        ),
        ("initialize", {"config": {**CONFIG, "isolation_level": "x"}}, "isolation_level is 'x'"),
        (
            "acquire",
            {"result": {"status": "NONE", "acquired": [], "count": 1}},
            "result.count is 1; allowed: the acquired records, 0",
        ),
    ],
)
def test_an_error_names_the_field_of_a_row_that_is_not_allowed(
    name: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValueError, match=f"^{message}"):
        event_from_row(row_of(name, **changes))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row["writes"][0].update(status="OK"), "writes.status is 'OK'"),
        (
            lambda row: row["writes"][0]["state_batches"][0].update(state=7),
            "state is 7; .* 0, 1, 2",
        ),
        (lambda row: row["writes"][0]["state_batches"][0].update(state=1), "state is .*AVAILABLE"),
        (
            lambda row: row["after"]["records"][0].update(state="LOST"),
            "after.records.state is 'LOST",
        ),
        (
            lambda row: row["after"]["records"][0].update(last=0),
            "last is 0; allowed: at least first",
        ),
    ],
    ids=["write", "state that is none", "state never written", "state of a record", "range"],
)
def test_an_error_names_the_part_of_a_row_that_is_not_allowed(
    change: Callable[[dict[str, Any]], object], message: str
) -> None:
    batch = {"first": 0, "last": 0, "state": 4, "delivery_count": 2}
    write = {"id": 6, "start_offset": 0, "delivery_complete_count": 1, "state_batches": [batch]}
    record = {"first": 1, "last": 4, "state": "ACQUIRED", "delivery_count": 1, "member": "c1"}
    row = row_of(
        "release",
        writes=[{**write, "status": "NONE"}],
        after={**AFTER, "records": [{**record, "pending": False}]},
    )
    change(row)
    with pytest.raises(InvalidValueError, match=f"^{message}"):
        event_from_row(row)


@given(EVENTS)
def test_every_event_survives_its_row_and_its_line(event: TraceEvent) -> None:
    row = row_from_event(event)
    assert event_from_row(row) == event
    assert event_from_row(row_from_line(line_from_row(row))) == event


def test_there_are_four_traces_of_kafka() -> None:
    assert len(NAMES) == 4


@EACH_TRACE
def test_every_line_of_a_kafka_trace_decodes_and_encodes_again(name: str) -> None:
    for line, event in zip(trace_lines(name), trace_events(name), strict=True):
        assert holds(json.loads(line_from_row(row_from_event(event))), json.loads(line))


def holds(again: dict[str, Any], line: dict[str, Any]) -> bool:
    """Whether all that a line says is said again; defaults that it left out may stand there."""
    return all(
        again[name] == value
        or (isinstance(value, dict) and {**again[name], **value} == again[name])
        for name, value in line.items()
    )


def test_a_checkpoint_has_the_state_beside_it_and_shows_no_former_owner() -> None:
    pending = RecordRange(4, 5, RecordState.ACKNOWLEDGED, 1, "m", pending=True)
    state = SharePartitionSnapshot(4, 9, 2, (pending,))
    batch = StateBatch(4, 5, RecordState.ACKNOWLEDGED, 1)
    told = ops.Checkpoint(
        SharePartitionConfig(),
        3,
        state,
        (ops.LockEnd(4, 5, 60),),
        (
            ops.OutstandingWrite(7, 4, 0, (batch,), 12, counted=False),
            ops.OutstandingWrite(8, 4, 2, (), 13),
        ),
        50,
        state_epoch=2,
        leader_epoch=8,
        timed=True,
    )
    seen = attrs.evolve(state, records=(attrs.evolve(pending, owner=None),))
    event = TraceEvent("g:t:0", 9, 50, told, Outcome(), seen, 8, 1)
    row = row_from_event(event)
    assert row["after"]["records"][0]["member"] == "m"
    assert [w["delivery_complete_count"] for w in row["outstanding"]] == [None, 2]
    assert event_from_row(row) == event
    assert event_from_row(row_from_line(line_from_row(row))) == event
