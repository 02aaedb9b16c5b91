"""Whether a broker in a believed state could have answered a request as it did."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from itertools import permutations, product

import attrs
from immutables import Map

from conformance.wire.belief import Belief
from conformance.wire.target import Described
from conformance.wire.words import acquired_text, response_text
from conformance.wire.written import (
    WrittenLog,
    committed_only,
    deliverable,
    free_of_aborted,
    kept_back,
    waiting_start,
)
from judge.view import durable
from model.errors import ErrorCode, IllegalChoiceError
from model.operations import Acquire, ArchiveAborted
from model.outcome import Choice
from model.ranges import OffsetRange, delivery_counts, number_of_offsets, offsets, ranges_of
from model.rules import VERDICT_RULES
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
from spec.lag import durable_lag, lag
from spec.log import hole_end, readable_end
from spec.partition import SharePartition
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
_ACKNOWLEDGING = "ShareAcknowledge is bounded by it"
"""What puts the guards of an acknowledgement at stake; no other guard has it."""


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
    SENT_AS_WRITTEN = "a record in a response has the key, value and headers that were produced"
    ANSWERED_ONCE = "a response says one thing of each share-partition, not two"
    SENT_ONCE = "no log batch is in a response twice"
    UNANSWERED = "a request is answered, and its connection stays"
    LEADER_SERVES = "a leader that nothing replaced serves its share-partitions, or soon does"
    AVAILABLE_RECORDS_ARE_DELIVERED = "a record that stays available is delivered to who asks"
    CURRENT_LEADER = "a leader is named with an error only where it exists, otherwise -1 (KIP-932)"
    COORDINATOR = "a share-partition has a share coordinator by its key, and by no other (KIP-932)"
    GROUP_INTERVAL = "a heartbeat is answered the interval that its group has (KIP-932)"
    SILENT_LEAVES = "a member silent for its group's session timeout is none any more (KIP-932)"
    FETCH_WAITS = "a fetch that gets nothing waits for records, if not every time (KIP-932)"
    LOCK_TIMEOUT = "a response tells how long the acquisition locks last (KIP-932, ShareFetch)"
    DESCRIBED = "a share-partition is described, or an error passes soon (KIP-932)"
    LEADER_EPOCH = "no leader epoch is told that the partition did not have yet (KIP-932)"
    START_OFFSET = "the start offset told is that in memory, or the durable one (KIP-932)"
    LAG = "the lag told is that of what is in memory, or of what is durable (KIP-1226)"


@attrs.frozen
class AnswerMismatch:
    """Why an answer is not possible: the guard or difference, and both sides in words.

    ``about`` is the part of the request that got it: fetch, acknowledge, session, describe. ``odd``
    is what is odd about it, where that tells causes apart.
    """

    rule: Enum
    about: str
    observed: str
    expected: str
    topic_partition: TopicPartition | None = None
    odd: str = ""


def explained(
    belief: Belief, request: ShareRequest, response: ShareResponse, connection: str, logs: Logs
) -> tuple[list[ShareBroker], AnswerMismatch]:
    """Return each state that a broker may be in after this answer, and the first mismatch.

    The mismatch counts only if there is no such state. ``logs`` has what was written to the
    partitions.
    """
    states: list[ShareBroker] = []
    first: AnswerMismatch | None = None
    for broker, asked, excused in _readings(belief, request, response, logs):
        for conduct in _conducts(broker, asked, response, connection, logs):
            try:
                served = _uncounted(asked, response, conduct)
                fenced = belief.fencing(conduct)
                handled = handle(broker, served, broker.now, fenced, connection)
            except IllegalChoiceError as error:
                about = _about(broker, asked, response)
                wrong: AnswerMismatch | None = _illegal(error, response, about)
            else:
                assert handled.response is not None  # noqa: S101 - every write is answered at once
                about = _about(broker, asked, response)
                wrong = _difference(request, response, handled.response, excused, about)
            if wrong is None:
                states.append(handled.broker)
            first = first or wrong
        if states:
            break
    return states, first or AnswerMismatch(WireDifference.UNANSWERED, "", "", "")


def _uncounted(request: ShareRequest, response: ShareResponse, conduct: Conduct) -> ShareRequest:
    """Return the request with a higher maximum if records were kept back: they may not count."""
    given = sum(len(delivery_counts(part.acquired)) for part in response.partitions)
    if not isinstance(request, ShareFetch) or given > request.max_records:
        return request
    kept = sum(number_of_offsets(chosen.aborted) for _partition, chosen in conduct.partitions)
    return attrs.evolve(request, max_records=request.max_records + kept)


def _readings(
    belief: Belief, request: ShareRequest, response: ShareResponse, logs: Logs
) -> Iterator[tuple[ShareBroker, ShareRequest, frozenset[TopicPartition]]]:
    """Yield each reading of the broker's state and of the request, the plain one first.

    A broker may advance a start offset later than it could: then it refuses an acknowledgement of a
    finished record instead of ignoring it, at the share-partitions of the third value. It may have
    a share-partition in memory without a fetch. And records that were never delivered may not be
    in the window yet.
    """
    yield belief.broker, request, frozenset()
    answers = {part.topic_partition: part.acknowledge_error for part in response.partitions}
    broker, refused = belief.broker, set()
    for asked in request.partitions:
        key = (request.group_id, asked.topic_partition)
        partition = broker.partitions.get(key)
        if not asked.batches or partition is None or asked.topic_partition not in answers:
            continue
        error = answers[asked.topic_partition]
        if not partition.ready and error is not UNKNOWN:
            broker = loaded(broker, key, logs)
        elif error is ErrorCode.INVALID_RECORD_STATE and _names_passed(partition, asked):
            refused.add(asked.topic_partition)
    if broker is not belief.broker or refused:
        partitions = tuple(
            PartitionRequest(part.topic_partition) if part.topic_partition in refused else part
            for part in request.partitions
        )
        yield broker, attrs.evolve(request, partitions=partitions), frozenset(refused)
    for asked in request.partitions:
        for narrower in _narrower(broker, (request.group_id, asked.topic_partition), asked):
            yield narrower, request, frozenset()


def loaded(broker: ShareBroker, key: PartitionKey, logs: Logs) -> ShareBroker:
    """Return the broker with a share-partition in memory, if it can be."""
    return load(broker, key, logs.get(key[1], _EMPTY).first_young)[1]


def past_aborted(belief: Belief, request: ShareRequest, logs: Logs) -> Belief:
    """Return the belief after a fetch that gave nothing and kept back what comes first.

    Only committed records become in flight (KIP-932), so that others need no room in the window.
    """
    broker = belief.broker
    for key in sorted(key for key in broker.partitions if key[0] == request.group_id):
        partition = loaded(broker, key, logs).partitions[key]
        log = logs.get(key[1], _EMPTY)
        first = next(deliverable(partition, log, 0), log.end)
        for batch in free_of_aborted(partition, log):
            if batch[0] > first:
                break
            ranges = ranges_of(batch)
            fetch = Acquire(request.member_id, _WHOLE, len(batch), len(batch), batch[0], ranges)
            with suppress(IllegalChoiceError):
                taken, _ = apply_to(loaded(broker, key, logs), key, fetch, (_NO_MORE, ()))
                broker, _ = apply_to(taken, key, ArchiveAborted(ranges))
    return attrs.evolve(belief, broker=broker)


def partly_fetched(belief: Belief, request: ShareFetch, connection: str) -> Iterator[ShareBroker]:
    """Yield the broker after a fetch that acquires the first record, the first two, and so on."""
    broker = belief.broker
    for most in range(1, request.max_records + 1):
        asked = attrs.evolve(request, max_records=most, acquire_mode=AcquireMode.RECORD_LIMIT)
        handled = handle(broker, asked, broker.now, connection=connection)
        parts = handled.response.partitions if handled.response else ()
        if sum(len(delivery_counts(part.acquired)) for part in parts) < most:
            return
        yield handled.broker


def _names_passed(partition: SharePartition, asked: PartitionRequest) -> bool:
    first, end = partition.log.start_offset, partition.window.start_offset
    first = first if first <= end else 0
    return any(max(first, b.first) <= min(b.last, end - 1) for b in asked.batches)


def _narrower(
    broker: ShareBroker, key: PartitionKey, asked: PartitionRequest
) -> Iterator[ShareBroker]:
    """Yield the broker with each shorter window that ends before an acknowledged offset."""
    partition = broker.partitions.get(key)
    last = max((batch.last for batch in asked.batches), default=-1)
    if partition is None or not partition.ready:
        return
    window = partition.window
    for end in range(window.end_offset - 1, window.start_offset, -1):
        if window.records.get(end, UNDELIVERED) != UNDELIVERED:
            return
        if end <= last:
            records = Map({o: record for o, record in window.records.items() if o < end})
            empty = Window(window.start_offset, end)
            narrow = attrs.evolve(partition, window=replace(empty, records))
            yield attrs.evolve(broker, partitions=broker.partitions.set(key, narrow))


def _conducts(
    broker: ShareBroker, request: ShareRequest, response: ShareResponse, connection: str, logs: Logs
) -> Iterator[Conduct]:
    """Yield the choices of the broker that the response allows."""
    answers = {part.topic_partition: part for part in response.partitions}
    places = sorted(place for group, place in broker.partitions if group == request.group_id)
    most = request.max_records if isinstance(request, ShareFetch) else 0
    broker_then = acknowledged_first(broker, request, answers, connection, logs)
    giving, choices = {place for place, part in answers.items() if part.acquired}, []
    for place in places:
        key, log = (request.group_id, place), logs.get(place, _EMPTY)
        partition = loaded(broker_then, key, logs).partitions[key]
        choices.append(list(_choices(partition, log, answers.get(place), most)))
        giving |= {place} if free_of_aborted(partition, log) else set()
    for order in _orders(broker, request, giving, connection):
        for chosen in product(*choices):
            yield Conduct(tuple(zip(places, chosen, strict=True)), order)


def acknowledged_first(
    broker: ShareBroker,
    request: ShareRequest,
    answers: Mapping[TopicPartition, PartitionResponse],
    connection: str,
    logs: Logs,
) -> ShareBroker:
    """Return the broker between the acknowledgements of a fetch and its acquisitions."""
    acknowledges = any(part.batches for part in request.partitions)
    if isinstance(request, ShareAcknowledge) or not acknowledges:
        return broker
    chosen = (
        (place, PartitionConduct(_refusal(part), reset_offset=logs.get(place, _EMPTY).first_young))
        for place, part in answers.items()
    )
    with suppress(IllegalChoiceError):
        nothing = attrs.evolve(request, max_records=0)
        return handle(broker, nothing, broker.now, Conduct(tuple(chosen)), connection).broker
    return broker


def _refusal(answer: PartitionResponse | None) -> Choice:
    """Return the answer to an acknowledgement as a choice; any, if the response has none."""
    if answer is None:
        return Choice()
    error = answer.acknowledge_error
    return Choice(refusal=error if error in _REFUSALS else NONE)


def _orders(
    broker: ShareBroker, request: ShareRequest, giving: set[TopicPartition], connection: str
) -> Iterator[tuple[TopicPartition, ...] | None]:
    """Yield each order in which the broker may have read the share-partitions.

    Those that gave records, or may have kept some back, precede the others.
    """
    error, sessions = begin(broker.sessions, request, connection, broker.most_sessions)
    plain = isinstance(request, ShareAcknowledge) or request.session_epoch == FINAL_EPOCH
    if error is not NONE or plain:
        yield None
        return
    places = [part.topic_partition for part in sessions[key_of(request)].partitions]
    rest = [place for place in places if place not in giving]
    for order in permutations(place for place in places if place in giving):
        yield (*order, *rest)


def _choices(
    partition: SharePartition, log: WrittenLog, answer: PartitionResponse | None, most: int
) -> Iterator[PartitionConduct]:
    """Yield the choices that the broker may have made at one share-partition.

    Besides the records in the response, it may have acquired data of aborted transactions and kept
    it back. And the rest of the last log batch may have entered the window or not.
    """
    acknowledge = _refusal(answer)
    given = _sorted(
        OffsetRange(part.first, part.last) for part in (answer.acquired if answer else ())
    )
    for aborted in kept_back(partition, log, given, most):
        ranges = _sorted((*given, *aborted))
        read = _read(partition, log, ranges) if ranges else ()
        plain = PartitionConduct(
            acknowledge,
            Choice(acquired=(), entered=()),
            fetch_offset=read[0].first if read else 0,
            log_batches=read,
            aborted=aborted,
            reset_offset=log.first_young,
        )
        if not ranges:
            yield plain
            continue
        last = ranges[-1].last
        inside = (b.last + 1 for b in log.batches if b.first <= last <= b.last)
        for end in sorted({last + 1, *inside}):
            yield attrs.evolve(plain, acquire=Choice(ranges, _entered(partition, log, end)))


def _entered(partition: SharePartition, log: WrittenLog, end: int) -> tuple[OffsetRange, ...]:
    """Return the records that enter the window if it ends at ``end`` (exclusive)."""
    old_end = partition.window.end_offset
    new = ((max(b.first, old_end), min(b.last, end - 1)) for b in log.batches)
    return tuple(OffsetRange(*extent) for extent in new if extent[0] <= extent[1])


def _read(
    partition: SharePartition, log: WrittenLog, ranges: tuple[OffsetRange, ...]
) -> tuple[OffsetRange, ...]:
    """Return what the fetch may have read: each readable log batch, and each acquired marker."""
    end = readable_end(partition.log, partition.config.isolation_level)
    batches = (b for b in log.batches if b.last < end)
    acquired = offsets(ranges)
    markers = (OffsetRange(o, o) for o in acquired if hole_end(partition.log, o) is not None)
    return _sorted((*batches, *markers))


def _sorted(ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    return tuple(sorted(ranges, key=lambda part: (part.first, part.last)))


def _illegal(error: IllegalChoiceError, response: ShareResponse, about: str) -> AnswerMismatch:
    """Return the guard that the answer breaks, as a mismatch."""
    if _ACKNOWLEDGING in VERDICT_RULES[error.guard.name].at_stake.get("broker", ()):
        _, told, answer = error.detail.partition("the answer ")
        about = f"acknowledge answered {answer.split(',')[0] if told else NONE.name}"
    return AnswerMismatch(error.guard, about, response_text(response), error.detail)


def _about(broker: ShareBroker, request: ShareRequest, response: ShareResponse) -> str:
    """Detect a fetch that re-acquires records the member already holds."""
    owners = {
        record.owner
        for part in response.partitions
        if (partition := broker.partitions.get((request.group_id, part.topic_partition)))
        for offset in offsets(part.acquired)
        if (record := partition.window.records.get(offset))
    }
    return "fetch of what the member holds" if owners - {None} == {request.member_id} else "fetch"


def _difference(
    request: ShareRequest,
    seen: ShareResponse,
    produced: ShareResponse,
    excused: frozenset[TopicPartition],
    fetch: str,
) -> AnswerMismatch | None:
    """Return the first difference between a response and one that is possible.

    ``fetch`` is the ``about`` of a difference in the acquired records.
    """
    if seen.error is not produced.error:
        about, names = f"session answered {seen.error.name}", (seen.error.name, produced.error.name)
        return AnswerMismatch(WireDifference.SESSION_ERROR, about, *names)
    acknowledged = {part.topic_partition for part in request.partitions if part.batches} - excused
    told, possible = ({p.topic_partition: p for p in r.partitions} for r in (seen, produced))
    for place in sorted({*told, *possible}):
        nothing = PartitionResponse(place)
        part, other = told.get(place, nothing), possible.get(place, nothing)
        right, wanted = part.acknowledge_error is other.acknowledge_error, other.acknowledge_error
        if place in acknowledged and not (place in told and right):
            answered = part.acknowledge_error.name if place in told else "not answered"
            about = f"acknowledge {'answered ' if place in told else ''}{answered}"
            kind = WireDifference.ACKNOWLEDGE_ERROR
            return AnswerMismatch(kind, about, answered, wanted.name, place)
        if place not in acknowledged | excused and part.acknowledge_error not in (NONE, wanted):
            about, answered = "nothing acknowledged is refused", part.acknowledge_error.name
            kind = WireDifference.ACKNOWLEDGE_ERROR
            return AnswerMismatch(kind, about, answered, wanted.name, place)
        if part.error is not other.error:
            about, names = f"fetch answered {part.error.name}", (part.error.name, other.error.name)
            return AnswerMismatch(WireDifference.FETCH_ERROR, about, *names, place)
        if mismatch := _acquired(part, other, fetch):
            return mismatch
    return None


def _acquired(
    seen: PartitionResponse, possible: PartitionResponse, about: str
) -> AnswerMismatch | None:
    counts, allowed = delivery_counts(seen.acquired), delivery_counts(possible.acquired)
    if counts == allowed:
        return None
    texts = acquired_text(seen.acquired), acquired_text(possible.acquired)
    if counts.keys() == allowed.keys():
        return AnswerMismatch(WireDifference.DELIVERY_COUNT, "fetch", *texts, seen.topic_partition)
    return AnswerMismatch(WireDifference.ACQUIRED, about, *texts, seen.topic_partition)


def described_wrong(  # noqa: PLR0913 - what a judge knows
    partition: SharePartition,
    written: WrittenLog,
    described: Described,
    topic_partition: TopicPartition,
    *,
    tells_lag: bool,
    anew: bool = False,
) -> AnswerMismatch | None:
    """Return why a broker cannot report this start offset and lag; None if it can.

    It may report what is durable, what is in memory, or a start offset between them, since it may
    advance later than it could. A leader that began ``anew`` may do so before aborted records, of
    which nothing need be durable. A lag may count the markers of transactions or not.
    """
    kept, log, window = durable(partition), partition.log, partition.window
    if kept.start_offset == -1 and described.start_offset == -1:
        most = log.end_offset - log.start_offset
        if described.lag is None or 0 <= described.lag <= most:
            return None
        kind, wanted = WireDifference.LAG, f"no lag, or at most {most}"
        return AnswerMismatch(kind, "describe", str(described.lag), wanted, topic_partition)
    in_memory = window.start_offset if partition.ready else max(kept.start_offset, log.start_offset)
    lowest = in_memory if kept.start_offset == -1 else min(kept.start_offset, in_memory)
    lowest = waiting_start(partition, written, lowest, durable=True)
    if anew and committed_only(partition.config):
        lowest = min((lowest, *(batch.first for batch in written.aborted)))
    if not lowest <= described.start_offset <= in_memory:
        kind, observed = WireDifference.START_OFFSET, str(described.start_offset)
        wanted = f"{lowest} to {in_memory}" if lowest < in_memory else str(in_memory)
        return AnswerMismatch(kind, "describe", observed, wanted, topic_partition)
    lags = {lag(partition) if partition.ready else log.end_offset - in_memory}
    known = durable_lag(log.end_offset, kept)
    lags |= set() if known is None else {known}
    holes = sum(max(0, last - max(first, lowest) + 1) for first, last in log.holes)
    if described.lag is None and tells_lag and known is not None:
        return AnswerMismatch(WireDifference.LAG, "describe", "no lag", str(known), topic_partition)
    if described.lag is None or min(lags) - holes <= described.lag <= max(lags) + holes:
        return None
    wanted = " or ".join(str(each) for each in sorted(lags))
    return AnswerMismatch(
        WireDifference.LAG, "describe", str(described.lag), wanted, topic_partition
    )
