"""The states from which a replay may go on after an event that diverged.

The recorded state after the event is adopted: start and end offset, and of each record in flight
its state, delivery count, owner and whether its write is outstanding. What no recording tells is
taken from the state that the rules lead to, where the two agree on a record. Where they do not and
nothing tells it, such as when a lock ends that only the recording has, there is no such state.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping

import attrs

from judge.choices import recorded_answers, recorded_choice
from judge.engine import SpecEngine
from judge.whole_state import partition_of, whole_state
from judge.written import numbers_of
from model import operations as ops
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.outcome import Choice, Write
from model.profile import Profile
from model.ranges import RecordRange, number_of_offsets
from model.snapshot import DurableState
from model.states import HELD_STATES, TERMINAL_STATES, AcknowledgeType, RecordState
from model.trace import TraceEvent
from model.whole_state import (
    Extent,
    LogState,
    RecordsInFlight,
    ReplayState,
    WholeState,
    WriteInFlight,
)
from spec.coordinator import durable_from, durable_state, merge


@attrs.frozen
class Candidate:
    """A state after an event; ``adopted`` if its window is the recorded one."""

    state: ReplayState
    adopted: bool


class _UntoldError(Exception):
    """The recording does not tell something that later events depend on."""


def candidates(
    event: TraceEvent, before: ReplayState | None, profile: Profile
) -> tuple[list[Candidate], str]:
    """Return the states after an event that diverged, the adopted ones first, and what is untold.

    ``before`` is the state before it; None: that of a share-partition that no leader has begun.
    """
    expected = list(_expected(event, before, profile))
    adopted, untold = list(_told(event, before, profile)), ""
    for state in expected if not adopted else ():
        try:
            whole = _adopted(event, _whole(before, profile), state, profile)
        except _UntoldError as error:
            untold = untold or str(error)
        except (InvalidValueError, ValueError, KeyError):
            untold = untold or "the state after it is none that a share-partition can be in"
        else:
            adopted.append(whole)
    if not expected:
        untold = "no state after it follows from the rules"
    both = [*((s, True) for s in adopted), *((s, False) for s in expected)]
    return _distinct(Candidate(_replay_state(event, before, s), adopted=a) for s, a in both), untold


def forgotten(before: ReplayState | None, seq: int, profile: Profile) -> ReplayState:
    """Return the state in which nothing but what was durable is known; ``seq`` is next."""
    engine = SpecEngine(profile, partition_of(_whole(before, profile), profile))
    engine.apply(ops.Gap(None), Choice(), (), seq)
    return ReplayState(engine.whole(), seq, before.time_ms if before else 0)


def _told(event: TraceEvent, before: ReplayState | None, profile: Profile) -> Iterator[WholeState]:
    """Yield the state that a checkpoint tells, where what was durable allows it or else anyway."""
    if not isinstance(event.operation, ops.Checkpoint):
        return
    for known in (before, None):
        nothing = forgotten(known, event.seq, profile).state
        engine = SpecEngine(profile, partition_of(nothing, profile))
        with contextlib.suppress(IllegalChoiceError, InvalidValueError):
            engine.apply(event.operation, recorded_choice(event), (), event.seq)
            yield engine.whole()
            return


def complete(state: WholeState) -> int:
    """Return the delivery complete count of a state, in offsets."""
    return number_of_offsets(r for r in state.records if r.state in TERMINAL_STATES)


def _distinct(states: Iterable[Candidate]) -> list[Candidate]:
    kept: list[Candidate] = []
    for each in states:
        if all(each.state != other.state for other in kept):
            kept.append(each)
    return kept


def _whole(before: ReplayState | None, profile: Profile) -> WholeState:
    return before.state if before else SpecEngine(profile).whole()


def _expected(
    event: TraceEvent, before: ReplayState | None, profile: Profile
) -> Iterator[WholeState]:
    """Yield the states that the rules lead to: with what was chosen, or else with their own choice.

    Of an operation that no choice allows, or that threw an exception, also the state before it.
    """
    start = _whole(before, profile)
    choice = recorded_choice(event)
    is_done = False
    freed = attrs.evolve(choice, start_offset=None)
    for each in (choice, freed, Choice(end_offset=choice.end_offset), Choice()):
        engine = SpecEngine(profile, partition_of(start, profile))
        try:
            _pass_time(event, before, engine)
            engine.apply(event.operation, each, recorded_answers(event), event.seq)
        except (IllegalChoiceError, InvalidValueError):
            continue
        yield engine.whole()
        is_done = True
        break
    if not is_done or event.outcome.exception is not None:
        engine = SpecEngine(profile, partition_of(start, profile))
        try:
            _pass_time(event, before, engine)
        except (IllegalChoiceError, InvalidValueError):
            return
        yield engine.whole()


def _pass_time(event: TraceEvent, before: ReplayState | None, engine: SpecEngine) -> None:
    """Let a real clock go on to the time of an event."""
    partition = engine.partition
    if before and partition.timed and not isinstance(event.operation, ops.Initialize):
        passed = event.operation.ms if isinstance(event.operation, ops.AdvanceTime) else 0
        start = partition.window.start_offset
        here = Choice(start_offset=start, paused_ms=event.paused_ms)
        ms = event.time_ms - passed - before.time_ms
        engine.apply(ops.AdvanceTime(ms), here, (), event.seq)


def _replay_state(event: TraceEvent, before: ReplayState | None, whole: WholeState) -> ReplayState:
    known = {each.id: each for each in before.numbers} if before else {}
    for write in event.outcome.writes:
        known[write.id] = numbers_of(write)
    later = (write.id for write in whole.writes if write.made_after is not None)
    numbers = tuple(known[id_] for id_ in later if id_ in known)
    return ReplayState(whole, event.seq + 1, event.time_ms, numbers)


def _adopted(
    event: TraceEvent, before: WholeState, expected: WholeState, profile: Profile
) -> WholeState:
    """Return the expected state with all that was recorded of the state after the event."""
    if event.after.records is None:
        raise _UntoldError("it is recorded without the records in flight")
    start, end = event.after.start_offset, event.after.end_offset
    if expected.log.known and end > max(expected.log.end_offset, expected.end_offset):
        raise _UntoldError("its window ends after the log")
    writes = tuple(_writes(event, expected))
    mine = dict(_each(expected))
    waiting = frozenset(write.id for write in writes)
    records = dict(_records(event, expected, mine, waiting))
    for offset, known in mine.items():
        if start <= offset < end and offset not in records:
            if known.state is not RecordState.AVAILABLE or known.delivery_count:
                raise _UntoldError(f"the records in flight lack offset {offset}")
            records[offset] = known
    if start < end:  # As a window ends with a record.
        last = RecordsInFlight(end - 1, end - 1, RecordState.AVAILABLE, 0)
        records.setdefault(end - 1, last)
    counts = (each.delivery_count for each in records.values())
    adopted = attrs.evolve(
        expected,
        start_offset=start,
        end_offset=end,
        records=tuple(records[offset] for offset in sorted(records)),
        log=_log(expected.log, start, min(end, expected.start_offset), records),
        writes=writes,
        next_write=max([expected.next_write, *(write.id + 1 for write in writes)]),
        durable=_durable(event, before, expected, profile),
        highest_limit=max([expected.highest_limit, *counts]),
        waiting=(),
        stuck=None,
    )
    return whole_state(partition_of(adopted, profile))


def _each(state: WholeState) -> Iterator[tuple[int, RecordsInFlight]]:
    for known in state.records:
        for offset in range(known.first, known.last + 1):
            yield offset, attrs.evolve(known, first=offset, last=offset)


def _records(
    event: TraceEvent,
    expected: WholeState,
    mine: Mapping[int, RecordsInFlight],
    waiting: frozenset[int],
) -> Iterator[tuple[int, RecordsInFlight]]:
    after = event.after
    for recorded in after.records or ():
        first, last = (
            max(recorded.first, after.start_offset),
            min(recorded.last, after.end_offset - 1),
        )
        for offset in range(first, last + 1):
            known = mine.get(offset)
            if known is None or not _is_same(recorded, known):
                known = (
                    _pending(offset, recorded, known, waiting)
                    if recorded.pending
                    else _record(event, expected, offset, recorded, known)
                )
            yield offset, known


def _is_same(recorded: RecordRange, known: RecordsInFlight) -> bool:
    owner = None if known.write is not None else known.owner
    shown = (known.state, known.delivery_count, owner, known.write is not None)
    return shown == (recorded.state, recorded.delivery_count, recorded.owner, recorded.pending)


def _pending(
    offset: int, recorded: RecordRange, known: RecordsInFlight | None, waiting: frozenset[int]
) -> RecordsInFlight:
    """Return a record whose write is outstanding, as it was recorded."""
    if recorded.state in HELD_STATES:
        raise _UntoldError(f"offset {offset} cannot be held and wait for a write")
    if known is None or known.write not in waiting:
        raise _UntoldError(f"it does not tell for which write offset {offset} waits")
    return attrs.evolve(known, state=recorded.state, delivery_count=recorded.delivery_count)


def _record(
    event: TraceEvent,
    expected: WholeState,
    offset: int,
    recorded: RecordRange,
    known: RecordsInFlight | None,
) -> RecordsInFlight:
    """Return a record as it was recorded, with what is known of it besides."""
    state, count = recorded.state, recorded.delivery_count
    plain = RecordsInFlight(offset, offset, state, count)
    if recorded.owner is None:
        if state in HELD_STATES:
            raise _UntoldError(f"it does not tell who holds offset {offset}")
        return plain
    granted = any(r.first <= offset <= r.last for r in event.outcome.acquired)
    if isinstance(event.operation, ops.Acquire) and granted:
        duration = expected.config.record_lock_duration_ms
        deadline = event.outcome.deadline_ms or expected.now + duration
        number = event.outcome.acquisition
        held = attrs.evolve(plain, owner=recorded.owner, last_ms=deadline - 1)
        return held if number is None else attrs.evolve(held, acquisition=number)
    if known is None or known.write is not None or known.owner != recorded.owner:
        raise _UntoldError(f"it does not tell when the lock of offset {offset} ends")
    if isinstance(event.operation, ops.Acknowledge) and _renews(event.operation):
        raise _UntoldError(f"it does not tell whether the lock of offset {offset} was renewed")
    return attrs.evolve(known, state=state, delivery_count=count)


def _renews(operation: ops.Acknowledge) -> bool:
    return any(AcknowledgeType.RENEW in batch.types for batch in operation.batches)


def _writes(event: TraceEvent, expected: WholeState) -> Iterator[WriteInFlight]:
    """Yield the outstanding writes, those of the event as they were recorded."""
    recorded = {w.id: w for w in event.outcome.writes if w.status is ErrorCode.PENDING}
    answered = event.outcome.status is not ErrorCode.PENDING
    known = {write.id: write for write in expected.writes}
    for id_ in sorted(known.keys() | recorded.keys()):
        if id_ not in recorded:
            yield known[id_]
            continue
        write, ours = recorded[id_], known.get(id_)
        count = write.delivery_complete_count
        if not write.counted:
            count = ours.delivery_complete_count if ours else complete(expected)
        yield WriteInFlight(
            id_,
            write.start_offset,
            count,
            write.state_batches,
            None if answered else event.seq,
            ours.made_after if ours else None,
            seen=True,
        )


def _durable(
    event: TraceEvent, before: WholeState, expected: WholeState, profile: Profile
) -> DurableState:
    """Return what is durable: with the writes that were recorded, or what a leader has read."""
    operation = event.operation
    if isinstance(operation, ops.Initialize):
        if operation.count_known and operation.persisted.start_offset >= 0:
            epochs = expected.durable.state_epoch, expected.durable.leader_epoch
            return attrs.evolve(operation.persisted, state_epoch=epochs[0], leader_epoch=epochs[1])
        return expected.durable
    if isinstance(operation, ops.CompleteWrite):
        return expected.durable
    durable = durable_from(before.durable)
    for write in event.outcome.writes:
        if write.status is ErrorCode.NONE:
            counted = write if write.counted else _counted(write, expected)
            durable = merge(durable, counted, profile)
    return durable_state(durable)


def _counted(write: Write, expected: WholeState) -> Write:
    return attrs.evolve(write, delivery_complete_count=complete(expected))


def _log(log: LogState, start: int, end: int, records: Mapping[int, RecordsInFlight]) -> LogState:
    """Return the log without a hole at any record, and with one wherever none is from start to end.

    These are the offsets that the start offset had passed before it went back.
    """
    holes = [part for hole in log.holes for part in _without(hole, records)]
    holes += _without((start, end - 1), records) if start < end else ()
    merged: list[Extent] = []
    for first, last in sorted(holes):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return attrs.evolve(log, holes=tuple(merged))


def _without(extent: Extent, offsets: Iterable[int]) -> Iterator[Extent]:
    """Yield the parts of a range between some offsets."""
    first, last = extent
    for offset in sorted(o for o in offsets if first <= o <= last):
        if first < offset:
            yield first, offset - 1
        first = offset + 1
    if first <= last:
        yield first, last
