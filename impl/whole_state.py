"""The arrays of a share-partition as its whole state (``model.whole_state``), and back.

States are taken rarely, so this is plain Python over the arrays, for both faces of ``impl``.
"""

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from impl import layout as at
from impl.durable import merge_journal
from impl.encode import RESETS, Members, batch_rows, settings_of
from impl.rows import Ints
from impl.state import State, new_state, with_room
from impl.writes import forget_redundant
from model.config import IsolationLevel, SharePartitionConfig
from model.profile import Profile
from model.ranges import PassedOver, StateBatch, join_neighbours
from model.snapshot import DurableState
from model.states import RecordState
from model.whole_state import (
    Awaited,
    AwaitedKind,
    Delayed,
    Extent,
    LogState,
    RecordedNumbers,
    RecordsInFlight,
    WholeState,
    WriteInFlight,
)

_STATES = tuple(RecordState)  # In the order of the ids, from 0.
_HELD = (int(at.ACQUIRED), int(at.IN_PROGRESS))
_RESET_NAMES = {number: reset for reset, number in RESETS.items()}
_LATE = {
    AwaitedKind.WRITE: at.LATE_WRITE,
    AwaitedKind.DEAD_LETTER: at.LATE_LETTER,
    AwaitedKind.LOG: at.LATE_LOG,
}
_SINGLE: dict[str, tuple[int, type[int]]] = {
    "now": (at.NOW, int),
    "timed": (at.TIMED, bool),
    "ready": (at.INITIALIZED, bool),
    "start_offset": (at.START, int),
    "end_offset": (at.END, int),
    "next_write": (at.NEXT_WRITE, int),
    "durable_whole": (at.DURABLE_WHOLE, bool),
    "highest_limit": (at.HIGHEST_LIMIT, int),
    "next_acquisition": (at.NEXT_ACQUISITION, int),
}
"""Where the header has what is one value of the whole state, and of which type that is."""


def whole_state(state: State, members: Members) -> WholeState:
    """Return the whole state; what is durable is merged first, which changes nothing else."""
    forget_redundant(state)
    writes = list(_writes(state))
    h = state.header
    single: dict[str, Any] = {name: kind(h[place]) for name, (place, kind) in _SINGLE.items()}
    return WholeState(
        **single,
        config=_config(h),
        last_event=int(h[at.LAST_EVENT]) if h[at.TIMED] else 0,
        records=tuple(join_records(_records(state, members))),
        log=LogState(
            int(h[at.LOG_START]),
            int(h[at.LOG_END]),
            int(h[at.STABLE]),
            bool(h[at.LOG_KNOWN]),
            _extents(state.holes[h[at.HOLES_HEAD] : h[at.HOLES_TAIL]]),
            _extents(state.log[h[at.LOG_HEAD] : h[at.LOG_TAIL]]),
        ),
        writes=tuple(sorted((w for w in writes if w.id >= 0), key=lambda write: write.id)),
        durable=durable_state(state),
        waiting=tuple(PassedOver(*row) for row in state.waiting[: h[at.WAITING_TAIL]].tolist()),
        stuck=_delayed(h),
        doubtful=tuple(sorted({attrs.evolve(w, id=0) for w in writes if w.id < 0}, key=_told)),
    )


def durable_state(state: State) -> DurableState:
    """Return what the share coordinator holds: -1 and -1 before any leader."""
    merge_journal(state)
    h = state.header
    return DurableState(
        int(h[at.DURABLE_START]),
        int(h[at.DURABLE_COMPLETE]),
        state_batches(state.durable[: h[at.DURABLE_TAIL]]),
        int(h[at.STATE_EPOCH]),
        int(h[at.LEADER_EPOCH]),
    )


def _told(write: WriteInFlight) -> tuple[object, ...]:
    batches = tuple(attrs.astuple(batch) for batch in write.state_batches)
    return write.start_offset, write.delivery_complete_count, batches


def recorded_numbers(state: State) -> tuple[RecordedNumbers, ...]:
    """Return what a recording has for the writes that take their numbers later."""
    h = state.header
    rows = state.outstanding[: h[at.OUTSTANDING_TAIL] if h[at.INITIALIZED] else 0].tolist()
    numbers = (
        RecordedNumbers(
            row[at.O_ID],
            row[at.O_SAID_START],
            None if row[at.O_SAID_COMPLETE] == at.UNSAID else row[at.O_SAID_COMPLETE],
        )
        for row in rows
        if row[at.O_MADE_AFTER] >= 0 and row[at.O_SAID_START] != at.UNSAID
    )
    return tuple(sorted(numbers, key=lambda each: each.id))


def awaited(state: State) -> tuple[Awaited, ...]:
    """Return what must come in time, in the order of its kinds."""
    h = state.header
    return tuple(
        Awaited(kind, int(h[place]), int(h[place + 1]))
        for kind, place in _LATE.items()
        if h[place] != at.NOWHERE and h[at.INITIALIZED]
    )


