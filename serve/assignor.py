"""Which member of a share group fetches from which partitions (KIP-932, SimpleAssignor)."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from model.share_messages import TopicPartition

R = TypeVar("R", bound=Hashable)
T = TypeVar("T", bound=Hashable)

Assignment = dict[str, frozenset[TopicPartition]]


def assign(
    subscriptions: Mapping[str, frozenset[str]],
    partitions: Iterable[TopicPartition],
    current: Mapping[str, frozenset[TopicPartition]],
) -> Assignment:
    """Return the partitions of each member, of the topics (by id) to which it subscribes.

    Partitions of all topics are divided at once where members subscribe alike, or else those of
    each topic (SimpleHomogeneousAssignmentBuilder, SimpleHeterogeneousAssignmentBuilder): where
    there are more than members each has one member, where there are fewer members share them;
    numbers differ by at most one. What a member has it keeps, as far as that allows.
    """
    assigned: dict[str, set[TopicPartition]] = {member: set() for member in subscriptions}
    alike = len(set(subscriptions.values())) == 1
    subscribed = frozenset[str]().union(*subscriptions.values())
    divided: dict[str, list[TopicPartition]] = {}
    for partition in sorted(part for part in partitions if part.topic_id in subscribed):
        divided.setdefault("" if alike else partition.topic_id, []).append(partition)
    for parts in divided.values():
        members = sorted(m for m, topics in subscriptions.items() if parts[0].topic_id in topics)
        if len(parts) >= len(members):
            shares = _divided(members, parts, current)
            pairs = [(member, part) for member in members for part in shares[member]]
        else:
            has = {
                part: frozenset(m for m in members if part in current.get(m, ())) for part in parts
            }
            owners = _divided(parts, members, has)
            pairs = [(member, part) for part in parts for member in owners[part]]
        for member, part in pairs:
            assigned[member].add(part)
    return {member: frozenset(own) for member, own in assigned.items()}


def _divided(
    receivers: list[R], items: list[T], current: Mapping[R, frozenset[T]]
) -> dict[R, list[T]]:
    """Divide items among receivers so that numbers differ by at most one."""
    least, larger = divmod(len(items), len(receivers))
    shares: dict[R, list[T]] = {}
    remaining = list(items)
    for receiver in receivers:
        kept = [item for item in remaining if item in current.get(receiver, frozenset())]
        shares[receiver] = kept[: least + (larger > 0)]
        larger -= len(shares[receiver]) > least
        remaining = [item for item in remaining if item not in shares[receiver]]
    for item in remaining:
        shares[min(receivers, key=lambda receiver: len(shares[receiver]))].append(item)
    return shares
