"""Members of a share group: epochs, sessions and what may be assigned (KIP-932, group coordinator).

``group_lifecycle`` has what joining and leaving do to the group; here is what the group coordinator
keeps of a member beside its topics, and when it refuses a heartbeat.
"""

from collections.abc import Collection, Iterator, Mapping

import attrs
from immutables import Map

from model.errors import ErrorCode
from spec.share_group import Partitions

NONE, FENCED = ErrorCode.NONE, ErrorCode.FENCED_MEMBER_EPOCH
JOINING, LEAVING = 0, -1
"""The member epochs with which a member joins or joins again, and leaves."""

SESSION_MS = 45_000
"""group.share.session.timeout.ms, as KIP-932 has it."""

MOST_MEMBERS = 200
"""group.share.max.size, as KIP-932 has it."""


@attrs.frozen
class GroupMembership:
    """A member's epoch, the one that it had before, and when its session ends in ms."""

    epoch: int
    previous_epoch: int
    ends_ms: int


Members = Map[str, GroupMembership]


def heartbeat_answers(
    members: Members | None, member: str, member_epoch: int, most: int = MOST_MEMBERS
) -> frozenset[ErrorCode]:
    """Return how a heartbeat that does not leave may be answered; ``members`` None: no group.

    Guard: of who joins, GROUP_MAX_SIZE_REACHED once there are ``most`` members. Of who does not
    join, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, and FENCED_MEMBER_EPOCH for an epoch that is not
    the member's. The epoch before may be its own too: the answer with the new one may be lost.
    Effect: of what is refused none, and the session is not extended.
    """
    known = (members or Members()).get(member)
    full = members is not None and known is None and len(members) >= most
    refusals = frozenset({ErrorCode.GROUP_MAX_SIZE_REACHED}) if full else frozenset()
    if member_epoch == JOINING:
        return refusals or frozenset({NONE})
    if members is None:
        return frozenset({ErrorCode.GROUP_ID_NOT_FOUND})
    if known is None:
        return refusals | {ErrorCode.UNKNOWN_MEMBER_ID}
    if member_epoch == known.previous_epoch != known.epoch:
        return frozenset({NONE, FENCED})
    return frozenset({NONE if member_epoch == known.epoch else FENCED})


def beat(members: Members, member: str, epoch: int, now_ms: int, session_ms: int) -> Members:
    """Take up that a heartbeat was answered with a member epoch.

    Effect: the session ends ``session_ms`` from now (KIP-932, Heartbeat and session).
    Epochs: the epoch that the member had is the one before.
    """
    known = members.get(member)
    moved = known is None or known.epoch != epoch
    before = JOINING if known is None else known.epoch if moved else known.previous_epoch
    return members.set(member, GroupMembership(epoch, before, now_ms + session_ms))


def restarted(members: Members, now_ms: int, session_ms: int) -> Members:
    """Begin every session anew: a group coordinator that takes over knows of no heartbeat."""
    later = {name: attrs.evolve(m, ends_ms=now_ms + session_ms) for name, m in members.items()}
    return Members(later)


def ended(members: Members, now_ms: int) -> frozenset[str]:
    """Return the members whose sessions have ended, which leave the group."""
    return frozenset(name for name, member in members.items() if member.ends_ms <= now_ms)


def unassigned(
    may_be: Partitions, assignment: Mapping[str, Collection[object]]
) -> frozenset[object]:
    """Return the assignable share-partitions that no member has.

    KIP-932, SimpleAssignor: members are assigned until each partition has at least one.
    """
    return may_be - frozenset(key for assigned in assignment.values() for key in assigned)


def uneven(
    assignment: Mapping[str, Partitions], subscriptions: Mapping[str, frozenset[str]]
) -> Iterator[tuple[str, str]]:
    """Yield pairs of members of which the first has at least two share-partitions too many.

    Apache Kafka, SimpleHomogeneousAssignmentBuilder: "The difference in assignments sizes between
    any two members should not exceed one partition." Where subscriptions differ, balance is
    "computed for each topic individually".
    """
    alike = len(set(subscriptions.values())) == 1
    topics = frozenset(topic for names in subscriptions.values() for topic in names)
    for group in (topics,) if alike else (frozenset({name}) for name in sorted(topics)):
        sizes = {
            member: sum(key.topic_id in group for key in assignment.get(member, ()))
            for member, names in sorted(subscriptions.items())
            if group & names
        }
        if max(sizes.values(), default=0) - min(sizes.values(), default=0) > 1:
            yield max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
