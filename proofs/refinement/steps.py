"""What is done in each state: every operation, with every small argument, choice and answer."""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations_with_replacement, product

import attrs

from model import operations as ops
from model.config import AutoOffsetReset
from model.errors import ErrorCode
from model.outcome import Answer, Choice, Expiry
from model.ranges import OffsetRange, StateBatch
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode, RecordState
from proofs.refinement.states import CALL, COMMITTED, CONFIG, MEMBERS, NOW, THIRD
from spec.partition import SharePartition

FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE
_ANSWERS = tuple((Answer(status),) for status in (ErrorCode.NONE, FAILED, ErrorCode.PENDING))
_MIXED = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.RENEW)
_REFUSALS = (ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE)
_NO_TYPE = 9
_FREE = Choice()


@attrs.frozen
class SmallStep:
    """An operation with what is chosen in it, and the answers to its writes."""

    operation: ops.Operation
    choice: Choice = _FREE
    answers: tuple[Answer, ...] = ()


Offer = Callable[[SharePartition], Iterator[SmallStep]]


def steps(partition: SharePartition, *names: str) -> Iterator[SmallStep]:
    """Yield what can be done by the offers of these names."""
    for name in names:
        yield from OFFERS[name](partition)


def _around(partition: SharePartition) -> range:
    """Return the offsets of the window, one below it and one beyond it."""
    window = partition.window
    return range(window.start_offset - 1, window.end_offset + 1)


def _inside(partition: SharePartition) -> range:
    return range(partition.window.start_offset, partition.window.end_offset)


def _ranges(partition: SharePartition) -> list[OffsetRange]:
    pairs = combinations_with_replacement(_around(partition), 2)
    return [OffsetRange(first, last) for first, last in pairs]


def _singles(among: range) -> tuple[OffsetRange, ...]:
    return tuple(OffsetRange(offset, offset) for offset in among)


def _downwards(partition: SharePartition) -> tuple[OffsetRange, ...]:
    return _singles(_around(partition))[::-1]


def _chosen_starts(partition: SharePartition, step: SmallStep) -> Iterator[SmallStep]:
    """Yield a step with every start offset that can be chosen after it."""
    yield step
    for start in _around(partition):
        yield attrs.evolve(step, choice=attrs.evolve(step.choice, start_offset=start))


def _initialize(_partition: SharePartition) -> Iterator[SmallStep]:
    """Let a leader take over: every pair of neighbouring durable batches, one, and none."""
    kinds = [
        (state, count) for state in RecordState if state != RecordState.ACQUIRED for count in (0, 2)
    ]
    batches: list[tuple[StateBatch, ...]] = [()]
    batches += [(StateBatch(2, 3, *kind),) for kind in kinds]
    batches += [
        (StateBatch(2, 2, *kind), StateBatch(second, 4, *other))
        for kind, other, second in product(kinds, kinds, (2, 3, 4))
    ]
    for start, durable in product((-1, 1, 3), batches):
        persisted = DurableState(start, 0, durable, state_epoch=1, leader_epoch=2)
        yield SmallStep(ops.Initialize(CONFIG, 0, 6, persisted, NOW))
    persisted = DurableState(-1, -1)
    for reset, offset in product(AutoOffsetReset, (None, 4)):
        config = attrs.evolve(CONFIG, auto_offset_reset=reset)
        for stable, known, timed in product((None, 3), (False, True), (False, True)):
            yield SmallStep(
                ops.Initialize(config, 1, 5, persisted, NOW, offset, stable, known, timed)
            )
    long = attrs.evolve(CONFIG, record_lock_duration_ms=4)
    yield SmallStep(ops.Initialize(long, 0, 6, persisted, NOW))


def _acquire(partition: SharePartition) -> Iterator[SmallStep]:
    """Fetch: every range read, as one log batch or one for each offset, with what it may take."""
    end = partition.log.end_offset
    both = ((AcquireMode.BATCH_OPTIMIZED, 2), (AcquireMode.RECORD_LIMIT, 1))
    yield SmallStep(_fetch(1, (), both[0]))
    for first, last in combinations_with_replacement(range(end + 1), 2):
        singles = _singles(range(first, last + 1))
        reads = (singles,) if first == last else ((OffsetRange(first, last),), singles)
        for read in reads:
            for limit in (*both, (AcquireMode.BATCH_OPTIMIZED, 0)):
                yield SmallStep(_fetch(first, read, limit))
            yield SmallStep(_fetch(0, read, both[0]))
            for taken in (*_parts(first, last), OffsetRange(first, last)):
                choice = Choice(acquired=() if taken is None else (taken,))
                yield SmallStep(_fetch(first, read, both[first % 2]), choice)
            entered = Choice(acquired=(), entered=(OffsetRange(first, last),))
            yield SmallStep(_fetch(first, read, both[0]), entered)
            for new_end in (last, last + 1):
                yield SmallStep(_fetch(first, read, both[0]), Choice(end_offset=new_end))
    whole = _fetch(1, (OffsetRange(1, end - 1),), both[0])
    yield from _chosen_starts(partition, SmallStep(whole))
    for deadline in range(NOW, NOW + 4):
        yield SmallStep(whole, Choice(deadline_ms=deadline))


