"""The name of a share-partition, in its parts."""

import attrs

from model.errors import InvalidValueError

__all__ = ["SharePartitionName", "parsed_name"]


@attrs.frozen(order=True)
class SharePartitionName:
    """A group, a topic and a partition of the topic. Names order as Kafka's commands list them."""

    group: str
    topic: str
    partition: int


def parsed_name(text: str) -> SharePartitionName:
    """Return the parts of group:topic:partition; a group may hold colons, a topic may not.

    Raises InvalidValueError.
    """
    group, *rest = text.rsplit(":", 2)
    if len(rest) == 2 and group and rest[0] and rest[1].isascii() and rest[1].isdigit():  # noqa: PLR2004 - the two after the group
        return SharePartitionName(group, rest[0], int(rest[1]))
    raise InvalidValueError("partition", text, "group:topic:partition")
