"""The world of the lockstep: what makes sense, and what clients and brokers should not do."""

from collections.abc import Callable

import attrs

from judge.dice import Dice
from judge.world import Load, World
from model import operations as ops
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Choice, Expiry
from model.profile import PROFILES, Profile
from model.ranges import AcquiredRange, OffsetRange, StateBatch
from model.states import AcknowledgeType, RecordState
from spec.expire import due_offsets
from tests.checkpoints import checkpoint_of
from tests.lockstep.pair import Pair

__all__ = ["CONFIG", "HASTY", "LOAD", "OPERATIONS", "Operation", "World", "new_world"]

DURATION = 10
_FAILURES = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.FENCED_STATE_EPOCH)
LOAD = Load(
    members=("m1", "m2", "m3"),
    answers=(
        *[ErrorCode.NONE] * 5,
        *[ErrorCode.PENDING] * 3,
        *_FAILURES,
    ),
    late_answers=(ErrorCode.NONE, *_FAILURES),
    wait_ms=DURATION,
    open=0.2,
    disorder=0.1,
    choose=0.2,
)
CONFIG = SharePartitionConfig(
    delivery_count_limit=2,
    partition_max_record_locks=8,
    record_lock_duration_ms=DURATION,
    isolation_level=IsolationLevel.READ_COMMITTED,
    in_progress_staleness_threshold_ms=DURATION,
    in_progress_max_lock_extension_ms=3 * DURATION,
    in_progress_rebalance_grace_ms=4,
)

Operation = Callable[[World], None]
HASTY = tuple(
    attrs.evolve(profile, offered_within=3, sweep_ms=min(3, profile.sweep_ms))
    for profile in PROFILES.values()
)
"""The profiles with smaller bounds, so that worlds reach them."""


def new_world(profile: Profile, dice: Dice) -> tuple[World, Pair]:
    """Return a world, mostly with a leader, and the pair that it happens to."""
    pair = Pair(profile, dice if dice.happens(0.5) else None)
    world = World(pair, profile, CONFIG, LOAD, dice)
    world.log_start = world.log_end = dice.number(0, 3)
    world.log_known = not dice.happens(0.2)
    world.timed = dice.happens(0.3)
    threshold = DURATION
    world.config = attrs.evolve(_config(world), in_progress_staleness_threshold_ms=threshold)
    if not world.disorder():
        take_over(world)
    return world, pair


def take_over(world: World) -> None:
    """A new leader reads what is durable; now and then what it reads is malformed.

    Now and then a leader before it made a record durable IN_PROGRESS, as the draft has it.
    """
    dice = world.dice
    persisted = world.subject.durable()
    epoch = persisted.leader_epoch + (not world.disorder())
    persisted = attrs.evolve(persisted, leader_epoch=epoch)
    if persisted.state_batches and world.disorder():
        *others, last = persisted.state_batches
        marked = attrs.evolve(last, state=RecordState.IN_PROGRESS)
        persisted = attrs.evolve(persisted, state_batches=(*others, marked))
    if world.disorder() and world.disorder():
        world.config = attrs.evolve(world.config, record_lock_duration_ms=100)
    if world.disorder():
        world.log_known = not world.log_known
    if world.disorder():
        world.timed = not world.timed
    if world.disorder():
        _truncate(world, dice.number(world.log_start, world.log_end))
    resolved: int | None = dice.number(world.log_start, world.log_end)
    if world.disorder():
        bad = StateBatch(dice.number(0, 5), 6, RecordState.AVAILABLE, 1)
        persisted = attrs.evolve(persisted, state_batches=(bad, *persisted.state_batches))
        resolved = None
    world.initialize(persisted, resolved)


def _truncate(world: World, end: int) -> None:
    """Let the log end earlier: the leader was elected from replicas that had not all of it."""
    world.log_end = end
    if world.last_stable is not None:
        world.last_stable = min(world.last_stable, end)
    shorter = (OffsetRange(b.first, min(b.last, end - 1)) for b in world.batches if b.first < end)
    world.batches = list(shorter)


