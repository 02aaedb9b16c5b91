"""Replay of a recorded share-partition from Arrow columns."""

from collections.abc import Sequence
from functools import lru_cache

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from impl import layout as at
from impl.checkpoint import take_checkpoint
from impl.encode import Members
from impl.events import Events, events_of
from impl.leaders import leaders_of
from impl.replay import (
    NEXT,
    P_CLOCK,
    P_LEADER,
    P_PART,
    P_ROW,
    P_SEQ,
    P_TAKEN,
    POSITION,
    R_COUNTS,
    RESULTS,
    TAKE,
    Leaders,
    PartitionBounds,
    Stop,
    replay_rows,
)
from impl.rows import Ints
from impl.state import State, new_state, with_room
from impl.validity import are_events
from impl.whole_state import awaited, recorded_numbers, state_of, whole_state
from model.errors import InvalidValueError
from model.guards import Difference, Guard
from model.operations import Checkpoint
from model.profile import Profile
from model.trace_arrow import SCHEMA, check_schema
from model.trace_codec import operation_from_row
from model.whole_state import ReplayState

_CHUNK = 1 << 16
"""Rows to flatten at a time, which bounds the memory needed beside the table."""


@attrs.frozen
class KernelDivergence:
    """The first event that no rule allows.

    ``row`` counts from 0 in the table; ``offset`` is where it differs or was refused, if that is
    an offset.
    """

    row: int
    kind: Guard | Difference
    offset: int | None


@attrs.frozen(eq=False)
class FlatEvents:
    """A record batch as arrays, which may hold several share-partitions, one after another.

    ``leader_rows`` are the rows with a configuration, of which ``leaders`` has the values, and
    ``unreadable`` those that hold no event, or of which the configuration cannot be read.
    ``results`` receives what the events lead to, and ``spare`` the state of a share-partition that
    is over. To flatten a batch costs more than to replay some hundred events of it.
    """

    batch: pa.RecordBatch
    members: Members
    events: Events
    leaders: Leaders
    leader_rows: Ints
    unreadable: Ints
    results: Ints
    spare: list[State] = attrs.field(factory=list)


@attrs.frozen
class KernelResult:
    """Why a replay stopped early, if it did, and the state after each event before.

    ``events``: how many there are. ``unreadable``: why the next row cannot be replayed;
    ``model.trace_codec`` knows more if the row by itself holds no event. The arrays have one row
    for each of the events: ``lag`` in offsets, ``counts`` of the records in each state (events, 6),
    in the order of the ids, and the window's offsets, the end exclusive. ``states``: where the
    replay stood after so many rows, if that was asked for.
    """

    events: int
    divergence: KernelDivergence | None
    lag: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    start_offsets: npt.NDArray[np.int64]
    end_offsets: npt.NDArray[np.int64]
    unreadable: str | None = None
    states: tuple[tuple[int, ReplayState], ...] = ()


def replay_partition(
    table: pa.Table,
    profile: Profile,
    start: ReplayState | None = None,
    every: int | None = None,
) -> KernelResult:
    """Replay the events of one share-partition, in the order of ``seq``, and compare each.

    Columns as in ``model.trace_arrow.SCHEMA``; others are ignored. Stops at the first row that
    diverges or cannot be read. ``start`` is where the events before have led. With ``every``, the
    result has the states about every so many events, where a leader is, and that after the last.
    Raises InvalidValueError for a column that is missing or has another type.
    """
    check_schema(table.schema)
    results = np.empty((table.num_rows, RESULTS), np.int64)
    replay = _Replay(profile, Members(), start)
    states: list[tuple[int, ReplayState]] = []
    done = 0
    for batch in table.combine_chunks().to_batches(max_chunksize=min(every or _CHUNK, _CHUNK)):
        flat = _flat(batch, replay.members, results[done : done + batch.num_rows])
        stop = replay.step(flat, 0, batch.num_rows)
        done += stop.row
        if stop.verdict != at.FINE:
            return _stopped(results[:done], replay, flat, stop, states)
        since = done - (states[-1][0] if states else 0)
        if every and done < table.num_rows and since >= every and replay.is_led:
            states.append((done, replay.standing()))
    if every:
        states.append((done, replay.standing()))
    return _result(results, states=states)


