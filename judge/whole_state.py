"""The whole state of a share-partition as a neutral value, and back (``model.whole_state``)."""

from collections.abc import Iterator

import attrs
from immutables import Map

from judge.recorded_partition import RecordedPartition, in_doubt, recorded
from model.checks import MAX_INT64
from model.errors import ErrorCode
from model.outcome import Write
from model.profile import Profile
from model.ranges import StateBatch, runs
from model.whole_state import LogState, RecordsInFlight, WholeState, WriteInFlight
from spec.coordinator import durable_from, durable_state
from spec.log import Log
from spec.partition import Outstanding, SharePartition
from spec.record import Record
from spec.window import Window, extend, replace, tracked

_ALIKE = attrs.fields_dict(RecordedPartition).keys() & attrs.fields_dict(WholeState).keys()
"""Fields of the same name; what of them has another form is converted."""


def whole_state(shared: SharePartition) -> WholeState:
    """Return the whole state of a share-partition."""
    partition = recorded(shared)
    window, log = partition.window, partition.log
    alike = {name: getattr(partition, name) for name in _ALIKE}
    doubtful = in_doubt(partition.durable, partition.doubtful, partition.profile)
    return WholeState(
        **alike
        | {
            "start_offset": window.start_offset,
            "end_offset": window.end_offset,
            "records": tuple(_records(partition)),
            "log": LogState(**attrs.asdict(log, recurse=False)),
            "writes": tuple(_write(partition, id_) for id_ in sorted(partition.outstanding)),
            "durable": durable_state(partition.durable),
            "waiting": partition.passed_over,
            "doubtful": tuple(WriteInFlight(0, *_written(each)) for each in doubtful),
        }
    )


def partition_of(state: WholeState, profile: Profile) -> RecordedPartition:
    """Return the share-partition that has this whole state."""
    log, records = state.log, dict(_each(state))
    window = extend(Window(state.start_offset, state.start_offset), state.end_offset)
    alike = {name: getattr(state, name) for name in _ALIKE}
    later = {each.id: each.made_after for each in state.writes if each.made_after is not None}
    told = {each.id: each.told_at for each in state.writes if each.told_at is not None}
    return RecordedPartition(
        **alike
        | {
            "profile": profile,
            "log": Log(**attrs.asdict(log, recurse=False)),
            "window": replace(window, records),
            "outstanding": Map({write.id: _outstanding(write, state) for write in state.writes}),
            "seen": frozenset(write.id for write in state.writes if write.seen),
            "made_after": Map(later),
            "told_at": Map(told),
            "durable": durable_from(state.durable),
            "passed_over": state.waiting,
            "doubtful": tuple(_made(each) for each in state.doubtful),
        }
    )


def _records(partition: RecordedPartition) -> Iterator[RecordsInFlight]:
    window = partition.window
    awaited = {o: id_ for id_, each in partition.outstanding.items() for o in each.offsets}
    inside = tracked(window, window.start_offset, window.end_offset)
    kinds = ((o, (window.records[o], awaited.get(o))) for o in inside)
    for first, last, (record, write) in runs(kinds):
        owner = record.former_owner if record.pending else record.owner
        deadline = record.former_deadline if record.pending else record.deadline
        yield RecordsInFlight(
            first,
            last,
            record.state,
            record.delivery_count,
            owner,
            None if owner is None else min(deadline - 1, MAX_INT64),
            write if record.pending else None,
            record.exhausted and owner is not None,
            record.acquisition,
            record.progress_start,
            record.last_progress,
        )


def _each(state: WholeState) -> Iterator[tuple[int, Record]]:
    for known in state.records:
        deadline = None if known.last_ms is None else known.last_ms + 1
        record = Record(
            known.state,
            known.delivery_count,
            exhausted=known.exhausted,
            acquisition=known.acquisition,
            progress_start=known.progress_start,
            last_progress=known.last_progress,
        )
        if known.write is None:
            record = attrs.evolve(record, owner=known.owner, deadline=deadline)
        else:
            record = attrs.evolve(
                record, pending=True, former_owner=known.owner, former_deadline=deadline
            )
        yield from ((offset, record) for offset in range(known.first, known.last + 1))


def _write(partition: RecordedPartition, id_: int) -> WriteInFlight:
    sent, made_after = partition.outstanding[id_], partition.made_after.get(id_)
    seen, told_at = id_ in partition.seen, partition.told_at.get(id_)
    return WriteInFlight(id_, *_written(sent.write), sent.seq, made_after, seen, told_at)


def _written(write: Write) -> tuple[int, int, tuple[StateBatch, ...]]:
    return write.start_offset, write.delivery_complete_count, write.state_batches


def _outstanding(in_flight: WriteInFlight, state: WholeState) -> Outstanding:
    """Return the write, with the records that wait for it."""
    waiting = (
        range(each.first, each.last + 1) for each in state.records if each.write == in_flight.id
    )
    return Outstanding(_made(in_flight), tuple(o for part in waiting for o in part), in_flight.seq)


def _made(in_flight: WriteInFlight) -> Write:
    numbers = in_flight.start_offset, in_flight.delivery_complete_count
    return Write(in_flight.id, *numbers, in_flight.state_batches, ErrorCode.PENDING)
