"""Whether a broker in a believed state could have answered a request as it did."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from itertools import permutations, product

import attrs
from immutables import Map

from conformance.wire.belief import Belief
from conformance.wire.words import acquired_text, response_text
from conformance.wire.written import (
    WrittenLog,
    deliverable,
    free_of_aborted,
    kept_back,
    readable_end,
)
from model.errors import ErrorCode, IllegalChoiceError
from model.guards import Guard
from model.operations import Acquire, ArchiveAborted
from model.outcome import Choice
from model.ranges import OffsetRange
from model.share_messages import (
    FINAL_EPOCH,
    Conduct,
    PartitionConduct,
    PartitionRequest,
    PartitionResponse,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
    ShareResponse,
    TopicPartition,
)
from model.states import AcquireMode
from spec.log import hole_end
from spec.partition import SharePartition
from spec.ranges import offsets, runs
from spec.record import UNDELIVERED
from spec.share_broker import PartitionKey, ShareBroker, apply_to, load
from spec.share_request import handle
from spec.share_session import begin, key_of
from spec.window import Window, replace

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
Logs = Mapping[TopicPartition, WrittenLog]
_EMPTY = WrittenLog()
_WHOLE, _NO_MORE = AcquireMode.BATCH_OPTIMIZED, Choice(entered=())
_REFUSALS = frozenset({ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE})


class WireDifference(Enum):
    """How what a broker shows differs from what it may; the value is its sentence."""

    SESSION_ERROR = "a request is judged by its share session and its form (KIP-932, ShareFetch)"
    FETCH_ERROR = "a share-partition is fetched from, or an error says why not (KIP-932)"
    ACKNOWLEDGE_ERROR = "an acknowledgement is answered as its share-partition stands (KIP-932)"
    ACQUIRED = "records are acquired only where the request fetches"
    DELIVERY_COUNT = "each delivery counts once, and nothing else does (KIP-932)"
    ONLY_LOGGED_IS_ACQUIRED = "an acquired offset is in the log"
    COMMITTED_IS_DELIVERED = "under read_committed no aborted record is delivered (KIP-932)"
    STABLE_IS_DELIVERED = "under read_committed an open transaction blocks the progress (KIP-932)"
    ACQUIRED_IS_SENT = "an acquired record is in the response"
    ANSWERED_ONCE = "a response says one thing of each share-partition, not two"
    SENT_ONCE = "no log batch is in a response twice"
    UNANSWERED = "a request is answered, and its connection stays"
    AVAILABLE_RECORDS_ARE_DELIVERED = "a record that stays available is delivered to who asks"
    LOCK_TIMEOUT = "a response tells how long the acquisition locks last (KIP-932, ShareFetch)"
    START_OFFSET = "the start offset told is that in memory, or the durable one (KIP-932)"
    LAG = "the lag told is that of what is in memory, or of what is durable (KIP-1226)"


@attrs.frozen
class Mismatch:
    """Why an answer is not possible: the guard or difference, and both sides in words.

    ``about`` is the part of the request that got it: fetch, acknowledge, session, describe.
    """

    name: str
    sentence: str
    about: str
    observed: str
    expected: str
    at: TopicPartition | None = None


def explained(
    belief: Belief, request: ShareRequest, response: ShareResponse, connection: str, logs: Logs
) -> tuple[list[ShareBroker], Mismatch]:
    """Return each state that a broker may be in after this answer, and the first mismatch.

    The mismatch counts only if there is no such state. ``logs`` has what was written to the
    partitions.
    """
    found: list[ShareBroker] = []
    first: Mismatch | None = None
    for broker, asked, excused in _readings(belief, request, response):
        for conduct in _conducts(broker, asked, response, connection, logs):
            try:
                served = _uncounted(asked, response, conduct)
                handled = handle(broker, served, broker.now, conduct, connection)
            except IllegalChoiceError as error:
                about = _about(broker, asked, response)
                wrong: Mismatch | None = _illegal(error, response, about)
            else:
                assert handled.response is not None  # noqa: S101 - every write is answered at once
                about = _about(broker, asked, response)
                wrong = _difference(request, response, handled.response, excused, about)
            if wrong is None:
                found.append(handled.broker)
            first = first or wrong
        if found:
            break
    return found, first or Mismatch("", "", "", "", "")


def _uncounted(request: ShareRequest, response: ShareResponse, conduct: Conduct) -> ShareRequest:
    """Return the request with a higher maximum if records were kept back: they may not count."""
    given = sum(len(_counts(one)) for one in response.partitions)
    if not isinstance(request, ShareFetch) or given > request.max_records:
        return request
    kept = sum(1 for _at, chosen in conduct.partitions for _offset in offsets(chosen.aborted))
    return attrs.evolve(request, max_records=request.max_records + kept)


def _readings(
    belief: Belief, request: ShareRequest, response: ShareResponse
) -> Iterator[tuple[ShareBroker, ShareRequest, frozenset[TopicPartition]]]:
    """Yield each reading of the broker's state and of the request, the plain one first.

    A broker may advance a start offset later than it could: then it refuses an acknowledgement of a
    finished record instead of ignoring it, at the share-partitions of the third value. It may have
    a share-partition in memory without a fetch. And records that were never delivered may not be
    in the window yet.
    """
    yield belief.broker, request, frozenset()
    said = {one.at: one.acknowledge_error for one in response.partitions}
    broker, refused = belief.broker, set()
    for asked in request.partitions:
        key = (request.group_id, asked.at)
        there = broker.partitions.get(key)
        if not asked.batches or there is None or asked.at not in said:
            continue
        if not there.ready and said[asked.at] is not UNKNOWN:
            _, broker = load(broker, key, None)
        elif said[asked.at] is ErrorCode.INVALID_RECORD_STATE and _names_passed(there, asked):
            refused.add(asked.at)
    if broker is not belief.broker or refused:
        partitions = tuple(
            PartitionRequest(one.at) if one.at in refused else one for one in request.partitions
        )
        yield broker, attrs.evolve(request, partitions=partitions), frozenset(refused)
    for asked in request.partitions:
        for narrower in _narrower(broker, (request.group_id, asked.at), asked):
            yield narrower, request, frozenset()


def past_aborted(belief: Belief, request: ShareRequest, logs: Logs) -> Belief:
    """Return the belief after a fetch that gave nothing and kept back what comes first.

    Only committed records become in flight (KIP-932), so that others need no room in the window.
    """
    broker = belief.broker
    for key in sorted(key for key in broker.partitions if key[0] == request.group_id):
        there = load(broker, key, None)[1].partitions[key]
        log = logs.get(key[1], _EMPTY)
        first = next(deliverable(there, log, 0), log.end)
        for batch in free_of_aborted(there, log):
            if batch[0] > first:
                break
            ranges = tuple(OffsetRange(*run[:2]) for run in runs((o, True) for o in batch))
            fetch = Acquire(request.member_id, _WHOLE, len(batch), len(batch), batch[0], ranges)
            with suppress(IllegalChoiceError):
                taken, _ = apply_to(load(broker, key, None)[1], key, fetch, (_NO_MORE, ()))
                broker, _ = apply_to(taken, key, ArchiveAborted(ranges))
    return attrs.evolve(belief, broker=broker)


def _names_passed(there: SharePartition, asked: PartitionRequest) -> bool:
    first, end = there.log.start_offset, there.window.start_offset
    first = first if first <= end else 0
    return any(max(first, b.first) <= min(b.last, end - 1) for b in asked.batches)


def _narrower(
    broker: ShareBroker, key: PartitionKey, asked: PartitionRequest
) -> Iterator[ShareBroker]:
    """Yield the broker with each shorter window that ends before an acknowledged offset."""
    there = broker.partitions.get(key)
    last = max((batch.last for batch in asked.batches), default=-1)
    if there is None or not there.ready:
        return
    window = there.window
    for end in range(window.end_offset - 1, window.start_offset, -1):
        if window.records.get(end, UNDELIVERED) != UNDELIVERED:
            return
        if end <= last:
            records = Map({o: record for o, record in window.records.items() if o < end})
            empty = Window(window.start_offset, end)
            narrow = attrs.evolve(there, window=replace(empty, records))
            yield attrs.evolve(broker, partitions=broker.partitions.set(key, narrow))


def _conducts(
    broker: ShareBroker, request: ShareRequest, response: ShareResponse, connection: str, logs: Logs
) -> Iterator[Conduct]:
    """Yield the choices of the broker that the response allows."""
    said = {one.at: one for one in response.partitions}
    ats = sorted(at for group, at in broker.partitions if group == request.group_id)
    most = request.max_records if isinstance(request, ShareFetch) else 0
    broker_then = _acknowledged(broker, request, said, connection)
    giving, choices = {at for at, one in said.items() if one.acquired}, []
    for at in ats:
        key, log = (request.group_id, at), logs.get(at, _EMPTY)
        there = load(broker_then, key, None)[1].partitions[key]
        choices.append(list(_choices(there, log, said.get(at), most)))
        giving |= {at} if free_of_aborted(there, log) else set()
    for order in _orders(broker, request, giving, connection):
        for chosen in product(*choices):
            yield Conduct(tuple(zip(ats, chosen, strict=True)), order)


def _acknowledged(
    broker: ShareBroker,
    request: ShareRequest,
    said: Mapping[TopicPartition, PartitionResponse],
    connection: str,
) -> ShareBroker:
    """Return the broker between the acknowledgements of a fetch and its acquisitions."""
    if isinstance(request, ShareAcknowledge) or all(not one.batches for one in request.partitions):
        return broker
    conduct = Conduct(
        tuple((at, PartitionConduct(acknowledge=_refusal(one))) for at, one in said.items())
    )
    with suppress(IllegalChoiceError):
        nothing = attrs.evolve(request, max_records=0)
        return handle(broker, nothing, broker.now, conduct, connection).broker
    return broker


def _refusal(said: PartitionResponse | None) -> Choice:
    """Return the answer to an acknowledgement as a choice; any, if the response has none."""
    if said is None:
        return Choice()
    return Choice(refusal=said.acknowledge_error if said.acknowledge_error in _REFUSALS else NONE)


def _orders(
    broker: ShareBroker,
    request: ShareRequest,
    giving: set[TopicPartition],
    connection: str,
) -> Iterator[tuple[TopicPartition, ...] | None]:
    """Yield each order in which the broker may have read the share-partitions.

    Those that gave records, or may have kept some back, precede the others.
    """
    error, sessions = begin(broker.sessions, request, connection, broker.most_sessions)
    plain = isinstance(request, ShareAcknowledge) or request.session_epoch == FINAL_EPOCH
    if error is not NONE or plain:
        yield None
        return
    ats = [one.at for one in sessions[key_of(request)].partitions]
    rest = tuple(at for at in ats if at not in giving)
    for order in permutations(at for at in ats if at in giving):
        yield (*order, *rest)


def _choices(
    there: SharePartition, log: WrittenLog, said: PartitionResponse | None, most: int
) -> Iterator[PartitionConduct]:
    """Yield the choices that the broker may have made at one share-partition.

    Besides the records in the response, it may have acquired data of aborted transactions and kept
    it back. And the rest of the last log batch may have entered the window or not.
    """
    acknowledge = _refusal(said)
    given = _sorted(OffsetRange(one.first, one.last) for one in (said.acquired if said else ()))
    for aborted in kept_back(there, log, given, most):
        ranges = _sorted((*given, *aborted))
        if not ranges:
            nothing = Choice(acquired=(), entered=())
            yield PartitionConduct(acknowledge, nothing, fetch_offset=0, log_batches=())
            continue
        last = ranges[-1].last
        read = _read(there, log, ranges)
        inside = (b.last + 1 for b in log.batches if b.first <= last <= b.last)
        for end in sorted({last + 1, *inside}):
            acquire = Choice(ranges, _entered(there, log, end))
            first = read[0].first if read else 0
            yield PartitionConduct(
                acknowledge, acquire, fetch_offset=first, log_batches=read, aborted=aborted
            )


def _entered(there: SharePartition, log: WrittenLog, end: int) -> tuple[OffsetRange, ...]:
    """Return the records that enter the window if it ends at ``end`` (exclusive)."""
    old_end = there.window.end_offset
    new = ((max(b.first, old_end), min(b.last, end - 1)) for b in log.batches)
    return tuple(OffsetRange(*one) for one in new if one[0] <= one[1])


def _read(
    there: SharePartition, log: WrittenLog, ranges: tuple[OffsetRange, ...]
) -> tuple[OffsetRange, ...]:
    """Return what the fetch may have read: each readable log batch, and each acquired marker."""
    batches = (b for b in log.batches if b.last < readable_end(there.config, log))
    acquired = (o for one in ranges for o in range(one.first, one.last + 1))
    markers = (OffsetRange(o, o) for o in acquired if hole_end(there.log, o) is not None)
    return _sorted((*batches, *markers))


def _sorted(ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    return tuple(sorted(ranges, key=lambda one: (one.first, one.last)))


def _illegal(error: IllegalChoiceError, response: ShareResponse, about: str) -> Mismatch:
    """Return the guard that the answer breaks, as a mismatch."""
    if error.guard is Guard.ACKNOWLEDGED_WAS_DELIVERED:
        about = "acknowledge answered NONE"
    elif error.guard is Guard.ACKNOWLEDGEMENT_JUDGED:
        about = "acknowledge answered " + error.detail.removeprefix("the answer ").split(",")[0]
    elif error.guard is not Guard.ONLY_AVAILABLE_IS_ACQUIRED:
        about = "fetch"
    return Mismatch(
        error.guard.name, error.guard.value, about, response_text(response), error.detail
    )


def _about(broker: ShareBroker, request: ShareRequest, response: ShareResponse) -> str:
    """Detect a fetch that re-acquires records the member already holds."""
    owners = {
        record.owner
        for one in response.partitions
        if (there := broker.partitions.get((request.group_id, one.at))) is not None
        for offset in _counts(one)
        if (record := there.window.records.get(offset)) is not None
    }
    return "fetch of what the member holds" if owners - {None} == {request.member_id} else "fetch"


def _difference(
    request: ShareRequest,
    seen: ShareResponse,
    made: ShareResponse,
    excused: frozenset[TopicPartition],
    fetch: str,
) -> Mismatch | None:
    """Return the first difference between a response and one that is possible.

    ``fetch`` is the ``about`` of a difference in the acquired records.
    """
    if seen.error is not made.error:
        about, names = f"session answered {seen.error.name}", (seen.error.name, made.error.name)
        return _mismatch(WireDifference.SESSION_ERROR, about, *names)
    acknowledged = {one.at for one in request.partitions if one.batches} - excused
    there, possible = ({one.at: one for one in r.partitions} for r in (seen, made))
    for at in sorted({*there, *possible}):
        one, other = there.get(at), possible.get(at, PartitionResponse(at))
        if at in acknowledged and (
            one is None or one.acknowledge_error is not other.acknowledge_error
        ):
            answered = "not answered" if one is None else one.acknowledge_error.name
            about = f"acknowledge {answered}" if one is None else f"acknowledge answered {answered}"
            wanted = other.acknowledge_error.name
            return _mismatch(WireDifference.ACKNOWLEDGE_ERROR, about, answered, wanted, at)
        one = one or PartitionResponse(at)
        if one.error is not other.error:
            about, names = f"fetch answered {one.error.name}", (one.error.name, other.error.name)
            return _mismatch(WireDifference.FETCH_ERROR, about, *names, at)
        if found := _acquired(one, other, fetch):
            return found
    return None


def _acquired(seen: PartitionResponse, made: PartitionResponse, about: str) -> Mismatch | None:
    counts = _counts(seen)
    if counts == _counts(made):
        return None
    texts = acquired_text(seen.acquired), acquired_text(made.acquired)
    same = set(counts) == set(_counts(made))
    if same:
        return _mismatch(WireDifference.DELIVERY_COUNT, "fetch", *texts, seen.at)
    return _mismatch(WireDifference.ACQUIRED, about, *texts, seen.at)


def _counts(response: PartitionResponse) -> dict[int, int]:
    return {
        offset: one.delivery_count
        for one in response.acquired
        for offset in range(one.first, one.last + 1)
    }


def _mismatch(
    kind: WireDifference,
    about: str,
    observed: str,
    expected: str,
    at: TopicPartition | None = None,
) -> Mismatch:
    return Mismatch(kind.name, kind.value, about, observed, expected, at)
