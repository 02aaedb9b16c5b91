"""The size of a small world that is explored whole, and a leader with its log."""

import attrs

from model.checks import whole
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
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


def _size(low: int, high: int, default: int, text: str) -> int:
    def check(_instance: object, attribute: "attrs.Attribute[int]", value: int) -> None:
        whole(attribute.name, value, low, high)

    field: int = attrs.field(default=default, validator=check, metadata={"text": text})
    return field


def _flag(text: str, *, default: bool) -> bool:
    field: bool = attrs.field(default=default, metadata={"text": text})
    return field


@attrs.frozen
class SmallWorld:
    """How large a world is. The upper ends are where nothing could be explored whole any more.

    Where records may be IN_PROGRESS, they are so for a tick more than a lock lasts without a sign
    of progress, for two more at most, and for one after their owner has left.
    """

    profile: Profile = KIP
    offsets: int = _size(1, 6, 2, "Number of offsets in the log.")
    members: int = _size(1, 3, 2, "Number of members in the group.")
    limit: int = _size(1, 5, 2, "The delivery count limit.")
    window: int = _size(1, 6, 2, "The record lock limit: the largest size of the window.")
    lock: int = _size(1, 4, 1, "The duration of an acquisition lock, in ticks.")
    outstanding: int = _size(0, 3, 1, "Number of writes whose answers may be awaited at a time.")
    late: int = _size(0, 2, 1, "Number of writes that may be under way and nobody waits for them.")
    log_start: int = _size(0, 6, 1, "How far the log start offset may advance.")
    aborted: int = _size(
        0, 6, 0, "Number of first offsets, of aborted transactions; with any, under read_committed."
    )
    gaps: bool = _flag("Let the log have gaps.", default=True)
    compaction: bool = _flag("Let compaction take records out of the log.", default=False)
    failovers: bool = _flag("Let new leaders take over, any number of times.", default=True)
    resets: bool = _flag(
        "Let an administrator alter the start offset, any number of times.", default=False
    )
    altered: bool = _flag(
        "Lower the delivery count limit, the record lock limit and the lock duration by one, each "
        "where it stays above 0, and raise them again.",
        default=False,
    )
    dead_letters: bool = _flag(
        "Have a dead-letter queue, which is switched off and on.", default=False
    )
    symmetry: bool = _flag(
        "Treat states as equal that differ only in the names of members.", default=True
    )

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
            IsolationLevel.READ_COMMITTED if self.aborted else IsolationLevel.READ_UNCOMMITTED,
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
    world: SmallWorld, log: Log, persisted: DurableState, now: int = 0
) -> tuple[ExploredLeader, Initialize]:
    """Return a new leader which took over from the durable state, and the operation that did it."""
    stable = log.stable_offset if world.aborted else None
    operation = Initialize(
        world.config, log.start_offset, log.end_offset, persisted, now, last_stable_offset=stable
    )
    partition = apply(new_partition(world.profile), operation).partition
    return ExploredLeader(partition, log), operation


def present(log: Log) -> list[int]:
    """Return the offsets that hold a record, ascending."""
    return [o for o in range(log.start_offset, log.end_offset) if hole_end(log, o) is None]
