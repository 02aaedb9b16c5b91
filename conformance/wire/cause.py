"""The probable cause of a broker's deviation: what is odd where its answer is wrong.

An answer may be wrong in the same way for several reasons. What is odd about the request, the
answer or the state in which they met tells them apart, as far as a response shows it.
"""

from collections.abc import Callable, Iterator, Mapping

import attrs

from conformance.cores.crash import NOTHING_AT_START, nothing_at_start
from conformance.wire.belief import Belief
from conformance.wire.explain import (
    AnswerMismatch,
    Logs,
    WireDifference,
    acknowledged_first,
    explained,
    loaded,
)
from conformance.wire.target import Described, Exchange
from conformance.wire.written import WrittenLog, committed_only
from model.config import AutoOffsetReset
from model.errors import ErrorCode
from model.ranges import OffsetRange, offsets
from model.share_messages import (
    PartitionRequest,
    PartitionResponse,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
    ShareResponse,
    TopicPartition,
)
from model.states import TERMINAL_STATES
from spec.coordinator import Durable
from spec.partition import SharePartition

KEPT = "its leader keeps what was altered or deleted"
UNSENT = "a throttled response leaves out what it acquired"
AT_LATEST = "a group that begins at latest would do so"
AT_MINUS_ONE = "a batch at offset -1 is taken for one at 0"
WITHIN_ABORTED = "the start offset or the log's is within a batch of an aborted transaction"
OTHER_WITHIN = (
    "another share-partition of the fetch fails, within a batch of an aborted transaction"
)
FULL_OF_ABORTED = "as many aborted records as the window may have come before"
DELETED_GAP = "records were deleted before one that is finished"
NOT_AVAILABLE = "OFFSET_NOT_AVAILABLE from a log without a young record"
LEFT_UNKNOWN = "an acknowledgement finds what by_duration did not begin unknown"
HELD_BELOW = "a record that was deleted before it may be held"
GETS_NOTHING = "it came with a fetch that waits and gets nothing"
JOINS_WITH_RENEWAL = "a fetch that renews names a partition without acknowledgements"
NEVER_FETCHED = "nobody has fetched"
AT_MOST_NONE = "the fetch asks for at most 0 records"
OVER_ABORTED = "it reaches too far by no more than the aborted records in it"

_NOT_MODELLED = "OFFSET_NOT_AVAILABLE"


@attrs.frozen
class Met:
    """A request and its answer, and a state in which a broker may have served it."""

    before: Belief
    request: ShareRequest
    exchange: Exchange
    connection: str
    logs: Logs

    def partition(self, place: TopicPartition) -> SharePartition | None:
        """Return a share-partition, in memory if it can be; None if there is no such partition."""
        key = self.request.group_id, place
        if key not in self.before.broker.partitions:
            return None
        return loaded(self.before.broker, key, self.logs).partitions[key]


def oddity(wrong: AnswerMismatch, met: Met) -> str:
    """Return what is odd where an answer is wrong; empty if nothing is known to be."""
    of_guards = () if isinstance(wrong.rule, WireDifference) else (_lost_refusal, _over_aborted)
    odd = _at_minus_one, _left_unknown, *_ODD.get(wrong.rule, of_guards)
    return next((text for each in odd for text in each(wrong, met)), "")


def starving(partition: SharePartition, log: WrittenLog, offset: int) -> str:
    """Return what is odd where an available record is not delivered; empty if nothing is."""
    config, durable = partition.config, partition.durable
    aborted, held = {*offsets(log.aborted)}, {*offsets(log.batches)}
    others = (each for each in range(offset - 1, -1, -1) if each in held - aborted)
    begin, limit = next(others, -1) + 1, config.partition_max_record_locks
    starts = range(begin, offset - limit + 1)
    is_full = any(aborted.issuperset(range(start, start + limit)) for start in starts)
    if committed_only(config) and is_full:
        return FULL_OF_ABORTED
    return DELETED_GAP if _is_gap_deleted(durable, log) else ""


def _is_gap_deleted(durable: Durable, log: WrittenLog) -> bool:
    """Whether records were deleted that were not finished, before one that is."""
    entries = durable.entries.items()
    finished = {offset for offset, (state, _count) in entries if state in TERMINAL_STATES}
    deleted = durable.start_offset < log.start not in finished
    return deleted and max(finished, default=-1) > log.start


def kept_start(partition: SharePartition, log: WrittenLog, said: Described) -> str:
    """Return what is odd where a start offset did not move past finished records, if anything."""
    stays = said.start_offset == log.start < partition.window.start_offset
    return HELD_BELOW if stays and said.sent_ms < log.held_until else ""


def _failed_whole(_wrong: AnswerMismatch, met: Met) -> Iterator[str]:
    request, error = met.request, met.exchange.response.error
    renews = isinstance(request, ShareFetch) and request.is_renew_ack
    if error is ErrorCode.UNKNOWN_SERVER_ERROR and not met.exchange.unknown_errors:
        yield from (NOTHING_AT_START for asked in request.partitions if _across(asked, met))
    if error is ErrorCode.INVALID_REQUEST and renews:
        yield from (JOINS_WITH_RENEWAL for asked in request.partitions if not asked.batches)
    broker = met.before.broker
    in_memory = broker.sessions or any(each.ready for each in broker.partitions.values())
    if isinstance(request, ShareAcknowledge) and not in_memory:
        yield NEVER_FETCHED


