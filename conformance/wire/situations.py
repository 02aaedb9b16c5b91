"""Which situations one request to a broker met, in the words of ``universe``.

They are read from what is most plausibly believed of the broker before and after the request.
"""

from collections.abc import Iterator, Mapping

import attrs
from immutables import Map

from conformance.cores.situations import named
from conformance.cores.transitions import malformed, typed
from conformance.cores.universe import answer_name
from conformance.wire.belief import Belief, Lock
from conformance.wire.target import Described, Exchange
from conformance.wire.universe import (
    ACKNOWLEDGE,
    DESCRIBE,
    FETCH,
    FETCHING,
    KEPT_BACK,
    acknowledging,
    acquires_name,
    closed_name,
    lag_name,
    type_name,
)
from model.config import IsolationLevel
from model.errors import ErrorCode
from model.share_messages import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    PartitionRequest,
    PartitionResponse,
    ShareFetch,
    ShareRequest,
    TopicPartition,
)
from model.states import AcknowledgeType, AcquireMode, RecordState
from spec.log import hole_end
from spec.partition import SharePartition
from spec.record import UNDELIVERED, is_acquirable, is_finished, is_held, is_held_by
from spec.share_broker import PartitionKey
from spec.share_session import ShareSession, key_of
from spec.view import state_of

__all__ = ["Served", "held_by", "met_when_described", "met_when_served"]

NONE = ErrorCode.NONE
_PART = 0.1
"""The share of a lock's duration after which a part of it is over."""


@attrs.frozen
class Served:
    """A request that was answered as it should be.

    ``was`` is what the broker was like after the request before, ``before`` when it served this
    one, and ``after`` once it had. ``lock_ms`` is how long locks last.
    """

    request: ShareRequest
    connection: str
    exchange: Exchange
    was: Belief
    before: Belief
    after: Belief
    lock_ms: int

    @property
    def api(self) -> str:
        """Return the kind of request."""
        return FETCH if isinstance(self.request, ShareFetch) else ACKNOWLEDGE

    @property
    def session(self) -> ShareSession | None:
        """Return the session of the member when the request came."""
        return self.before.broker.sessions.get(key_of(self.request))

    def partition(self, at: TopicPartition) -> SharePartition | None:
        """Return a share-partition of the group as it was before; None if there is none."""
        return self.before.broker.partitions.get((self.request.group_id, at))

    def partition_after(self, at: TopicPartition) -> SharePartition:
        """Return a share-partition of the group that there is as it was after."""
        return self.after.broker.partitions[self.request.group_id, at]


def met_when_served(one: Served) -> Iterator[str]:
    """Yield each situation that a request met."""
    response = one.exchange.response
    yield answer_name(one.api, response.error.name)
    yield from _locks(one)
    if response.error is not NONE:
        yield from _refused(one)
        return
    yield from _session(one)
    yield from _acknowledged(one)
    if isinstance(one.request, ShareFetch):
        yield from _fetched(one, one.request)
    yield from _afterwards(one)


def met_when_described(there: SharePartition, told: Described) -> Iterator[str]:
    """Yield each situation in which a share-partition was described."""
    yield answer_name(DESCRIBE, told.error.name)
    if told.error is not NONE:
        return
    told_one = told.start_offset >= 0
    yield "a start offset is told" if told_one else "a start offset is told before there is one"
    if told.lag is None:
        return
    window, log = there.window, there.log
    records = window.records.values()
    found = {
        "of an empty log": log.end_offset == 0,
        "before anything was delivered": log.end_offset > 0 and window.end_offset == 0,
        "while records are held": bool(window.held),
        "while records are available again": any(
            is_acquirable(r) and r.delivery_count for r in records
        ),
        "while a finished record waits behind one that is not": any(map(is_finished, records)),
        "while there are records after the window": 0 < window.end_offset < log.end_offset,
        "when every record is finished": told.lag == 0 < log.end_offset,
        "after records were deleted": log.start_offset > 0,
        "of a log with gaps": bool(log.holes),
    }
    yield from (lag_name(what) for what, there_is in found.items() if there_is)


def held_by(belief: Belief, member: str) -> Iterator[tuple[PartitionKey, int]]:
    """Yield what a member holds."""
    for key, there in belief.broker.partitions.items():
        for offset in there.window.held:
            if there.window.records[offset].owner == member:
                yield key, offset


# Sessions.


def _refused(one: Served) -> Iterator[str]:
    request, error = one.request, one.exchange.response.error
    opens = request.session_epoch == INITIAL_EPOCH
    if error is ErrorCode.INVALID_REQUEST and opens:
        yield "a fetch would open a session and acknowledge"
    if error is not ErrorCode.INVALID_SHARE_SESSION_EPOCH:
        return
    if opens:
        yield "a ShareAcknowledge would open a session"
    elif one.session is not None:
        repeats = request.session_epoch < one.session.epoch
        yield "a request repeats an epoch" if repeats else "a request skips an epoch"


