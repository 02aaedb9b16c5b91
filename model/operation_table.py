"""The operations, one row each: name, class, fields in a trace, writes, and text in reports.

A new operation is a class in ``model.operations``, a row here, a rule in ``spec`` and a function
in ``impl``.
"""

from enum import Enum
from typing import Any

import attrs

from model import operations as ops


class Writes(Enum):
    """How many WriteShareGroupState requests an operation may make."""

    NONE = "none"
    ONE = "at most one"
    MANY = "any number"


@attrs.frozen
class OperationRow:
    """One operation.

    ``needs`` are the fields that an event of it must have, ``optional`` those that it may have; all
    name attributes of its class or stand for one. With ``waits`` its own answer may be PENDING,
    until its write is answered. ``text`` describes it in a report, with its attributes in braces.
    """

    name: str
    operation: type[ops.Operation]
    needs: tuple[str, ...]
    text: str
    optional: tuple[str, ...] = ()
    writes: Writes = Writes.NONE
    waits: bool = False

    @property
    def op(self) -> str:
        """Return its ``op`` in a trace, where an acquire that is skipped is an ``acquire``."""
        return "acquire" if self.operation is ops.SkipAcquire else self.name

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the fields of a trace event that are its arguments."""
        return self.needs + self.optional


OPERATION_TABLE = (
    OperationRow(
        "initialize",
        ops.Initialize,
        ("config", "log_start_offset", "log_end_offset", "persisted"),
        "initialize, {config}, log {log_start_offset} to {log_end_offset}, persisted {persisted}",
        optional=("reset_offset", "last_stable_offset", "log_known", "timed"),
    ),
    OperationRow(
        "produce",
        ops.Produce,
        ("log_batches", "log_end_offset"),
        "produce {log_batches}, log end {log_end_offset}",
        optional=("last_stable_offset",),
    ),
    OperationRow(
        "acquire",
        ops.Acquire,
        (
            "member",
            "acquire_mode",
            "batch_size",
            "max_fetch_records",
            "fetch_offset",
            "log_batches",
        ),
        "acquire by {member}, {acquire_mode}, at most {max_fetch_records}, "
        "read at {fetch_offset}: {log_batches}",
    ),
    # In a trace, an ``acquire`` with the flag ``skipped``.
    OperationRow(
        "skip_acquire", ops.SkipAcquire, ("member", "skipped"), "acquire by {member}, skipped"
    ),
    OperationRow(
        "acknowledge",
        ops.Acknowledge,
        ("member", "batches"),
        "acknowledge by {member}: {batches}",
        optional=("entry",),
        writes=Writes.ONE,
        waits=True,
    ),
    # In a trace a member that leaves is a ``release``: its records are released.
    OperationRow(
        "release",
        ops.MemberLeaves,
        ("member",),
        "member {member} leaves",
        writes=Writes.ONE,
        waits=True,
    ),
    OperationRow(
        "advance_time", ops.AdvanceTime, ("ms",), "time passes, {ms} ms", writes=Writes.MANY
    ),
    OperationRow(
        "expire",
        ops.Expire,
        ("ranges",),
        "locks end: {ranges}",
        optional=("due_ms",),
        writes=Writes.ONE,
    ),
    # In a trace, the status of the write is that of the event's result.
    OperationRow(
        "complete_write",
        ops.CompleteWrite,
        ("id",),
        "write {id} ends: {status}",
        optional=("ranges", "overtaken"),
    ),
    OperationRow(
        "advance_log_start",
        ops.AdvanceLogStart,
        ("log_start_offset",),
        "log start offset {log_start_offset}",
    ),
    OperationRow(
        "reset_offset", ops.ResetOffset, ("start_offset",), "reset to offset {start_offset}"
    ),
    # In a trace, its batches have a name of their own, as their parts differ from others'.
    OperationRow(
        "mark_in_progress",
        ops.MarkInProgress,
        ("member", "progress_batches"),
        "mark in progress by {member}: {batches}",
    ),
    OperationRow(
        "finish_dead_letter",
        ops.FinishDeadLetter,
        ("ranges",),
        "dead letters end: {ranges}",
        writes=Writes.ONE,
    ),
    OperationRow("alter_config", ops.AlterConfig, ("config",), "configuration: {config}"),
    OperationRow(
        "archive_aborted", ops.ArchiveAborted, ("ranges",), "of aborted transactions: {ranges}"
    ),
    OperationRow("compact", ops.Compact, ("ranges",), "gone from the log: {ranges}"),
    OperationRow(
        "checkpoint",
        ops.Checkpoint,
        ("config", "log_start_offset", "deadlines", "outstanding"),
        "checkpoint, log {log_start_offset} to {log_end_offset}",
        optional=("log_end_offset", "last_stable_offset", "log_known", "timed", "state_epoch"),
    ),
    OperationRow("gap", ops.Gap, (), "events are missing: {lost}", optional=("lost",)),
)

_ROWS: dict[type[Any], OperationRow] = {row.operation: row for row in OPERATION_TABLE}


def operation_row(operation: ops.Operation) -> OperationRow:
    """Return the row of an operation."""
    return _ROWS[type(operation)]
