"""A share-partition of a recording: its state, and what a recorder could not see for sure."""

from collections.abc import Iterable

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.outcome import Write
from model.profile import Profile
from spec.coordinator import Durable, merge
from spec.partition import SharePartition


@attrs.frozen
class RecordedPartition(SharePartition):
    """A share-partition, with what the rules need not know.

    Where ``timed`` the clock is a real one, and ``last_event`` what it showed at the event before.
    Of outstanding writes: ``seen`` are those in the form in which an implementation made them, and
    ``made_after`` has the operation after which a write takes its numbers, until it has them;
    ``told_at`` has the checkpoint that told a write without the operation that made it.
    ``doubtful`` are writes that were seen and may be durable although nobody said so. Without
    ``durable_whole`` more may be durable than ``durable``.
    """

    timed: bool = False
    last_event: int = 0
    seen: frozenset[int] = frozenset()
    made_after: Map[int, int] = Map()
    told_at: Map[int, int] = Map()
    doubtful: tuple[Write, ...] = ()
    durable_whole: bool = True


_NAMES = tuple(field.name for field in attrs.fields(SharePartition))


def recorded(partition: SharePartition) -> RecordedPartition:
    """Return the share-partition with what is known of its recording; nothing, if it has none."""
    if isinstance(partition, RecordedPartition):
        return partition
    return RecordedPartition(*(getattr(partition, name) for name in _NAMES))


def in_doubt(durable: Durable, writes: Iterable[Write], profile: Profile) -> tuple[Write, ...]:
    """Return the writes that would change the durable state, once each: ascending and unnamed."""
    plain = {
        attrs.evolve(each, id=0, status=ErrorCode.PENDING, made_after=None, counted=True)
        for each in writes
    }
    telling = (each for each in plain if merge(durable, each, profile) != durable)
    return tuple(sorted(telling, key=attrs.astuple))
