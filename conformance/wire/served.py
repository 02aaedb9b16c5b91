"""What a request exercised that a broker answered legally, by name.

The states are those that are most plausible before and after the request.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

import attrs

from conformance.cores.acknowledgements import typed
from conformance.exercised import (
    answer_name,
    bound_name,
    changed,
    moved,
    other_verdict,
    refused,
    with_one_more,
)
from conformance.wire.belief import Belief
from conformance.wire.explain import WireDifference, loaded
from conformance.wire.target import Described, Exchange
from conformance.wire.written import WrittenLog, committed_only
from model.errors import ErrorCode
from model.operations import Acknowledge, Acquire
from model.outcome import Choice
from model.ranges import OffsetRange, offsets
from model.share_messages import (
    FINAL_EPOCH,
    PartitionRequest,
    PartitionResponse,
    ShareFetch,
    ShareRequest,
    TopicPartition,
)
from model.states import AcknowledgeType
from spec.log import overlapping, readable_end
from spec.partition import SharePartition
from spec.share_broker import PartitionKey
from spec.share_session import key_of

FETCH, ACKNOWLEDGE = "ShareFetch", "ShareAcknowledge"
DESCRIBE, FIND = "DescribeShareGroupOffsets", "FindCoordinator"
FETCHING = "the fetch from a share-partition"
UNASKED = "unasked"
"""What happened between requests: a lock that was over, a lost connection, a deletion."""

NONE = ErrorCode.NONE


@attrs.frozen
class Served:
    """A request that was answered legally.

    ``was`` is the state after the request before, ``before`` the state in which the broker served
    this one, ``after`` the state then. ``logs`` has what was written to the partitions.
    """

    request: ShareRequest
    exchange: Exchange
    was: Belief
    before: Belief
    after: Belief
    logs: Mapping[TopicPartition, WrittenLog]

    @property
    def api(self) -> str:
        """The kind of request."""
        return FETCH if isinstance(self.request, ShareFetch) else ACKNOWLEDGE

    @property
    def parts(self) -> Mapping[TopicPartition, PartitionResponse]:
        """The response by partition."""
        return {part.topic_partition: part for part in self.exchange.response.partitions}

    def key(self, topic_partition: TopicPartition) -> PartitionKey:
        """Return the key of a share-partition of the group."""
        return self.request.group_id, topic_partition


def exercised(served: Served) -> Iterator[str]:
    """Yield the names of what happened before a request, and in it."""
    yield from unasked(served.was, served.before)
    yield from _answers(served)
    types = {
        (served.key(asked.topic_partition), offset): f"{served.api} {AcknowledgeType(kind).name}"
        for asked in served.request.partitions
        for batch in asked.batches
        for offset, kind in typed(batch)
    }
    yield from _happened(served.before, served.after, served.api, types)
    if served.exchange.response.error is NONE:
        yield from (bound_name(served.api, rule) for rule in _bounding(served))


def described(was: Belief, before: Belief, answer: Described) -> Iterator[str]:
    """Yield the names of what happened before a description, and of its answer."""
    yield from unasked(was, before)
    yield answer_name(DESCRIBE, answer.error.name)
    if answer.error is NONE and answer.lag is not None:
        yield answer_name(DESCRIBE, "NONE with a lag")


def unasked(was: Belief, before: Belief) -> Iterator[str]:
    """Yield the names of what happened without being asked for."""
    return _happened(was, before, UNASKED, {})


def _happened(
    before: Belief, after: Belief, cause: str, types: Mapping[tuple[PartitionKey, int], str]
) -> Iterator[str]:
    def named(key: PartitionKey) -> Callable[[int], str]:
        return lambda offset: types.get((key, offset), cause)

    for key, partition in after.broker.partitions.items():
        known = before.broker.partitions.get(key)
        if known and partition.ready:
            acknowledged = {offset for other, offset in types if other == key}
            yield from moved(known, partition, named(key), acknowledged)
    sessions = before.broker.sessions, after.broker.sessions
    for member in {*sessions[0], *sessions[1]}:
        was, now = (each.get(member) for each in sessions)
        yield from changed(was, now, "a session", cause)


def _answers(served: Served) -> Iterator[str]:
    """Yield the names of the answers in a response, also to each part of the request."""
    error, parts = served.exchange.response.error, served.parts
    yield answer_name(served.api, error.name)
    if error is not NONE:
        return
    for asked in served.request.partitions:
        if asked.batches and asked.topic_partition in parts:
            part = parts[asked.topic_partition]
            yield answer_name(f"an acknowledgement in {served.api}", part.acknowledge_error.name)
    if request := _fetch(served):
        yield from (
            answer_name(FETCHING, parts[k].error.name) for k in _joined(served) if k in parts
        )
        some = any(part.acquired for part in parts.values())
        yield answer_name(FETCH, f"NONE {'with' if some else 'without'} records")
        yield answer_name(f"{FETCH} under {request.acquire_mode.value}", "NONE")


def _fetch(served: Served) -> ShareFetch | None:
    """Return the request if it asks for records."""
    request = served.request
    if not isinstance(request, ShareFetch) or request.session_epoch == FINAL_EPOCH:
        return None
    return request if request.max_records > 0 else None


def _joined(served: Served) -> list[TopicPartition]:
    """Return the partitions of the member's session after the request."""
    session = served.after.broker.sessions.get(key_of(served.request))
    return [known.topic_partition for known in session.partitions] if session else []


