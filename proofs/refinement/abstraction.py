"""What a state of the implementation stands for, and the states of it that stand for a value.

The implementation keeps runs of equal records in arrays; the specification maps an offset to a
record. ``abstraction`` reads the arrays as the specification's value, ``concrete`` writes a value
into arrays. They are the only functions that know both.
"""

from functools import cache
from itertools import pairwise
from typing import TypeAlias

import attrs
import numpy as np
from immutables import Map

from impl import layout as at
from impl.encode import settings_of
from impl.partition import FastSharePartition
from impl.rows import Ints
from impl.state import State, copy_of, new_state
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import Initialize
from model.outcome import Write
from model.profile import Profile
from model.ranges import PassedOver, StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from spec.coordinator import durable_from, durable_state
from spec.log import Log
from spec.partition import Outstanding, SharePartition, Waiting
from spec.record import Record
from spec.window import Window, extend, replace, tracked

MEMBERS = ("a", "b")

_HELD = (int(at.ACQUIRED), int(at.IN_PROGRESS))
_NO_WRITE, _NO_CALL, _NOBODY = int(at.NO_WRITE), int(at.NO_CALL), int(at.NOBODY)
_NOWHERE, _NOT_MARKED, _PENDING = int(at.NOWHERE), int(at.NOT_MARKED), ErrorCode.PENDING
_WORN_ROWS, _WORN_SERIALS = 3, 10
_Row: TypeAlias = list[int]


class Loaded(FastSharePartition):
    """An implementation with given arrays."""

    def __init__(self, profile: Profile, state: State) -> None:
        """Have these arrays, in which the members are numbered as in ``MEMBERS``."""
        super().__init__(profile)
        self._state = state
        for name in MEMBERS:
            self._members.number(name)

    @property
    def state(self) -> State:
        """The arrays."""
        return self._state


def concrete(partition: SharePartition, *, worn: bool = False) -> Loaded:
    """Return an implementation whose state stands for ``partition``, in runs as long as possible.

    ``worn``: as after a longer life. The runs begin further back in their array, those that wait
    for a write are cut, the numbers of changes are higher, the next deadline is a lower bound, and
    what is durable waits in the journal to be merged.
    """
    state = copy_of(_initialized(partition))
    header, shift = state.header, _WORN_ROWS if worn else 0
    serials = {id_: _WORN_SERIALS * worn + n for n, id_ in enumerate(partition.outstanding)}
    window, log = partition.window, partition.log
    rows = _runs(partition, serials, apart=worn)
    for array, head, tail, values in (
        (state.runs, at.HEAD, at.TAIL, rows),
        (state.holes, at.HOLES_HEAD, at.HOLES_TAIL, log.holes),
        (state.log, at.LOG_HEAD, at.LOG_TAIL, log.batches),
    ):
        header[head], header[tail] = shift, shift + len(values)
        _fill(array, shift, values)
    header[at.START], header[at.END] = window.start_offset, window.end_offset
    for row in rows:
        header[at.COUNTS + row[at.STATE]] += row[at.LAST] - row[at.FIRST] + 1
    held = [row[at.DEADLINE] for row in rows if row[at.STATE] in _HELD and row[at.WRITE] < 0]
    header[at.NEXT_DEADLINE] = 0 if worn else min(held, default=at.NEVER)
    header[at.NEXT_SERIAL] = max(serials.values(), default=-1) + 1
    _fill_outstanding(state, partition, serials)
    _fill_durable(state, durable_state(partition.durable), journal=worn)
    header[at.NEXT_WRITE] = partition.next_write
    header[at.NEXT_ACQUISITION] = partition.next_acquisition
    header[at.LAST_EVENT] = partition.last_event
    header[at.WAITING_TAIL] = len(partition.waiting)
    _fill(state.waiting, 0, tuple(attrs.astuple(each) for each in partition.waiting))
    stuck = partition.stuck
    header[at.STUCK_OFFSET] = _NOWHERE if stuck is None else stuck.offset
    header[at.STUCK_FETCHES] = 0 if stuck is None else stuck.fetches
    return Loaded(partition.profile, state)


