"""Cores: implementations of one share-partition that are asked operations, as a kind."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import attrs

from conformance.cores import asks
from conformance.cores.generate import Mixture, mixture, next_ask
from conformance.cores.scene import Scene
from conformance.cores.target import Hello
from conformance.kind import Kind
from model.operations import AcknowledgementBatch

__all__ = ["CORES"]

_ALL = 500
_WRITING = asks.Acknowledge | asks.Release | asks.AdvanceTime | asks.FinishDeadLetter
_FIRST = "m1"


def _begin(random: Random, hello: Hello) -> tuple[Mixture, asks.Ask]:
    mix = mixture(random, hello.capabilities)
    return mix, asks.TakeOver(mix.config)


def _produced(ask: asks.Ask) -> int:
    if isinstance(ask, asks.ProduceAborted):
        return ask.size + 1
    batches = ask.batches if isinstance(ask, asks.Produce) else ()
    return sum(missing + size for missing, size in batches)


def _moved_down(ask: asks.Ask, less: int) -> asks.Ask:
    if not isinstance(ask, asks.Acknowledge):
        return ask
    return attrs.evolve(ask, batches=tuple(_lower(batch, less) for batch in ask.batches))


def _lower(batch: AcknowledgementBatch, less: int) -> AcknowledgementBatch:
    """Return the batch so many offsets lower, or as far as it can go and stay as wide."""
    by = min(less, max(0, batch.first))
    return attrs.evolve(batch, first=batch.first - by, last=batch.last - by)


def _simpler(ask: asks.Ask) -> Iterator[asks.Ask]:
    """Yield asks that are simpler in one respect, the simplest first."""
    if isinstance(ask, _WRITING):
        yield attrs.evolve(ask, answers=())
        yield attrs.evolve(ask, answers=ask.answers[:-1])
    if isinstance(ask, asks.Acknowledge | asks.Release | asks.Fetch):
        yield attrs.evolve(ask, member=_FIRST)
    match ask:
        case asks.Produce() | asks.ProduceAborted():
            yield from _simpler_produces(ask)
        case asks.Acknowledge():
            yield from _simpler_acknowledges(ask)
        case asks.Fetch():
            yield attrs.evolve(ask, max_records=_ALL, batch_size=_ALL)
            yield attrs.evolve(ask, batch_size=_ALL)
        case asks.AdvanceLogStart(by) if by > 1:
            yield asks.AdvanceLogStart(by - 1)
        case asks.CompleteWrite(nth) | asks.FinishDeadLetter(nth) if nth:
            yield attrs.evolve(ask, nth=0)
        case asks.Compact(batch) if batch:
            yield asks.Compact(batch - 1)


def _simpler_produces(ask: asks.Produce | asks.ProduceAborted) -> Iterator[asks.Ask]:
    if isinstance(ask, asks.ProduceAborted):
        yield asks.Produce(((0, ask.size),))
        if ask.size > 1:
            yield asks.ProduceAborted(ask.size - 1)
        return
    for at, (missing, size) in enumerate(ask.batches):
        before, after = ask.batches[:at], ask.batches[at + 1 :]
        if before or after:
            yield asks.Produce((*before, *after))
        for change in ((0, size), (missing, 1), (missing, max(1, size - 1))):
            yield asks.Produce((*before, change, *after))


def _simpler_acknowledges(ask: asks.Acknowledge) -> Iterator[asks.Ask]:
    for at, batch in enumerate(ask.batches):
        before, after = ask.batches[:at], ask.batches[at + 1 :]
        if before or after:
            yield attrs.evolve(ask, batches=(*before, *after))
        for one in (batch.first, batch.last):
            single = attrs.evolve(batch, first=one, last=one, types=batch.types[:1])
            yield attrs.evolve(ask, batches=(*before, single, *after))


def _met(scene: Scene) -> Counter[str]:
    return scene.exercised


CORES = Kind(asks.Ask, Scene, _begin, next_ask, _simpler, _produced, _moved_down, _met)
"""The kind of which every target of ``conformance.cores.target`` is."""