def produce_badly(world: World) -> None:
    """The log end or the last stable offset goes back, or a batch comes a second time."""
    if world.dice.happens(0.5):
        stable = world.log_end if world.last_stable is None else world.last_stable
        world.do(ops.Produce((), world.log_end, max(0, stable - world.dice.number(1, 2))))
        return
    batches = (OffsetRange(0, 0),) if world.disorder() else ()
    world.do(ops.Produce(batches, max(len(batches), world.log_end - 1)))


def lose_while_pending(world: World) -> None:
    """The log loses a record whose release awaits its write, and a fetch shows it."""
    released = _released(world)
    if not released:
        world.acknowledge()
        return
    offset = world.dice.one_of(released)
    lost = tuple(b for b in world.batches if b.first <= offset <= b.last)
    world.batches = [b for b in world.batches if b not in lost]
    world.do(ops.Compact(lost))
    read = tuple(batch for batch in world.batches if batch.first > offset)[:2]
    world.do(attrs.evolve(world.fetch(), fetch_offset=offset, log_batches=read))


def read_wrongly(world: World) -> None:
    """A fetch claims to have read what the log does not have, or not to have read what it has."""
    dice, fetch = world.dice, world.fetch()
    begin = world.batch_at(fetch.fetch_offset)
    read = world.batches[begin : begin + dice.number(1, 4)]
    if not read:
        world.produce()
        return
    index = dice.number(0, len(read) - 1)
    first, last = read[index].first, read[index].last
    lie = dice.one_of(("skip", "join", "part", "longer", "beyond"))
    if lie == "skip":
        del read[index]
    elif lie == "join":
        read[index:] = [OffsetRange(first, read[-1].last)]
    elif lie == "part":
        read[index] = OffsetRange(first, dice.number(first, last))
    elif lie == "longer":
        read[index:] = [OffsetRange(first, last + dice.number(1, 3))]
    else:
        read.append(OffsetRange(world.log_end, world.log_end + dice.number(0, 2)))
    world.do(attrs.evolve(fetch, log_batches=tuple(read)))


def pass_over(world: World) -> None:
    """Several fetches in a row acquire nothing, or nothing but the last that they read."""
    fetch = world.fetch()
    last = [OffsetRange(batch.last, batch.last) for batch in fetch.log_batches[-1:]]
    taken = tuple(last) if world.disorder() else ()
    for _ in range(world.dice.number(2, 5)):
        world.do(fetch, Choice(acquired=taken))


def stay_full(world: World) -> None:
    """The window fills, all in it is accepted, and its start offset stays where it is."""
    world.produce()
    for _ in range(3):
        fetch = attrs.evolve(world.fetch(), max_fetch_records=20)
        world.do(fetch, Choice(start_offset=world.state.start_offset))
    for record in world.held():
        batch = ops.AcknowledgementBatch(record.first, record.last, (1,))
        stay = Choice(start_offset=world.state.start_offset)
        world.do(ops.Acknowledge(record.owner or "", (batch,)), stay)
    for _ in range(world.dice.number(2, 5)):
        world.do(ops.SkipAcquire("m1"), Choice(start_offset=world.state.start_offset))


def begin_below_log(world: World) -> None:
    """The log loses its beginning, a new leader has an earlier start offset and fetches there."""
    world.advance_log_start()
    take_over(world)
    below = world.log_start - 1
    if world.state.start_offset <= below:
        read = (OffsetRange(below, below),)
        world.do(attrs.evolve(world.fetch(), fetch_offset=below, log_batches=read))
        world.do(attrs.evolve(world.fetch(), log_batches=read), Choice(acquired=read))


def compact_anything(world: World) -> None:
    """The log loses any offsets: of which nothing is known, before the window, or past its end."""
    lowest = max(0, min(world.state.start_offset - 3, world.log_end))
    first = world.dice.number(lowest, world.log_end)
    last = first + world.dice.number(0, 3)
    if world.disorder() or last < world.log_end:
        kept = []
        for batch in world.batches:
            before, after = min(batch.last, first - 1), max(batch.first, last + 1)
            parts = ((batch.first, before), (after, batch.last))
            kept += [OffsetRange(*part) for part in parts if part[0] <= part[1]]
        if last < world.log_end:
            world.batches = kept
        world.do(ops.Compact((OffsetRange(first, last),)))