def abstraction(impl: Loaded, like: SharePartition) -> SharePartition:
    """Return the share-partition for which the implementation's state stands.

    The configuration, the profile and the highest limit, which no rule reads, are those of
    ``like``: the arrays have no more than numbers of them, which ``malformed`` compares.
    """
    state, header = impl.state, impl.state.header
    start, end = int(header[at.START]), int(header[at.END])
    records = _records(state)
    durable = durable_from(impl.durable())
    return attrs.evolve(
        like,
        now=int(header[at.NOW]),
        log=Log(
            int(header[at.LOG_START]),
            int(header[at.LOG_END]),
            _extents(state.holes, header, at.HOLES_HEAD),
            _extents(state.log, header, at.LOG_HEAD),
            int(header[at.STABLE]),
            known=bool(header[at.LOG_KNOWN]),
        ),
        window=replace(extend(Window(start, start), end), records),
        outstanding=_outstanding(state),
        next_write=int(header[at.NEXT_WRITE]),
        durable=durable,
        ready=bool(header[at.INITIALIZED]),
        next_acquisition=int(header[at.NEXT_ACQUISITION]),
        timed=bool(header[at.TIMED]),
        last_event=int(header[at.LAST_EVENT]),
        waiting=tuple(
            PassedOver(*row) for row in state.waiting[: header[at.WAITING_TAIL]].tolist()
        ),
        stuck=_stuck(header),
    )


def comparable(partition: SharePartition) -> SharePartition:
    """Return the value without what the arrays cannot show and no rule of a leader reads.

    The offsets of a write are in order; the last event matters only to a real clock; how often the
    share coordinator wrote a snapshot is its own.
    """
    outstanding = {
        id_: attrs.evolve(waiting, offsets=tuple(sorted(waiting.offsets)))
        for id_, waiting in partition.outstanding.items()
    }
    return attrs.evolve(
        partition,
        outstanding=Map(outstanding),
        last_event=partition.last_event if partition.timed else 0,
        durable=attrs.evolve(partition.durable, snapshot_epoch=0, updates=0),
    )


def malformed(impl: Loaded, config: SharePartitionConfig) -> str | None:
    """Return what the arrays break that every operation relies on, in words; None if nothing.

    Runs ascend, are disjoint and as long as possible, and the last ends with the window; what is
    counted of them is right; no lock ends before the next deadline; numbers of changes are fresh;
    the settings are those given.
    """
    header, outstanding = impl.state.header, impl.state.outstanding
    rows = impl.state.runs[header[at.HEAD] : header[at.TAIL]].tolist()
    made_after = outstanding[: header[at.OUTSTANDING_TAIL], at.O_MADE_AFTER]
    faults = (
        ("the runs do not ascend", not _ascend(rows)),
        ("two runs are equal", any(_is_one(*pair) for pair in pairwise(rows))),
        ("the window does not end with a run", not _ends(header, rows)),
        ("a lock ends before the next deadline", not _is_bound(header[at.NEXT_DEADLINE], rows)),
        ("a change has no number", any(r[at.WRITE] >= header[at.NEXT_SERIAL] for r in rows)),
        ("the counts are not of the runs", _counts(header) != _counted(rows)),
        ("some writes are not made", (made_after != at.MADE).sum() != header[at.UNMADE]),
        ("the settings are others", _settings(header) != _numbers(config)),
    )
    return next((f"{fault}: {rows}" for fault, is_so in faults if is_so), None)


def _ascend(rows: list[_Row]) -> bool:
    return all(row[at.FIRST] <= row[at.LAST] for row in rows) and all(
        run[at.LAST] < following[at.FIRST] for run, following in pairwise(rows)
    )


def _is_alike(first: _Row, second: _Row) -> bool:
    return first[at.LAST] + 1 == second[at.FIRST] and first[at.STATE :] == second[at.STATE :]


def _is_one(first: _Row, second: _Row) -> bool:
    """Tell whether two runs must be one. Those of an outstanding write are joined at its end."""
    return _is_alike(first, second) and first[at.WRITE] == _NO_WRITE


