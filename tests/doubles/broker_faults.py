"""Classic faults of a broker, each as a small change to what the specification does.

The kit's own tests let it find each of them.
"""

from collections.abc import Callable
from enum import StrEnum

import attrs

from conformance.wire.target import Described
from model.config import IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.outcome import Choice
from model.profile import Profile
from model.ranges import OffsetRange
from model.share_messages import (
    FINAL_EPOCH,
    Conduct,
    PartitionConduct,
    PartitionRequest,
    PartitionResponse,
    ShareFetch,
    ShareRequest,
    ShareResponse,
)
from model.states import AcknowledgeType, AcquireMode, RecordState
from spec.log import batch_at
from spec.record import UNDELIVERED, Record, is_acquirable, is_held
from spec.share_broker import Handled, PartitionKey, ShareBroker
from spec.share_session import key_of
from spec.window import extend, replace

Asked = tuple[ShareBroker, ShareRequest]
Answered = tuple[ShareBroker, ShareResponse]

_ALL, _NEVER, _LATE_EPOCH = 500, 10**6, 25


class WireFault(StrEnum):
    """What a broker does wrong."""

    NONE = "nothing is wrong"
    EPOCH_UNCHECKED = "any session epoch is taken"
    ANYBODY_ACKNOWLEDGES = "who does not hold a record may acknowledge it"
    COUNT_STAYS = "a redelivery does not count"
    WINDOW_HAS_NO_LIMIT = "the window grows without limit"
    DELIVERY_HAS_NO_LIMIT = "a record is delivered once more than its limit"
    LOCK_ENDS_EARLY = "an acquisition lock ends after half its duration"
    LOCK_NEVER_ENDS = "an acquisition lock does not expire"
    RELEASE_ACCEPTS = "a released record is acknowledged"
    REJECT_RELEASES = "a rejected record is released"
    GAP_RELEASES = "a gap is released"
    PIGGYBACKED_IS_LOST = "acknowledgements of a fetch are forgotten"
    LAG_IGNORES_COMPLETE = "the lag counts records whose delivery is complete"
    DELIVERED_TWICE = "what one member holds is delivered to another"
    CLOSING_KEEPS = "a member that closes its session keeps its records"
    RENEW_DOES_NOTHING = "a renewed lock ends at its old deadline"
    MAXIMUM_IGNORED = "record_limit acquires more than the maximum"
    RECORDS_LEFT_OUT = "acquired records are not in the response"
    LOG_START_IGNORED = "records that the log lost are delivered"
    FIRST_IS_FORGOTTEN = "the first released record is never delivered again"
    ABORTED_IS_DELIVERED = "data of aborted transactions is delivered under read_committed"
    COMMITTED_IS_KEPT_BACK = "what follows an aborted transaction is kept back with it"
    OPEN_IS_DELIVERED = "records of an open transaction are delivered under read_committed"
    OPEN_IS_SKIPPED = "an open transaction is passed over, and what follows it is delivered"
    COMMIT_IS_UNNOTICED = "a transaction that was open is not delivered when it has committed"
    ABORT_IS_UNNOTICED = "a transaction that was open is delivered when it has aborted"
    FIRST_BATCH_IS_LOST = "the first log batch of a partition is never delivered"
    LATER_BATCH_IS_LOST = "a log batch amid others is never delivered"
    NOTHING_IS_GIVEN = "fetches acquire nothing"
    ACCEPTING_IS_CUMULATIVE = "an accepted record finishes the available ones before it"
    UNDELIVERED_IS_ARCHIVED = "records that were read and not delivered are archived"
    PAST_THE_END = "an offset at the end of the log is acquired"
    MORE_BATCHES_THAN_ASKED = "batch_optimized acquires every log batch, whatever the maximum"
    UNDELIVERED_IS_ACKNOWLEDGED = "an acknowledgement of offsets past the window is accepted"
    START_STAYS = "the start offset stays before what is finished"
    ACKNOWLEDGING_IS_REFUSED = "every acknowledgement is answered NOT_LEADER_OR_FOLLOWER"
    COORDINATOR_IS_MISSING = "fetches are answered COORDINATOR_NOT_AVAILABLE"
    VALUES_ALTERED = "every third record is sent with other contents"
    NEVER_DESCRIBES = "describing a share-partition is always an error"
    LEADER_EPOCH_IS_FUTURE = "the leader epoch that it tells is 99"
    LAG_IS_OFF_AT_TWO = "the lag is one more while two records are complete"
    NEVER_WAITS = "a fetch that gets nothing is answered at once"
    EPOCH_UNCHECKED_LATE = "any session epoch is taken after 25"


