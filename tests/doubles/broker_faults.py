"""Faulty brokers: behaviours of the catalogue, and faults that no share-partition has.

The kit's own tests let it find each of them.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, partial
from itertools import islice
from types import ModuleType

import attrs

from conformance.wire.allowed import TIMEOUT
from conformance.wire.asks import FEWEST_BYTES
from conformance.wire.records import batch_with, contents_of
from conformance.wire.target import Described, NamedNode
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.profile import Profile
from model.ranges import OffsetRange
from model.share_messages import (
    FINAL_EPOCH,
    Conduct,
    PartitionRequest,
    PartitionResponse,
    ShareFetch,
    ShareRequest,
    ShareResponse,
)
from model.states import AcquireMode
from serve.share_api import _records
from spec.partition import SharePartition
from spec.share_broker import Handled, ShareBroker
from spec.share_session import key_of
from spec.window import Window
from tools.promises.behaviour import HONEST, Behaviour, faulty_modules
from tools.promises.catalogue import BEHAVIOURS

Answered = tuple[ShareBroker, ShareResponse]

_ALL, _NEVER = 500, 10**6
KEY_PARTS = 2
"""How many parts of a key follow the group."""


class WireFault(StrEnum):
    """What a broker does wrong, whatever its share-partitions do."""

    EPOCH_UNCHECKED = "any session epoch is taken"
    PIGGYBACKED_IS_LOST = "acknowledgements of a fetch are forgotten"
    LAG_IGNORES_COMPLETE = "the lag counts records whose delivery is complete"
    MAXIMUM_IGNORED = "record_limit acquires more than the maximum"
    MORE_BATCHES_THAN_ASKED = "batch_optimized acquires every log batch, whatever the maximum"
    RECORDS_LEFT_OUT = "acquired records are not in the response"
    LOG_START_IGNORED = "records that the log lost are delivered"
    COMMITTED_IS_KEPT_BACK = "what follows an aborted transaction is kept back with it"
    OPEN_IS_DELIVERED = "records of an open transaction are delivered under read_committed"
    OPEN_IS_SKIPPED = "an open transaction is passed over, and what follows it is delivered"
    COMMIT_IS_UNNOTICED = "a transaction that was open is not delivered when it has committed"
    ABORT_IS_UNNOTICED = "a transaction that was open is delivered when it has aborted"
    FIRST_BATCH_IS_LOST = "the first log batch of a partition is never delivered"
    LATER_BATCH_IS_LOST = "a log batch amid others is never delivered"
    START_STAYS = "the start offset stays before what is finished"
    ACKNOWLEDGING_IS_REFUSED = "every acknowledgement is answered NOT_LEADER_OR_FOLLOWER"
    REFUSAL_SPREADS = "what is refused at one share-partition is told of others as well"
    CLOSING_IS_REFUSED = "acknowledgements that end a session are answered NOT_LEADER_OR_FOLLOWER"
    COORDINATOR_IS_MISSING = "fetches are answered COORDINATOR_NOT_AVAILABLE"
    VALUES_ALTERED = "every third record is sent with other contents"
    NEVER_DESCRIBES = "describing a share-partition is always an error"
    LEADER_EPOCH_IS_FUTURE = "the leader epoch that it tells is 99"
    LAG_IS_OFF_AT_TWO = "the lag is one more while two records are complete"
    LAG_LEAVES_OUT_HELD = "the lag leaves out records that are held"
    NEVER_WAITS = "a fetch that gets nothing is answered at once"
    BYTES_ARE_HARD = "a record that is larger than the maximum of bytes is not delivered"
    ANY_KEY_IS_TAKEN = "FindCoordinator takes any key of a share-partition"
    COLON_IS_REFUSED = "FindCoordinator refuses the keys of groups that have a colon in their ids"
    OFFSETS_STAY = "an altered start offset is not noticed"
    STATE_SURVIVES = "the state of a deleted group is there again with its name"
    LAG_IS_LOST = "no lag is told after a start offset was altered"
    NODE_0_LEADS = "errors name node 0 as the current leader"
    LATEST_IS_EARLIEST = "a group that begins at the latest record gets what was there before"
    DURATION_IS_LATEST = "a group that begins by_duration gets nothing that was there before"
    SETTING_IS_IGNORED = "renewals are taken although they are switched off"
    DURATION_IS_A_MINUTE = "by_duration takes an hour for a minute"
    DURATION_IS_REFUSED = "by_duration is answered with an error where no record is as young"
    INTERVAL_IS_DEFAULT = "heartbeats are answered the interval of the broker, not of the group"
    INTERVAL_IS_TOLD_ONCE = "a member that stays is answered the interval of the broker"
    BRIEF_IS_REMOVED = "members of a group with its own session timeout end with their first answer"
    TIMEOUT_IS_DEFAULT = "members have the session timeout of the broker, not of the group"
    EPOCH_UNCHECKED_LATE = "any session epoch is taken after 25"


BrokerFault = WireFault | Behaviour
"""What a broker does wrong; ``HONEST`` is nothing."""


def fault_named(name: str) -> BrokerFault:
    """Return the fault of a broker that has this name in ``brokers.toml``."""
    known = {behaviour.name: behaviour for behaviour in BEHAVIOURS}
    return known.get(name) or WireFault[name]


def modules_of(fault: BrokerFault, *packages: str) -> Mapping[str, ModuleType]:
    """Return the modules of packages by which a broker with this fault works, its own copies."""
    return faulty_modules(HONEST if isinstance(fault, WireFault) else fault, *packages)


_RESETS: Mapping[BrokerFault, Mapping[AutoOffsetReset, AutoOffsetReset]] = {
    WireFault.LATEST_IS_EARLIEST: {AutoOffsetReset.LATEST: AutoOffsetReset.EARLIEST},
    WireFault.DURATION_IS_LATEST: {AutoOffsetReset.BY_DURATION: AutoOffsetReset.LATEST},
}

UNCOUNTED = fault_named("does not count redeliveries")
"""A fault that shows soon."""


def faulty_profile(fault: BrokerFault, profile: Profile) -> Profile:
    """Return the rules that a broker with this fault goes by: it may leave records waiting."""
    return profile if fault is HONEST else attrs.evolve(profile, offered_within=_NEVER)


def faulty_config(fault: BrokerFault, config: SharePartitionConfig) -> SharePartitionConfig:
    """Return the configuration that a broker with this fault takes for this one."""
    if fault is WireFault.SETTING_IS_IGNORED:
        return attrs.evolve(config, renew_acknowledge_enable=True)
    reset = _RESETS.get(fault, {}).get(config.auto_offset_reset, config.auto_offset_reset)
    return attrs.evolve(config, auto_offset_reset=reset)


def faulty_reset(fault: BrokerFault) -> Mapping[str, str]:
    """Return how a broker with this fault reads the hour of by_duration, where a group has that."""
    unit = "M" if fault is WireFault.DURATION_IS_A_MINUTE else "H"
    return {"share.auto.offset.reset": f"by_duration:PT1{unit}"}


def faulty_settings(
    fault: BrokerFault, settings: Mapping[str, str | None]
) -> Mapping[str, str | None]:
    """Return which settings of a group a broker with this fault takes."""
    ignored = TIMEOUT if fault is WireFault.TIMEOUT_IS_DEFAULT else ""
    return {name: value for name, value in settings.items() if name != ignored}


def faulty_heartbeat(fault: BrokerFault, interval: int, epoch: int) -> int:
    """Return the interval that a broker with this fault answers a member of this epoch, in ms."""
    ignores = fault is WireFault.INTERVAL_IS_DEFAULT
    ignores |= fault is WireFault.INTERVAL_IS_TOLD_ONCE and epoch > 0
    return 5000 if ignores else interval


def faulty_removal(fault: BrokerFault, settings: Mapping[str, str | None], epoch: int) -> bool:
    """Return whether a broker with this fault has no member of this epoch in such a group."""
    return fault is WireFault.BRIEF_IS_REMOVED and TIMEOUT in settings and epoch > 0


def faulty_log(
    fault: BrokerFault, before: int, ranges: tuple[OffsetRange, ...]
) -> tuple[OffsetRange, ...]:
    """Return which of the log batches, after ``before`` others, a broker with this fault reads."""
    faults = WireFault.FIRST_BATCH_IS_LOST, WireFault.LATER_BATCH_IS_LOST
    return tuple(
        one for nth, one in enumerate(ranges, start=before) if fault not in faults[nth : nth + 1]
    )


@cache
def written(batch: OffsetRange, partition: int, altered: bool) -> bytes:  # noqa: FBT001 - a key
    """Return the bytes of a log batch; altered, each third record has the contents of the next."""
    numbers = [o + (altered and o % 3 == 2) for o in range(batch.first, batch.last + 1)]
    data = batch_with({nth: contents_of(o, partition) for nth, o in enumerate(numbers)})
    return batch.first.to_bytes(8, "big") + data[8:]


def faulty_description(fault: BrokerFault, said: Described, window: Window) -> Described:
    """Return how a broker with this fault describes a share-partition with this window."""
    match fault:
        case WireFault.NEVER_DESCRIBES:
            return attrs.evolve(said, error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        case WireFault.LEADER_EPOCH_IS_FUTURE:
            return attrs.evolve(said, leader_epoch=99)
        case WireFault.LAG_IS_OFF_AT_TWO if window.complete == 2 and said.lag is not None:
            return attrs.evolve(said, lag=said.lag + 1)
        case WireFault.LAG_LEAVES_OUT_HELD if said.lag is not None:
            return attrs.evolve(said, lag=said.lag - len(window.held))
    return said


def faulty_conduct(fault: BrokerFault, broker: ShareBroker, conduct: Conduct) -> Conduct:
    """Return what a broker with this fault chooses where it would choose ``conduct``."""
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


def faulty_request(fault: BrokerFault, broker: ShareBroker, request: ShareRequest) -> ShareRequest:
    """Return the request as a broker with this fault takes it."""
    change = _REQUESTS.get(fault) if isinstance(fault, WireFault) else None
    return change(broker, request) if change else request


def faulty_response(
    fault: BrokerFault, before: ShareBroker, handled: Handled, request: ShareRequest
) -> tuple[ShareBroker, ShareResponse]:
    """Return the broker and the response as a broker with this fault has them after a request."""
    assert handled.response is not None
    change = _RESPONSES.get(fault) if isinstance(fault, WireFault) else None
    if change is None:
        return handled.broker, handled.response
    return change(before, handled.broker, handled.response, request)


def _epoch_unchecked(broker: ShareBroker, request: ShareRequest, after: int = 0) -> ShareRequest:
    session = broker.sessions.get(key_of(request))
    if session is None or request.session_epoch <= 0 or session.epoch <= after:
        return request
    return attrs.evolve(request, session_epoch=session.epoch)


def _fetching(
    fits: Callable[[ShareFetch], object], change: Callable[[ShareFetch], ShareFetch]
) -> Callable[[ShareBroker, ShareRequest], ShareRequest]:
    """Return a change of the fetches that fit."""
    return lambda _broker, request: (
        change(request) if isinstance(request, ShareFetch) and fits(request) else request
    )


def _without_batches(request: ShareFetch) -> ShareFetch:
    partitions = tuple(PartitionRequest(one.topic_partition) for one in request.partitions)
    return attrs.evolve(request, partitions=partitions)


def faulty_coordinator(fault: BrokerFault, key: str) -> NamedNode:
    """Return which node a broker with this fault names for a key."""
    group, *others = key.rsplit(":", 2)
    legal = bool(group) and len(others) == KEY_PARTS and len(others[0]) > len("none")
    legal = legal and others[-1].isdecimal()
    if fault is WireFault.COLON_IS_REFUSED and ":" in group:
        legal = False
    if legal or fault is WireFault.ANY_KEY_IS_TAKEN:
        return NamedNode(ErrorCode.NONE, 1)
    return NamedNode(ErrorCode.INVALID_REQUEST)


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


def _acknowledging_is_refused(
    before: ShareBroker, after: ShareBroker, said: ShareResponse, request: ShareRequest
) -> Answered:
    named = [one.topic_partition for one in request.partitions if one.batches]
    if not named or said.error is not ErrorCode.NONE:
        return after, said
    refusal = ErrorCode.NOT_LEADER_OR_FOLLOWER
    parts = tuple(PartitionResponse(at, acknowledge_error=refusal) for at in named)
    return attrs.evolve(after, partitions=before.partitions), ShareResponse(partitions=parts)


def _closing_is_refused(
    before: ShareBroker, after: ShareBroker, said: ShareResponse, request: ShareRequest
) -> Answered:
    if request.session_epoch != FINAL_EPOCH:
        return after, said
    return _acknowledging_is_refused(before, after, said, request)


def _refusal_spreads(
    _before: ShareBroker, after: ShareBroker, said: ShareResponse, request: ShareRequest
) -> Answered:
    acknowledged = {one.topic_partition for one in request.partitions if one.batches}
    refused = [one for one in said.partitions if one.acknowledge_error is not ErrorCode.NONE]
    parts = (
        one
        if one.topic_partition in acknowledged or not refused
        else attrs.evolve(one, acknowledge_error=refused[0].acknowledge_error)
        for one in said.partitions
    )
    return after, attrs.evolve(said, partitions=tuple(parts))


def _coordinator_is_missing(
    before: ShareBroker, after: ShareBroker, said: ShareResponse, request: ShareRequest
) -> Answered:
    if not isinstance(request, ShareFetch):
        return after, said
    return before, ShareResponse(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)


def _duration_is_refused(
    before: ShareBroker, after: ShareBroker, said: ShareResponse, _request: ShareRequest
) -> Answered:
    refused = [
        key
        for key, there in after.partitions.items()
        if there.ready and not before.partitions[key].ready and _is_all_old(there)
    ]
    if said.error is not ErrorCode.NONE or not refused:
        return after, said
    named = {at for _group, at in refused}
    parts = [one for one in said.partitions if one.topic_partition not in named]
    parts += [PartitionResponse(at, ErrorCode.UNKNOWN_SERVER_ERROR) for at in named]
    partitions = after.partitions.update({key: before.partitions[key] for key in refused})
    return attrs.evolve(after, partitions=partitions), attrs.evolve(said, partitions=tuple(parts))


def _is_all_old(there: SharePartition) -> bool:
    by_duration = there.config.auto_offset_reset is AutoOffsetReset.BY_DURATION
    return by_duration and there.window.start_offset == there.log.end_offset


_REQUESTS: dict[WireFault, Callable[[ShareBroker, ShareRequest], ShareRequest]] = {
    WireFault.EPOCH_UNCHECKED: _epoch_unchecked,
    WireFault.EPOCH_UNCHECKED_LATE: partial(_epoch_unchecked, after=25),
    WireFault.PIGGYBACKED_IS_LOST: _fetching(
        lambda asked: asked.session_epoch > 0, _without_batches
    ),
    WireFault.BYTES_ARE_HARD: _fetching(
        lambda asked: asked.max_bytes <= FEWEST_BYTES,
        lambda asked: attrs.evolve(asked, max_records=0),
    ),
    WireFault.MAXIMUM_IGNORED: _fetching(
        lambda asked: asked.max_records, lambda asked: attrs.evolve(asked, max_records=_ALL)
    ),
    WireFault.MORE_BATCHES_THAN_ASKED: _fetching(
        lambda asked: asked.max_records and asked.acquire_mode is AcquireMode.BATCH_OPTIMIZED,
        lambda asked: attrs.evolve(asked, max_records=_ALL),
    ),
}

_RESPONSES: dict[
    WireFault, Callable[[ShareBroker, ShareBroker, ShareResponse, ShareRequest], Answered]
] = {
    WireFault.DURATION_IS_REFUSED: _duration_is_refused,
    WireFault.PIGGYBACKED_IS_LOST: _said_to_be_acknowledged,
    WireFault.ACKNOWLEDGING_IS_REFUSED: _acknowledging_is_refused,
    WireFault.CLOSING_IS_REFUSED: _closing_is_refused,
    WireFault.REFUSAL_SPREADS: _refusal_spreads,
    WireFault.COORDINATOR_IS_MISSING: _coordinator_is_missing,
}

FAULTY_API: dict[BrokerFault, dict[str, Callable[..., object]]] = {
    WireFault.NODE_0_LEADS: {"current_leader": lambda *_: {"leader_id": 0, "leader_epoch": 0}},
    WireFault.RECORDS_LEFT_OUT: {"_records": lambda *given: islice(_records(*given), 1, None)},
}
"""What stands for functions of ``serve.share_api``."""
