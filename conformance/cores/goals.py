"""The coverage goals of a search of a core, in one table, and which of them an operation covered.

Transitions and answers are generated rows: state × cause × state, operation × status. Each other
row is a situation, with the predicate that recognises it in one legal operation.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import attrs

from conformance.cores.acknowledgements import (
    BATCH_SITUATIONS,
    Malformed,
    Named,
    malformed,
    named,
    typed,
)
from conformance.cores.target import Capabilities
from conformance.cores.transitions import TRANSITIONS, moved, transition_name
from conformance.goals import Goal, Group, Scope, recognised, rule_goals
from model import operations as ops
from model.errors import ErrorCode
from model.operation_table import OPERATION_TABLE
from model.outcome import Outcome
from model.states import AcknowledgeType, AcquireMode
from model.trace import TraceEvent
from spec.log import hole_end
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record, is_finished, is_held, is_held_by
from spec.window import tracked

LogBatches = Sequence[Sequence[int]]
"""The log batches that exist, each as [first, last]."""

Op = TypeVar("Op")


@attrs.frozen
class Observation(Generic[Op]):
    """One legal operation with the states around it, and the log batches that existed."""

    before: SharePartition
    operation: Op
    outcome: Outcome
    after: SharePartition
    log: LogBatches


def covered(
    before: SharePartition, event: TraceEvent, after: SharePartition, log: LogBatches
) -> Counter[str]:
    """Return the names of the goals that one legal operation covered, and how often each.

    ``log`` has the log batches that exist, as [first, last].
    """
    names = [*_answers_in(event)]
    if before.ready:
        names += (transition_name(*move) for move in moved(before, event, after))
        names += _situations_in(Observation(before, event.operation, event.outcome, after, log))
    return Counter(names)


def goals(can: Capabilities) -> tuple[Goal, ...]:
    """Return every goal, also those that this implementation cannot cover."""
    rows = (*TRANSITIONS, *_answers(can), *SITUATIONS)
    return (*rows, *rule_goals(rows, "core"))


_WRITE, _FAIL, _DLQ = "pending_writes", "write_errors", "dead_letter_queue"
_LOG, _OVER, _ALTER = "advance_log_start", "take_over", "alter_config"
_RENEW, _VALIDATES, _SETTING = "renew", "validates_requests", "renew_setting"
_LIMIT, _OPTIMIZED = AcquireMode.RECORD_LIMIT.value, AcquireMode.BATCH_OPTIMIZED.value


# Answers.

_EXPIRY, _DEAD_LETTER = "an expiry", "a dead letter"
_OF_NO_CALL = {ops.AdvanceTime: _EXPIRY, ops.FinishDeadLetter: _DEAD_LETTER}
"""The operations that do not wait for their writes."""

_SKIPPED = "skipped"
_NAMES = {row.operation: row.op for row in OPERATION_TABLE}


def answer_name(operation: type[ops.Operation], status: str) -> str:
    """Return the name of an answer to an operation."""
    return f"{_NAMES[operation]} is answered {status}"


def write_name(whose: str, status: str) -> str:
    """Return the name of an answer to a write for which no operation waits."""
    return f"the write of {whose} is answered {status}"


def _answers_in(event: TraceEvent) -> Iterator[str]:
    kind, outcome = type(event.operation), event.outcome
    yield answer_name(kind, outcome.status.name if outcome.can_acquire else _SKIPPED)
    if whose := _OF_NO_CALL.get(kind):
        yield from (write_name(whose, write.status.name) for write in outcome.writes)


_SUCCEEDS: Mapping[type[ops.Operation], tuple[str, ...]] = {
    ops.Initialize: (),
    ops.Produce: (),
    ops.Acquire: (),
    ops.AdvanceTime: (),
    ops.AdvanceLogStart: (_LOG,),
    ops.AlterConfig: (_ALTER,),
    ops.FinishDeadLetter: (_DLQ,),
    ops.ArchiveAborted: ("aborted_transactions",),
    ops.Acknowledge: (),
    ops.MemberLeaves: (),
    ops.CompleteWrite: (_WRITE,),
}
"""What a target must be able to do for an operation to succeed."""


def _answers(can: Capabilities) -> Iterator[Goal]:
    none, pending = ErrorCode.NONE.name, ErrorCode.PENDING.name
    errors = [error.name for error in can.write_errors] or ["an error"]

    def answered(name: str, *needs: str) -> Goal:
        return Goal(Group.ANSWER, name, needs)

    for operation, needs in _SUCCEEDS.items():
        yield answered(answer_name(operation, none), *needs)
    yield answered(answer_name(ops.SkipAcquire, _SKIPPED))
    for refusal in (ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE):
        yield answered(answer_name(ops.Acknowledge, refusal.name))
    for operation in (ops.Acknowledge, ops.MemberLeaves):
        yield answered(answer_name(operation, pending), _WRITE)
    for writing in (ops.Acknowledge, ops.MemberLeaves, ops.CompleteWrite):
        yield from (answered(answer_name(writing, error), _FAIL) for error in errors)
    for operation, whose in _OF_NO_CALL.items():
        needs = _SUCCEEDS[operation]
        yield answered(write_name(whose, none), *needs)
        yield answered(write_name(whose, pending), *needs, _WRITE)
        yield from (answered(write_name(whose, error), *needs, _FAIL) for error in errors)


# What the predicates look at.


def _scope(
    kind: type[Op], when: Callable[[Observation[Op]], bool] = bool
) -> Scope[Observation[Op]]:
    """Return the scope of operations of a kind for which a condition holds."""

    def views(observation: Observation[Any]) -> tuple[Observation[Op], ...]:
        fits = isinstance(observation.operation, kind) and when(observation)
        return (observation,) if fits else ()

    return Scope(views)


def _named_in(o: Observation[Any]) -> Iterator[Named]:
    if isinstance(o.operation, ops.Acknowledge):
        yield from named(o.before.window, o.operation.batches, o.operation.member)


_any = _scope(object)
_acquire = _scope(ops.Acquire, lambda o: bool(o.operation.log_batches))
_acknowledge = _scope(ops.Acknowledge)
_well_formed = _scope(ops.Acknowledge, lambda o: not any(map(malformed, o.operation.batches)))
_renewal = _scope(ops.Acknowledge, lambda o: AcknowledgeType.RENEW in _types(o))
_named = Scope[Named](_named_in)
_release, _time, _write = (
    _scope(ops.MemberLeaves),
    _scope(ops.AdvanceTime),
    _scope(ops.CompleteWrite),
)
_log_start, _config = _scope(ops.AdvanceLogStart), _scope(ops.AlterConfig)
_leader = _scope(ops.Initialize)


def _window_limit(o: Observation[Any]) -> int:
    return o.before.config.partition_max_record_locks


def _width(partition: SharePartition) -> int:
    return partition.window.end_offset - partition.window.start_offset


def _is_gap(partition: SharePartition, offset: int) -> bool:
    return hole_end(partition.log, offset) is not None


def _offsets(o: Observation[ops.Acquire]) -> list[int]:
    """Return the acquired offsets, ascending."""
    return sorted(offset for r in o.outcome.acquired for offset in range(r.first, r.last + 1))


def _again(o: Observation[ops.Acquire]) -> list[int]:
    """Return the acquired offsets that were in the window before."""
    return [offset for offset in _offsets(o) if offset < o.before.window.end_offset]


def _last_read(o: Observation[ops.Acquire]) -> int:
    return o.operation.log_batches[-1].last


def _in_flight(o: Observation[ops.Acquire]) -> list[Record]:
    """Return the records that were in flight among those that the fetch read."""
    window = o.before.window
    batches = o.operation.log_batches
    return [
        window.records[offset] for b in batches for offset in tracked(window, b.first, b.last + 1)
    ]


def _strict(o: Observation[ops.Acquire]) -> bool:
    return o.operation.acquire_mode is AcquireMode.RECORD_LIMIT


def _enough(o: Observation[ops.Acquire]) -> bool:
    return len(_offsets(o)) >= o.operation.max_fetch_records


def _passes_window_limit(o: Observation[ops.Acquire]) -> bool:
    window = o.after.window
    limit = max(o.before.window.end_offset, window.start_offset + _window_limit(o))
    return window.end_offset > limit


def _enter_available(o: Observation[ops.Acquire]) -> bool:
    before, records = o.before.window.records, o.after.window.records
    return any(r == UNDELIVERED and offset not in before for offset, r in records.items())


def _types(o: Observation[ops.Acknowledge]) -> set[int]:
    """Return the acknowledge types of a request; none if a batch is malformed."""
    batches = o.operation.batches
    return set() if any(map(malformed, batches)) else {t for b in batches for t in b.types}


def _after_part(o: Observation[ops.Acknowledge]) -> bool:
    window, full = o.before.window, o.before.now + o.before.config.record_lock_duration_ms
    offsets = (offset for batch in o.operation.batches for offset, _type in typed(batch))
    return any(
        window.records[offset].deadline < full for offset in offsets if offset in window.held
    )


def _refused_late(o: Observation[ops.Acknowledge]) -> bool:
    window, (first, *others) = o.before.window, o.operation.batches
    records = [window.records.get(offset) for offset, _type in typed(first)]
    in_order = first.first >= window.start_offset and all(
        record and is_held_by(record, o.operation.member) for record in records
    )
    refused = o.outcome.status is not ErrorCode.NONE and not o.outcome.writes
    return bool(others) and in_order and refused


def _is_malformed(kind: Malformed) -> Callable[[Observation[ops.Acknowledge]], bool]:
    """Return whether this is wrong with the first malformed batch of a request."""
    return lambda o: kind is next(filter(None, map(malformed, o.operation.batches)), None)


def _written(o: Observation[ops.CompleteWrite]) -> tuple[int, ...]:
    return o.before.outstanding[o.operation.id].offsets


def _between(earlier: int, deadline: int | None, now: int) -> bool:
    return deadline is not None and earlier < deadline <= now


def _answered_late(o: Observation[ops.CompleteWrite]) -> bool:
    records = o.before.window.records
    deadlines = (records[offset].former_deadline for offset in _written(o) if offset in records)
    return any(_between(-1, deadline, o.before.now) for deadline in deadlines)


def _held(o: Observation[Any]) -> list[Record]:
    return [o.before.window.records[offset] for offset in o.before.window.held]


def _due(o: Observation[Any]) -> list[Record]:
    return [record for record in _held(o) if record.deadline <= o.after.now]


def _pending_expires(o: Observation[ops.AdvanceTime]) -> bool:
    records, now = o.before.window.records.values(), o.after.now
    return any(r.pending and _between(o.before.now, r.former_deadline, now) for r in records)


def _new_start(o: Observation[ops.AdvanceLogStart]) -> int:
    return o.operation.log_start_offset


def _splits_what_is_held(o: Observation[ops.AdvanceLogStart]) -> bool:
    window, start = o.before.window, _new_start(o)
    both = start > window.start_offset and {start - 1, start} <= set(window.held)
    return both and window.records[start - 1].owner == window.records[start].owner


def _passes_gap(o: Observation[Any]) -> bool:
    if isinstance(o.operation, ops.AdvanceLogStart | ops.Initialize):
        return False
    passed = range(o.before.window.start_offset, o.after.window.start_offset)
    return any(
        offset not in o.before.window.records and _is_gap(o.before, offset) for offset in passed
    )


def _count_limit_falls(o: Observation[ops.AlterConfig]) -> bool:
    old, new = o.before.config.delivery_count_limit, o.operation.config.delivery_count_limit
    counts = [r.delivery_count for r in o.before.window.records.values() if not is_finished(r)]
    return any(new <= count < old for count in counts)


def _duration_changes(o: Observation[ops.AlterConfig]) -> bool:
    old, new = o.before.config, o.operation.config
    return bool(_held(o)) and new.record_lock_duration_ms != old.record_lock_duration_ms


# The table: two lines a row, what occurs and when.

# fmt: off
SITUATIONS = (
    # Fetching.
    _any("a fetch finds the window full and nothing available",
        lambda o: isinstance(o.operation, ops.SkipAcquire)),
    _acquire("a fetch takes what is available again in a full window",
        lambda o: bool(_again(o)) and _width(o.before) >= _window_limit(o)),
    _acquire("a fetch is stopped by the limit of the window",
        lambda o: not _enough(o) and _last_read(o) >= o.after.window.end_offset),
    _acquire("a fetch goes past the limit of the window, to the end of a log batch",
        _passes_window_limit, optional=True),
    _acquire("a fetch is stopped by its maximum of records",
        lambda o: _strict(o) and _enough(o) and _last_read(o) > _offsets(o)[-1],
        _LIMIT),
    _acquire("a fetch goes past its maximum of records, to the end of a log batch",
        lambda o: len(_offsets(o)) > o.operation.max_fetch_records,
        _OPTIMIZED),
    _any("a fetch reads no log batch",
        lambda o: isinstance(o.operation, ops.Acquire) and not o.operation.log_batches),
    _acquire("a fetch reads over records that are held",
        lambda o: any(map(is_held, _in_flight(o)))),
    _acquire("a fetch reads over records whose write is outstanding",
        lambda o: any(record.pending for record in _in_flight(o)),
        _WRITE),
    _acquire("a fetch reads over records that are finished",
        lambda o: any(map(is_finished, _in_flight(o)))),
    _acquire("a fetch reads a log batch that begins below the start offset",
        lambda o: o.operation.log_batches[0].first < o.before.window.start_offset),
    _acquire("a fetch reads a log batch that begins below the log start offset",
        lambda o: o.operation.log_batches[0].first < o.before.log.start_offset,
        _LOG),
    _acquire("a fetch takes records on both sides of a gap in the log",
        lambda o: any(_is_gap(o.after, offset + 1) for offset in _offsets(o)[:-1])),
    _acquire("a fetch takes a record that a new leader does not know",
        lambda o: any(offset not in o.before.window.records for offset in _again(o)), _OVER),
    _acquire("records enter the window without being acquired", _enter_available, optional=True),
    _acquire("a record is delivered for the last time",
        lambda o: any(r.delivery_count == o.before.config.delivery_count_limit
            for r in o.outcome.acquired)),
    # Acknowledging.
    *(_named(name, covers) for name, covers in BATCH_SITUATIONS.items()),
    _named("an acknowledgement of a record whose write is outstanding",
        lambda n: any(record.pending for record in n.records), _WRITE),
    _named("an acknowledgement of an offset in the window that was never in flight",
        lambda n: len(n.records) < len(n.offsets)),
    _well_formed("an acknowledgement of several batches", lambda o: len(o.operation.batches) > 1),
    _well_formed("an acknowledgement refused after batches that were in order", _refused_late),
    _renewal("a renewal after part of the lock's duration", _after_part, _RENEW),
    _renewal("a renewal together with other types", lambda o: len(_types(o)) > 1, _RENEW),
    _renewal("a renewal where renewals are switched off",
        lambda o: not o.before.config.renew_acknowledge_enable, _RENEW, _ALTER, _SETTING),
    *(_acknowledge(f"a malformed acknowledgement: {kind}", _is_malformed(kind), _VALIDATES)
      for kind in Malformed),
    _release("a member leaves that holds nothing",
        lambda o: not any(is_held_by(record, o.operation.member) for record in _held(o))),
    # Writes.
    _any("several writes are outstanding", lambda o: len(o.after.outstanding) > 1, _WRITE),
    _write("a later write is answered before an earlier one",
        lambda o: o.operation.id != min(o.before.outstanding), _WRITE),
    _write("a write is answered after the log start offset passed its records",
        lambda o: any(offset < o.before.window.start_offset for offset in _written(o)),
        _WRITE, _LOG),
    _write("a write is answered after its lock would have expired", _answered_late, _WRITE),
    _write("a write fails after its lock would have expired",
        lambda o: _answered_late(o) and o.operation.status is not ErrorCode.NONE, _FAIL),
    # Time.
    _time("time passes while a lock that is not due is held",
        lambda o: len(_due(o)) < len(_held(o))),
    _time("some locks expire, and others stay", lambda o: 0 < len(_due(o)) < len(_held(o))),
    _time("locks of several members expire together",
        lambda o: len({record.owner for record in _due(o)}) > 1),
    _time("a lock would expire whose write is outstanding", _pending_expires, _WRITE),
    # The log and the start offset.
    _log_start("the log start offset moves, below the start offset",
        lambda o: o.before.log.start_offset < _new_start(o) <= o.before.window.start_offset, _LOG),
    _log_start("the log start offset moves into a log batch",
        lambda o: _new_start(o) > o.before.window.start_offset
            and any(first < _new_start(o) <= last for first, last in o.log), _LOG),
    _log_start("the log start offset moves into records that one member holds",
        _splits_what_is_held, _LOG),
    _log_start("the log start offset moves past the window",
        lambda o: _new_start(o) > o.before.window.end_offset,
        _LOG),
    _any("the start offset passes a gap in the log", _passes_gap),
    _any("a finished record waits behind one that is not",
        lambda o: any(offset > o.after.window.start_offset and is_finished(record)
            for offset, record in o.after.window.records.items())),
    # Leaders and configurations.
    _leader("a new leader while records are held", lambda o: bool(o.before.window.held), _OVER),
    _leader("a new leader while a write is outstanding",
        lambda o: bool(o.before.outstanding), _OVER, _WRITE),
    _leader("a new leader finds records that it does not know between those it does",
        lambda o: len(o.after.window.records) < _width(o.after), _OVER),
    _leader("a new leader finds the durable start offset below the log",
        lambda o: o.operation.persisted.start_offset < o.operation.log_start_offset, _OVER, _LOG),
    _config("the delivery count limit falls to the count of a record or below",
        _count_limit_falls, _ALTER),
    _config("the limit of the window falls below its width",
        lambda o: o.operation.config.partition_max_record_locks
            < min(_width(o.before), _window_limit(o)), _ALTER),
    _config("the lock duration is altered while records are held", _duration_changes, _ALTER),
)
# fmt: on

_situations_in = recognised(SITUATIONS)