def _ends(header: Ints, rows: list[_Row]) -> bool:
    if header[at.START] == header[at.END]:
        return not rows
    return bool(rows) and rows[-1][at.LAST] + 1 == header[at.END]


def _is_bound(deadline: int, rows: list[_Row]) -> bool:
    locked = (row for row in rows if row[at.STATE] in _HELD and row[at.WRITE] == _NO_WRITE)
    return all(row[at.DEADLINE] >= deadline for row in locked)


def _counts(header: Ints) -> list[int]:
    counts: list[int] = header[at.COUNTS : at.COUNTS + at.STATES].tolist()
    return counts


def _counted(rows: list[_Row]) -> list[int]:
    counts = [0] * at.STATES
    for row in rows:
        counts[row[at.STATE]] += row[at.LAST] - row[at.FIRST] + 1
    return counts


@cache
def _numbers(config: SharePartitionConfig) -> tuple[int, ...]:
    settings = settings_of(config)
    failed = at.ARCHIVING if settings.dead_letters else at.ARCHIVED
    return tuple(int(n) for n in settings._replace(dead_letters=failed))


def _settings(header: Ints) -> tuple[int, ...]:
    first, last = at.DELIVERY_LIMIT, at.RESET
    return tuple(header[first : last + 1].tolist())


@cache
def _begun(
    profile: Profile, operation: Initialize, epochs: tuple[int, int], last: tuple[int, int]
) -> State:
    """Return the arrays after the implementation itself took over, with nothing in flight."""
    persisted = DurableState(*last, (), *epochs)
    impl = Loaded(profile, new_state(profile))
    impl.apply(attrs.evolve(operation, persisted=persisted))
    return impl.state


def _initialized(partition: SharePartition) -> State:
    log, durable = partition.log, partition.durable
    operation = Initialize(
        partition.config,
        log.start_offset,
        log.end_offset,
        DurableState(-1, -1),
        partition.now,
        partition.window.start_offset,
        log.stable_offset,
        log_known=log.known,
        timed=partition.timed,
    )
    return _begun(
        partition.profile,
        operation,
        (durable.state_epoch, durable.leader_epoch),
        (durable.start_offset, durable.delivery_complete_count),
    )


def _fill(
    array: Ints,
    row: int,
    values: "list[_Row] | tuple[tuple[int, ...], ...]",
) -> None:
    if values:
        array[row : row + len(values)] = np.array(values, np.int64)


def _runs(partition: SharePartition, serials: dict[int, int], *, apart: bool) -> list[_Row]:
    window = partition.window
    writes = {o: id_ for id_, waits in partition.outstanding.items() for o in waits.offsets}
    rows: list[_Row] = []
    for offset in tracked(window, window.start_offset, window.end_offset):
        record = window.records[offset]
        serial = serials[writes[offset]] if record.pending else _NO_WRITE
        row = [offset, offset, *_columns(record, serial, marks=partition.profile.in_progress)]
        if rows and (_is_one(rows[-1], row) or (not apart and _is_alike(rows[-1], row))):
            rows[-1][at.LAST] = offset
        else:
            rows.append(row)
    return rows


def _columns(record: Record, serial: int, *, marks: bool) -> _Row:
    owner = record.former_owner if record.pending else record.owner
    deadline = record.former_deadline if record.pending else record.deadline
    restore = 0
    if record.pending:
        restore = at.TO_GIVEN_UP if record.exhausted else at.TO_AVAILABLE
        restore = at.VANISHED if owner is None else restore
    row = [
        int(record.state),
        record.delivery_count,
        _NOBODY if owner is None else MEMBERS.index(owner),
        0 if deadline is None else deadline - 1,
        serial,
        restore,
    ]
    if not marks:
        return row
    if owner is None:
        return [*row, 0, 0, 0]
    start, last = record.progress_start, record.last_progress
    times = (_NOT_MARKED if time is None else time for time in (start, last))
    return [*row, record.acquisition, *times]


