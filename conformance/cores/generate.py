"""Random commands, weighted by the state of the share-partition, in mixtures.

A mixture omits most classes of command (swarm testing), so that one deviation hides another less
often.
"""

from collections.abc import Callable, Container
from random import Random
from typing import Any

import attrs

from conformance.cores import asks
from conformance.cores.acknowledgements import MISSHAPEN, misshapen
from conformance.cores.scene import Scene
from conformance.cores.target import Capabilities
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch, AlterConfig, CompleteWrite
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode, RecordState
from spec.record import is_dead_letter

MEMBERS = ("m1", "m2", "m3")
_MANY_MEMBERS = tuple(f"m{number}" for number in range(1, 9))
_ALIKE = ("m1", "M1", "m2")
DURATION = 100
"""How long an acquisition lock lasts, in ms of virtual time."""

_PASSING, _PASSING_SLOWLY = (10, 50, 50, 97, 100, 100), (10, 30, 30, 50, 97)
"""How much time passes at once, in percent of that; slowly where locks are renewed."""

_RENEWING = {asks.CoreAdvanceTime: 4.5, asks.CoreCompleteWrite: 15.0}
"""Weights where locks are renewed: only time, and a write that fails, show whether they were."""

_ALWAYS = {
    asks.CoreProduce: 3.0,
    asks.CoreFetch: 10.0,
    asks.CoreAcknowledge: 10.0,
    asks.CoreAdvanceTime: 3.0,
}
_SOMETIMES = {
    asks.CoreMemberLeaves: 2.0,
    asks.CoreCompleteWrite: 5.0,
    asks.CoreCompact: 2.0,
    asks.CoreAdvanceLogStart: 1.0,
    asks.CoreTakeOver: 0.6,
    AlterConfig: 1.0,
    asks.CoreFinishDeadLetter: 2.0,
    asks.CoreProduceAborted: 2.0,
}
_WHILE_WRITING = {
    asks.CoreAdvanceTime: 3.0,
    asks.CoreAdvanceLogStart: 4.0,
    asks.CoreCompact: 3.0,
    asks.CoreTakeOver: 3.0,
}
"""Factors of the weights while a write is outstanding, a state that is rare otherwise."""

_WHILE_ARCHIVING = {
    asks.CoreFinishDeadLetter: 3.0,
    asks.CoreAdvanceLogStart: 2.0,
    asks.CoreTakeOver: 3.0,
}
"""Factors while records wait for the dead-letter queue."""

_WHILE_WAITING: dict[type[asks.Ask], float] = {asks.CoreFetch: 12.0}
"""Factors while a record, or a full window, waits for a fetch: the bound is a number of fetches."""

_WHILE_ARCHIVED: dict[type[asks.Ask], float] = {AlterConfig: 3.0}
"""Factors while records of the window are archived: an altered setting must not revive them."""

_AFTER_FAILURE: dict[type[asks.Ask], float] = {asks.CoreAdvanceTime: 5.0}
"""Factors after a write has failed: time shows which deadlines it restored."""

_SELDOM = 0.2
"""How likely each setting of a mixture has values that few faults need, which cost time."""

_HOLDS = 0.5
"""How likely a member that holds something is chosen to acknowledge, and not any."""

_LIMITS, _FAR_LIMITS = (2, 2, 3, 5), (1, 4, 6, 7, 8, 10)
_WINDOWS, _WIDE_WINDOWS = (4, 8, 20), (50, 50, 100, 200)
_WIDEST, _HOW_WIDEST = 2000, 0.02
_LOG_STARTS = (1000, 2**31 - 20, 2**40, 2**62)
_MOST_EXACT = 2**53
"""The offsets up to which a driver must tell apart that claims no large ones."""

_WITH_GAPS = 0.4
"""How likely the log of a sequence has gaps."""

_FAILING = 3
"""The range of the dead-letter queue which that cannot take: the number is modulo theirs."""

_READS = (1, 2, 3, 3, 10)

_TYPES = (
    (AcknowledgeType.ACCEPT,),
    (AcknowledgeType.RELEASE,),
    (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE),
    (AcknowledgeType.ACCEPT, AcknowledgeType.RENEW),
    (AcknowledgeType.ACCEPT, *(AcknowledgeType.RENEW,) * 3),
    (AcknowledgeType.RELEASE, *(AcknowledgeType.RENEW,) * 6),
    (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.GAP),
    tuple(AcknowledgeType),
)


@attrs.frozen
class Mixture:
    """The classes of command of a sequence with their weights, and the values to choose from.

    ``log_start``: the offset at which the log begins; ``sizes``: of the log batches; ``reads``: how
    many of them a fetch reads at most; ``persisted``: what the first leader reads, as asked.
    """

    config: SharePartitionConfig
    log_start: int
    members: tuple[str, ...]
    sizes: range
    weights: dict[type[asks.Ask], float]
    modes: tuple[AcquireMode, ...]
    types: tuple[AcknowledgeType, ...]
    errors: tuple[ErrorCode, ...]
    gaps: bool
    reads: tuple[int, ...]
    malformed: bool
    renew_setting: bool = True
    persisted: DurableState | None = None