def state_of(
    whole: WholeState,
    members: Members,
    profile: Profile,
    numbers: tuple[RecordedNumbers, ...] = (),
    since: tuple[Awaited, ...] = (),
) -> State:
    """Return arrays that have this whole state; ``members`` receives the owners."""
    entries = sum(len(write.state_batches) for write in (*whole.writes, *whole.doubtful))
    rows = len(whole.records) + len(whole.log.holes) + len(whole.log.batches)
    rows += len(whole.writes) + len(whole.doubtful) + len(whole.waiting) + entries
    rows += len(whole.durable.state_batches)
    state = with_room(new_state(profile), 4 * rows + 16)
    h = state.header
    _fill_header(h, whole)
    _fill_log(state, whole.log)
    serials = {write.id: serial for serial, write in enumerate(whole.writes)}
    h[at.NEXT_SERIAL] = len(serials)
    _fill_runs(state, whole, members, serials)
    _fill_writes(state, whole, serials, {each.id: each for each in numbers})
    batches = batch_rows(whole.durable.state_batches)
    state.durable[: len(batches)] = batches
    h[at.DURABLE_TAIL] = len(batches)
    for late in since:
        place = _LATE[late.kind]
        h[place], h[place + 1] = late.number, late.since
    h[at.WAITING_TAIL] = len(whole.waiting)
    for row, each in enumerate(whole.waiting):
        state.waiting[row] = attrs.astuple(each)
    return state


def _config(header: Ints) -> SharePartitionConfig:
    """Return the settings in force; the default ones before any leader."""
    if not header[at.DELIVERY_LIMIT]:
        return SharePartitionConfig()
    committed = bool(header[at.COMMITTED_ONLY])
    return SharePartitionConfig(
        int(header[at.DELIVERY_LIMIT]),
        int(header[at.MAX_LOCKS]),
        int(header[at.LOCK_DURATION]),
        _RESET_NAMES[int(header[at.RESET])],
        IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED,
        bool(header[at.RENEWAL]),
        bool(header[at.GIVEN_UP] == at.ARCHIVING),
        int(header[at.STALENESS]),
        int(header[at.EXTENSION]),
        int(header[at.GRACE]),
    )


def _records(state: State, members: Members) -> Iterator[RecordsInFlight]:
    h = state.header
    rows = state.outstanding[: h[at.OUTSTANDING_TAIL]].tolist()
    awaited = {row[at.O_SERIAL]: row[at.O_ID] for row in rows}
    for run in state.runs[h[at.HEAD] : h[at.TAIL]].tolist():
        kind, is_pending = run[at.STATE], bool(run[at.WRITE] != at.NO_WRITE)
        restored = is_pending and run[at.RESTORE] != at.VANISHED
        owned = restored or (kind in _HELD and not is_pending)
        yield RecordsInFlight(
            run[at.FIRST],
            run[at.LAST],
            _STATES[kind],
            run[at.COUNT],
            members.name(run[at.OWNER]) if owned else None,
            run[at.DEADLINE] if owned else None,
            awaited[run[at.WRITE]] if is_pending else None,
            restored and run[at.RESTORE] == at.TO_GIVEN_UP,
            *(_marks(run) if owned and h[at.MARKS] else ()),
        )


def _marks(run: list[int]) -> tuple[int, int | None, int | None]:
    start, last = run[at.PROGRESS_START], run[at.LAST_PROGRESS]
    return (
        run[at.ACQUISITION],
        None if start == at.NOT_MARKED else start,
        None if last == at.NOT_MARKED else last,
    )


def join_records(records: Iterator[RecordsInFlight]) -> Iterator[RecordsInFlight]:
    """Join what the arrays keep apart though it is the same: hidden columns, an open write."""
    pieces = ((each.first, each.last, attrs.evolve(each, first=0, last=0)) for each in records)
    for first, last, alike in join_neighbours(pieces):
        yield attrs.evolve(alike, first=first, last=last)


def _writes(state: State) -> Iterator[WriteInFlight]:
    begin = 0
    for row in state.outstanding[: state.header[at.OUTSTANDING_TAIL]].tolist():
        end = begin + row[at.O_BATCHES]
        yield WriteInFlight(
            row[at.O_ID],
            row[at.O_START],
            row[at.O_COMPLETE],
            state_batches(state.pending[begin:end]),
            row[at.O_CALL] if row[at.O_CALL] > at.NO_CALL else None,
            None if row[at.O_MADE_AFTER] < 0 else row[at.O_MADE_AFTER],
            bool(row[at.O_ID] >= 0 and row[at.O_SAID_START] != at.UNSAID),
            int(at.UNTOLD) - row[at.O_CALL] if row[at.O_CALL] <= at.UNTOLD else None,
        )
        begin = end


def state_batches(rows: Ints) -> tuple[StateBatch, ...]:
    """Return rows (first, last, state, delivery count) as state batches."""
    return tuple(
        StateBatch(first, last, _STATES[kind], count) for first, last, kind, count in rows.tolist()
    )


def _extents(rows: Ints) -> tuple[Extent, ...]:
    return tuple((first, last) for first, last in rows.tolist())


