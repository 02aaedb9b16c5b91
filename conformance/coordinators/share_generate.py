"""Random sequences for a share coordinator: few share-partitions, small numbers, likely epochs."""

from collections.abc import Callable, Sequence
from random import Random

import attrs

from conformance.coordinators import share_asks as asks
from conformance.coordinators.share_scene import ShareCapabilities, ShareScene
from model.ranges import StateBatch
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    WriteState,
)
from model.state_topic import SharePartitionKey
from model.states import PERSISTED_STATES
from spec.coordinator import Durable

_GROUPS = ("g", "h", "a:b", ":", "g:1", "grüße", "G", "_", "a b")
_BASES = (0, 0, 0, 0, 5, 2**31, 2**40)
_WEIGHTS = {
    WriteState: 40,
    ReadState: 14,
    InitializeState: 9,
    ReadStateSummary: 8,
    DeleteState: 3,
    asks.FailOver: 7,
    asks.TakeSnapshots: 5,
    asks.PruneTopic: 6,
    asks.DeleteTopic: 1,
    asks.FindPartition: 3,
    asks.PassTime: 6,
}


@attrs.frozen
class StateMix:
    """What one sequence draws from: its share-partitions, weights of commands, lowest offset.

    Sequences differ in what they do at all, so that one deviation does not hide another: ``wrong``
    is how often an epoch is not the one expected; ``late``: writes come late, ``keeps``: they keep
    the start offset, ``uncounted``: they have no count; ``starts``: state begins with a start
    offset; ``again``: an initialize is repeated.
    """

    keys: tuple[SharePartitionKey, ...]
    weights: dict[type, float]
    base: int
    first: asks.OpenCoordinator
    wrong: float
    late: bool
    keeps: bool
    uncounted: bool
    starts: bool
    again: bool


def state_mix(random: Random, can: ShareCapabilities) -> StateMix:
    """Draw what one sequence draws from."""
    groups = random.sample(_GROUPS, random.choice((1, 1, 2)))
    places = [(topic, n) for topic, partitions in asks.TOPICS.items() for n in range(partitions)]
    keys = tuple(
        SharePartitionKey(random.choice(groups), *random.choice(places))
        for _ in range(random.choice((1, 1, 2, 3)))
    )
    weights = {
        kind: weight * random.choice((0, 0.3, 1, 1, 3))
        for kind, weight in _WEIGHTS.items()
        if kind is InitializeState or getattr(can, asks.NEEDS.get(kind, ""), True)
    }
    first = asks.OpenCoordinator(
        random.choice((0, 1, 1, 2, 3, 5, 500, 500, 500)), random.choice((1000, 1000, 300_000))
    )
    wrong = random.choice((0, 0, 0.1, 0.3))
    flags = (random.random() < 0.5 for _ in range(5))  # noqa: PLR2004 - each as often as not
    weights[InitializeState] = weights[InitializeState] or 1
    return StateMix(keys, weights, random.choice(_BASES), first, wrong, *flags)


def next_state_ask(random: Random, mix: StateMix, scene: ShareScene) -> asks.StateAsk | None:
    """Draw the next command; None where every topic is deleted, some time after that."""
    there = [key for key in mix.keys if key.topic_id in scene.coordinator.topics]
    if not there and random.random() < 0.2:  # noqa: PLR2004 - nothing more can happen
        return None
    key = _key(random, there or mix.keys)
    held = scene.coordinator.held.get(key)
    if held is None and key in mix.keys and random.random() < 0.7:  # noqa: PLR2004 - most begin with it
        return _initialize(random, mix, scene, key)
    (kind,) = random.choices(list(mix.weights), list(mix.weights.values()))
    return _DRAWS[kind](random, mix, scene, key)


def _key(random: Random, keys: Sequence[SharePartitionKey]) -> SharePartitionKey:
    key = random.choice(keys)
    if random.random() < 0.05:  # noqa: PLR2004 - there is no such partition
        return attrs.evolve(key, partition=random.choice((-1, 7)))
    return key


