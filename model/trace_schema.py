"""The schema of a trace, defined once; its JSON and Arrow forms derive from it.

A list of rows is an array of arrays in JSON and a list of structs in Arrow; a record is an
object in JSON and a struct in Arrow. Fields that an operation does not have are null.

Where the names of a trace, of the model and of Kafka differ:

    field of a trace              value of the model                    KIP or Kafka
    after.records.member          RecordRange.owner                     InFlightState.memberId
    after.records.pending         RecordRange.pending                   hasOngoingStateTransition
    after.records.state           RecordState, by its name              RecordState
    after.start_offset            SharePartitionSnapshot.start_offset   SPSO, startOffset
    after.end_offset, exclusive   SharePartitionSnapshot.end_offset     SPEO; endOffset is one less
    result.acquired               Outcome.acquired                      AcquiredRecords
    writes                        Outcome.writes                        WriteShareGroupStateRequest
    writes.state_batches.state    RecordState, by its id                DeliveryState
    persisted                     Initialize.persisted                  ReadShareGroupStateResponse
    batches                       Acknowledge.batches                   AcknowledgementBatches
    entry                         EntryPoint                            KafkaApis, SharePartition
    progress_batches              MarkInProgress.batches                ProgressBatches, KAFKA-20458
    after, of a checkpoint        Checkpoint.state                      SharePartition
    skipped                       SkipAcquire                           canAcquireRecords is false
    deadline_ms                   Outcome.deadline_ms                   AcquisitionLockTimerTask
"""

from enum import StrEnum

import attrs

from model.operation_table import OPERATION_TABLE


class FieldKind(StrEnum):
    """The type of a field."""

    INTEGER = "integer"
    TEXT = "text"
    FLAG = "flag"
    INTEGERS = "list of integers"
    TEXTS = "list of texts"
    RECORD = "record"
    RECORDS = "list of records"
    ROWS = "list of rows"


@attrs.frozen(cache_hash=True)
class TraceField:
    """A field by name, kind and, for records and rows, its parts; ``optional`` may be null."""

    name: str
    kind: FieldKind
    parts: tuple["TraceField", ...] = ()
    optional: bool = False


def _integer(name: str, *, optional: bool = False) -> TraceField:
    return TraceField(name, FieldKind.INTEGER, optional=optional)


def _text(name: str, *, optional: bool = False) -> TraceField:
    return TraceField(name, FieldKind.TEXT, optional=optional)


_RANGE = (_integer("first"), _integer("last"))
_STATE_BATCH = (*_RANGE, _integer("state"), _integer("delivery_count"))
_PROGRESS_BATCH = (*_RANGE, _integer("leader_epoch"), _integer("acquisition"))

_CONFIG = (
    _integer("delivery_count_limit"),
    _integer("partition_max_record_locks"),
    _integer("record_lock_duration_ms"),
    _text("auto_offset_reset"),
    _text("isolation_level"),
    TraceField("renew_acknowledge_enable", FieldKind.FLAG, optional=True),
    TraceField("dead_letter_queue", FieldKind.FLAG, optional=True),
    _integer("in_progress_staleness_threshold_ms", optional=True),
    _integer("in_progress_max_lock_extension_ms", optional=True),
    _integer("in_progress_rebalance_grace_ms", optional=True),
)
_PERSISTED = (
    _integer("start_offset"),
    _integer("delivery_complete_count", optional=True),
    TraceField("state_batches", FieldKind.ROWS, _STATE_BATCH),
)
_WRITE = (
    _integer("id"),
    *_PERSISTED,
    _text("status"),
    _integer("made_after", optional=True),
)
_OUTSTANDING = (
    *(part for part in _WRITE if part.name != "status"),
    _text("status", optional=True),
    _integer("seq", optional=True),
)
_RESULT = (
    _text("status", optional=True),
    _text("exception", optional=True),
    TraceField("acquired", FieldKind.ROWS, (*_RANGE, _integer("delivery_count")), optional=True),
    _integer("count", optional=True),
    TraceField("can_acquire", FieldKind.FLAG, optional=True),
    _integer("acquisition", optional=True),
    TraceField("marked", FieldKind.TEXTS, optional=True),
)
_RECORD_RANGE = (
    *_RANGE,
    _text("state"),
    _integer("delivery_count"),
    _text("member", optional=True),
    TraceField("pending", FieldKind.FLAG),
)
_AFTER = (
    _integer("start_offset"),
    _integer("end_offset"),
    _integer("delivery_complete_count"),
    TraceField("records", FieldKind.ROWS, _RECORD_RANGE, optional=True),
)
_EPOCHS = (_integer("state_epoch", optional=True), _integer("leader_epoch", optional=True))

_ARGUMENTS = (
    TraceField("config", FieldKind.RECORD, _CONFIG, optional=True),
    _integer("log_start_offset", optional=True),
    _integer("log_end_offset", optional=True),
    TraceField("persisted", FieldKind.RECORD, (*_PERSISTED, *_EPOCHS), optional=True),
    _integer("reset_offset", optional=True),
    TraceField("log_batches", FieldKind.ROWS, _RANGE, optional=True),
    _text("member", optional=True),
    TraceField("skipped", FieldKind.FLAG, optional=True),
    _text("acquire_mode", optional=True),
    _integer("batch_size", optional=True),
    _integer("max_fetch_records", optional=True),
    _integer("fetch_offset", optional=True),
    TraceField(
        "batches", FieldKind.ROWS, (*_RANGE, TraceField("types", FieldKind.INTEGERS)), optional=True
    ),
    _text("entry", optional=True),
    _integer("ms", optional=True),
    _integer("id", optional=True),
    _integer("start_offset", optional=True),
    TraceField("progress_batches", FieldKind.ROWS, _PROGRESS_BATCH, optional=True),
    TraceField("ranges", FieldKind.ROWS, _RANGE, optional=True),
    _integer("last_stable_offset", optional=True),
    TraceField("log_known", FieldKind.FLAG, optional=True),
    TraceField("timed", FieldKind.FLAG, optional=True),
    _integer("due_ms", optional=True),
    _integer("deadline_ms", optional=True),
    _integer("state_epoch", optional=True),
    TraceField("deadlines", FieldKind.ROWS, (*_RANGE, _integer("deadline_ms")), optional=True),
    TraceField("outstanding", FieldKind.RECORDS, _OUTSTANDING, optional=True),
    _integer("lost", optional=True),
    _integer("high_watermark", optional=True),
    TraceField("overtaken", FieldKind.FLAG, optional=True),
)

EVENT = (
    _text("partition"),
    _integer("leader_epoch", optional=True),
    _integer("instance", optional=True),
    _integer("seq"),
    _integer("time_ms"),
    _integer("paused_ms", optional=True),
    _text("op"),
    *_ARGUMENTS,
    TraceField("result", FieldKind.RECORD, _RESULT),
    TraceField("writes", FieldKind.RECORDS, _WRITE),
    TraceField("completed", FieldKind.RECORDS, (_integer("seq"), _text("status"))),
    TraceField("after", FieldKind.RECORD, _AFTER),
)
"""The fields of an event, in the order in which they are written."""

OPERATION_FIELDS = {row.name: row.needs for row in OPERATION_TABLE}
"""The arguments that each operation must have. ``skip_acquire`` is an ``acquire`` that carries
``skipped``, as it stands in a trace."""
