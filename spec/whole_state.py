"""The whole state of a share-partition as a neutral value, and back (``model.whole_state``)."""

from collections.abc import Iterator

import attrs
from immutables import Map

from model.checks import MAX_INT64
from model.errors import ErrorCode
from model.outcome import Write
from model.profile import Profile
from model.whole_state import Delayed, LogState, RecordsInFlight, WholeState, WriteInFlight
from spec.coordinator import durable_from, durable_state, in_doubt
from spec.log import Log
from spec.partition import Outstanding, SharePartition, Waiting
from spec.ranges import runs
from spec.record import Record
from spec.window import Window, extend, replace, tracked


def whole_state(partition: SharePartition) -> WholeState:
    """Return the whole state of a share-partition."""
    window, log = partition.window, partition.log
    return WholeState(
        config=partition.config,
        now=partition.now,
        timed=partition.timed,
        last_event=partition.last_event,
        ready=partition.ready,
        start_offset=window.start_offset,
        end_offset=window.end_offset,
        records=tuple(_records(partition)),
        log=LogState(
            log.start_offset,
            log.end_offset,
            log.stable_offset,
            log.known,
            log.holes,
            log.batches,
        ),
        writes=tuple(_write(each) for _, each in sorted(partition.outstanding.items())),
        next_write=partition.next_write,
        durable=durable_state(partition.durable),
        durable_whole=partition.durable_whole,
        highest_limit=partition.highest_limit,
        next_acquisition=partition.next_acquisition,
        waiting=partition.waiting,
        stuck=_delayed(partition.stuck),
        doubtful=tuple(
            _write(Outstanding(each))
            for each in in_doubt(partition.durable, partition.doubtful, partition.profile)
        ),
    )


def partition_of(state: WholeState, profile: Profile) -> SharePartition:
    """Return the share-partition that has this whole state."""
    log, records = state.log, dict(_each(state))
    window = extend(Window(state.start_offset, state.start_offset), state.end_offset)
    return SharePartition(
        profile,
        state.config,
        state.now,
        Log(
            log.start_offset,
            log.end_offset,
            log.holes,
            log.batches,
            log.stable_offset,
            log.known,
        ),
        replace(window, records),
        Map({write.id: _outstanding(write, state) for write in state.writes}),
        state.next_write,
        durable_from(state.durable),
        state.durable_whole,
        state.ready,
        state.highest_limit,
        state.next_acquisition,
        state.timed,
        state.last_event,
        state.waiting,
        _waiting(state.stuck),
        tuple(_made(each) for each in state.doubtful),
    )


def _records(partition: SharePartition) -> Iterator[RecordsInFlight]:
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


def _delayed(waiting: Waiting | None) -> Delayed | None:
    return None if waiting is None else Delayed(waiting.offset, waiting.fetches)


def _waiting(delayed: Delayed | None) -> Waiting | None:
    return None if delayed is None else Waiting(delayed.offset, delayed.fetches)


def _write(waiting: Outstanding) -> WriteInFlight:
    write = waiting.write
    return WriteInFlight(
        write.id,
        write.start_offset,
        write.delivery_complete_count,
        write.state_batches,
        waiting.seq,
        waiting.made_after,
        waiting.seen,
    )


def _outstanding(in_flight: WriteInFlight, state: WholeState) -> Outstanding:
    """Return the write, with the records that wait for it."""
    waiting = (
        range(each.first, each.last + 1) for each in state.records if each.write == in_flight.id
    )
    return Outstanding(
        _made(in_flight),
        tuple(o for part in waiting for o in part),
        in_flight.seq,
        in_flight.made_after,
        in_flight.seen,
    )


def _made(in_flight: WriteInFlight) -> Write:
    numbers = in_flight.start_offset, in_flight.delivery_complete_count
    return Write(in_flight.id, *numbers, in_flight.state_batches, ErrorCode.PENDING)
