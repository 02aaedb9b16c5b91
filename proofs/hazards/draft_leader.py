"""The share-partition leader under the draft as written (KAFKA-20458), reading by reading.

It takes the operations of ``model.operations`` that concern the draft. The log is whole, from
offset 0; a fetch takes what is available, in order.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, TypeAlias

import attrs

from model import operations as ops
from model.config import SharePartitionConfig, check_in_progress
from model.errors import ErrorCode, InvalidValueError
from model.outcome import Answer, Outcome, Write
from model.profile import DRAFT_RESOLVED
from model.ranges import AcquiredRange
from model.states import RecordState
from proofs.hazards import draft_record
from proofs.hazards.draft_readings import Readings, Siblings
from proofs.hazards.draft_record import DraftRecord, DraftRules
from spec.coordinator import Durable, coalesce, durable_from, merge

NONE, REFUSED = ErrorCode.NONE, ErrorCode.INVALID_RECORD_STATE


@attrs.frozen
class DraftWaiting:
    """A write whose answer has not come, and the offsets that are pending on it."""

    write: Write
    offsets: tuple[int, ...] = ()


@attrs.frozen
class DraftLeader:
    """One share-partition. ``records`` has one for each offset of the log, from 0.

    The window is from ``start`` (inclusive) to ``end`` (exclusive). ``began``: when the leader
    took over, from which the sweeper counts; ``now`` and ``began`` in ms.
    """

    rules: DraftRules = attrs.field(eq=False)
    records: tuple[DraftRecord, ...] = ()
    now: int = 0
    began: int = 0
    start: int = 0
    end: int = 0
    acquisitions: int = 0
    durable: Durable = Durable()
    outstanding: tuple[DraftWaiting, ...] = ()
    writes: int = 0


DraftStep: TypeAlias = tuple[DraftLeader, Outcome]
"""A leader after an operation, and what the operation answered."""


def new_leader(readings: Readings) -> DraftLeader:
    """Return a leader that has not been initialized."""
    return DraftLeader(DraftRules(SharePartitionConfig(), readings))


def apply(
    leader: DraftLeader, operation: ops.Operation, answers: Sequence[Answer] = ()
) -> DraftStep:
    """Return the leader after the operation, and the operation's answer.

    ``answers`` are what the share coordinator says to the writes of a request; what is missing is
    success. Raises InvalidValueError for an operation of which the draft says nothing.
    """
    rule = _RULES.get(type(operation))
    if rule is None:
        allowed = "one that reads, fetches, marks, acknowledges, leaves, waits or is answered"
        raise InvalidValueError("operation", operation, allowed)
    leader, outcome = rule(leader, operation, answers[0] if answers else Answer())
    return _move_start(leader), outcome


def complete_count(leader: DraftLeader) -> int:
    """Return the delivery complete count: terminal records of the window (KIP-1226)."""
    return sum(map(draft_record.is_terminal, leader.records[leader.start : leader.end]))


def _initialize(leader: DraftLeader, operation: ops.Initialize, _answer: Answer) -> DraftStep:
    """Start from the durable state; owners, timers and progress of the former leader are lost.

    A leader that reads the state again in its own epoch goes on numbering acquisitions.
    """
    if not leader.rules.readings.thresholds_are_free:
        check_in_progress(operation.config)
    if operation.persisted.start_offset < 0:
        allowed = "a start offset from 0: what the reset strategy resolves to is not modelled here"
        raise InvalidValueError("start_offset", operation.persisted.start_offset, allowed)
    durable = durable_from(operation.persisted)
    is_later = durable.leader_epoch > leader.durable.leader_epoch
    records = [DraftRecord()] * operation.log_end_offset
    for offset, (state, count) in durable.entries.items():
        records[offset] = draft_record.recover(state, count, leader.rules.readings)
    reader = DraftLeader(
        attrs.evolve(leader.rules, config=operation.config),
        tuple(records),
        now=operation.time_ms,
        began=operation.time_ms,
        start=durable.start_offset,
        end=max(durable.entries, default=durable.start_offset - 1) + 1,
        durable=durable,
        acquisitions=0 if is_later else leader.acquisitions,
    )
    return reader, Outcome()


def _acquire(leader: DraftLeader, operation: ops.Acquire, _answer: Answer) -> DraftStep:
    """Take what is available, in order, within the window and up to what was asked for."""
    widest = leader.start + leader.rules.config.partition_max_record_locks
    free = [
        offset
        for offset in range(leader.start, min(len(leader.records), max(leader.end, widest)))
        if leader.records[offset].state == RecordState.AVAILABLE
        and leader.records[offset].before is None
    ][: operation.max_fetch_records]
    if not free:
        return leader, Outcome()
    number = leader.acquisitions
    token = (leader.durable.leader_epoch, number)
    changed = {
        offset: draft_record.acquire(
            leader.records[offset], operation.member, token, leader.now, leader.rules
        )
        for offset in free
    }
    leader = attrs.evolve(
        _replace(leader, changed), end=max(leader.end, free[-1] + 1), acquisitions=number + 1
    )
    taken = tuple(AcquiredRange(o, o, record.delivery_count) for o, record in changed.items())
    return leader, Outcome(acquired=taken, acquisition=number)


def _mark(leader: DraftLeader, operation: ops.MarkInProgress, answer: Answer) -> DraftStep:
    """Judge the batches of a MarkInProgressRequest, and write what they changed (§2.4, §3.2)."""
    readings, before = leader.rules.readings, leader
    marked, changed = [], dict[int, DraftRecord]()
    for batch in operation.batches:
        code, records = _marked(leader, operation.member, batch)
        leader = _replace(leader, records)
        marked.append(code)
        changed |= records
    if readings.request_is_atomic and any(code is not NONE for code in marked):
        code = next(code for code in marked if code is not NONE)
        return before, Outcome(marked=tuple(code for _ in marked))
    leader = _siblings(leader, changed)
    if not changed or not readings.marks_are_written:
        return leader, Outcome(marked=tuple(marked))
    leader, outcome = _write(leader, changed, answer, waits=readings.mark_waits_for_its_write)
    if outcome.status not in (NONE, ErrorCode.PENDING):
        marked = [outcome.status for _ in marked]
    return leader, attrs.evolve(outcome, marked=tuple(marked))


def _marked(
    leader: DraftLeader, member: str, batch: ops.ProgressBatch
) -> tuple[ErrorCode, dict[int, DraftRecord]]:
    if batch.last >= leader.end:
        return ErrorCode.INVALID_REQUEST, {}
    token = (batch.leader_epoch, batch.acquisition)
    changed = {}
    for offset in range(max(batch.first, leader.start), batch.last + 1):
        record = leader.records[offset]
        if not draft_record.may_mark(record, member, token, leader.now, leader.rules):
            return REFUSED, {}
        changed[offset] = draft_record.mark(record, leader.now, leader.rules)
    return NONE, changed


def _siblings(leader: DraftLeader, marked: Mapping[int, DraftRecord]) -> DraftLeader:
    """Apply §3.2 step 4 to the timer that the other records of a fetch share."""
    how = leader.rules.readings.siblings
    if how is Siblings.UNTOUCHED:
        return leader
    ends = {record.token: record.last_progress for record in marked.values()}
    duration = leader.rules.config.record_lock_duration_ms
    others = {
        offset: attrs.evolve(
            record, lock_end=ends[record.token] + duration if how is Siblings.RESCHEDULED else None
        )
        for offset, record in enumerate(leader.records)
        if record.token in ends and record.state == RecordState.ACQUIRED
    }
    return _replace(leader, others)


def _acknowledge(leader: DraftLeader, operation: ops.Acknowledge, answer: Answer) -> DraftStep:
    """Acknowledge all batches, each with one type, or none (KIP-932)."""
    changed = dict[int, DraftRecord]()
    for batch in operation.batches:
        if batch.last >= leader.end:
            return leader, Outcome(ErrorCode.INVALID_REQUEST)
        for offset in range(max(batch.first, leader.start), batch.last + 1):
            record = leader.records[offset]
            if not draft_record.is_held(record) or record.owner != operation.member:
                return leader, Outcome(REFUSED)
            changed[offset] = draft_record.acknowledge(record, batch.types[0], leader.rules)
    return _write(leader, changed, answer) if changed else (leader, Outcome())


def _leave(leader: DraftLeader, operation: ops.MemberLeaves, answer: Answer) -> DraftStep:
    """Release what a member held, or keep it for the grace time ("Rebalance flow")."""
    changed = {
        offset: draft_record.leave(record, leader.now, leader.rules)
        for offset, record in enumerate(leader.records)
        if draft_record.is_held(record) and record.owner == operation.member
    }
    held = {offset: record for offset, record in changed.items() if draft_record.is_held(record)}
    leader = _replace(leader, held)
    released = {offset: record for offset, record in changed.items() if offset not in held}
    return _write(leader, released, answer) if released else (leader, Outcome())


def _advance_time(leader: DraftLeader, operation: ops.AdvanceTime, _answer: Answer) -> DraftStep:
    """Let timers fire and the sweeper run, each when its time comes (§3.3)."""
    until, writes = leader.now + operation.ms, list[Write]()
    while leader.now < until:
        leader = attrs.evolve(leader, now=min(until, _next_instant(leader)))
        ended = {o: after for o in range(leader.start, leader.end) if (after := _ended(leader, o))}
        if ended:
            leader, outcome = _write(leader, ended, Answer(), waits=False)
            leader = _move_start(leader)
            writes.extend(outcome.writes)
    return leader, Outcome(writes=tuple(writes))


def _next_instant(leader: DraftLeader) -> int:
    quarter = max(1, leader.rules.config.in_progress_staleness_threshold_ms // 4)
    sweep = leader.now + quarter - (leader.now - leader.began) % quarter
    timers = (
        instant
        for record in leader.records
        for instant in draft_record.instants(record, leader.rules)
    )
    return min([sweep, *(instant for instant in timers if instant > leader.now)])


def _ended(leader: DraftLeader, offset: int) -> DraftRecord | None:
    record, rules, now = leader.records[offset], leader.rules, leader.now
    quarter = max(1, rules.config.in_progress_staleness_threshold_ms // 4)
    swept = not rules.readings.swept_every_quarter or (now - leader.began) % quarter == 0
    return draft_record.expire(record, now, rules) or (
        draft_record.sweep(record, now, rules) if swept else None
    )


def _complete_write(
    leader: DraftLeader, operation: ops.CompleteWrite, _answer: Answer
) -> DraftStep:
    waiting = next((w for w in leader.outstanding if w.write.id == operation.id), None)
    if waiting is None:
        raise InvalidValueError("id", operation.id, "the id of an outstanding write")
    others = tuple(w for w in leader.outstanding if w is not waiting)
    leader = _settle(attrs.evolve(leader, outstanding=others), waiting, operation.status)
    return leader, Outcome(operation.status)


def _write(
    leader: DraftLeader, changed: Mapping[int, DraftRecord], answer: Answer, *, waits: bool = True
) -> DraftStep:
    """Write the changed records; with ``waits`` they depend on the answer, otherwise not."""
    leader = _replace(leader, changed)
    entries = ((o, (record.state, record.delivery_count)) for o, record in sorted(changed.items()))
    write = Write(
        leader.writes, leader.start, complete_count(leader), coalesce(entries), answer.status
    )
    leader = attrs.evolve(leader, writes=leader.writes + 1)
    waiting = DraftWaiting(write, tuple(changed) if waits else ())
    if answer.status is ErrorCode.PENDING:
        leader = attrs.evolve(leader, outstanding=(*leader.outstanding, waiting))
    else:
        leader = _settle(leader, waiting, answer.status)
    return leader, Outcome(answer.status if waits else NONE, writes=(write,))


def _settle(leader: DraftLeader, waiting: DraftWaiting, status: ErrorCode) -> DraftLeader:
    pending = {offset: leader.records[offset] for offset in waiting.offsets}
    if status is NONE:
        durable = merge(leader.durable, waiting.write, DRAFT_RESOLVED)
        settled = {o: attrs.evolve(record, before=None) for o, record in pending.items()}
        return attrs.evolve(_replace(leader, settled), durable=durable)
    back = {
        o: draft_record.roll_back(record, leader.now, leader.rules) for o, record in pending.items()
    }
    return _replace(leader, back)


def _replace(leader: DraftLeader, changed: Mapping[int, DraftRecord]) -> DraftLeader:
    if not changed:
        return leader
    records = tuple(changed.get(o, record) for o, record in enumerate(leader.records))
    return attrs.evolve(leader, records=records)


def _move_start(leader: DraftLeader) -> DraftLeader:
    """Move the start offset past what is terminal and not pending (KIP-932)."""
    finished = takewhile(
        lambda record: draft_record.is_terminal(record) and record.before is None,
        leader.records[leader.start : leader.end],
    )
    return attrs.evolve(leader, start=leader.start + sum(1 for _ in finished))


_RULES: Mapping[type[ops.Operation], Callable[[DraftLeader, Any, Answer], DraftStep]] = {
    ops.Initialize: _initialize,
    ops.Acquire: _acquire,
    ops.MarkInProgress: _mark,
    ops.Acknowledge: _acknowledge,
    ops.MemberLeaves: _leave,
    ops.AdvanceTime: _advance_time,
    ops.CompleteWrite: _complete_write,
}