def faulty_profile(fault: WireFault, profile: Profile) -> Profile:
    """Return the rules that a broker with this fault goes by: it may leave records waiting."""
    return profile if fault is WireFault.NONE else attrs.evolve(profile, offered_within=_NEVER)


def faulty_config(fault: WireFault, config: SharePartitionConfig) -> SharePartitionConfig:
    """Return the configuration that a broker with this fault goes by."""
    duration = config.record_lock_duration_ms
    match fault:
        case WireFault.LOCK_ENDS_EARLY:
            return attrs.evolve(config, record_lock_duration_ms=duration // 2)
        case WireFault.LOCK_NEVER_ENDS:
            return attrs.evolve(config, record_lock_duration_ms=duration * _NEVER)
        case WireFault.WINDOW_HAS_NO_LIMIT:
            return attrs.evolve(config, partition_max_record_locks=_NEVER)
        case WireFault.DELIVERY_HAS_NO_LIMIT:
            limit = config.delivery_count_limit + 1
            return attrs.evolve(config, delivery_count_limit=limit)
        case WireFault.ABORTED_IS_DELIVERED:
            return attrs.evolve(config, isolation_level=IsolationLevel.READ_UNCOMMITTED)
    return config


def faulty_log(
    fault: WireFault, before: int, ranges: tuple[OffsetRange, ...]
) -> tuple[OffsetRange, ...]:
    """Return which of the log batches, after ``before`` others, a broker with this fault reads."""
    lost = {WireFault.FIRST_BATCH_IS_LOST: 0, WireFault.LATER_BATCH_IS_LOST: 1}.get(fault)
    return tuple(one for nth, one in enumerate(ranges, start=before) if nth != lost)


def faulty_description(fault: WireFault, said: Described, complete: int) -> Described:
    """Return how a broker with this fault describes a share-partition."""
    match fault:
        case WireFault.NEVER_DESCRIBES:
            return attrs.evolve(said, error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        case WireFault.LEADER_EPOCH_IS_FUTURE:
            return attrs.evolve(said, leader_epoch=99)
        case WireFault.LAG_IS_OFF_AT_TWO if complete == 2 and said.lag is not None:
            return attrs.evolve(said, lag=said.lag + 1)
    return said


def faulty_conduct(fault: WireFault, broker: ShareBroker, conduct: Conduct) -> Conduct:
    """Return what a broker with this fault chooses where it would choose ``conduct``."""
    if fault is WireFault.NOTHING_IS_GIVEN:
        nothing = PartitionConduct(acquire=Choice(acquired=(), entered=()), log_batches=())
        return Conduct(tuple((at, nothing) for _group, at in broker.partitions))
    if fault is not WireFault.START_STAYS:
        return conduct
    chosen = []
    for (_group, at), there in broker.partitions.items():
        one, start = conduct.of(at), there.window.start_offset
        one = attrs.evolve(
            one,
            acknowledge=attrs.evolve(one.acknowledge, start_offset=start),
            acquire=attrs.evolve(one.acquire, start_offset=start),
            release=attrs.evolve(one.release, start_offset=start),
        )
        chosen.append((at, one))
    return Conduct(tuple(chosen))


def faulty_request(
    fault: WireFault, broker: ShareBroker, request: ShareRequest
) -> tuple[ShareBroker, ShareRequest]:
    """Return the broker and the request as a broker with this fault takes them."""
    change = _REQUESTS.get(fault)
    return change(broker, request) if change else (broker, request)


def faulty_response(
    fault: WireFault, before: ShareBroker, handled: Handled, request: ShareRequest
) -> tuple[ShareBroker, ShareResponse]:
    """Return the broker and the response as a broker with this fault has them after a request."""
    assert handled.response is not None
    change = _RESPONSES.get(fault)
    if change is None:
        return handled.broker, handled.response
    return change(before, handled.broker, handled.response, request)


def _epoch_unchecked(broker: ShareBroker, request: ShareRequest) -> Asked:
    session = broker.sessions.get(key_of(request))
    if session is None or request.session_epoch <= 0:
        return broker, request
    return broker, attrs.evolve(request, session_epoch=session.epoch)


def _epoch_unchecked_late(broker: ShareBroker, request: ShareRequest) -> Asked:
    session = broker.sessions.get(key_of(request))
    late = session is not None and session.epoch > _LATE_EPOCH
    return _epoch_unchecked(broker, request) if late else (broker, request)


def _anybody_acknowledges(broker: ShareBroker, request: ShareRequest) -> Asked:
    """Have the member own what it names."""
    for asked in request.partitions:
        named = {o for b in asked.batches for o in range(max(0, b.first), b.last + 1)}
        key = request.group_id, asked.topic_partition
        if key in broker.partitions:

            def owned(offset: int, record: Record, named: set[int] = named) -> Record:
                mine = offset in named and is_held(record)
                return attrs.evolve(record, owner=request.member_id) if mine else record

            broker = _mapped(broker, owned, key)
    return broker, request


def _piggybacked_is_lost(broker: ShareBroker, request: ShareRequest) -> Asked:
    if not isinstance(request, ShareFetch) or request.session_epoch <= 0:
        return broker, request
    partitions = tuple(PartitionRequest(one.topic_partition) for one in request.partitions)
    return broker, attrs.evolve(request, partitions=partitions)


def _delivered_twice(broker: ShareBroker, request: ShareRequest) -> Asked:
    def freed(_offset: int, record: Record) -> Record:
        if is_held(record) and record.owner != request.member_id:
            return Record(RecordState.AVAILABLE, record.delivery_count)
        return record

    fetches = isinstance(request, ShareFetch) and request.max_records
    return (_mapped(broker, freed) if fetches else broker), request


def _maximum_ignored(broker: ShareBroker, request: ShareRequest) -> Asked:
    if not isinstance(request, ShareFetch) or not request.max_records:
        return broker, request
    return broker, attrs.evolve(request, max_records=_ALL)


def _more_batches(broker: ShareBroker, request: ShareRequest) -> Asked:
    by_batch = isinstance(request, ShareFetch) and (
        request.acquire_mode is AcquireMode.BATCH_OPTIMIZED
    )
    return _maximum_ignored(broker, request) if by_batch else (broker, request)


def _only_delivered(broker: ShareBroker, request: ShareRequest) -> Asked:
    """Drop what an acknowledgement names past the end of the window."""
    partitions = []
    for asked in request.partitions:
        there = broker.partitions.get((request.group_id, asked.topic_partition))
        known = there is not None and there.ready
        end = there.window.end_offset if there is not None and known else _NEVER
        kept = tuple(_cut(one, end) for one in asked.batches if one.first < end)
        partitions.append(attrs.evolve(asked, batches=kept))
    return broker, attrs.evolve(request, partitions=tuple(partitions))


def _cut(batch: AcknowledgementBatch, end: int) -> AcknowledgementBatch:
    """Return a batch up to ``end`` (exclusive); one that is malformed as it is."""
    if not 0 <= batch.first <= batch.last or batch.last < end:
        return batch
    types = batch.types if len(batch.types) == 1 else batch.types[: end - batch.first]
    return attrs.evolve(batch, last=end - 1, types=types)


def _closing_keeps(broker: ShareBroker, request: ShareRequest) -> Asked:
    """Have the session forget its share-partitions before it ends."""
    session = broker.sessions.get(key_of(request))
    if session is None or request.session_epoch != FINAL_EPOCH:
        return broker, request
    sessions = broker.sessions.set(key_of(request), attrs.evolve(session, partitions=()))
    return attrs.evolve(broker, sessions=sessions), request


def _retyping(old: int, new: int) -> Callable[[ShareBroker, ShareRequest], Asked]:
    """Return a change that takes one acknowledge type for another."""

    def retyped(batch: AcknowledgementBatch) -> AcknowledgementBatch:
        types = tuple(new if one == old else one for one in batch.types)
        return attrs.evolve(batch, types=types)

    def change(broker: ShareBroker, request: ShareRequest) -> Asked:
        partitions = tuple(
            attrs.evolve(one, batches=tuple(retyped(batch) for batch in one.batches))
            for one in request.partitions
        )
        return broker, attrs.evolve(request, partitions=partitions)

    return change


def _count_stays(
    _before: ShareBroker, after: ShareBroker, said: ShareResponse, _request: ShareRequest
) -> Answered:
    deadlines = {r.deadline for p in _before.partitions.values() for r in p.window.records.values()}

    def uncounted(_offset: int, record: Record) -> Record:
        again = is_held(record) and record.delivery_count > 1 and record.deadline not in deadlines
        return attrs.evolve(record, delivery_count=record.delivery_count - 1) if again else record

    parts = tuple(
        attrs.evolve(
            part,
            acquired=tuple(
                attrs.evolve(one, delivery_count=max(1, one.delivery_count - 1))
                for one in part.acquired
            ),
        )
        for part in said.partitions
    )
    return _mapped(after, uncounted), attrs.evolve(said, partitions=parts)


def _said_to_be_acknowledged(
    _before: ShareBroker, after: ShareBroker, said: ShareResponse, request: ShareRequest
) -> Answered:
    named = {one.topic_partition for one in said.partitions}
    more = (
        one.topic_partition
        for one in request.partitions
        if one.batches and one.topic_partition not in named
    )
    if said.error is not ErrorCode.NONE:
        return after, said
    parts = (*said.partitions, *(PartitionResponse(at) for at in more))
    return after, attrs.evolve(said, partitions=parts)


def _renew_does_nothing(
    before: ShareBroker, after: ShareBroker, said: ShareResponse, request: ShareRequest
) -> Answered:
    if not request.is_renew_ack:
        return after, said
    for key, there in before.partitions.items():
        times = {o: there.window.records[o].deadline for o in there.window.held}

        def as_before(offset: int, record: Record, times: dict[int, int] = times) -> Record:
            deadline = times.get(offset) if is_held(record) else None
            return record if deadline is None else attrs.evolve(record, deadline=deadline)

        after = _mapped(after, as_before, key)
    return after, said


def _cumulative(
    _before: ShareBroker, after: ShareBroker, said: ShareResponse, request: ShareRequest
) -> Answered:
    """Acknowledge what is available below the last record that the request accepts."""
    refused = {
        one.topic_partition
        for one in said.partitions
        if one.acknowledge_error is not ErrorCode.NONE
    }
    for asked in request.partitions:
        key = request.group_id, asked.topic_partition
        accepts = [b.last for b in asked.batches if AcknowledgeType.ACCEPT in b.types]
        if (
            said.error is not ErrorCode.NONE
            or asked.topic_partition in refused
            or key not in after.partitions
        ):
            continue

        def finished(offset: int, record: Record, last: int = max(accepts, default=-1)) -> Record:
            passed = offset < last and is_acquirable(record)
            return attrs.evolve(record, state=RecordState.ACKNOWLEDGED) if passed else record

        after = _mapped(after, finished, key)
    return after, said


def _acknowledging_is_refused(
    before: ShareBroker, after: ShareBroker, said: ShareResponse, request: ShareRequest
) -> Answered:
    named = [one.topic_partition for one in request.partitions if one.batches]
    if not named or said.error is not ErrorCode.NONE:
        return after, said
    refusal = ErrorCode.NOT_LEADER_OR_FOLLOWER
    parts = tuple(PartitionResponse(at, acknowledge_error=refusal) for at in named)
    return attrs.evolve(after, partitions=before.partitions), ShareResponse(partitions=parts)


def _coordinator_is_missing(
    before: ShareBroker, after: ShareBroker, said: ShareResponse, request: ShareRequest
) -> Answered:
    if not isinstance(request, ShareFetch):
        return after, said
    return before, ShareResponse(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)


def _undelivered_is_archived(
    _before: ShareBroker, after: ShareBroker, said: ShareResponse, request: ShareRequest
) -> Answered:
    """Archive the rest of the log batch that the last acquired record is in."""
    for part in said.partitions:
        key = request.group_id, part.topic_partition
        there = after.partitions.get(key)
        batch = batch_at(there.log, part.acquired[-1].last) if there and part.acquired else None
        if there is None or batch is None:
            continue
        end = max(there.window.end_offset, batch[1] + 1)
        rest = range(part.acquired[-1].last + 1, batch[1] + 1)
        undelivered = [o for o in rest if there.window.records.get(o, UNDELIVERED) == UNDELIVERED]
        lost = dict.fromkeys(undelivered, attrs.evolve(UNDELIVERED, state=RecordState.ARCHIVED))
        window = replace(extend(there.window, end), lost)
        there = attrs.evolve(there, window=window)
        after = attrs.evolve(after, partitions=after.partitions.set(key, there))
    return after, said


def _past_the_end(
    _before: ShareBroker, after: ShareBroker, said: ShareResponse, request: ShareRequest
) -> Answered:
    """Have the last acquired range be longer by one, where it ends with the log."""

    def longer(part: PartitionResponse) -> PartitionResponse:
        end = (
            after.partitions[request.group_id, part.topic_partition].log.end_offset
            if part.acquired
            else 0
        )
        if not part.acquired or part.acquired[-1].last != end - 1:
            return part
        *others, last = part.acquired
        return attrs.evolve(part, acquired=(*others, attrs.evolve(last, last=end)))

    return after, attrs.evolve(said, partitions=tuple(longer(one) for one in said.partitions))


def _first_is_forgotten(
    _before: ShareBroker, after: ShareBroker, said: ShareResponse, _request: ShareRequest
) -> Answered:
    """Have what was released wait for a write for ever."""

    def forgotten(_offset: int, record: Record) -> Record:
        again = is_acquirable(record) and record.delivery_count > 0
        return attrs.evolve(record, pending=True) if again else record

    return _mapped(after, forgotten), said


def _mapped(
    broker: ShareBroker, change: Callable[[int, Record], Record], only: PartitionKey | None = None
) -> ShareBroker:
    """Return the broker with every record changed, or those of one share-partition."""
    partitions = broker.partitions
    for key, there in partitions.items():
        if only in (None, key):
            changed = {o: change(o, record) for o, record in there.window.records.items()}
            there = attrs.evolve(there, window=replace(there.window, changed))  # noqa: PLW2901 - the same, changed
            partitions = partitions.set(key, there)
    return attrs.evolve(broker, partitions=partitions)


_REQUESTS: dict[WireFault, Callable[[ShareBroker, ShareRequest], Asked]] = {
    WireFault.EPOCH_UNCHECKED: _epoch_unchecked,
    WireFault.EPOCH_UNCHECKED_LATE: _epoch_unchecked_late,
    WireFault.ANYBODY_ACKNOWLEDGES: _anybody_acknowledges,
    WireFault.PIGGYBACKED_IS_LOST: _piggybacked_is_lost,
    WireFault.DELIVERED_TWICE: _delivered_twice,
    WireFault.MAXIMUM_IGNORED: _maximum_ignored,
    WireFault.MORE_BATCHES_THAN_ASKED: _more_batches,
    WireFault.UNDELIVERED_IS_ACKNOWLEDGED: _only_delivered,
    WireFault.CLOSING_KEEPS: _closing_keeps,
    WireFault.RELEASE_ACCEPTS: _retyping(AcknowledgeType.RELEASE, AcknowledgeType.ACCEPT),
    WireFault.REJECT_RELEASES: _retyping(AcknowledgeType.REJECT, AcknowledgeType.RELEASE),
    WireFault.GAP_RELEASES: _retyping(AcknowledgeType.GAP, AcknowledgeType.RELEASE),
}

_RESPONSES: dict[
    WireFault, Callable[[ShareBroker, ShareBroker, ShareResponse, ShareRequest], Answered]
] = {
    WireFault.COUNT_STAYS: _count_stays,
    WireFault.PIGGYBACKED_IS_LOST: _said_to_be_acknowledged,
    WireFault.RENEW_DOES_NOTHING: _renew_does_nothing,
    WireFault.FIRST_IS_FORGOTTEN: _first_is_forgotten,
    WireFault.ACCEPTING_IS_CUMULATIVE: _cumulative,
    WireFault.UNDELIVERED_IS_ARCHIVED: _undelivered_is_archived,
    WireFault.PAST_THE_END: _past_the_end,
    WireFault.UNDELIVERED_IS_ACKNOWLEDGED: _said_to_be_acknowledged,
    WireFault.ACKNOWLEDGING_IS_REFUSED: _acknowledging_is_refused,
    WireFault.COORDINATOR_IS_MISSING: _coordinator_is_missing,
}