def _bounding(served: Served) -> Iterator[str]:
    """Yield the rules that refuse an answer next to the one that was given."""
    acknowledged = {asked.topic_partition for asked in served.request.partitions if asked.batches}
    for asked in served.request.partitions:
        part = served.parts.get(asked.topic_partition)
        partition = served.before.broker.partitions.get(served.key(asked.topic_partition))
        if asked.batches and part and partition and partition.ready:
            yield from _judging(served, asked, partition, part.acknowledge_error)
    if request := _fetch(served):
        given = sum(len(_taken(part)) for part in served.parts.values())
        for known in _joined(served):
            broker = loaded(served.before.broker, served.key(known), served.logs)
            partition = broker.partitions.get(served.key(known))
            if partition and partition.ready and known not in acknowledged:
                part = served.parts.get(known)
                taken = _taken(part) if part else ()
                others = given - len(taken)
                yield from _acquiring(request, partition, taken, others)
                yield from _kept_back(served.logs[known], partition)


def _taken(part: PartitionResponse) -> Collection[int]:
    return set(offsets(part.acquired))


def _judging(
    served: Served, asked: PartitionRequest, partition: SharePartition, error: ErrorCode
) -> set[str]:
    operation = Acknowledge(served.request.member_id, asked.batches)
    return refused(partition, operation, (other_verdict(Choice(refusal=error)),))


def _acquiring(
    request: ShareFetch, partition: SharePartition, taken: Collection[int], others: int
) -> set[str]:
    """Return the rules that refuse one record more, where other partitions give so many."""
    log, window = partition.log, partition.window
    most = max(0, request.max_records - others)
    readable = readable_end(log, partition.config.isolation_level)
    batches = overlapping(log, max(window.start_offset, log.start_offset), log.end_offset)
    read = tuple(OffsetRange(*batch) for batch in batches if batch[1] < readable)
    if not read:
        return set()
    how = request.acquire_mode, request.batch_size, most, read[0].first, read
    more = with_one_more(Choice(), read, taken)
    return refused(partition, Acquire(request.member_id, *how), more)


def _kept_back(log: WrittenLog, partition: SharePartition) -> Iterator[str]:
    """Yield the rules that keep back records of transactions, where there are any."""
    if committed_only(partition.config):
        if any(part.last >= partition.window.start_offset for part in log.aborted):
            yield WireDifference.COMMITTED_IS_DELIVERED.name
        if log.open:
            yield WireDifference.STABLE_IS_DELIVERED.name