def flatten(table: pa.Table) -> FlatEvents:
    """Return the events of a table as arrays; columns as ``replay_partition`` takes them.

    Raises InvalidValueError for a column that is missing or has another type.
    """
    check_schema(table.schema)
    (batch,) = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], SCHEMA)]
    return _flat(batch, Members(), np.empty((batch.num_rows, RESULTS), np.int64))


def replay_each(
    flat: FlatEvents, starts: Ints, ends: Ints, profile: Profile
) -> npt.NDArray[np.bool_]:
    """Replay share-partitions, each in the rows from its start to its end (exclusive), in order.

    Return which came to their end: what that led to is ``result_of`` their rows. The others diverge
    or cannot be read, which ``replay_rows_of`` tells. To call compiled code costs as much for one
    as for all.
    """
    unreadable = (np.searchsorted(flat.unreadable, bounds) for bounds in (starts, ends))
    ended: npt.NDArray[np.bool_] = np.equal(*unreadable)
    whole = np.flatnonzero(ended)
    if len(whole):
        spare = flat.spare.pop() if flat.spare else None
        replay = _Replay(profile, flat.members, None, spare)
        leaders = np.searchsorted(flat.leader_rows, starts[whole])
        rows = np.stack([starts[whole], ends[whole], leaders], axis=1)
        ended[whole[replay.stopped(flat, rows)]] = False
        flat.spare.append(replay.state)
    return ended


def result_of(flat: FlatEvents, first: int, end: int) -> KernelResult:
    """Return the result of a share-partition that came to its end in ``replay_each``."""
    return _result(flat.results[first:end])


def replay_rows_of(flat: FlatEvents, first: int, end: int, profile: Profile) -> KernelResult:
    """Replay the rows from ``first`` to ``end`` (exclusive), those of one share-partition.

    They are as in ``replay_partition``, which does the same with a table of their own.
    """
    replay = _Replay(profile, flat.members, None, flat.spare.pop() if flat.spare else None)
    stop = replay.step(flat, first, end)
    flat.spare.append(replay.state)
    results = flat.results[first : stop.row]
    return _result(results) if stop.verdict == at.FINE else _stopped(results, replay, flat, stop)


def _stopped(
    results: Ints,
    replay: "_Replay",
    flat: FlatEvents,
    stop: Stop,
    states: Sequence[tuple[int, ReplayState]] = (),
) -> KernelResult:
    """Return the result of a replay that a row has ended."""
    reason = at.VERDICTS[stop.verdict]
    if isinstance(reason, at.Invalid):
        refusal = replay.refusal(flat.batch, stop.row, reason)
        return _result(results, unreadable=refusal, states=states)
    if not isinstance(reason, Guard | Difference):
        raise TypeError(reason)
    offset = replay.where if replay.where >= 0 else None
    return _result(results, KernelDivergence(len(results), reason, offset), states=states)


def _flat(batch: pa.RecordBatch, members: Members, results: Ints) -> FlatEvents:
    events, (leaders, rows, bad) = events_of(batch, members), leaders_of(batch)
    unreadable = np.union1d(bad, np.flatnonzero(~are_events(events)))
    return FlatEvents(batch, members, events, leaders, rows, unreadable, results)


def _result(
    results: Ints,
    divergence: KernelDivergence | None = None,
    unreadable: str | None = None,
    states: Sequence[tuple[int, ReplayState]] = (),
) -> KernelResult:
    start, end, lag, counts = *results.T[:R_COUNTS], results[:, R_COUNTS:]
    handed_out = tuple(states)
    return KernelResult(len(results), divergence, lag, counts, start, end, unreadable, handed_out)


def _begun(profile: Profile, fresh: State, spare: State | None) -> State:
    """Return a state that no leader has initialized, in the arrays of one that is over.

    No row of them is read before it is written.
    """
    if spare is None or spare.runs.shape[1] != fresh.runs.shape[1]:
        return new_state(profile)
    return spare._replace(header=fresh.header.copy())


@lru_cache
def _fresh_state(profile: Profile) -> State:
    return new_state(profile)


