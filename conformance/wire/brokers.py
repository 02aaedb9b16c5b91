"""Brokers: implementations that are asked over the wire, as a kind."""

from collections.abc import Iterator

import attrs

from conformance.kind import Kind
from conformance.wire import asks
from conformance.wire.exercised import exercised
from conformance.wire.generate import begin, next_ask
from conformance.wire.scene import MEMBERS, WireScene
from model.states import AcknowledgeType

__all__ = ["BROKERS"]

_PLAIN = {
    "epoch": asks.Epoch.NEXT,
    "stranger": asks.Stranger.NONE,
    "unsaid": False,
    "partitions": (),
    "forgotten": (),
    "max_records": 500,
    "batch_size": 500,
    "percent": 20,
    "partition": 0,
}
"""Of each field of an ask the plainest value."""

_WRONG = (asks.Epoch.AGAIN, asks.Epoch.SKIP)


def _simpler(ask: asks.Ask) -> Iterator[asks.Ask]:
    """Yield asks that are simpler in one respect, the simplest first."""
    if isinstance(ask, asks.Open):
        return
    yield from _first_member(ask)
    if isinstance(ask, asks.Fetch | asks.Acknowledge):
        for less in _simpler_acknowledged(ask.acknowledged):
            yield attrs.evolve(ask, acknowledged=less)
    if isinstance(ask, asks.ProduceAborted):
        yield asks.Produce(ask.partition, ask.batches)
    if isinstance(ask, asks.Produce | asks.ProduceAborted):
        for batches in _simpler_batches(ask.batches):
            yield attrs.evolve(ask, batches=batches)
    if isinstance(ask, asks.DeleteRecords) and ask.by > 1:
        yield attrs.evolve(ask, by=ask.by - 1)
    names = {field.name for field in attrs.fields(type(ask))}
    for name, value in _PLAIN.items():
        if name in names:
            yield attrs.evolve(ask, **{name: value})  # type: ignore[arg-type] # a field's value


def _first_member(ask: asks.Ask) -> Iterator[asks.Ask]:
    if isinstance(ask, asks.Fetch | asks.Acknowledge | asks.Disconnect):
        yield attrs.evolve(ask, member=MEMBERS[0])


def _simpler_acknowledged(
    acknowledged: tuple[asks.Acknowledged, ...],
) -> Iterator[tuple[asks.Acknowledged, ...]]:
    for at, one in enumerate(acknowledged):
        before, after = acknowledged[:at], acknowledged[at + 1 :]
        yield (*before, *after)
        for place, batch in enumerate(one.batches):
            others = one.batches[:place], one.batches[place + 1 :]
            if any(others):
                yield (*before, attrs.evolve(one, batches=(*others[0], *others[1])), *after)
            for change in _simpler_batch(batch):
                batches = (*others[0], change, *others[1])
                yield (*before, attrs.evolve(one, batches=batches), *after)


def _simpler_batch(batch: asks.Batch) -> Iterator[asks.Batch]:
    yield attrs.evolve(batch, shape=asks.Shape.WELL_FORMED)
    yield attrs.evolve(batch, whose=MEMBERS[0] if batch.whose else "")
    yield attrs.evolve(batch, nth=0)
    yield attrs.evolve(batch, length=1, types=batch.types[:1])
    yield attrs.evolve(batch, types=batch.types[:1])


def _simpler_batches(
    batches: tuple[tuple[int, int], ...],
) -> Iterator[tuple[tuple[int, int], ...]]:
    for at, (missing, size) in enumerate(batches):
        before, after = batches[:at], batches[at + 1 :]
        if before or after:
            yield (*before, *after)
        for change in ((0, size), (missing, 1), (missing, max(1, size // 2)), (missing, size - 1)):
            if change[1]:
                yield (*before, change, *after)


def _features(ask: asks.Ask) -> Iterator[str]:
    """Yield the name of its class, and what is not as in most requests."""
    name = type(ask).__name__
    yield name
    if isinstance(ask, asks.Fetch | asks.Acknowledge):
        odd = "wrong epoch" if ask.epoch in _WRONG else f"{name} epoch {ask.epoch}"
        yield from (odd,) if ask.epoch is not asks.Epoch.NEXT else ()
        yield from (f"absent {ask.stranger}",) if ask.stranger else ()
        yield from ("acknowledges",) if ask.acknowledged else ()
        for batch in (batch for one in ask.acknowledged for batch in one.batches):
            yield from ("malformed", batch.shape.value) if batch.shape else ()
            yield from ("renew",) if AcknowledgeType.RENEW in batch.types else ()
    if isinstance(ask, asks.Fetch):
        yield from ("forgotten",) if ask.forgotten else ()
        yield from ("at most 0",) if ask.max_records == 0 else ()


def _plainer(sequence: tuple[asks.Ask, ...]) -> Iterator[tuple[asks.Ask, ...]]:
    """Yield the sequence with one partition, and with an earlier member instead of another."""
    if isinstance(sequence[0], asks.Open):
        yield (attrs.evolve(sequence[0], partitions=1), *sequence[1:])
    for last, member in enumerate(MEMBERS):
        for other in MEMBERS[:last]:
            yield tuple(_with(ask, member, other) for ask in sequence)


def _with(ask: asks.Ask, member: str, other: str) -> asks.Ask:
    if isinstance(ask, asks.Disconnect):
        return attrs.evolve(ask, member=other) if ask.member == member else ask
    if not isinstance(ask, asks.Fetch | asks.Acknowledge):
        return ask
    acknowledged = tuple(
        attrs.evolve(
            one,
            batches=tuple(
                attrs.evolve(batch, whose=other) if batch.whose == member else batch
                for batch in one.batches
            ),
        )
        for one in ask.acknowledged
    )
    who = other if ask.member == member else ask.member
    return attrs.evolve(ask, member=who, acknowledged=acknowledged)


BROKERS = Kind(
    asks.Ask,
    WireScene,
    begin,
    next_ask,
    _simpler,
    produced=lambda _ask: 0,
    moved_down=lambda ask, _less: ask,
    met=lambda scene: scene.exercised,
    exercised=exercised,
    always=False,
    features=_features,
    plainer=_plainer,
    tries=3,
)
"""The kind of which every target of ``conformance.wire.target`` is.

Its asks name no offsets, so that nothing has to move when less is produced."""
