"""A share group and its members, as the group coordinator keeps them."""

import attrs

from model.share_messages import TopicPartition
from spec.share_group import Coordinators


@attrs.define
class Member:
    """A member of a group.

    ``topics`` are the names to which it subscribes; ``assigned`` is what it was told to fetch, in
    the epoch ``epoch``. ``heard`` is when its last heartbeat came, in ms.
    """

    id: str
    client_id: str
    host: str
    rack: str | None
    topics: frozenset[str]
    heard: int
    epoch: int = 0
    previous_epoch: int = 0
    assigned: frozenset[TopicPartition] = frozenset()


@attrs.define
class Group:
    """A share group: what ``spec`` keeps of it, its members, and what each is to fetch."""

    id: str
    coordinators: Coordinators = attrs.field(factory=Coordinators)
    members: dict[str, Member] = attrs.field(factory=dict)
    target: dict[str, frozenset[TopicPartition]] = attrs.field(factory=dict)
    target_epoch: int = 0

    @property
    def epoch(self) -> int:
        """The group epoch."""
        group = self.coordinators.group
        return 0 if group is None else group.epoch