def mixture(random: Random, can: Capabilities) -> Mixture:
    """Return a random mixture of what the core can do."""
    optional = {
        kind: weight
        for kind, weight in _SOMETIMES.items()
        if random.random() < 0.5 and getattr(can, asks.NEEDS.get(kind, ""), True)
    }
    modes = [tuple(AcquireMode(m) for m in can.acquire_modes)]
    modes += [(mode,) for mode in modes[0]]
    types = random.choice(_TYPES)
    if not can.renew:
        types = tuple(t for t in types if t is not AcknowledgeType.RENEW)
    weights = {**_ALWAYS, **optional}
    if types.count(AcknowledgeType.RENEW) > 1:
        weights |= {kind: weight for kind, weight in _RENEWING.items() if kind in weights}
    window = _window(random)
    mix = Mixture(
        SharePartitionConfig(
            delivery_count_limit=_limit(random),
            partition_max_record_locks=window,
            record_lock_duration_ms=DURATION,
            auto_offset_reset=AutoOffsetReset.EARLIEST,
            isolation_level=_isolation(random, optional),
            dead_letter_queue=asks.CoreFinishDeadLetter in optional,
        ),
        _log_start(random, can),
        _members(random),
        range(1, 6 if window in _WINDOWS else window // 4),
        weights,
        random.choice(modes),
        types,
        can.write_errors if asks.CoreCompleteWrite in optional else (),
        gaps=(shape := random.random()) < _WITH_GAPS,
        reads=(1,) if abs(shape - _WITH_GAPS) < _SELDOM / 2 else _READS,
        malformed=can.validates_requests and random.random() < 0.3,
        renew_setting=can.renew_setting,
    )
    if shape < 1 - _SELDOM or not can.take_over:
        return mix
    reset = AutoOffsetReset.LATEST if shape > 1 - _SELDOM / 2 else AutoOffsetReset.EARLIEST
    config = attrs.evolve(mix.config, auto_offset_reset=reset)
    return attrs.evolve(mix, config=config, persisted=DurableState(-1, 0))


def _limit(random: Random) -> int:
    return random.choice(_FAR_LIMITS if random.random() < _SELDOM else _LIMITS)


def _window(random: Random) -> int:
    """Choose mostly a window that a few log batches fill."""
    if random.random() < _HOW_WIDEST * _SELDOM:
        return _WIDEST
    return random.choice(_WIDE_WINDOWS if random.random() < _SELDOM / 2 else _WINDOWS)


def _log_start(random: Random, can: Capabilities) -> int:
    """Choose mostly 0, as does a core that reads no durable state, which says where to begin."""
    if not can.take_over:
        return 0
    exact = (start for start in _LOG_STARTS if can.large_offsets or start < _MOST_EXACT)
    return random.choice(tuple(exact)) if random.random() < _SELDOM else 0


def _members(random: Random) -> tuple[str, ...]:
    """Choose mostly three; a record that one member never gets again needs to have no other."""
    share = random.random()
    if share < _SELDOM:
        return random.choice((_MANY_MEMBERS, _ALIKE))
    return MEMBERS[:1] if share > 1 - _SELDOM / 2 else MEMBERS


def _isolation(random: Random, kinds: Container[type[asks.Ask]]) -> IsolationLevel:
    """Choose mostly read_committed if the mixture aborts transactions."""
    if asks.CoreProduceAborted in kinds and random.random() < 0.8:
        return IsolationLevel.READ_COMMITTED
    return IsolationLevel.READ_UNCOMMITTED


def next_ask(random: Random, mix: Mixture, scene: Scene) -> asks.Ask:
    """Return the next command of a sequence."""
    weights = _steered(mix.weights, scene)
    (kind,) = random.choices(list(weights), list(weights.values()))
    return _MAKERS[kind](random, mix, scene)


def _steered(weights: dict[type[asks.Ask], float], scene: Scene) -> dict[Any, float]:
    """Return the weights for a state; a command that would do nothing gets a low weight."""
    partition, last = scene.partition, scene.past[-1].event.operation if scene.past else None
    writing = bool(partition.outstanding)
    records = partition.window.records.values()
    archiving = any(is_dead_letter(r) for r in records)
    archived = any(r.state is RecordState.ARCHIVED for r in records)
    failed = isinstance(last, CompleteWrite) and last.status is not ErrorCode.NONE
    waiting = bool(partition.passed_over) or partition.stuck is not None
    idle = {asks.CoreCompleteWrite: not writing, asks.CoreFinishDeadLetter: not archiving}
    return {
        kind: weight
        * (_WHILE_WRITING.get(kind, 1.0) if writing else 1.0)
        * (_WHILE_ARCHIVING.get(kind, 1.0) if archiving else 1.0)
        * (_WHILE_WAITING.get(kind, 1.0) if waiting else 1.0)
        * (_WHILE_ARCHIVED.get(kind, 1.0) if archived else 1.0)
        * (_AFTER_FAILURE.get(kind, 1.0) if failed else 1.0)
        * (0.1 if idle.get(kind) else 1.0)
        for kind, weight in weights.items()
    }


def _produce(random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    gaps = (0, 0, 0, 1, 2) if mix.gaps else (0,)
    number = random.randint(1, 3)
    return asks.CoreProduce(
        tuple((random.choice(gaps), random.choice(mix.sizes)) for _ in range(number))
    )


def _fetch(random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    mode, size = random.choice(mix.modes), random.choice((1, 2, 500))
    most = random.choice((1, 2, 3, 5, 500))
    return asks.CoreFetch(random.choice(mix.members), mode, size, most, random.choice(mix.reads))


def _acknowledge(random: Random, mix: Mixture, scene: Scene) -> asks.Ask:
    window = scene.partition.window
    holders = sorted({window.records[offset].owner for offset in window.held})
    member = random.choice(holders if holders and random.random() < _HOLDS else mix.members)
    batches = _batches(random, mix, scene, member)
    if mix.malformed and random.random() < 0.1:
        batches = (*batches[:-1], misshapen(batches[-1], random.choice(MISSHAPEN)))
    return asks.CoreAcknowledge(member, batches, _answers(random, mix))


def _advance_time(random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    slowly = AcknowledgeType.RENEW in mix.types and random.random() < 0.8
    percent = random.choice(_PASSING_SLOWLY if slowly else _PASSING)
    return asks.CoreAdvanceTime(DURATION * percent // 100, _answers(random, mix))


def _complete_write(random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    statuses = (ErrorCode.NONE, ErrorCode.NONE, *mix.errors)
    return asks.CoreCompleteWrite(random.randint(0, 5), random.choice(statuses))


def _compact(random: Random, _mix: Mixture, scene: Scene) -> asks.Ask:
    """Choose a batch mostly near the start of the log, where records are in flight."""
    number = len(scene.log) or 1
    return asks.CoreCompact(min(random.randrange(number), random.randrange(number)))


def _advance_log_start(random: Random, _mix: Mixture, scene: Scene) -> asks.Ask:
    """Move the log start mostly into the window or just past it."""
    window, by = scene.partition.window, random.randint(1, 6)
    to_start = window.start_offset - scene.log_start
    inside = random.randint(1, window.end_offset - window.start_offset + 2)
    return asks.CoreAdvanceLogStart(by if random.random() < 0.3 else max(1, to_start + inside))


def _alter_config(random: Random, mix: Mixture, _scene: Scene) -> asks.Ask:
    """Alter one setting of the first configuration."""
    changes: list[dict[str, Any]] = [
        {"delivery_count_limit": random.choice((2, 3, 4, 5, 10))},
        {"partition_max_record_locks": random.choice(_WINDOWS)},
        {"record_lock_duration_ms": random.choice((DURATION // 2, 2 * DURATION))},
    ]
    if mix.renew_setting:
        changes.append({"renew_acknowledge_enable": False})
    if asks.CoreProduceAborted in mix.weights:
        changes.append({"isolation_level": random.choice(list(IsolationLevel))})
    return AlterConfig(attrs.evolve(mix.config, **random.choice(changes)))


_MAKERS: dict[type[asks.Ask], Callable[[Random, Mixture, Scene], asks.Ask]] = {
    asks.CoreProduce: _produce,
    asks.CoreFetch: _fetch,
    asks.CoreAcknowledge: _acknowledge,
    asks.CoreMemberLeaves: lambda random, mix, _: asks.CoreMemberLeaves(
        random.choice(mix.members), _answers(random, mix)
    ),
    asks.CoreAdvanceTime: _advance_time,
    asks.CoreCompleteWrite: _complete_write,
    asks.CoreCompact: _compact,
    asks.CoreAdvanceLogStart: _advance_log_start,
    asks.CoreTakeOver: lambda _random, mix, _: asks.CoreTakeOver(mix.config),
    asks.CoreFinishDeadLetter: lambda random, mix, _: asks.CoreFinishDeadLetter(
        nth := random.randint(0, 3), _answers(random, mix), fails=nth == _FAILING
    ),
    asks.CoreProduceAborted: lambda random, *_: asks.CoreProduceAborted(random.randint(1, 4)),
    AlterConfig: _alter_config,
}


def _answers(random: Random, mix: Mixture) -> tuple[ErrorCode, ...]:
    if asks.CoreCompleteWrite not in mix.weights or random.random() < 0.3:
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
    chosen = ([o for o in mine if random.random() < 0.6] or mine)[: random.choice((4, 4, 10))]
    return tuple(_batch(random, mix, offset, offset) for offset in chosen)


def _batch(random: Random, mix: Mixture, first: int, last: int) -> AcknowledgementBatch:
    size = 1 if random.random() < 0.6 else last - first + 1
    return AcknowledgementBatch(first, last, tuple(random.choice(mix.types) for _ in range(size)))