def _parts(first: int, last: int) -> Iterator[OffsetRange | None]:
    yield None
    for offset in range(first, last + 1):
        yield OffsetRange(offset, offset)


def _fetch(
    offset: int, read: tuple[OffsetRange, ...], limit: tuple[AcquireMode, int]
) -> ops.Acquire:
    mode, maximum = limit
    return ops.Acquire(MEMBERS[1], mode, 500, maximum, offset, read)


def _skip_acquire(partition: SharePartition) -> Iterator[SmallStep]:
    yield from _chosen_starts(partition, SmallStep(ops.SkipAcquire(MEMBERS[0])))


def _acknowledge(partition: SharePartition) -> Iterator[SmallStep]:
    """Acknowledge every range with every type."""
    for part, kind in product(_ranges(partition), (*AcknowledgeType, _NO_TYPE)):
        batch = ops.AcknowledgementBatch(part.first, part.last, (int(kind),))
        for answers in _ANSWERS:
            yield SmallStep(ops.Acknowledge(MEMBERS[0], (batch,)), answers=answers)
        yield SmallStep(ops.Acknowledge(MEMBERS[1], (batch,)), answers=_ANSWERS[2])
        for refusal in _REFUSALS:
            yield SmallStep(ops.Acknowledge(MEMBERS[0], (batch,)), Choice(refusal=refusal))


def _acknowledge_each(
    partition: SharePartition, among: Iterable[AcknowledgeType] = _MIXED
) -> Iterator[SmallStep]:
    """Acknowledge the window, each offset with a type of its own, in one batch or in many."""
    inside = _inside(partition)
    for kinds in product(among, repeat=len(inside)):
        apart = _batches(_singles(inside), kinds)
        types = tuple(int(kind) for kind in kinds)
        whole = ops.AcknowledgementBatch(inside[0], inside[-1], types)
        for batches, answers in product(((whole,), apart), _ANSWERS):
            yield SmallStep(ops.Acknowledge(MEMBERS[0], batches), answers=answers)


def _acknowledge_whole(partition: SharePartition) -> Iterator[SmallStep]:
    """Acknowledge the window with every type, and vary what else may be chosen and answered."""
    inside = _inside(partition)
    if not inside:
        return
    yield from _acknowledge_each(partition, AcknowledgeType)
    batch = ops.AcknowledgementBatch(inside[0], inside[-1], (int(AcknowledgeType.ACCEPT),))
    accepted = SmallStep(ops.Acknowledge(MEMBERS[0], (batch,)))
    yield from _chosen_starts(partition, accepted)
    renewed = ops.AcknowledgementBatch(inside[0], inside[-1], (int(AcknowledgeType.RENEW),))
    for deadline in range(NOW, NOW + 4):
        renewal = ops.Acknowledge(MEMBERS[0], (renewed,))
        yield SmallStep(renewal, Choice(deadline_ms=deadline))
    for id_ in (0, 5):
        yield attrs.evolve(accepted, answers=(Answer(ErrorCode.PENDING, id_),))
    for made_after, status in product((CALL, CALL + 1), (ErrorCode.PENDING, ErrorCode.NONE)):
        yield attrs.evolve(accepted, answers=(Answer(status, made_after=made_after),))


def _acknowledge_two(partition: SharePartition) -> Iterator[SmallStep]:
    """Acknowledge any two ranges, in either order and overlapping or not, as a request or not."""
    ways = [(entry, _FREE) for entry in ops.EntryPoint]
    ways += [(ops.EntryPoint.SHARE_PARTITION, Choice(refusal=status)) for status in _REFUSALS]
    for parts in product(_ranges(partition), repeat=2):
        for kinds, (entry, choice) in product(product(_MIXED[1:], repeat=2), ways):
            yield SmallStep(ops.Acknowledge(MEMBERS[0], _batches(parts, kinds), entry), choice)


def _batches(
    parts: Iterable[OffsetRange], kinds: Iterable[AcknowledgeType]
) -> tuple[ops.AcknowledgementBatch, ...]:
    return tuple(
        ops.AcknowledgementBatch(part.first, part.last, (int(kind),))
        for part, kind in zip(parts, kinds, strict=True)
    )


def _leave(partition: SharePartition) -> Iterator[SmallStep]:
    for member, answers in product(MEMBERS, _ANSWERS):
        yield SmallStep(ops.MemberLeaves(member), answers=answers)
    yield from _chosen_starts(partition, SmallStep(ops.MemberLeaves(MEMBERS[0])))


def _by_each(offer: Offer) -> Offer:
    """Return the steps of an offer, each made by each of three members."""

    def offered(partition: SharePartition) -> Iterator[SmallStep]:
        for step, member in product(offer(partition), (*MEMBERS, THIRD)):
            assert isinstance(step.operation, ops.Acquire | ops.Acknowledge | ops.MemberLeaves)  # noqa: S101 - it has a member
            yield attrs.evolve(step, operation=attrs.evolve(step.operation, member=member))

    return lambda partition: iter(dict.fromkeys(offered(partition)))