def _across(asked: PartitionRequest, met: Met) -> bool:
    partition = met.partition(asked.topic_partition)
    extents = ((batch.first, batch.last) for batch in asked.batches)
    return partition is not None and partition.ready and nothing_at_start(partition, extents)


def _failed_fetch(wrong: AnswerMismatch, met: Met) -> Iterator[str]:
    place, unknown = wrong.topic_partition, met.exchange.unknown_errors
    partition = met.partition(place) if place else None
    if place is None or partition is None:
        return
    log = met.logs[place]
    if wrong.observed == ErrorCode.UNKNOWN_SERVER_ERROR.name and not unknown:
        yield from (WITHIN_ABORTED for _ in _within_aborted(place, met))
        failed = (
            p for p in met.exchange.response.partitions if p.error is ErrorCode.UNKNOWN_SERVER_ERROR
        )
        others = (p.topic_partition for p in failed if p.topic_partition != place)
        yield from (OTHER_WITHIN for other in others for _ in _within_aborted(other, met))
    if _has_not_begun(partition, log) and {*unknown} == {_NOT_MODELLED}:
        yield NOT_AVAILABLE


def _has_not_begun(partition: SharePartition, log: WrittenLog) -> bool:
    """Return whether a group began by_duration where no record is as young."""
    by_duration = partition.config.auto_offset_reset is AutoOffsetReset.BY_DURATION
    empty = not partition.window.records and partition.window.start_offset == log.end
    return by_duration and empty and log.first_young == log.end


def _within_aborted(place: TopicPartition, met: Met) -> Iterator[OffsetRange]:
    """Yield each aborted batch within which a share-partition or its log begins."""
    partition = met.partition(place)
    if partition is not None and committed_only(partition.config):
        starts = {partition.window.start_offset, partition.log.start_offset}
        batches = met.logs[place].aborted
        yield from (b for b in batches for start in starts if b.first < start <= b.last)


def _at_minus_one(_wrong: AnswerMismatch, met: Met) -> Iterator[str]:
    """Yield that the answer is right for batches that begin at offset 0 in place of -1."""
    asked = met.request.partitions
    mended = tuple(
        attrs.evolve(
            part,
            batches=tuple(attrs.evolve(b, first=0) if b.first == -1 else b for b in part.batches),
        )
        for part in asked
    )
    if mended != asked:
        request = attrs.evolve(met.request, partitions=mended)
        if _explains(met, request, met.exchange.response):
            yield AT_MINUS_ONE


def _left_unknown(_wrong: AnswerMismatch, met: Met) -> Iterator[str]:
    """Yield that the answer is right for share-partitions in memory that have no young record."""
    told = met.exchange.response
    mended = tuple(_begun(part, met) for part in told.partitions)
    seen = attrs.evolve(told, partitions=mended)
    if seen != told and _explains(met, met.request, seen):
        yield LEFT_UNKNOWN


def _begun(told: PartitionResponse, met: Met) -> PartitionResponse:
    place, partition = told.topic_partition, met.partition(told.topic_partition)
    unknown = told.acknowledge_error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if partition is None or not (unknown and _has_not_begun(partition, met.logs[place])):
        return told
    fails = {*met.exchange.unknown_errors} == {_NOT_MODELLED}
    refused = attrs.evolve(told, acknowledge_error=ErrorCode.INVALID_RECORD_STATE)
    return attrs.evolve(refused, error=ErrorCode.NONE) if fails else refused


def _explains(met: Met, request: ShareRequest, response: ShareResponse) -> bool:
    return bool(explained(met.before, request, response, met.connection, met.logs)[0])


def _lost_refusal(wrong: AnswerMismatch, met: Met) -> Iterator[str]:
    accepted = wrong.about == f"acknowledge answered {ErrorCode.NONE.name}"
    given = any(part.acquired for part in met.exchange.response.partitions)
    if accepted and isinstance(met.request, ShareFetch) and met.request.max_wait_ms and not given:
        yield GETS_NOTHING


def _asks_for_none(_wrong: AnswerMismatch, met: Met) -> Iterator[str]:
    if isinstance(met.request, ShareFetch) and met.request.max_records == 0:
        yield AT_MOST_NONE


def _over_aborted(_wrong: AnswerMismatch, met: Met) -> Iterator[str]:
    said = {part.topic_partition: part for part in met.exchange.response.partitions}
    how = met.request, said, met.connection, met.logs
    acknowledged = acknowledged_first(met.before.broker, *how)
    met = attrs.evolve(met, before=attrs.evolve(met.before, broker=acknowledged))
    for place, part in said.items():
        partition = met.partition(place)
        if partition is not None and part.acquired:
            start, last = partition.window.start_offset, part.acquired[-1].last
            aborted = sum(start <= each <= last for each in offsets(met.logs[place].aborted))
            limit = partition.config.partition_max_record_locks
            if last + 1 - start - aborted <= limit < last + 1 - start:
                yield OVER_ABORTED


_ODD: Mapping[object, tuple[Callable[[AnswerMismatch, Met], Iterator[str]], ...]] = {
    WireDifference.SESSION_ERROR: (_failed_whole,),
    WireDifference.FETCH_ERROR: (_failed_fetch,),
    WireDifference.ACKNOWLEDGE_ERROR: (_lost_refusal,),
    WireDifference.ACQUIRED: (_asks_for_none,),
}