def acquire_otherwise(world: World) -> None:
    """A fetch in which the implementation chooses something else, legal or not."""
    fetch, dice = world.fetch(), world.dice
    read = [o for batch in fetch.log_batches for o in range(batch.first, batch.last + 1)]
    taken = [o for o in read if _may_take(world, o) and dice.happens(0.7)]
    if world.disorder():
        taken.append(dice.one_of((*read, dice.number(0, world.log_end))))
    waiting = [o for o in _released(world) if o in read]
    if waiting and dice.happens(0.5):
        taken.append(waiting[0])
    end = world.state.end_offset
    beyond = [o for o in read if end <= o and o not in taken]
    entered = [o for o in beyond if not taken or o < taken[-1] or not world.disorder()]
    if world.disorder():
        entered = [dice.number(0, world.log_end), *entered[1:]]
    choice = Choice(
        acquired=_single(sorted(taken)),
        entered=dice.one_of((None, _single(entered))),
        end_offset=dice.one_of((None, end, *(o + 1 for o in beyond[-1:]))),
        start_offset=world.choice().start_offset,
    )
    world.do(fetch, choice)


def notice(world: World) -> None:
    """An implementation archives some of what nobody will be given, when it comes to notice."""
    dice = world.dice
    free = [r for r in world.state.records or () if r.state is RecordState.AVAILABLE]
    archived = tuple(
        AcquiredRange(r.first, r.last - dice.number(0, r.last - r.first) // 2, count)
        for r in free
        if (count := r.delivery_count + dice.number(0, 1)) > 0 or dice.happens(0.8)
    )
    start = dice.one_of((world.state.start_offset, *(r.last + 1 for r in free[:1])))
    gone = tuple(OffsetRange(r.first, r.last) for r in free if dice.happens(0.4))
    for operation in dice.one_of(((ops.Compact(gone), world.fetch()), (ops.ArchiveAborted(gone),))):
        world.do(operation, Choice(archived=archived, start_offset=start))


def acquire_anyway(world: World) -> None:
    """A fetch that may find nothing to read, or no room in the window."""
    world.do(world.fetch())


def skip_acquire(world: World) -> None:
    """A fetch skips the share-partition, which may have room in its window."""
    world.do(ops.SkipAcquire(world.dice.one_of(LOAD.members)))


def mark_anything(world: World) -> None:
    """A member marks what may be another's, of an earlier delivery, or malformed."""
    if not world.profile.in_progress:
        world.acknowledge_anything()
        return
    batches, offset = [], max(0, world.state.start_offset - 2)
    for _ in range(world.dice.number(1, 3)):
        first = offset + world.dice.number(0, 3)
        last = first + world.dice.number(0, 3)
        batches.append(_maybe_wrong(world, world.progress(first, last)))
        offset = max(0, last + 1 - world.dice.number(0, 3))
    world.do(ops.MarkInProgress(world.dice.one_of(LOAD.members), tuple(batches)))


def _maybe_wrong(world: World, batch: ops.ProgressBatch) -> ops.ProgressBatch:
    if world.dice.happens(0.75):
        return batch
    wrong = world.dice.one_of(("leader_epoch", "acquisition", "last", "first"))
    by = world.dice.one_of((-1, 1)) * (2**62 if world.disorder() else 1)
    return attrs.evolve(batch, **{wrong: getattr(batch, wrong) + by})


def keep_working(world: World) -> None:
    """A member marks what it has in progress again and again, until it may no more."""
    owner = _at_work(world)
    for _ in range(world.dice.number(2, 5) if owner else 0):
        if world.dice.happens(0.25):
            alter_config(world)
        world.advance_time()
        mine = [r for r in world.held() if r.owner == owner]
        batches = tuple(world.progress(o, o) for r in mine for o in range(r.first, r.last + 1))
        world.do(ops.MarkInProgress(str(owner), batches))


def leave_late(world: World) -> None:
    """A member with records in progress says nothing, the configuration changes, it leaves."""
    owner = _at_work(world)
    if owner:
        alter_config(world)
        world.advance_time()
        world.do(ops.MemberLeaves(owner), answers=world.answers())


def leave_with_a_write(world: World) -> None:
    """A member leaves, and a leader writes it though the start offset may have passed it all."""
    choice = attrs.evolve(world.choice(), written=True)
    leaves = ops.MemberLeaves(world.dice.one_of(world.load.members))
    world.do(leaves, choice, answers=world.answers())


def alter_config(world: World) -> None:
    """The configuration changes; now and then to one that is out of order."""
    world.do(ops.AlterConfig(_config(world)))


def advance_time_in_groups(world: World) -> None:
    """Locks expire in several writes, or in a way that no rule allows."""
    dice, ms = world.dice, world.dice.number(0, DURATION)
    assert isinstance(world.subject, Pair)
    later = attrs.evolve(world.subject.spec, now=world.now + ms)
    groups: list[list[int]] = [[] for _ in range(dice.number(1, 3))]
    for offset in due_offsets(later):
        dice.one_of(groups).append(offset)
    if world.disorder():
        groups[0].append(dice.number(0, world.log_end))
    if world.disorder():
        groups[-1] = groups[-1][1:]
    start = world.choice().start_offset
    # A group without locks writes nothing, and no one would know which answer is of which write.
    expired = tuple(Expiry(_single(sorted(group)), start) for group in groups if group)
    choice = attrs.evolve(world.choice(), expired=expired)
    answers = (*world.answers(), *world.answers())[: len(expired)]
    world.do(ops.AdvanceTime(ms), choice, answers)


def pass_time(world: World) -> None:
    """A real clock moves on between two events."""
    here = Choice(start_offset=world.state.start_offset)
    world.do(ops.AdvanceTime(world.dice.number(0, 4)), here)


def lapse(world: World) -> None:
    """A timer ends some of the locks that are over; now and then other ones, or at a wrong time."""
    dice = world.dice
    assert isinstance(world.subject, Pair)
    if not due_offsets(world.subject.spec) and world.subject.spec.window.held:
        records, held = world.subject.spec.window.records, world.subject.spec.window.held
        ms = min(records[offset].deadline for offset in held) - world.now + dice.number(0, 3)
        world.do(ops.AdvanceTime(ms), Choice(start_offset=world.state.start_offset))
    over = [o for o in due_offsets(world.subject.spec) if dice.happens(0.8)]
    if world.disorder():
        over.append(dice.number(0, world.log_end))
    due = dice.one_of((None, None, world.now, max(0, world.now - dice.number(0, 3))))
    if world.disorder():
        due = world.now + 1
    world.do(ops.Expire(_single(over), due), world.choice(), world.answers())


def tell(world: World) -> None:
    """A leader tells its whole state; mostly after events were lost, now and then not as it is."""
    if not world.ready:
        return
    assert isinstance(world.subject, Pair)
    dice, spec = world.dice, world.subject.spec
    told = attrs.evolve(
        checkpoint_of(spec),
        log_end_offset=dice.one_of((None, spec.log.end_offset)),
        log_known=dice.happens(0.5),
    )
    gap = dice.happens(0.6)
    if gap:
        world.do(ops.Gap(dice.one_of((None, 0, 3))), Choice())
        if world.disorder():
            world.acquire()
        if world.disorder():
            take_over(world)
    if world.disorder():
        told = dice.one_of(
            (
                attrs.evolve(told, config=_config(world)),
                attrs.evolve(told, outstanding=told.outstanding[1:]),
                attrs.evolve(told, timed=not told.timed),
                attrs.evolve(told, state_epoch=told.state_epoch + 1),
                attrs.evolve(told, time_ms=told.time_ms + 1),
                attrs.evolve(
                    told,
                    deadlines=tuple(
                        attrs.evolve(end, deadline_ms=end.deadline_ms + dice.number(0, 5))
                        for end in told.deadlines
                    ),
                ),
            )
        )
    world.do(told, Choice(start_offset=told.state.start_offset))


def grant(world: World) -> None:
    """A member acquires or renews, and the leader says when the locks end."""
    dice = world.dice
    earlier = dice.number(0, 5) - world.disorder()
    deadline = max(0, world.now + world.config.record_lock_duration_ms - earlier)
    choice = attrs.evolve(world.choice(), deadline_ms=deadline)
    held = world.held()
    if not held or dice.happens(0.6):
        world.do(world.fetch(), choice)
        return
    record = dice.one_of(held)
    batch = ops.AcknowledgementBatch(record.first, record.last, (AcknowledgeType.RENEW,))
    world.do(ops.Acknowledge(str(record.owner), (batch,)), choice, world.answers())


def step(world: World, operation: Operation) -> None:
    """Do an operation; a share-partition that failed mostly gets a new leader first."""
    if not world.ready and not world.disorder():
        operation = take_over
    operation(world)


def _config(world: World) -> SharePartitionConfig:
    dice = world.dice
    threshold = dice.number(0 if world.disorder() else DURATION, 2 * DURATION)
    return SharePartitionConfig(
        delivery_count_limit=dice.number(1, 3),
        partition_max_record_locks=dice.number(4, 12),
        record_lock_duration_ms=DURATION,
        auto_offset_reset=dice.one_of(tuple(AutoOffsetReset)),
        isolation_level=dice.one_of(tuple(IsolationLevel)),
        renew_acknowledge_enable=not world.disorder(),
        dead_letter_queue=dice.number(0, 2) == 0,
        in_progress_staleness_threshold_ms=threshold,
        in_progress_max_lock_extension_ms=DURATION + dice.number(DURATION - 1, 30),
        in_progress_rebalance_grace_ms=dice.number(0, 8),
    )


def _at_work(world: World) -> str | None:
    """Return a member with a record in progress; mark something if there is none."""
    owners = [r.owner for r in world.held() if r.state is RecordState.IN_PROGRESS]
    if not owners:
        world.mark()
        return None
    return world.dice.one_of(owners)


def _may_take(world: World, offset: int) -> bool:
    record = next((r for r in world.state.records or () if r.first <= offset <= r.last), None)
    if record is None:
        return offset >= world.state.start_offset
    return record.state is RecordState.AVAILABLE and not record.pending


def _released(world: World) -> list[int]:
    """Return the offsets that are AVAILABLE with the write of that outstanding."""
    return [
        offset
        for r in world.state.records or ()
        if r.pending and r.state is RecordState.AVAILABLE
        for offset in range(r.first, r.last + 1)
    ]


def _single(offsets: list[int]) -> tuple[OffsetRange, ...]:
    return tuple(OffsetRange(offset, offset) for offset in offsets)


OPERATIONS: dict[Operation, int] = {
    World.acquire: 4,
    acquire_anyway: 10,
    acquire_otherwise: 6,
    World.acknowledge: 12,
    World.acknowledge_anything: 7,
    World.produce: 6,
    produce_badly: 1,
    World.advance_time: 5,
    advance_time_in_groups: 3,
    pass_time: 3,
    lapse: 5,
    tell: 3,
    grant: 4,
    World.complete_write: 6,
    World.release: 2,
    leave_with_a_write: 1,
    skip_acquire: 1,
    read_wrongly: 3,
    pass_over: 1,
    stay_full: 1,
    World.compact: 3,
    compact_anything: 1,
    begin_below_log: 1,
    lose_while_pending: 2,
    notice: 4,
    World.advance_log_start: 1,
    take_over: 1,
    World.reset_offset: 1,
    World.mark: 7,
    mark_anything: 4,
    keep_working: 2,
    leave_late: 1,
    World.finish_dead_letters: 2,
    World.archive_aborted: 4,
    alter_config: 1,
}
"""Each operation, and how often the seeded driver does it."""
