"""The possible next moves of a leader, in one table.

The moves of a state come in an order that depends on the normal form of the state alone
(``normal``): move 7 of one state is move 7 of every state that is the same but for names.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from itertools import combinations
from typing import Any

import attrs

from model import operations as ops
from model.errors import ErrorCode
from model.outcome import Answer, Choice, Expiry
from model.ranges import OffsetRange
from model.states import AcknowledgeType, AcquireMode
from proofs.exploration.normal import View
from proofs.exploration.world import TICK_MS, ExploredLeader, SmallWorld, present
from spec.log import Log, learn_hole, readable_end
from spec.record import is_acquirable, is_dead_letter

FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE
"""The error with which the share coordinator, or the way to it, fails in these worlds."""

_ACCEPT, _RELEASE, _REJECT = (
    AcknowledgeType.ACCEPT,
    AcknowledgeType.RELEASE,
    AcknowledgeType.REJECT,
)


class MoveKind(IntEnum):
    """The kind of a move, for the fairness assumptions."""

    OTHER = 0
    FETCH = 1
    TIME = 2
    ANSWER = 3
    RENEW = 4
    RESET = 5
    DEAD_LETTER = 6


_FREE = Choice()
_LOWERED = "delivery_count_limit", "partition_max_record_locks", "record_lock_duration_ms"


@attrs.frozen
class Move:
    """An operation with what is chosen in it, the answers to its writes and the log after it.

    ``is_void``: it may change nothing, since it comes from a member, or for a delivery, that does
    not hold the record.
    """

    kind: MoveKind
    operation: ops.Operation
    log: Log
    choice: Choice = _FREE
    answers: tuple[Answer, ...] = ()
    is_void: bool = False


def moves(world: SmallWorld, leader: ExploredLeader, view: View) -> list[Move]:
    """Return every move that is offered, in the order that the normal form gives."""
    urgent = [*_archive_aborted(world, leader, view)]
    return urgent or [move for offer in _OFFERS for move in offer(world, leader, view)]


def _produce(world: SmallWorld, leader: ExploredLeader, _view: View) -> Iterator[Move]:
    log, end = leader.log, leader.log.end_offset
    is_open = bool(world.aborted) and log.stable_offset < end
    if is_open:  # The transaction is aborted.
        yield Move(MoveKind.OTHER, ops.Produce((), end), attrs.evolve(log, stable_offset=end))
    for gap in range(1 + world.gaps):
        first = end + gap
        if first < world.offsets:
            committed = first + (first >= world.aborted)
            stable = log.stable_offset if is_open else committed
            operation = ops.Produce((OffsetRange(first, first),), first + 1, stable)
            after = attrs.evolve(log, end_offset=first + 1, stable_offset=stable)
            yield Move(MoveKind.OTHER, operation, learn_hole(after, end, first - 1))


def _compact(world: SmallWorld, leader: ExploredLeader, _view: View) -> Iterator[Move]:
    if world.compaction:
        for offset in present(leader.log):
            operation = ops.Compact((OffsetRange(offset, offset),))
            yield Move(MoveKind.OTHER, operation, learn_hole(leader.log, offset, offset))


def _acquire(world: SmallWorld, leader: ExploredLeader, view: View) -> Iterator[Move]:
    fetch_offset = _fetch_offset(leader)
    end = readable_end(leader.log, leader.partition.config.isolation_level)
    read = [offset for offset in present(leader.log) if fetch_offset <= offset < end]
    if not read or fetch_offset < leader.log.start_offset:
        return
    batches = tuple(OffsetRange(offset, offset) for offset in read)
    for member in _different(view):

        def fetch(mode: AcquireMode, choice: Choice, member: str = member) -> Move:
            operation = ops.Acquire(member, mode, world.offsets, 1, fetch_offset, batches)
            return Move(MoveKind.FETCH, operation, leader.log, choice)

        yield fetch(AcquireMode.BATCH_OPTIMIZED, Choice())
        yield fetch(AcquireMode.RECORD_LIMIT, Choice())
        for offset in read[1:]:  # Those that it may not take are refused.
            yield fetch(AcquireMode.RECORD_LIMIT, Choice((OffsetRange(offset, offset),)))


def _archive_aborted(world: SmallWorld, leader: ExploredLeader, _view: View) -> Iterator[Move]:
    """Nothing comes between: the fetch that takes them archives them."""
    taken = tuple(OffsetRange(o, o) for o, _ in _held(leader) if o < world.aborted)
    if taken:
        yield Move(MoveKind.OTHER, ops.ArchiveAborted(taken), leader.log)


def _skip_acquire(_world: SmallWorld, leader: ExploredLeader, view: View) -> Iterator[Move]:
    yield Move(MoveKind.OTHER, ops.SkipAcquire(view.members[0]), leader.log)


def _acknowledge(world: SmallWorld, leader: ExploredLeader, view: View) -> Iterator[Move]:
    for offset, owner in _held(leader):
        for kind in (_ACCEPT, _RELEASE, _REJECT):
            for answers in _answers(world, leader):
                yield _acknowledged(leader, owner, ((offset, kind),), answers)
        yield _acknowledged(leader, owner, ((offset, AcknowledgeType.GAP),))
        renewal = _acknowledged(leader, owner, ((offset, AcknowledgeType.RENEW),))
        yield attrs.evolve(renewal, kind=MoveKind.RENEW)
        for other in view.members[:2]:
            if other != owner:
                void = _acknowledged(leader, other, ((offset, _ACCEPT),))
                yield attrs.evolve(void, is_void=True)


def _acknowledge_two(world: SmallWorld, leader: ExploredLeader, _view: View) -> Iterator[Move]:
    for (offset, owner), (also, holder) in combinations(_held(leader), 2):
        if owner == holder:
            for answers in _answers(world, leader):
                yield _acknowledged(leader, owner, ((offset, _ACCEPT), (also, _RELEASE)), answers)
        else:
            yield _acknowledged(leader, owner, ((offset, _ACCEPT), (also, _ACCEPT)))


def _release(world: SmallWorld, leader: ExploredLeader, view: View) -> Iterator[Move]:
    holders = {owner for _, owner in _held(leader)}
    for member in view.members:
        if member in holders:
            for answers in _answers(world, leader):
                yield Move(MoveKind.OTHER, ops.MemberLeaves(member), leader.log, answers=answers)


def _time(world: SmallWorld, leader: ExploredLeader, _view: View) -> Iterator[Move]:
    records, then = leader.partition.window.records, leader.partition.now + TICK_MS
    due = [offset for offset, _ in _held(leader) if records[offset].deadline <= then]
    operation = ops.AdvanceTime(TICK_MS)
    if not due:
        yield Move(MoveKind.TIME, operation, leader.log)
        return
    for answers in _answers(world, leader):
        yield Move(MoveKind.TIME, operation, leader.log, answers=answers)
    if len(due) > 1:
        apart = tuple(Expiry((OffsetRange(offset, offset),)) for offset in due)
        for answers in _answers(world, leader, len(due)):
            yield Move(MoveKind.TIME, operation, leader.log, Choice(expired=apart), answers)


def _complete(_world: SmallWorld, leader: ExploredLeader, view: View) -> Iterator[Move]:
    for number in view.writes:
        for status in (ErrorCode.NONE, FAILED):
            yield Move(MoveKind.ANSWER, ops.CompleteWrite(number, status), leader.log)


def _log_start(world: SmallWorld, leader: ExploredLeader, _view: View) -> Iterator[Move]:
    log = leader.log
    if log.start_offset < min(world.log_start, log.end_offset):
        start = log.start_offset + 1
        stable = max(log.stable_offset, start)
        after = attrs.evolve(log, start_offset=start, stable_offset=stable)
        yield Move(MoveKind.OTHER, ops.AdvanceLogStart(start), after)
    if leader.partition.window.start_offset < log.start_offset:
        yield Move(MoveKind.OTHER, ops.AdvanceLogStart(log.start_offset), log)


def _reset(world: SmallWorld, leader: ExploredLeader, _view: View) -> Iterator[Move]:
    if not world.resets:
        return
    # Back only over a log without gaps: how many gaps behind it a leader still knows depends on
    # the durable start offset, which is not of its normal form.
    back = () if leader.log.holes else (leader.log.start_offset,)
    for start in sorted({*back, leader.log.end_offset}):
        yield Move(MoveKind.RESET, ops.ResetOffset(start), leader.log)


def _mark(world: SmallWorld, leader: ExploredLeader, view: View) -> Iterator[Move]:
    if not world.profile.in_progress:
        return
    partition, epoch = leader.partition, leader.partition.durable.leader_epoch
    for offset, owner in _held(leader):
        number = partition.window.records[offset].acquisition
        yield _marked(leader, owner, offset, (epoch, number))
        another = next((member for member in view.members if member != owner), owner)
        for member, token in (
            (owner, (epoch, partition.next_acquisition)),
            (owner, (epoch - 1, number)),
            (another, (epoch, number)),
        ):
            if (member, token) != (owner, (epoch, number)):
                yield attrs.evolve(_marked(leader, member, offset, token), is_void=True)


def _finish_dead_letter(world: SmallWorld, leader: ExploredLeader, _view: View) -> Iterator[Move]:
    for offset, record in sorted(leader.partition.window.records.items()):
        if is_dead_letter(record):
            operation = ops.FinishDeadLetter((OffsetRange(offset, offset),))
            for answers in _answers(world, leader):
                yield Move(MoveKind.DEAD_LETTER, operation, leader.log, answers=answers)


def _alter_config(world: SmallWorld, leader: ExploredLeader, _view: View) -> Iterator[Move]:
    config, first = leader.partition.config, world.config
    altered = dict[str, Any]()
    if world.dead_letters:
        altered["dead_letter_queue"] = not config.dead_letter_queue
    if world.altered:
        for name in _LOWERED:
            value, high = getattr(config, name), getattr(first, name)
            altered |= {name: high if value < high else max(high - 1, 1)}
    for name, value in altered.items():
        operation = ops.AlterConfig(attrs.evolve(config, **{name: value}))
        yield Move(MoveKind.OTHER, operation, leader.log)


_OFFERS: tuple[Callable[[SmallWorld, ExploredLeader, View], Iterator[Move]], ...] = (
    _produce,
    _compact,
    _acquire,
    _skip_acquire,
    _acknowledge,
    _acknowledge_two,
    _release,
    _time,
    _complete,
    _log_start,
    _reset,
    _mark,
    _finish_dead_letter,
    _alter_config,
)


def _acknowledged(
    leader: ExploredLeader,
    member: str,
    parts: Sequence[tuple[int, int]],
    answers: tuple[Answer, ...] = (),
) -> Move:
    batches = tuple(ops.AcknowledgementBatch(offset, offset, (kind,)) for offset, kind in parts)
    operation = ops.Acknowledge(member, batches)
    return Move(MoveKind.OTHER, operation, leader.log, answers=answers)


def _marked(leader: ExploredLeader, member: str, offset: int, token: tuple[int, int]) -> Move:
    batch = ops.ProgressBatch(offset, offset, *token)
    return Move(MoveKind.OTHER, ops.MarkInProgress(member, (batch,)), leader.log)


def _answers(
    world: SmallWorld, leader: ExploredLeader, writes: int = 1
) -> Iterator[tuple[Answer, ...]]:
    """Yield the coordinator's possible answers to a few writes: all succeed, fail or wait."""
    yield (Answer(),) * writes
    yield (Answer(FAILED),) * writes
    if len(leader.partition.outstanding) + writes <= world.outstanding:
        yield (Answer(ErrorCode.PENDING),) * writes


def _held(leader: ExploredLeader) -> list[tuple[int, str]]:
    records = leader.partition.window.records
    return [(o, str(records[o].owner)) for o in sorted(leader.partition.window.held)]


def _different(view: View) -> tuple[str, ...]:
    """Return the members that differ: only one of those without any record."""
    return view.members[: view.involved + 1]


def _fetch_offset(leader: ExploredLeader) -> int:
    window = leader.partition.window
    inside = range(window.start_offset, window.end_offset)
    return next((offset for offset in inside if _may_take(leader, offset)), window.end_offset)


def _may_take(leader: ExploredLeader, offset: int) -> bool:
    record = leader.partition.window.records.get(offset)
    return record is None or bool(is_acquirable(record))