def _session(one: Served) -> Iterator[str]:
    request, session = one.request, one.session
    holds = any(held_by(one.before, request.member_id))
    if request.session_epoch == INITIAL_EPOCH:
        yield "a session is opened"
        if session is not None:
            yield "a session is opened in the place of another"
        if holds:
            yield "a session is opened by a member that holds records"
    elif request.session_epoch == FINAL_EPOCH:
        acknowledges = any(asked.batches for asked in request.partitions)
        yield closed_name(one.api, acknowledges=acknowledges)
        if holds:
            yield "a session is closed while its member holds records"
    elif session is not None:
        yield from _goes_on(one, session)


def _goes_on(one: Served, session: ShareSession) -> Iterator[str]:
    request, known = one.request, {partition.at for partition in session.partitions}
    yield "a session goes on"
    if one.connection != session.connection:
        yield "a session goes on over another connection"
    if len({at for at in known if one.partition(at)}) > 1:
        yield "a session of two share-partitions goes on"
    if not isinstance(request, ShareFetch):
        return
    if any(asked.at not in known for asked in request.partitions if one.partition(asked.at)):
        yield "a share-partition joins a session"
    if forgotten := known & set(request.forgotten):
        yield "a share-partition is forgotten"
        held = {key[1] for key, _offset in held_by(one.before, request.member_id)}
        if forgotten & held:
            yield "a share-partition is forgotten of which the member holds records"


# Locks.


def _locks(one: Served) -> Iterator[str]:
    sent, part = one.exchange.sent_ms, _PART * one.lock_ms
    over = [place for place, lock in _each(one.was) if lock.latest <= sent]
    held = [lock for _place, lock in _each(one.before)]
    if any(lock.earliest - one.lock_ms + part < sent for lock in held):
        yield "a request comes while a lock is held, after part of its duration"
    if over:
        yield "a request comes after a lock is over"
        if held:
            yield "a request comes after some locks are over, while others are held"
        partitions = one.was.broker.partitions
        if len({partitions[key].window.records[offset].owner for key, offset in over}) > 1:
            yield "a request comes after locks of several members are over"


def _each(belief: Belief) -> Iterator[tuple[tuple[PartitionKey, int], Lock]]:
    for key, locks in belief.locks.items():
        for offset, lock in locks.items():
            yield (key, offset), lock


# Acknowledging.


def _acknowledged(one: Served) -> Iterator[str]:
    said = {part.at: part.acknowledge_error for part in one.exchange.response.partitions}
    asked = [asked for asked in one.request.partitions if asked.batches]
    if len([asked for asked in asked if one.partition(asked.at)]) > 1:
        yield "a request acknowledges at two share-partitions"
    for part in asked:
        if part.at in said:
            yield answer_name(acknowledging(one.api), said[part.at].name)
        there = one.partition(part.at)
        if there is None:
            continue
        if one.session and all(known.at != part.at for known in one.session.partitions):
            yield "an acknowledgement at a share-partition outside the session"
        if there.ready:
            yield from _batches(one, part, there, said.get(part.at, NONE))
        else:
            yield "an acknowledgement at a share-partition that is not in memory"


def _batches(
    one: Served, asked: PartitionRequest, there: SharePartition, error: ErrorCode
) -> Iterator[str]:
    kinds = [kind for batch in asked.batches if (kind := malformed(batch))]
    if kinds:
        yield f"a malformed acknowledgement: {kinds[0]}"
        return
    if len(asked.batches) > 1:
        yield "an acknowledgement of several batches"
    member = one.request.member_id
    for batch in asked.batches:
        yield from named(there.window, batch, member)
        if batch.first < there.log.start_offset:
            yield "an acknowledgement of a record that was deleted"
    given = [pair for batch in asked.batches for pair in typed(batch)]
    records = there.window.records
    own = {o: t for o, t in given if o in records and is_held_by(records[o], member)}
    if error is NONE:
        yield from (type_name(one.api, AcknowledgeType(type_)) for type_ in set(own.values()))
    yield from _renewed(one, asked.at, dict(given), own)


def _renewed(
    one: Served, at: TopicPartition, given: Mapping[int, int], own: Mapping[int, int]
) -> Iterator[str]:
    types = set(given.values())
    if AcknowledgeType.RENEW not in types:
        return
    if not one.request.is_renew_ack:
        yield "a renewal that the request does not announce"
        return
    if len(types) > 1:
        yield "a renewal together with other types"
    locks, sent = one.before.locks.get((one.request.group_id, at), Map()), one.exchange.sent_ms
    renewed = [locks[o] for o, type_ in own.items() if type_ == AcknowledgeType.RENEW]
    if any(lock.earliest - one.lock_ms * (1 - _PART) < sent for lock in renewed):
        yield "a renewal after part of the lock's duration"


# Fetching.


