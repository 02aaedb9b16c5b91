"""The size of a small world that is explored whole, and a leader with its log."""

import attrs

from model.checks import whole
from model.config import AutoOffsetReset, SharePartitionConfig
from model.operations import Initialize
from model.profile import KIP, Profile
from model.snapshot import DurableState
from spec.log import Log, hole_end
from spec.partition import SharePartition
from spec.step import apply, new_partition

TICK_MS = 1
"""By how much the clock moves when time passes."""

NEVER_WRITTEN = DurableState(-1, -1)
"""What InitializeShareGroupState leaves: the first leader resolves the start offset."""


def _within(low: int, high: int, default: int) -> int:
    def check(_instance: object, attribute: "attrs.Attribute[int]", value: int) -> None:
        whole(attribute.name, value, low, high)

    field: int = attrs.field(default=default, validator=check)
    return field


@attrs.frozen
class SmallWorld:
    """How large a world is. The upper ends are where nothing could be explored whole any more.

    ``offsets``: of the log; ``members``; ``limit``: delivery count limit; ``window``: the record
    lock limit; ``lock``: how many ticks an acquisition lock lasts; ``outstanding``: writes whose
    answers may be awaited at a time; ``late``: writes that may be on their way at a time while
    nobody waits for them; ``log_start``: how far the log start offset may move up; ``gaps``:
    whether offsets may be missing from the log; ``failovers`` and ``resets``: whether new leaders
    take over, and an administrator alters the start offset, as often as they like. ``symmetry``:
    whether states that differ in the names of members are one state. ``dead_letters``: there is a
    dead-letter queue, and it is switched off and on. Where records may be IN_PROGRESS, they are so
    for a tick more than a lock lasts without a sign of progress, for two more at most, and for one
    after their owner has left.
    """

    profile: Profile = KIP
    offsets: int = _within(1, 6, 2)
    members: int = _within(1, 3, 2)
    limit: int = _within(1, 5, 2)
    window: int = _within(1, 6, 2)
    lock: int = _within(1, 4, 1)
    outstanding: int = _within(0, 3, 1)
    late: int = _within(0, 2, 1)
    log_start: int = _within(0, 6, 1)
    gaps: bool = True
    failovers: bool = True
    resets: bool = False
    dead_letters: bool = False
    symmetry: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The member ids."""
        return tuple(f"m{number}" for number in range(1, self.members + 1))

    @property
    def config(self) -> SharePartitionConfig:
        """The configuration that every leader has."""
        return SharePartitionConfig(
            self.limit,
            self.window,
            self.lock * TICK_MS,
            AutoOffsetReset.EARLIEST,
            dead_letter_queue=self.dead_letters,
            in_progress_staleness_threshold_ms=(self.lock + 1) * TICK_MS,
            in_progress_max_lock_extension_ms=(self.lock + 2) * TICK_MS,
            in_progress_rebalance_grace_ms=TICK_MS,
        )


@attrs.frozen
class ExploredLeader:
    """A leader's share-partition, and the actual log.

    A new leader does not know which offsets the log lacks until it has read around them.
    """

    partition: SharePartition
    log: Log


def initialize(
    world: SmallWorld, log: Log, persisted: DurableState
) -> tuple[ExploredLeader, Initialize]:
    """Return a new leader which took over from the durable state, and the operation that did it."""
    operation = Initialize(world.config, log.start_offset, log.end_offset, persisted)
    partition = apply(new_partition(world.profile), operation).partition
    return ExploredLeader(partition, log), operation


def present(log: Log) -> list[int]:
    """Return the offsets that hold a record, ascending."""
    return [o for o in range(log.start_offset, log.end_offset) if hole_end(log, o) is None]