def _delayed(header: Ints) -> Delayed | None:
    if header[at.STUCK_OFFSET] == at.NOWHERE:
        return None
    return Delayed(int(header[at.STUCK_OFFSET]), int(header[at.STUCK_FETCHES]))


def _fill_header(header: Ints, whole: WholeState) -> None:
    settings = settings_of(whole.config)
    header[at.DELIVERY_LIMIT : at.RESET + 1] = settings
    header[at.GIVEN_UP] = at.ARCHIVING if settings.dead_letters else at.ARCHIVED
    for name, (place, _kind) in _SINGLE.items():
        header[place] = getattr(whole, name)
    durable = whole.durable
    header[at.LAST_EVENT] = whole.last_event if whole.timed else whole.now
    header[at.DURABLE_KNOWN] = whole.highest_limit > 0
    header[at.DURABLE_START] = durable.start_offset
    header[at.DURABLE_COMPLETE] = durable.delivery_complete_count
    header[at.STATE_EPOCH], header[at.LEADER_EPOCH] = durable.state_epoch, durable.leader_epoch
    if whole.stuck is not None:
        header[at.STUCK_OFFSET], header[at.STUCK_FETCHES] = attrs.astuple(whole.stuck)


def _fill_log(state: State, log: LogState) -> None:
    h = state.header
    h[at.LOG_START], h[at.LOG_END] = log.start_offset, log.end_offset
    h[at.STABLE], h[at.LOG_KNOWN] = log.stable_offset, log.known
    h[at.HOLES_TAIL], h[at.LOG_TAIL] = len(log.holes), len(log.batches)
    state.holes[: len(log.holes)] = np.array(log.holes, np.int64).reshape(-1, 2)
    state.log[: len(log.batches)] = np.array(log.batches, np.int64).reshape(-1, 2)


def _fill_runs(state: State, whole: WholeState, members: Members, serials: dict[int, int]) -> None:
    h = state.header
    h[at.TAIL], h[at.NEXT_DEADLINE] = len(whole.records), at.NEVER
    for row, each in enumerate(whole.records):
        kind, last_ms = int(each.state), 0 if each.last_ms is None else each.last_ms
        restore = at.TO_GIVEN_UP if each.exhausted else at.TO_AVAILABLE
        vanished = each.write is not None and each.owner is None
        columns = (
            each.first,
            each.last,
            kind,
            each.delivery_count,
            at.NOBODY if each.owner is None else members.number(each.owner),
            last_ms,
            at.NO_WRITE if each.write is None else serials[each.write],
            at.VANISHED if vanished else restore,
        )
        state.runs[row, : at.RUN_COLUMNS] = columns
        if h[at.MARKS] and each.acquisition is not None:
            marks = (each.progress_start, each.last_progress)
            times = (at.NOT_MARKED if time is None else time for time in marks)
            state.runs[row, at.RUN_COLUMNS :] = (each.acquisition, *times)
        h[at.COUNTS + kind] += each.last - each.first + 1
        if each.owner is not None and each.write is None:
            h[at.NEXT_DEADLINE] = min(h[at.NEXT_DEADLINE], last_ms)


def _call(write: WriteInFlight) -> int:
    if write.told_at is not None:
        return int(at.UNTOLD) - write.told_at
    return int(at.NO_CALL) if write.seq is None else write.seq


def _fill_writes(
    state: State,
    whole: WholeState,
    serials: dict[int, int],
    numbers: dict[int, RecordedNumbers],
) -> None:
    h, waiting = state.header, _waiting(whole)
    h[at.OUTSTANDING_TAIL] = len(whole.writes) + len(whole.doubtful)
    doubtful = (attrs.evolve(each, id=int(at.DOUBTFUL), seen=True) for each in whole.doubtful)
    for row, write in enumerate((*whole.writes, *doubtful)):
        recorded = numbers.get(write.id)
        complete = None if recorded is None else recorded.delivery_complete_count
        state.outstanding[row] = (
            write.id,
            serials[write.id] if write.id in waiting else at.NO_WRITE,
            _call(write),
            write.start_offset,
            write.delivery_complete_count,
            len(write.state_batches),
            at.MADE if write.made_after is None else write.made_after,
            _said(write) if recorded is None else recorded.start_offset,
            at.UNSAID if complete is None else complete,
            *waiting.get(write.id, (at.NOWHERE, at.NOWHERE)),
        )
        h[at.UNMADE] += whole.ready and write.made_after is not None
        begin, end = h[at.PENDING_TAIL], h[at.PENDING_TAIL] + len(write.state_batches)
        state.pending[begin:end] = batch_rows(write.state_batches)
        h[at.PENDING_TAIL] = end


def _said(write: WriteInFlight) -> int:
    return write.start_offset if write.seen else at.UNSAID


def _waiting(whole: WholeState) -> dict[int | None, tuple[int, int]]:
    """Return the first and the last offset that wait for each write."""
    ends: dict[int | None, tuple[int, int]] = {}
    for each in whole.records:
        if each.write is not None:
            ends[each.write] = (ends.get(each.write, (each.first, 0))[0], each.last)
    return ends