def _time(partition: SharePartition) -> Iterator[SmallStep]:
    """Let time pass: locks expire in one write or in many, and also too few of them or too many."""
    for ms, answers in product(range(4), _ANSWERS):
        yield SmallStep(ops.AdvanceTime(ms), answers=answers)
    for ms, part in product((0, 2), _ranges(partition)):
        yield SmallStep(ops.AdvanceTime(ms), Choice(expired=(Expiry((part,)),)))
        apart = tuple(Expiry((lock,)) for lock in _singles(range(part.first, part.last + 1)))
        yield SmallStep(ops.AdvanceTime(ms), Choice(expired=apart), _ANSWERS[2] * len(apart))
    yield SmallStep(ops.AdvanceTime(2), Choice(expired=(Expiry(_downwards(partition)),)))
    yield from _chosen_starts(partition, SmallStep(ops.AdvanceTime(2)))


def _expire(partition: SharePartition) -> Iterator[SmallStep]:
    yield SmallStep(ops.Expire(()))
    yield SmallStep(ops.Expire(_downwards(partition)))
    for part in _ranges(partition):
        for due in (None, NOW - 1, NOW, NOW + 1):
            yield SmallStep(ops.Expire((part,), due))
        for answers in _ANSWERS[1:]:
            yield SmallStep(ops.Expire((part,)), answers=answers)


def _complete_write(partition: SharePartition) -> Iterator[SmallStep]:
    for id_, status in product((0, 1, 2, 9, 8), (ErrorCode.NONE, FAILED)):
        yield from _chosen_starts(partition, SmallStep(ops.CompleteWrite(id_, status)))


def _log_moves(partition: SharePartition) -> Iterator[SmallStep]:
    """Let the log grow, and lose records at its start or by compaction; alter the start offset."""
    end = partition.log.end_offset
    for start in range(end + 2):
        yield SmallStep(ops.AdvanceLogStart(start))
        yield SmallStep(ops.ResetOffset(start))
    for first, last in combinations_with_replacement(range(end + 1), 2):
        yield SmallStep(ops.Compact((OffsetRange(first, last),)))
    for first, log_end, stable in product(
        range(end - 1, end + 2), range(end, end + 3), (None, end)
    ):
        if first < log_end and (stable is None or stable <= log_end):
            read = (OffsetRange(first, first),)
            yield SmallStep(ops.Produce(read, log_end, stable))
    yield SmallStep(ops.Produce((), end - 1))


def _mark(partition: SharePartition) -> Iterator[SmallStep]:
    for part, member in product(_ranges(partition), MEMBERS):
        for token in ((1, 0), (1, 1), (0, 0)):
            batch = ops.ProgressBatch(part.first, part.last, *token)
            yield SmallStep(ops.MarkInProgress(member, (batch,)))
    two = tuple(ops.ProgressBatch(offset, offset, 1, 0) for offset in _around(partition))
    yield SmallStep(ops.MarkInProgress(MEMBERS[0], two))


def _dead_letters(partition: SharePartition) -> Iterator[SmallStep]:
    yield SmallStep(ops.FinishDeadLetter(()))
    yield SmallStep(ops.FinishDeadLetter(_downwards(partition)))
    for part, answers in product(_ranges(partition), _ANSWERS):
        yield SmallStep(ops.FinishDeadLetter((part,)), answers=answers)


def _settings(partition: SharePartition) -> Iterator[SmallStep]:
    """Change the configuration; archive records of aborted transactions."""
    lower = attrs.evolve(CONFIG, delivery_count_limit=1)
    for config in (lower, COMMITTED, attrs.evolve(CONFIG, dead_letter_queue=True)):
        yield SmallStep(ops.AlterConfig(config))
    yield SmallStep(ops.AlterConfig(attrs.evolve(CONFIG, record_lock_duration_ms=4)))
    for part in _ranges(partition):
        yield SmallStep(ops.ArchiveAborted((part,)))
    twice = OffsetRange(partition.window.start_offset, partition.window.end_offset)
    yield SmallStep(ops.ArchiveAborted((twice, twice)))


OFFERS: dict[str, Offer] = {
    "initialize": _initialize,
    "acquire": _acquire,
    "skip acquire": _skip_acquire,
    "acknowledge": _acknowledge,
    "acknowledge all": _acknowledge_whole,
    "acknowledge each": _acknowledge_each,
    "acknowledge two": _acknowledge_two,
    "acquire by each": _by_each(_acquire),
    "acknowledge by each": _by_each(_acknowledge),
    "leave by each": _by_each(_leave),
    "member leaves": _leave,
    "time": _time,
    "expire": _expire,
    "complete write": _complete_write,
    "log": _log_moves,
    "mark": _mark,
    "dead letters": _dead_letters,
    "settings": _settings,
}
"""What can be done, by name."""