def _initialize(
    random: Random, mix: StateMix, scene: ShareScene, key: SharePartitionKey
) -> InitializeState:
    held = scene.coordinator.held.get(key)
    if held is None:
        epoch = random.choice((0, 1, 1, 2))
    else:
        epoch = held.durable.state_epoch + random.choice((1, 1, 2, 0) if mix.again else (1, 1, 2))
        epoch = _epoch(random, mix, scene, epoch)
    starts = mix.starts and random.random() < 0.7  # noqa: PLR2004 - most are given one
    start = _offset(random, mix, held.durable if held else None) if starts else -1
    return InitializeState(key, epoch, start)


def _offset(random: Random, mix: StateMix, durable: Durable | None) -> int:
    """Draw an offset near the durable start offset."""
    start = durable.start_offset if durable else -1
    moved: int = random.choice((0, 0, 0, 1, 2, 3, 5, 8, *((-1, -2, -4) if mix.late else ())))
    return max((mix.base if start == -1 else start) + moved, 0)


def _epoch(random: Random, mix: StateMix, scene: ShareScene, known: int) -> int:
    """Draw the epoch that is expected, or another one."""
    epoch = known
    if random.random() < mix.wrong:
        epoch = random.choice((known + 1, known + 1, known + 2, known - 1, known - 1, -1))
    return epoch if scene.can.validates_epochs else max(epoch, 0)


def _write(random: Random, mix: StateMix, scene: ShareScene, key: SharePartitionKey) -> WriteState:
    held = scene.coordinator.held.get(key)
    durable = held.durable if held else Durable()
    near = _offset(random, mix, durable)
    start = random.choice((near, near, durable.start_offset, -1 if mix.keeps else near))
    known = durable.delivery_complete_count if start == durable.start_offset else 0
    count = max(known + random.choice((0, 1, 2, 4, *((-1, -2) if mix.late else ()))), 0)
    if mix.uncounted and random.random() < 0.3:  # noqa: PLR2004 - some have one
        count = -1
    return WriteState(
        key,
        _epoch(random, mix, scene, durable.state_epoch),
        _epoch(random, mix, scene, held.leader_fence if held else 0),
        start,
        count if scene.can.delivery_complete_count else -1,
        _batches(random, near),
    )


def _batches(random: Random, start: int) -> tuple[StateBatch, ...]:
    """Draw a few batches, which ascend; rarely they share offsets, or lie below the start."""
    batches: list[StateBatch] = []
    first = max(start - random.choice((0, 0, 0, 3)), 0)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        first += random.choice((0, 0, 1, 2))
        last = first + random.choice((0, 0, 1, 2, 4))
        state = random.choice(sorted(PERSISTED_STATES))
        batches.append(StateBatch(first, last, state, random.choice((1, 1, 2, 3, 5))))
        first = last + random.choice((1, 1, 1, 1, 0))
    return tuple(batches)


def _read(random: Random, mix: StateMix, scene: ShareScene, key: SharePartitionKey) -> ReadState:
    held = scene.coordinator.held.get(key)
    epoch = (held.leader_fence if held else 0) + random.choice((0, 1, 1, 2))
    return ReadState(key, _epoch(random, mix, scene, epoch))


_Draw = Callable[[Random, StateMix, ShareScene, SharePartitionKey], asks.StateAsk]


_DRAWS: dict[type, _Draw] = {
    WriteState: _write,
    ReadState: _read,
    InitializeState: _initialize,
    ReadStateSummary: lambda _random, _mix, _scene, key: ReadStateSummary(key),
    DeleteState: lambda _random, _mix, _scene, key: DeleteState(key),
    asks.FailOver: lambda _random, _mix, _scene, _key: asks.FailOver(),
    asks.TakeSnapshots: lambda _random, _mix, _scene, _key: asks.TakeSnapshots(),
    asks.PruneTopic: lambda _random, _mix, _scene, _key: asks.PruneTopic(),
    asks.DeleteTopic: lambda _random, _mix, _scene, key: asks.DeleteTopic(key.topic_id),
    asks.FindPartition: lambda _random, _mix, _scene, key: asks.FindPartition(key),
    asks.PassTime: lambda random, _mix, _scene, _key: asks.PassTime(
        random.choice((1, 400, 1000, 2500))
    ),
}
