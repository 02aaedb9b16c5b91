"""A share-partition under made-up load: operations drawn at random, results by the implementation.

What is drawn depends on the seed and the name of the share-partition and on nothing else.
"""

from collections.abc import Iterator

import attrs

from impl.partition import FastSharePartition
from judge.dice import SeededDice
from judge.world import Load, Recorder, World
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import CompleteWrite, MemberLeaves, ResetOffset
from model.profile import Profile
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode
from model.trace import TraceEvent

RECORDS_EVERY = 50
"""The records after an event are recorded at every so many events: they are most of a trace."""

LOAD = Load(
    members=(),
    batches=8,
    batch_length=31,
    gap=5,
    gaps=0.05,
    read=4,
    modes=(*[AcquireMode.BATCH_OPTIMIZED] * 7, *[AcquireMode.RECORD_LIMIT] * 3),
    limits=(1, 10, 50, 500),
    batch_sizes=(10, 100, 500),
    partial=0.1,
    single=0.9,
    types=(
        *[AcknowledgeType.ACCEPT] * 84,
        *[AcknowledgeType.RELEASE] * 6,
        *[AcknowledgeType.RENEW] * 5,
        *[AcknowledgeType.REJECT] * 3,
        *[AcknowledgeType.GAP] * 2,
    ),
    answers=(
        *[ErrorCode.NONE] * 92,
        *[ErrorCode.PENDING] * 6,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.FENCED_STATE_EPOCH,
    ),
    late_answers=(*[ErrorCode.NONE] * 85, *[ErrorCode.NOT_COORDINATOR] * 15),
    wait_ms=2000,
    log_start=20,
)

OPERATIONS = {
    World.acquire: 44,
    World.acknowledge: 46,
    World.advance_time: 5,
    World.expire: 0.3,
    World.produce: 6,
    World.release: 1.2,
    World.complete_write: 6,
    World.acknowledge_anything: 2,
    World.advance_log_start: 0.2,
    World.take_over: 0.15,
    World.reset_offset: 0.05,
}
"""The operations and how often each is drawn; what cannot be done then gives way to another."""


class SyntheticPartition:
    """One share-partition with its log, members and outstanding writes."""

    def __init__(self, name: str, seed: int, profile: Profile) -> None:
        """Draw the configuration; nothing has happened yet."""
        self._dice = dice = SeededDice(f"{seed}/{name}")
        members = tuple(f"member-{i}" for i in range(dice.number(1, 6)))
        config = SharePartitionConfig(
            delivery_count_limit=dice.one_of((2, 3, 5, 5)),
            partition_max_record_locks=dice.one_of((100, 200, 200, 500, 2000)),
            record_lock_duration_ms=dice.one_of((15_000, 30_000)),
            auto_offset_reset=AutoOffsetReset.EARLIEST,
        )
        self._recorder = Recorder(name, FastSharePartition(profile))
        load = attrs.evolve(LOAD, members=members)
        self._world = World(self._recorder, profile, config, load, dice)

    def events(self, number: int) -> Iterator[TraceEvent]:
        """Yield so many events, the first of them an initialize."""
        for seq in range(number):
            if not seq:
                self._world.initialize(DurableState(0, 0))
            while not self._recorder.events:  # What the rules refuse is no event.
                self._dice.weighted(OPERATIONS)(self._world)
            event = self._recorder.events.pop()
            if seq % RECORDS_EVERY:
                event = attrs.evolve(event, after=attrs.evolve(event.after, records=None))
            yield event

    def closed(self) -> Iterator[TraceEvent]:
        """Yield the events that leave nothing in flight and nothing outstanding.

        Members leave, writes are answered, and an administrator alters the offset to the log's end.
        """
        world = self._world
        for member in world.load.members:
            world.do(MemberLeaves(member))
        for id_ in tuple(world.outstanding):
            world.do(CompleteWrite(id_, ErrorCode.NONE))
        world.do(ResetOffset(world.log_end))
        events, self._recorder.events = self._recorder.events, []
        yield from events

    @property
    def end(self) -> tuple[int, ...]:
        """The log end offset, the time, and the next write id, state epoch and leader epoch."""
        durable, world = self._recorder.durable(), self._world
        epochs = durable.state_epoch, durable.leader_epoch + 1
        return world.log_end, world.now, world.last_write + 1, *epochs