def _fill_outstanding(state: State, partition: SharePartition, serials: dict[int, int]) -> None:
    header = state.header
    for row, (id_, waiting) in enumerate(partition.outstanding.items()):
        write = waiting.write
        state.outstanding[row] = (
            id_,
            serials[id_] if waiting.offsets else _NO_WRITE,
            _NO_CALL if waiting.seq is None else waiting.seq,
            write.start_offset,
            write.delivery_complete_count,
            len(write.state_batches),
            at.MADE if waiting.made_after is None else waiting.made_after,
            at.UNSAID,
            at.UNSAID,
            min(waiting.offsets, default=-1),
            max(waiting.offsets, default=-1),
        )
        header[at.UNMADE] += waiting.made_after is not None
        for batch in write.state_batches:
            state.pending[header[at.PENDING_TAIL]] = attrs.astuple(batch)
            header[at.PENDING_TAIL] += 1
    header[at.OUTSTANDING_TAIL] = len(partition.outstanding)


def _fill_durable(state: State, durable: DurableState, *, journal: bool) -> None:
    rows = tuple(attrs.astuple(batch) for batch in durable.state_batches)
    _fill(state.journal if journal else state.durable, 0, rows)
    state.header[at.JOURNAL_TAIL if journal else at.DURABLE_TAIL] = len(rows)


def _extents(array: Ints, header: Ints, head: int) -> tuple[tuple[int, int], ...]:
    rows = array[header[head] : header[head + 1]].tolist()
    return tuple((first, last) for first, last in rows)


def _stuck(header: Ints) -> Waiting | None:
    if header[at.STUCK_OFFSET] == _NOWHERE:
        return None
    return Waiting(int(header[at.STUCK_OFFSET]), int(header[at.STUCK_FETCHES]))


def _records(state: State) -> dict[int, Record]:
    header = state.header
    return {
        offset: _record(row)
        for row in state.runs[header[at.HEAD] : header[at.TAIL]].tolist()
        for offset in range(row[at.FIRST], row[at.LAST] + 1)
    }


def _record(row: _Row) -> Record:
    kind, count = RecordState(row[at.STATE]), row[at.COUNT]
    pending = row[at.WRITE] != _NO_WRITE
    if row[at.RESTORE] == at.VANISHED:
        return Record(kind, count, pending=pending)
    if not pending and kind not in _HELD:
        return Record(kind, count)
    owner, deadline = MEMBERS[row[at.OWNER]], row[at.DEADLINE] + 1
    acquisition, start, last = _marks(row)
    record = Record(kind, count, acquisition=acquisition, progress_start=start, last_progress=last)
    if not pending:
        return attrs.evolve(record, owner=owner, deadline=deadline)
    return attrs.evolve(
        record,
        pending=True,
        former_owner=owner,
        former_deadline=deadline,
        exhausted=row[at.RESTORE] == at.TO_GIVEN_UP,
    )


def _marks(row: _Row) -> tuple[int | None, int | None, int | None]:
    if len(row) == at.RUN_COLUMNS:
        return None, None, None
    start, last = row[at.PROGRESS_START], row[at.LAST_PROGRESS]
    return (
        row[at.ACQUISITION],
        None if start == _NOT_MARKED else start,
        None if last == _NOT_MARKED else last,
    )


def _outstanding(state: State) -> Map[int, Outstanding]:
    header = state.header
    pending = state.pending[: header[at.PENDING_TAIL]].tolist()
    waits: dict[int, Outstanding] = {}
    for row in state.outstanding[: header[at.OUTSTANDING_TAIL]].tolist():
        id_, serial, call, start, complete, count, made_after = row[: at.O_MADE_AFTER + 1]
        batches = tuple(
            StateBatch(first, last, RecordState(kind), deliveries)
            for first, last, kind, deliveries in pending[:count]
        )
        pending = pending[count:]
        write = Write(id_, start, complete, batches, _PENDING)
        offsets = tuple(o for batch in batches for o in range(batch.first, batch.last + 1))
        waits[id_] = Outstanding(
            write,
            () if serial == _NO_WRITE else offsets,
            None if call == _NO_CALL else call,
            None if made_after < 0 else made_after,
        )
    return Map(waits)
