"""Every state of a share-partition of a small size: what each offset of its window may hold."""

from collections.abc import Iterator
from functools import cache
from itertools import product

import attrs
from immutables import Map

from judge.invariants import RECORD_INVARIANTS, violated
from judge.recorded_partition import RecordedPartition
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Write
from model.profile import Profile
from model.ranges import PassedOver
from model.states import RecordState
from model.whole_state import Delayed
from spec.coordinator import Durable, coalesce
from spec.log import Extent, Log, learn_hole
from spec.partition import Outstanding, SharePartition
from spec.record import Record, is_held
from spec.window import Window, extend, replace

MEMBERS, THIRD = ("a", "b"), "c"
START, NOW, LIMIT, SEQ, CALL = 1, 10, 2, 7, 17
"""Start offset, clock, delivery count limit; the first operation that waits; the next one."""

TIMES = (NOW, NOW + 2)
"""When locks end or ended: one is over, and one is not."""

CONFIG = SharePartitionConfig(
    LIMIT,
    3,
    2,
    AutoOffsetReset.EARLIEST,
    in_progress_staleness_threshold_ms=2,
    in_progress_max_lock_extension_ms=3,
    in_progress_rebalance_grace_ms=1,
)
"""The window is at most 3 offsets wide, a lock lasts 2 ms."""

_PENDING_STATES = {
    RecordState.AVAILABLE,
    RecordState.ACKNOWLEDGED,
    RecordState.ARCHIVING,
    RecordState.ARCHIVED,
}


@attrs.frozen
class WindowCell:
    """What an offset of the window holds: a record, and the write that it waits for; or nothing.

    ``hole``: the log holds no record there.
    """

    record: Record | None = None
    write: int | None = None
    hole: bool = False


@attrs.frozen
class Surroundings:
    """What a state has besides its window.

    ``forgotten``: a write is outstanding for which nobody waits; ``unmade``: it takes its numbers
    after the next operation. ``produced``: the log batches are
    known, up to one offset past the window.
    """

    config: SharePartitionConfig = CONFIG
    durable: Durable = Durable(0, 0, state_epoch=1, leader_epoch=1)
    log_start: int = 0
    stable: int | None = None
    known: bool = True
    produced: bool = True
    forgotten: bool = False
    unmade: bool = False
    timed: bool = False
    waiting: tuple[PassedOver, ...] = ()
    stuck: Delayed | None = None


PLAIN = Surroundings()


@cache
def records(profile: Profile, *, dead_letters: bool = False) -> tuple[Record, ...]:
    """Return every record that the invariants allow, of two members and two times.

    A number of an acquisition and times of progress only where the profile has them.
    """
    owners, times = (None, *MEMBERS), (None, *TIMES)
    marks: list[tuple[int | None, int | None, int | None]] = [(None, None, None)]
    if profile.in_progress:
        marks += [(0, None, None), (0, NOW - 1, NOW), (0, NOW - 3, NOW - 1)]
    fields = product(
        RecordState,
        range(LIMIT + 1),
        owners,
        times,
        (False, True),
        owners,
        times,
        (False, True),
        marks,
    )
    records = (Record(*fields[:-1], *fields[-1]) for fields in fields)
    return tuple(
        record for record in records if _is_possible(record, profile, dead_letters=dead_letters)
    )


def _is_possible(record: Record, profile: Profile, *, dead_letters: bool) -> bool:
    if not all(invariant.holds(record, LIMIT, NOW) for invariant in RECORD_INVARIANTS):
        return False
    if record.state == RecordState.ARCHIVING and not dead_letters:
        return False
    if record.state == RecordState.IN_PROGRESS and not profile.in_progress:
        return False
    numbered = is_held(record) or (record.pending and record.former_owner is not None)
    if profile.in_progress and numbered is (record.acquisition is None):
        return False
    return _is_written(record) if record.pending else not record.exhausted


def _is_written(record: Record) -> bool:
    """Whether a write of the record can be outstanding: as an operation began it, or vanished."""
    if record.state not in _PENDING_STATES:
        return False
    if record.former_owner is None:
        return record.state == RecordState.ARCHIVED and not record.exhausted
    return not (record.state == RecordState.AVAILABLE and record.exhausted)


