"""Replay of a recorded share-partition from Arrow columns."""

from collections.abc import Iterator

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from impl import layout as at
from impl.encode import Members, leader_of
from impl.events import INITIALIZE, Events, events_of
from impl.leadership import Leader
from impl.replay import LEADER_COLUMNS, P_SEQ, POSITION, RESULTS, Leaders, Stop, replay_rows
from impl.rows import Ints
from impl.state import State, new_state, with_room
from model.errors import InvalidValueError
from model.guards import Difference, Guard
from model.operation_table import OPERATION_TABLE
from model.operations import AlterConfig, Initialize, Operation
from model.profile import Profile
from model.snapshot import DurableState
from model.trace_arrow import check_schema
from model.trace_codec import operation_from_row

_ARGUMENTS = OPERATION_TABLE[INITIALIZE].fields
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


@attrs.frozen
class KernelResult:
    """Why a replay stopped early, if it did, and the state after each event before.

    ``events``: how many there are. ``unreadable``: why the next row cannot be replayed;
    ``model.trace_codec`` knows more if the row by itself holds no event. The arrays have one row
    for each of the events: ``lag`` in offsets, ``counts`` of the records in each state (events, 6),
    in the order of the ids, and the window's offsets, the end exclusive.
    """

    events: int
    divergence: KernelDivergence | None
    lag: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    start_offsets: npt.NDArray[np.int64]
    end_offsets: npt.NDArray[np.int64]
    unreadable: str | None = None


def replay_partition(table: pa.Table, profile: Profile) -> KernelResult:
    """Replay the events of one share-partition, in the order of ``seq``, and compare each.

    Columns as in ``model.trace_arrow.SCHEMA``; others are ignored. Stops at the first row that
    diverges or cannot be read. Raises InvalidValueError for a column that is missing or has
    another type.
    """
    check_schema(table.schema)
    results = np.empty((table.num_rows, RESULTS), np.int64)
    replay = _Replay(profile)
    done = 0
    for batch in table.combine_chunks().to_batches(max_chunksize=_CHUNK):
        stop = replay.step(batch, results[done : done + batch.num_rows])
        done += stop.row
        reason = at.VERDICTS[stop.verdict]
        if isinstance(reason, at.Invalid):
            return _result(results[:done], unreadable=replay.refusal(batch, stop.row, reason))
        if isinstance(reason, Guard | Difference):
            offset = replay.where if replay.where >= 0 else None
            return _result(results[:done], KernelDivergence(done, reason, offset))
    return _result(results)


def _result(
    results: Ints, divergence: KernelDivergence | None = None, unreadable: str | None = None
) -> KernelResult:
    start, end, lag = (np.ascontiguousarray(results[:, column]) for column in range(3))
    counts = np.ascontiguousarray(results[:, 3:])
    return KernelResult(len(results), divergence, lag, counts, start, end, unreadable)


class _Replay:
    """A share-partition, and the position in its events between two batches."""

    def __init__(self, profile: Profile) -> None:
        self._state: State = new_state(profile)
        self._members = Members()
        self._position = np.array(POSITION, np.int64)

    def step(self, batch: pa.RecordBatch, results: Ints) -> Stop:
        """Replay a batch, up to the first leader that cannot be read."""
        leaders, readable = _leaders_of(batch)
        events: Events = events_of(batch, self._members)
        self._position[:P_SEQ] = 0  # The row and the leader are counted in each batch.
        stop = replay_rows(self._state, events, leaders, results[:readable], self._position)
        while stop.room:
            self._state = with_room(self._state, stop.room)
            stop = replay_rows(self._state, events, leaders, results[:readable], self._position)
        if stop.verdict == at.FINE and readable < batch.num_rows:
            return stop._replace(verdict=at.verdict(at.NO_EVENT))
        return stop

    @property
    def where(self) -> int:
        """The offset or number that the verdict on the last row is about; -1 for none."""
        return int(self._state.header[at.WHERE])

    def refusal(self, batch: pa.RecordBatch, row: int, reason: at.Invalid) -> str:
        """Return why a row cannot be replayed, with the value that was refused."""
        if reason in (at.LONG_LOCK, at.LONG_STALENESS):
            value: object = self.where
        elif reason is at.NO_EVENT:
            value = "malformed"
        else:
            name = "op" if reason is at.NO_MARKS else reason.name
            value = batch.column(name.removesuffix(".id"))[row].as_py()
        return str(InvalidValueError(reason.name, value, reason.allowed))


def _leaders_of(batch: pa.RecordBatch) -> tuple[Leaders, int]:
    """Return the leaders of a batch, and how many rows come before one that cannot be read."""
    values, batches, bound = [], [np.zeros((0, 4), np.int64)], 0
    readable = batch.num_rows
    for row, leader in _leaders(batch):
        if leader is None:
            readable = row
            break
        settings, *single, read = leader
        end = bound + len(read)
        values.append((*settings, *single, bound, end))
        batches.append(read)
        bound = end
    rows = np.array(values, np.int64).reshape(-1, LEADER_COLUMNS)
    return Leaders(rows, np.concatenate(batches)), readable


def _leaders(batch: pa.RecordBatch) -> Iterator[tuple[int, Leader | None]]:
    """Yield the rows with a configuration: they are rare, so the model reads them."""
    named = pc.is_in(batch.column("op"), value_set=pa.array(["initialize", "alter_config"]))
    places = pc.indices_nonzero(named)
    rows = batch.select(["op", "time_ms", *_ARGUMENTS]).take(places).to_pylist()
    for row, values in zip(places.to_pylist(), rows, strict=True):
        try:
            yield row, _leader_of(operation_from_row(values))
        except InvalidValueError:
            yield row, None


def _leader_of(operation: Operation) -> Leader:
    """Return a leader; only the settings of one for an altered configuration are read."""
    if isinstance(operation, AlterConfig):
        operation = Initialize(operation.config, 0, 0, DurableState(0, 0))
    if not isinstance(operation, Initialize):
        raise TypeError(operation)
    return leader_of(operation)