class _Replay:
    """A share-partition, and the position in its events between two batches."""

    def __init__(
        self,
        profile: Profile,
        members: Members,
        start: ReplayState | None,
        spare: State | None = None,
    ) -> None:
        self.members, self._profile = members, profile
        self._position = np.array(POSITION, np.int64)
        fresh = _fresh_state(profile)
        self._fresh = fresh.header
        self.state: State = _begun(profile, fresh, spare)
        if start:
            told = start.numbers, start.awaited
            self.state = state_of(start.state, self.members, profile, *told)
            self._position[P_SEQ], self._position[P_CLOCK] = start.seq, start.time_ms

    @property
    def is_led(self) -> bool:
        """Whether a leader is known, so that any event may follow."""
        return bool(self.state.header[at.INITIALIZED])

    def standing(self) -> ReplayState:
        """Return where the replay stands between two batches."""
        return ReplayState(
            whole_state(self.state, self.members),
            int(self._position[P_SEQ]),
            int(self._position[P_CLOCK]),
            recorded_numbers(self.state),
            awaited(self.state),
        )

    def step(self, flat: FlatEvents, first: int, end: int) -> Stop:
        """Replay the rows up to ``end``, or to the first that cannot be read."""
        bad = flat.unreadable[np.searchsorted(flat.unreadable, first) :]
        readable = min([end, *bad[:1]])
        # The row and the leader are counted in each batch.
        leader = np.searchsorted(flat.leader_rows, first)
        position = self._position
        position[P_ROW], position[P_LEADER], position[P_PART] = first, leader, 0
        stop = self._replay(flat, np.array([[first, readable, leader]], np.int64))
        if stop.verdict == at.FINE and readable < end:
            return stop._replace(verdict=at.verdict(at.NO_EVENT))
        return stop

    def stopped(self, flat: FlatEvents, rows: Ints) -> list[int]:
        """Replay share-partitions anew, by their bounds; return those that come to no end."""
        stopped: list[int] = []
        part = 0
        while part < len(rows):
            self._position[P_ROW], self._position[P_PART] = NEXT, part
            if self._replay(flat, rows).verdict == at.FINE:
                break
            stopped.append(int(self._position[P_PART]))
            part = stopped[-1] + 1
        return stopped

    def _replay(self, flat: FlatEvents, rows: Ints) -> Stop:
        """Replay by bounds, and make room or take checkpoints on the way."""
        bounds = PartitionBounds(rows, self._fresh)
        arguments = flat.events, flat.leaders, flat.results, self._position, bounds
        while True:
            # A checkpoint that is taken over makes other arrays.
            self.state = self.state._replace(written=flat.events.written)
            stop = replay_rows(self.state, *arguments)
            if not stop.room:
                return stop
            refused = self._make_ready(flat.batch, stop)
            if refused != at.FINE:
                return stop._replace(verdict=refused, room=0)

    def _make_ready(self, batch: pa.RecordBatch, stop: Stop) -> int:
        """Make the room that is needed, or take the checkpoint of a row; return a verdict."""
        if stop.room != TAKE:
            self.state = with_room(self.state, 2 * stop.room)
            return at.FINE
        (row,) = batch.slice(stop.row, 1).to_pylist()
        try:
            operation = operation_from_row(row)
        except InvalidValueError:
            return at.verdict(at.NO_EVENT)
        if not isinstance(operation, Checkpoint):
            raise TypeError(operation)
        start = operation.state.start_offset
        self.state, verdict = take_checkpoint(
            self.state, self.members, operation, self._profile, row["seq"], start
        )
        self._position[P_TAKEN] = 1
        return verdict

    @property
    def where(self) -> int:
        """The offset or number that the verdict on the last row is about; -1 for none."""
        return int(self.state.header[at.WHERE])

    def refusal(self, batch: pa.RecordBatch, row: int, reason: at.Invalid) -> str:
        """Return why a row cannot be replayed, with the value that was refused."""
        if reason in (at.LONG_LOCK, at.LONG_STALENESS):
            value: object = self.where
        elif reason is at.NO_EVENT:
            value = "malformed"
        else:
            name = "op" if reason in (at.NO_MARKS, at.NO_CHECKPOINT) else reason.name
            value = batch.column(name.removesuffix(".id"))[row].as_py()
        return str(InvalidValueError(reason.name, value, reason.allowed))
