"""Brokers: implementations that are asked over the wire, as a kind."""

from collections.abc import Iterator

import attrs

from conformance.kind import Kind
from conformance.wire import asks
from conformance.wire.generate import begin, next_ask
from conformance.wire.scene import MEMBERS, WireScene

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


def _simpler(ask: asks.Ask) -> Iterator[asks.Ask]:
    """Yield asks that are simpler in one respect, the simplest first."""
    if isinstance(ask, asks.Open):
        return
    yield from _first_member(ask)
    if isinstance(ask, asks.Fetch | asks.Acknowledge):
        for less in _simpler_acknowledged(ask.acknowledged):
            yield attrs.evolve(ask, acknowledged=less)
    if isinstance(ask, asks.Produce):
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


BROKERS = Kind(
    asks.Ask, WireScene, begin, next_ask, _simpler, lambda _ask: 0, lambda ask, _less: ask, tries=3
)
"""The kind of which every target of ``conformance.wire.target`` is.

Its asks name no offsets, so that nothing has to move when less is produced."""
