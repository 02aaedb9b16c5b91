"""What a group coordinator answers, read strictly: a malformed answer stops the run."""

from collections.abc import Mapping
from typing import Any

import attrs
import cattrs

from conformance.cores.malformed import sent
from conformance.target import TargetError
from model.errors import ErrorCode
from model.share_messages import TopicPartition
from spec.share_group import Partitions


@attrs.frozen
class StateCall:
    """A call of a share coordinator: one of its share-partitions. ``status`` PENDING: it waits."""

    id: int
    call: str
    status: str
    topic: str
    partition: int
    start_offset: int = 0
    state_epoch: int = 0

    @property
    def key(self) -> TopicPartition:
        """Return the share-partition."""
        return TopicPartition(self.topic, self.partition)


@attrs.frozen
class DescribedMember:
    """A member as ShareGroupDescribe has it."""

    member: str
    epoch: int
    topics: tuple[str, ...]
    assignment: tuple[tuple[str, int], ...]

    @property
    def assigned(self) -> Partitions:
        """Return the share-partitions that it is assigned."""
        return frozenset(TopicPartition(topic, index) for topic, index in self.assignment)


@attrs.frozen
class DescribedGroup:
    """A group as ShareGroupDescribe has it."""

    status: str
    epoch: int
    assignment_epoch: int
    members: tuple[DescribedMember, ...]

    @property
    def by_name(self) -> Mapping[str, DescribedMember]:
        """Return the members by their names."""
        return {member.member: member for member in self.members}


@attrs.frozen
class GroupResult:
    """The answer to the request; what the request has not is empty.

    ``heartbeat_ms`` is the heartbeat interval that a member is given.
    ``partitions`` and ``topics`` are the parts that AlterShareGroupOffsets and
    DeleteShareGroupOffsets answer, null for a topic without a name; ``offsets`` those that
    DescribeShareGroupOffsets does.
    """

    status: str = ErrorCode.NONE.name
    member_epoch: int = 0
    heartbeat_ms: int = 0
    assignment: tuple[tuple[str, int], ...] | None = None
    partitions: tuple[tuple[str, int, str], ...] = ()
    topics: tuple[tuple[str | None, str], ...] = ()
    offsets: tuple[tuple[str, int, int], ...] = ()


@attrs.frozen
class GroupReply:
    """An answer, the calls of share coordinators that were made for it, and the group after it."""

    result: GroupResult
    calls: tuple[StateCall, ...]
    group: DescribedGroup | None


_CONVERTER = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)


def _strictly(value: Any, kind: type[Any]) -> Any:  # noqa: ANN401 - any scalar of JSON
    if type(value) is not kind:
        raise TypeError(f"it is no {kind.__name__}")
    return value


for _kind in (int, str, bool):
    _CONVERTER.register_structure_hook(_kind, _strictly)


def reply_from(operation: str, plain: Mapping[str, Any]) -> GroupReply:
    """Return what a driver answered. Raises TargetError that names what cannot be read."""
    try:
        return _CONVERTER.structure(plain, GroupReply)
    except (cattrs.BaseValidationError, TypeError, ValueError, KeyError) as error:
        why = cattrs.transform_error(error)[0]
        text = f"its answer to {operation} cannot be read: {why}; it sent {sent(dict(plain))}"
        raise TargetError(text) from None
