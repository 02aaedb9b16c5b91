"""Random commands, weighted by the state of the share-partition, in mixtures.

A mixture omits most classes of command (swarm testing), so that one deviation hides another less
often.
"""

from collections.abc import Callable, Container
from random import Random
from typing import Any

import attrs

from conformance.cores import asks
from conformance.cores.scene import Scene
from conformance.cores.target import Capabilities
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.states import AcknowledgeType, AcquireMode
from spec.partition import SharePartition
from spec.record import is_dead_letter

MEMBERS = ("m1", "m2", "m3")
DURATION = 100
"""How long an acquisition lock lasts, in ms of virtual time."""

_ALWAYS = {asks.Produce: 3.0, asks.Fetch: 10.0, asks.Acknowledge: 10.0, asks.AdvanceTime: 3.0}
_SOMETIMES = {
    asks.MemberLeaves: 2.0,
    asks.CompleteWrite: 5.0,
    asks.Compact: 2.0,
    asks.AdvanceLogStart: 1.0,
    asks.TakeOver: 0.6,
    asks.AlterConfig: 1.0,
    asks.FinishDeadLetter: 2.0,
    asks.ProduceAborted: 2.0,
}
_WHILE_WRITING = {
    asks.AdvanceTime: 3.0,
    asks.AdvanceLogStart: 4.0,
    asks.Compact: 3.0,
    asks.TakeOver: 3.0,
}
"""Factors of the weights while a write is outstanding, a state that is rare otherwise."""

_WHILE_ARCHIVING = {asks.FinishDeadLetter: 3.0, asks.AdvanceLogStart: 2.0, asks.TakeOver: 3.0}
"""Factors while records wait for the dead-letter queue."""

_WHILE_WAITING: dict[type[asks.Ask], float] = {asks.Fetch: 12.0}
"""Factors while a record, or a full window, waits for a fetch: the bound is a number of fetches."""

_TYPES = (
    (AcknowledgeType.ACCEPT,),
    (AcknowledgeType.RELEASE,),
    (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE),
    (AcknowledgeType.ACCEPT, AcknowledgeType.RENEW),
    (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.GAP),
    tuple(AcknowledgeType),
)


@attrs.frozen
class Mixture:
    """The classes of command of a sequence with their weights, and the values to choose from."""

    config: SharePartitionConfig
    weights: dict[type[asks.Ask], float]
    modes: tuple[AcquireMode, ...]
    types: tuple[AcknowledgeType, ...]
    errors: tuple[ErrorCode, ...]
    gaps: bool
    malformed: bool


def mixture(random: Random, can: Capabilities) -> Mixture:
    """Return a random mixture of what the core can do."""
    optional = {kind: weight for kind, weight in _SOMETIMES.items() if random.random() < 0.5}
    if not can.advance_log_start:
        optional.pop(asks.AdvanceLogStart, None)
    if not can.take_over:
        optional.pop(asks.TakeOver, None)
    if not can.pending_writes:
        optional.pop(asks.CompleteWrite, None)
    if not can.alter_config:
        optional.pop(asks.AlterConfig, None)
    if not can.dead_letter_queue:
        optional.pop(asks.FinishDeadLetter, None)
    if not can.aborted_transactions:
        optional.pop(asks.ProduceAborted, None)
    modes = [tuple(AcquireMode(m) for m in can.acquire_modes)]
    modes += [(mode,) for mode in modes[0]]
    types = random.choice(_TYPES)
    if not can.renew:
        types = tuple(t for t in types if t is not AcknowledgeType.RENEW)
    return Mixture(
        SharePartitionConfig(
            delivery_count_limit=random.choice((2, 2, 3, 5)),
            partition_max_record_locks=random.choice((4, 8, 20)),
            record_lock_duration_ms=DURATION,
            auto_offset_reset=AutoOffsetReset.EARLIEST,
            isolation_level=_isolation(random, optional),
            dead_letter_queue=asks.FinishDeadLetter in optional,
        ),
        {**_ALWAYS, **optional},
        random.choice(modes),
        types,
        can.write_errors if asks.CompleteWrite in optional else (),
        gaps=random.random() < 0.4,
        malformed=can.validates_requests and random.random() < 0.3,
    )


def _isolation(random: Random, kinds: Container[type[asks.Ask]]) -> IsolationLevel:
    """Choose mostly read_committed if the mixture aborts transactions."""
    if asks.ProduceAborted in kinds and random.random() < 0.8:
        return IsolationLevel.READ_COMMITTED
    return IsolationLevel.READ_UNCOMMITTED


def next_ask(random: Random, mix: Mixture, scene: Scene) -> asks.Ask:
    """Return the next command of a sequence."""
    weights = _steered(mix.weights, scene.partition)
    (kind,) = random.choices(list(weights), list(weights.values()))
    return _MAKERS[kind](random, mix, scene)


def _steered(weights: dict[type[asks.Ask], float], partition: SharePartition) -> dict[Any, float]:
    """Return the weights for a state; a command that would do nothing gets a low weight."""
    writing = bool(partition.outstanding)
    archiving = any(is_dead_letter(r) for r in partition.window.records.values())
    waiting = bool(partition.waiting) or partition.stuck is not None
    idle = {asks.CompleteWrite: not writing, asks.FinishDeadLetter: not archiving}
    return {
        kind: weight
        * (_WHILE_WRITING.get(kind, 1.0) if writing else 1.0)
        * (_WHILE_ARCHIVING.get(kind, 1.0) if archiving else 1.0)
        * (_WHILE_WAITING.get(kind, 1.0) if waiting else 1.0)
        * (0.1 if idle.get(kind) else 1.0)
        for kind, weight in weights.items()
    }


