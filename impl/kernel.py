"""Replay of a recorded share-partition from Arrow columns."""

from collections.abc import Iterator

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from impl.encode import Members, leader_of
from impl.events import Events, events_of
from impl.faults import FAULTS, NO_FAULT
from impl.layout import FINE, LONG_LOCK, LONG_STALENESS, NO_MARKS, VERDICTS, WHERE, Invalid
from impl.leadership import Leader
from impl.replay import LEADER_COLUMNS, P_SEQ, POSITION, RESULTS, Leaders, Stop, replay_rows
from impl.rows import Ints
from impl.state import State, new_state, with_room
from model.errors import InvalidValueError
from model.guards import Difference, Guard
from model.operations import AlterConfig, Initialize, Operation
from model.profile import Profile
from model.snapshot import DurableState
from model.trace_arrow import check_schema
from model.trace_codec import operation_from_row
from model.trace_schema import OPERATION_FIELDS

__all__ = ["KernelDivergence", "KernelResult", "replay_partition"]

_ARGUMENTS = (*OPERATION_FIELDS["initialize"], "reset_offset")
_CHUNK = 1 << 16
"""Rows that are flattened at a time, so that little memory is needed beside the table."""


@attrs.frozen
class KernelDivergence:
    """The first event that is not as it should be.

    ``row`` counts from 0 in the table; ``offset`` is where it differs or was refused, if that is
    an offset.
    """

    row: int
    kind: Guard | Difference
    offset: int | None


@attrs.frozen
class KernelResult:
    """What a replay found, and the state after each event that agreed.

    ``events``: how many did. The arrays have one row for each of them: ``lag`` in offsets,
    ``counts`` of the records in each state (events, 6), in the order of the ids, and the window's
    offsets, the end exclusive.
    """

    events: int
    divergence: KernelDivergence | None
    lag: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    start_offsets: npt.NDArray[np.int64]
    end_offsets: npt.NDArray[np.int64]


def replay_partition(table: pa.Table, profile: Profile) -> KernelResult:
    """Replay the events of one share-partition, in the order of ``seq``, and compare each.

    Columns as in ``model.trace_arrow.SCHEMA``; others are ignored. Stops at the first divergence.
    Raises InvalidValueError for a column that is missing or has another type, and for a row that
    holds no event, if no divergence comes before it; then ``row`` says which, from 0.
    """
    check_schema(table.schema)
    results = np.empty((table.num_rows, RESULTS), np.int64)
    replay = _Replay(profile)
    done = 0
    for batch in table.combine_chunks().to_batches(max_chunksize=_CHUNK):
        stop = replay.step(batch, results[done : done + batch.num_rows])
        done += stop.row
        if stop.fault != NO_FAULT:
            raise replay.error(batch, stop, done)
        if stop.verdict != FINE:
            return _result(results[:done], replay.divergence(batch, stop, done))
    return _result(results, None)


def _result(results: Ints, divergence: KernelDivergence | None) -> KernelResult:
    start, end, lag = (np.ascontiguousarray(results[:, column]) for column in range(3))
    counts = np.ascontiguousarray(results[:, 3:])
    return KernelResult(len(results), divergence, lag, counts, start, end)


class _Replay:
    """A share-partition, and what must be known between two batches of its events."""

    def __init__(self, profile: Profile) -> None:
        self._state: State = new_state(profile)
        self._members = Members()
        self._position = np.array(POSITION, np.int64)
        self._bad_leader: InvalidValueError | None = None

    def step(self, batch: pa.RecordBatch, results: Ints) -> Stop:
        """Replay a batch, up to a leader that cannot be read if there is one."""
        leaders, readable = self._leaders(batch)
        events: Events = events_of(batch, self._members)
        self._position[:P_SEQ] = 0  # The row and the leader are counted in each batch.
        stop = replay_rows(self._state, events, leaders, results[:readable], self._position)
        while stop.room:
            self._state = with_room(self._state, stop.room)
            stop = replay_rows(self._state, events, leaders, results[:readable], self._position)
        if self._bad_leader and stop.verdict == FINE and stop.fault == NO_FAULT:
            return stop._replace(fault=len(FAULTS))
        return stop

    def _leaders(self, batch: pa.RecordBatch) -> tuple[Leaders, int]:
        """Return the leaders of a batch, and how many rows come before one that is bad."""
        values, batches, bound = [], [np.zeros((0, 4), np.int64)], 0
        readable = batch.num_rows
        for row, leader in _leaders(batch):
            if isinstance(leader, InvalidValueError):
                self._bad_leader, readable = leader, row
                break
            settings, *single, read = leader
            end = bound + len(read)
            values.append((*settings, *single, bound, end))
            batches.append(read)
            bound = end
        rows = np.array(values, np.int64).reshape(-1, LEADER_COLUMNS)
        return Leaders(rows, np.concatenate(batches)), readable

    def error(self, batch: pa.RecordBatch, stop: Stop, row: int) -> InvalidValueError:
        """Return the error for a row that holds no event."""
        if stop.fault == len(FAULTS) and self._bad_leader:
            error = self._bad_leader
        else:
            name, allowed = FAULTS[stop.fault]
            error = InvalidValueError(name, _given(batch, name, stop.row), allowed)
        return _at_row(error, row)

    def divergence(self, batch: pa.RecordBatch, stop: Stop, row: int) -> KernelDivergence:
        """Return the divergence at a row; raise the error if the state refused a value of it."""
        reason, where = VERDICTS[stop.verdict], int(self._state.header[WHERE])
        if isinstance(reason, Invalid):
            if reason in (LONG_LOCK, LONG_STALENESS):
                given: object = where
            else:
                given = _given(batch, "op" if reason is NO_MARKS else reason.name, stop.row)
            raise _at_row(InvalidValueError(reason.name, given, reason.allowed), row)
        if not isinstance(reason, Guard | Difference):
            raise TypeError(reason)
        return KernelDivergence(row, reason, where if where >= 0 else None)


def _leaders(batch: pa.RecordBatch) -> Iterator[tuple[int, Leader | InvalidValueError]]:
    """Yield the rows with a configuration: they are rare, so the model reads them."""
    named = pc.is_in(batch.column("op"), value_set=pa.array(["initialize", "alter_config"]))
    found = pc.indices_nonzero(named)
    rows = batch.select(["op", "time_ms", *_ARGUMENTS]).take(found).to_pylist()
    for row, values in zip(found.to_pylist(), rows, strict=True):
        try:
            yield row, _leader_of(operation_from_row(values))
        except InvalidValueError as error:
            yield row, error


def _leader_of(operation: Operation) -> Leader:
    """Return a leader; an altered configuration is as good as one that finds nothing."""
    if isinstance(operation, AlterConfig):
        operation = Initialize(operation.config, 0, 0, DurableState(0, 0))
    if not isinstance(operation, Initialize):
        raise TypeError(operation)
    return leader_of(operation)


def _given(batch: pa.RecordBatch, name: str, row: int) -> object:
    """Return what stands in a field, named with its path."""
    value = batch.column(name.split(".", maxsplit=1)[0])[row].as_py() if name != "status" else None
    for part in name.split(".")[1:]:
        if not isinstance(value, dict):
            break
        value = value.get(part)
    return value


def _at_row(error: InvalidValueError, row: int) -> InvalidValueError:
    error.row = row  # type: ignore[attr-defined]
    return error