def cells(profile: Profile, *, dead_letters: bool = False) -> tuple[WindowCell, ...]:
    """Return every content of an offset; a record waits for write 0."""
    full = (
        WindowCell(record, 0 if record.pending else None)
        for record in records(profile, dead_letters=dead_letters)
    )
    return (WindowCell(), WindowCell(hole=True), *full)


def states(
    profile: Profile, contents: tuple[WindowCell, ...], width: int, around: Surroundings = PLAIN
) -> Iterator[SharePartition]:
    """Yield every state whose window has so many offsets with these contents.

    The last offset holds a record: a window ends with what entered it last. Of two states that
    differ in the names of members only the first is yielded. Records wait for the writes of their
    contents; those that wait for write 0 alone, also each for its own.
    """
    for chosen in product(contents, repeat=width):
        if not _is_first(chosen) or (chosen and chosen[-1].record is None):
            continue
        waiting = [cell.write for cell in chosen if cell.write is not None]
        for apart in (False, True)[: 1 + (len(waiting) > 1 and not any(waiting))]:
            yield state_of(profile, _apart(chosen) if apart else chosen, around)


def _apart(chosen: tuple[WindowCell, ...]) -> tuple[WindowCell, ...]:
    return tuple(
        cell if cell.write is None else attrs.evolve(cell, write=place)
        for place, cell in enumerate(chosen)
    )


def _is_first(chosen: tuple[WindowCell, ...]) -> bool:
    names = [cell.record.owner or cell.record.former_owner for cell in chosen if cell.record]
    return next((name for name in names if name is not None), MEMBERS[0]) == MEMBERS[0]


def state_of(
    profile: Profile, chosen: tuple[WindowCell, ...], around: Surroundings
) -> SharePartition:
    """Return the share-partition with these contents from ``START`` on."""
    end = START + len(chosen)
    records = {START + place: cell.record for place, cell in enumerate(chosen) if cell.record}
    window = replace(extend(Window(START, START), end), records)
    outstanding = _outstanding(chosen, around)
    numbered = profile.in_progress
    return RecordedPartition(
        profile,
        around.config,
        NOW,
        _log(chosen, around, end + 2),
        window,
        outstanding,
        next_write=max(outstanding, default=-1) + 1,
        durable=around.durable,
        ready=True,
        highest_limit=LIMIT,
        next_acquisition=1 if numbered else 0,
        timed=around.timed,
        last_event=NOW - 1 if around.timed else 0,
        made_after=Map({9: CALL} if around.forgotten and around.unmade else {}),
        passed_over=around.waiting,
        stuck=around.stuck,
    )


def _log(chosen: tuple[WindowCell, ...], around: Surroundings, end: int) -> Log:
    batches: tuple[Extent, ...] = ((0, START), (START + 1, end - 1)) if around.produced else ()
    stable = end if around.stable is None else around.stable
    log = Log(around.log_start, end, (), batches, stable, around.known)
    for place, cell in enumerate(chosen):
        if cell.hole:
            log = learn_hole(log, START + place, START + place)
    return log


def _outstanding(chosen: tuple[WindowCell, ...], around: Surroundings) -> Map[int, Outstanding]:
    waits: dict[int, list[int]] = {}
    for place, cell in enumerate(chosen):
        if cell.write is not None:
            waits.setdefault(cell.write, []).append(START + place)
    outstanding = {}
    for id_, offsets in sorted(waits.items()):
        entries = ((o, _written(chosen[o - START].record)) for o in offsets)
        write = Write(id_, START, 0, coalesce(entries), ErrorCode.PENDING)
        outstanding[id_] = Outstanding(write, tuple(offsets), SEQ + id_)
    if around.forgotten:
        batches = coalesce([(START, (RecordState.AVAILABLE, 1))])
        write = Write(9, START, 0, batches, ErrorCode.PENDING)
        outstanding[9] = Outstanding(write)
    return Map(outstanding)


def _written(record: Record | None) -> tuple[RecordState, int]:
    assert record is not None  # noqa: S101 - what waits for a write is a record
    vanished = record.former_owner is None
    state = RecordState.AVAILABLE if vanished else RecordState(record.state)
    return state, record.delivery_count


def is_sound(partition: SharePartition) -> bool:
    """Whether every invariant holds."""
    return violated(partition) == []


COMMITTED = attrs.evolve(CONFIG, isolation_level=IsolationLevel.READ_COMMITTED)