def _produce(random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    gaps = (0, 0, 0, 1, 2) if mix.gaps else (0,)
    number = random.randint(1, 3)
    return asks.Produce(tuple((random.choice(gaps), random.randint(1, 5)) for _ in range(number)))


def _produce_aborted(random: Random, _mix: Mixture, _scene: Scene) -> asks.Ask:
    return asks.ProduceAborted(random.randint(1, 4))


def _fetch(random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    mode, size = random.choice(mix.modes), random.choice((1, 2, 500))
    most = random.choice((1, 2, 3, 5, 500))
    return asks.Fetch(random.choice(MEMBERS), mode, size, most, random.randint(1, 3))


def _acknowledge(random: Random, mix: Mixture, scene: Scene) -> asks.Ask:
    member = random.choice(MEMBERS)
    batches = _batches(random, mix, scene, member)
    if mix.malformed and random.random() < 0.1:
        batches = (*batches[:-1], _malformed(random, batches[-1]))
    return asks.Acknowledge(member, batches, _answers(random, mix))


def _release(random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    return asks.MemberLeaves(random.choice(MEMBERS), _answers(random, mix))


def _advance_time(random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    ms = random.choice((DURATION // 10, DURATION // 2, DURATION // 2, DURATION, DURATION))
    return asks.AdvanceTime(ms, _answers(random, mix))


def _complete_write(random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    statuses = (ErrorCode.NONE, ErrorCode.NONE, *mix.errors)
    return asks.CompleteWrite(random.randint(0, 5), random.choice(statuses))


def _compact(random: Random, _mix: Mixture, scene: Scene) -> asks.Ask:
    """Choose a batch mostly near the start of the log, where records are in flight."""
    number = len(scene.log) or 1
    return asks.Compact(min(random.randrange(number), random.randrange(number)))


def _advance_log_start(random: Random, _mix: Mixture, scene: Scene) -> asks.Ask:
    """Move the log start mostly into the window or just past it."""
    window, by = scene.partition.window, random.randint(1, 6)
    to_start = window.start_offset - scene.log_start
    inside = random.randint(1, window.end_offset - window.start_offset + 2)
    return asks.AdvanceLogStart(by if random.random() < 0.3 else max(1, to_start + inside))


def _take_over(_random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    return asks.TakeOver(mix.config)


def _finish_dead_letter(random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    return asks.FinishDeadLetter(random.randint(0, 3), _answers(random, mix))


def _alter_config(random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    """Alter one setting of the first configuration."""
    changes: list[dict[str, Any]] = [
        {"delivery_count_limit": random.randint(2, 5)},
        {"partition_max_record_locks": random.choice((4, 8, 20))},
        {"record_lock_duration_ms": random.choice((DURATION // 2, 2 * DURATION))},
        {"renew_acknowledge_enable": False},
    ]
    if asks.ProduceAborted in mix.weights:
        changes.append({"isolation_level": random.choice(list(IsolationLevel))})
    return asks.AlterConfig(attrs.evolve(mix.config, **random.choice(changes)))


_MAKERS: dict[type[asks.Ask], Callable[[Random, Mixture, Scene], asks.Ask]] = {
    asks.Produce: _produce,
    asks.Fetch: _fetch,
    asks.Acknowledge: _acknowledge,
    asks.MemberLeaves: _release,
    asks.AdvanceTime: _advance_time,
    asks.CompleteWrite: _complete_write,
    asks.Compact: _compact,
    asks.AdvanceLogStart: _advance_log_start,
    asks.TakeOver: _take_over,
    asks.FinishDeadLetter: _finish_dead_letter,
    asks.ProduceAborted: _produce_aborted,
    asks.AlterConfig: _alter_config,
}


def _answers(random: Random, mix: Mixture) -> tuple[ErrorCode, ...]:
    if asks.CompleteWrite not in mix.weights or random.random() < 0.3:
        return ()
    statuses = (*[ErrorCode.PENDING] * 5, ErrorCode.NONE, *mix.errors)
    return tuple(random.choice(statuses) for _ in range(random.randint(1, 4)))


def _batches(
    random: Random, mix: Mixture, scene: Scene, member: str
) -> tuple[AcknowledgementBatch, ...]:
    """Choose mostly what the member holds, as one range or several; sometimes any offsets."""
    window = scene.partition.window
    mine = [o for o in sorted(window.held) if window.records[o].owner == member]
    if not mine or random.random() < 0.2:
        first = random.randint(max(0, window.start_offset - 3), window.end_offset + 1)
        batch = _batch(random, mix, first, first + random.randint(0, 4))
        if random.random() < 0.7:
            return (batch,)
        return (batch, _batch(random, mix, batch.last + 1, batch.last + 2))
    if random.random() < 0.5:
        first = last = random.choice(mine)
        while last + 1 in mine and random.random() < 0.8:
            last += 1
        return (_batch(random, mix, first, last),)
    chosen = [o for o in mine if random.random() < 0.6] or mine
    return tuple(_batch(random, mix, offset, offset) for offset in chosen[:4])


def _malformed(random: Random, batch: AcknowledgementBatch) -> AcknowledgementBatch:
    return random.choice(
        (
            attrs.evolve(batch, first=batch.last + 1),
            attrs.evolve(batch, first=-1),
            attrs.evolve(batch, types=()),
            attrs.evolve(batch, types=(*batch.types, *batch.types, 1)),
            attrs.evolve(batch, types=(len(AcknowledgeType),)),
        )
    )


def _batch(random: Random, mix: Mixture, first: int, last: int) -> AcknowledgementBatch:
    size = 1 if random.random() < 0.6 else last - first + 1
    return AcknowledgementBatch(first, last, tuple(random.choice(mix.types) for _ in range(size)))