def _fetched(one: Served, request: ShareFetch) -> Iterator[str]:
    fetches = request.max_records > 0 and request.session_epoch != FINAL_EPOCH
    if not fetches:
        return
    partitions = one.exchange.response.partitions
    joined = {known.at for known in one.after.broker.sessions[key_of(request)].partitions}
    yield from (answer_name(FETCHING, p.error.name) for p in partitions if p.at in joined)
    giving = [part for part in partitions if part.acquired]
    taken = sum(len(_offsets(part)) for part in giving)
    if len(giving) > 1:
        yield "a response has records of two share-partitions"
    yield acquires_name(request.acquire_mode) if giving else "a fetch acquires nothing"
    strict = request.acquire_mode is AcquireMode.RECORD_LIMIT
    more = any(_more(one.partition_after(at)) for at in joined if one.partition(at))
    if strict and taken == request.max_records and more:
        yield "a fetch is stopped by its maximum of records"
    if not strict and taken > request.max_records:
        yield "a fetch goes past its maximum of records, to the end of a log batch"
    if giving and any(part.batches for part in request.partitions):
        yield "a fetch acknowledges and acquires"
    for part in giving:
        yield from _taken(one, part)
    for at in joined:
        if (there := one.partition(at)) and there.ready:
            yield from _full(one, there, at)
            if _keeps_back(there, one.partition_after(at)):
                yield KEPT_BACK


def _keeps_back(before: SharePartition, after: SharePartition) -> bool:
    """Whether records were archived that nobody had said anything of and that the log still has."""
    if after.config.isolation_level is IsolationLevel.READ_UNCOMMITTED:
        return False
    records = before.window.records
    there = range(before.window.start_offset, after.window.end_offset)
    return any(
        state_of(after, offset) is RecordState.ARCHIVED
        and offset not in after.durable.entries
        and is_acquirable(records.get(offset, UNDELIVERED))
        and hole_end(after.log, offset) is None
        for offset in there
    )


def _offsets(part: PartitionResponse) -> list[int]:
    return sorted(o for r in part.acquired for o in range(r.first, r.last + 1))


def _more(there: SharePartition) -> bool:
    window = there.window
    free = any(map(is_acquirable, window.records.values()))
    return there.ready and (free or window.end_offset < there.log.end_offset)


def _taken(one: Served, part: PartitionResponse) -> Iterator[str]:
    """Yield what was special about the records that were taken from one share-partition."""
    there, offsets = one.partition(part.at), _offsets(part)
    after = one.partition_after(part.at)
    if any(r.delivery_count == after.config.delivery_count_limit for r in part.acquired):
        yield "a record is delivered for the last time"
    if any(_is_gap(after, offset) for offset in offsets):
        yield "a fetch acquires the marker of a transaction"
    if any(_is_gap(after, offset + 1) for offset in offsets if offset < offsets[-1]):
        yield "a fetch takes records on both sides of a gap in the log"
    if after.log.start_offset > 0:
        yield "a fetch acquires records after some were deleted"
    if there is None:
        return
    records = there.window.records
    passed = [records[o] for o in records if o < offsets[-1] and o not in offsets]
    if any(map(is_held, passed)):
        yield "a fetch passes over records that are held"
    if any(map(is_finished, passed)):
        yield "a fetch passes over records that are finished"
    if any(is_held(records.get(offset, UNDELIVERED)) for offset in offsets):
        yield "a fetch acquires again what it releases"


def _full(one: Served, there: SharePartition, at: TopicPartition) -> Iterator[str]:
    """Yield how the limit of the window mattered at one share-partition."""
    window, after = there.window, one.partition_after(at)
    limit, end = there.config.partition_max_record_locks, after.window.end_offset
    parts = one.exchange.response.partitions
    taken = [o for part in parts if part.at == at for o in _offsets(part)]
    full = window.end_offset - window.start_offset >= limit
    more = end < after.log.end_offset
    if full and more and not _free(there) and not taken:
        yield "a fetch finds the window full and nothing available"
    if full and any(offset < window.end_offset for offset in taken):
        yield "a fetch takes what is available again in a full window"
    if taken and more and end - after.window.start_offset >= limit:
        yield "a fetch is stopped by the limit of the window"
    if end > max(window.end_offset, after.window.start_offset + limit):
        yield "a fetch goes past the limit of the window, to the end of a log batch"


def _free(there: SharePartition) -> bool:
    return any(map(is_acquirable, there.window.records.values()))


def _is_gap(there: SharePartition, offset: int) -> bool:
    return hole_end(there.log, offset) is not None


# Afterwards.


def _afterwards(one: Served) -> Iterator[str]:
    owners = {
        record.owner
        for there in one.after.broker.partitions.values()
        for record in there.window.records.values()
    }
    if len(owners - {None}) > 1:
        yield "records are held by several members"
    for key, there in one.after.broker.partitions.items():
        start = there.window.start_offset
        finished = (o for o, record in there.window.records.items() if is_finished(record))
        if any(offset > start for offset in finished):
            yield "a finished record waits behind one that is not"
        before = one.before.broker.partitions[key]
        moved = range(before.window.start_offset, start) if before.ready else ()
        if any(_is_gap(before, o) and o not in before.window.records for o in moved):
            yield "the start offset passes a gap in the log"
