"""The commands for a group coordinator and its one share group.

Members and topics have numbers, epochs are relative to the one that the coordinator gave, so that
a sequence keeps its sense when shrinking drops a command. Times in ms of virtual time. ``answers``
are those of share coordinators to the calls of a command, in order; NONE where there are no more.
"""

from enum import StrEnum
from typing import TypeAlias

import attrs

from conformance.coordinators.share_asks import FailOver, PassTime
from model.errors import ErrorCode

Answers: TypeAlias = tuple[ErrorCode, ...]


class MemberEpoch(StrEnum):
    """The member epoch of a heartbeat; of a member that did not join each but JOIN is a guess."""

    JOIN = "join"
    CURRENT = "current"
    BEFORE = "before"
    OLD = "old"
    AHEAD = "ahead"


@attrs.frozen
class Begin:
    """Begin with topics of so many partitions each, and a group of so many members at most."""

    partitions: tuple[int, ...]
    max_members: int = 6


@attrs.frozen
class CreateTopic:
    """Create a topic, unless it exists."""

    topic: int
    partitions: int


@attrs.frozen
class AddPartitions:
    """Add partitions to a topic, if it exists."""

    topic: int
    partitions: int


@attrs.frozen
class RemoveTopic:
    """Delete a topic, if it exists."""

    topic: int


@attrs.frozen
class ConfigureGroup:
    """Give the group a heartbeat interval and a session timeout of its own, in ms."""

    heartbeat_ms: int
    session_ms: int


@attrs.frozen
class MemberHeartbeat:
    """A member joins, also again, stays, or changes its topics; None leaves them as they are."""

    member: int
    epoch: MemberEpoch = MemberEpoch.CURRENT
    topics: tuple[int, ...] | None = None
    answers: Answers = ()


@attrs.frozen
class Leave:
    """A member leaves, whether or not it is one."""

    member: int


@attrs.frozen
class AlterOffsets:
    """Alter start offsets, each as (topic, partition, start offset)."""

    offsets: tuple[tuple[int, int, int], ...]
    answers: Answers = ()


@attrs.frozen
class DeleteOffsets:
    """Remove topics from the group."""

    topics: tuple[int, ...]
    answers: Answers = ()


@attrs.frozen
class DeleteGroup:
    """Delete the group."""

    answers: Answers = ()


@attrs.frozen
class DescribeOffsets:
    """Describe the start offsets of the group."""


@attrs.frozen
class AnswerCall:
    """A share coordinator answers one of the calls that wait, if any does; the oldest is 0."""

    nth: int
    status: ErrorCode = ErrorCode.NONE


GroupAsk = (
    Begin
    | CreateTopic
    | AddPartitions
    | RemoveTopic
    | ConfigureGroup
    | MemberHeartbeat
    | Leave
    | PassTime
    | AlterOffsets
    | DeleteOffsets
    | DeleteGroup
    | DescribeOffsets
    | AnswerCall
    | FailOver
)
