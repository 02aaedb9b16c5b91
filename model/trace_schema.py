"""The schema of a trace, defined once; its JSON and Arrow forms derive from it.

A list of rows is an array of arrays in JSON and a list of structs in Arrow; a record is an
object in JSON and a struct in Arrow. Fields that an operation does not have are null.
"""

from enum import StrEnum

import attrs

from model.operation_table import OPERATION_TABLE

__all__ = ["EVENT", "OPERATION_FIELDS", "Field", "Kind"]


class Kind(StrEnum):
    """The type of a field."""

    INTEGER = "integer"
    TEXT = "text"
    FLAG = "flag"
    INTEGERS = "list of integers"
    TEXTS = "list of texts"
    RECORD = "record"
    RECORDS = "list of records"
    ROWS = "list of rows"


@attrs.frozen
class Field:
    """A field by name, kind and, for records and rows, its parts; ``optional`` may be null."""

    name: str
    kind: Kind
    parts: tuple["Field", ...] = ()
    optional: bool = False


def _integer(name: str, *, optional: bool = False) -> Field:
    return Field(name, Kind.INTEGER, optional=optional)


def _text(name: str, *, optional: bool = False) -> Field:
    return Field(name, Kind.TEXT, optional=optional)


_RANGE = (_integer("first"), _integer("last"))
_STATE_BATCH = (*_RANGE, _integer("state"), _integer("delivery_count"))
_PROGRESS_BATCH = (*_RANGE, _integer("leader_epoch"), _integer("acquisition"))

_CONFIG = (
    _integer("delivery_count_limit"),
    _integer("partition_max_record_locks"),
    _integer("record_lock_duration_ms"),
    _text("auto_offset_reset"),
    _text("isolation_level"),
    Field("renew_acknowledge_enable", Kind.FLAG, optional=True),
    Field("dead_letter_queue", Kind.FLAG, optional=True),
    _integer("in_progress_staleness_threshold_ms", optional=True),
    _integer("in_progress_max_lock_extension_ms", optional=True),
    _integer("in_progress_rebalance_grace_ms", optional=True),
)
_PERSISTED = (
    _integer("start_offset"),
    _integer("delivery_complete_count"),
    Field("state_batches", Kind.ROWS, _STATE_BATCH),
)
_WRITE = (_integer("id"), *_PERSISTED, _text("status"))
_RESULT = (
    _text("status", optional=True),
    Field("acquired", Kind.ROWS, (*_RANGE, _integer("delivery_count")), optional=True),
    _integer("count", optional=True),
    Field("can_acquire", Kind.FLAG, optional=True),
    _integer("acquisition", optional=True),
    Field("marked", Kind.TEXTS, optional=True),
)
_RECORD_RANGE = (
    *_RANGE,
    _text("state"),
    _integer("delivery_count"),
    _text("member", optional=True),
    Field("pending", Kind.FLAG),
)
_AFTER = (
    _integer("start_offset"),
    _integer("end_offset"),
    _integer("delivery_complete_count"),
    Field("records", Kind.ROWS, _RECORD_RANGE, optional=True),
)
_EPOCHS = (_integer("state_epoch", optional=True), _integer("leader_epoch", optional=True))

_ARGUMENTS = (
    Field("config", Kind.RECORD, _CONFIG, optional=True),
    _integer("log_start_offset", optional=True),
    _integer("log_end_offset", optional=True),
    Field("persisted", Kind.RECORD, (*_PERSISTED, *_EPOCHS), optional=True),
    _integer("reset_offset", optional=True),
    Field("log_batches", Kind.ROWS, _RANGE, optional=True),
    _text("member", optional=True),
    Field("skipped", Kind.FLAG, optional=True),
    _text("acquire_mode", optional=True),
    _integer("batch_size", optional=True),
    _integer("max_fetch_records", optional=True),
    _integer("fetch_offset", optional=True),
    Field("batches", Kind.ROWS, (*_RANGE, Field("types", Kind.INTEGERS)), optional=True),
    _text("entry", optional=True),
    _integer("ms", optional=True),
    _integer("id", optional=True),
    _integer("start_offset", optional=True),
    Field("progress_batches", Kind.ROWS, _PROGRESS_BATCH, optional=True),
    Field("ranges", Kind.ROWS, _RANGE, optional=True),
)

EVENT = (
    _text("partition"),
    _integer("seq"),
    _integer("time_ms"),
    _text("op"),
    *_ARGUMENTS,
    Field("result", Kind.RECORD, _RESULT),
    Field("writes", Kind.RECORDS, _WRITE),
    Field("completed", Kind.RECORDS, (_integer("seq"), _text("status"))),
    Field("after", Kind.RECORD, _AFTER),
)
"""The fields of an event, in the order in which they are written."""

OPERATION_FIELDS = {row.name: row.needs for row in OPERATION_TABLE}
"""The arguments that each operation must have. ``skip_acquire`` is an ``acquire`` that carries
``skipped``, as it stands in a trace."""
