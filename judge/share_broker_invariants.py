"""What is true of a broker after any requests, disconnections and answers to writes."""

from judge.invariants import Invariant, violated
from model.share_messages import INITIAL_EPOCH, MAX_EPOCH
from spec.share_broker import ShareBroker


def _names_each_once(broker: ShareBroker) -> bool:
    return all(
        len({part.topic_partition for part in session.partitions}) == len(session.partitions)
        for session in broker.sessions.values()
    )


def _idle_groups_are_dropped(broker: ShareBroker) -> bool:
    live = {group for group, _member in broker.sessions}
    waits = {key for key in broker.unvalidated if broker.partitions[key].outstanding}
    ready = {key for key, partition in broker.partitions.items() if partition.ready}
    return broker.unvalidated <= ready and all(key[0] in live for key in ready - waits)


def _awaited_is_outstanding(broker: ShareBroker) -> bool:
    outstanding = {
        (write.seq, *key)
        for key, partition in broker.partitions.items()
        for write in partition.outstanding.values()
    }
    return all(
        waiting.awaited
        and all((seq, waiting.group, awaited) in outstanding for awaited in waiting.awaited)
        for seq, waiting in broker.waiting.items()
    )


BROKER_INVARIANTS = (
    Invariant(
        "sessions_within_limit",
        "There are never more sessions than the limit.",
        lambda b: len(b.sessions) <= b.most_sessions,
    ),
    Invariant(
        "live_epoch_neither_opens_nor_closes",
        "The epoch that a session expects is neither that which opens one nor that which closes.",
        lambda b: all(INITIAL_EPOCH < s.epoch <= MAX_EPOCH for s in b.sessions.values()),
    ),
    Invariant(
        "session_names_each_once",
        "A session holds each share-partition once.",
        _names_each_once,
    ),
    Invariant(
        "idle_groups_are_dropped",
        "A group without a session has in memory only what waits for a write, unvalidated.",
        _idle_groups_are_dropped,
    ),
    Invariant(
        "awaited_is_outstanding",
        "A response waits only for writes that are outstanding, and for at least one.",
        _awaited_is_outstanding,
    ),
    Invariant(
        "elsewhere_is_not_in_memory",
        "No share-partition is in memory of which another broker leads the partition.",
        lambda b: not any(p.ready and key[1] in b.elsewhere for key, p in b.partitions.items()),
    ),
    Invariant(
        "fenced_is_not_in_memory",
        "No share-partition is in memory of which a later leader has read the state.",
        lambda b: not any(p.ready and key in b.fenced for key, p in b.partitions.items()),
    ),
    Invariant(
        "clock_is_one",
        "Every share-partition in memory has the time of the broker.",
        lambda b: all(p.now == b.now for p in b.partitions.values() if p.ready),
    ),
    Invariant(
        "share_partitions_are_sound",
        "Every share-partition in memory keeps its own invariants.",
        lambda b: not any(violated(p) for p in b.partitions.values()),
    ),
)
