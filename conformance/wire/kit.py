"""The kit for brokers, over the wire and in real time."""

from collections.abc import Callable, Iterator
from functools import partial
from random import Random

import attrs

from conformance.commands import ask_name
from conformance.cores.acknowledgements import Shape
from conformance.kit import Kit, less_of
from conformance.wire import asks
from conformance.wire.belief import SLACK_MS
from conformance.wire.generate import begin, next_ask
from conformance.wire.judge import DISCONNECT_MS
from conformance.wire.scene import MEMBERS, WireScene
from conformance.wire.target import WireHello, WireTarget
from model.config import AutoOffsetReset
from model.states import AcknowledgeType

_PLAIN = {
    "old": False,
    "epoch": asks.Epoch.NEXT,
    "stranger": asks.Stranger.NONE,
    "unsaid": False,
    "partitions": (),
    "forgotten": (),
    "max_records": 500,
    "batch_size": 500,
    "percent": 20,
    "partition": 0,
    "committed": True,
    "max_bytes": asks.MOST_BYTES,
    "key": asks.Key.WHOLE,
    "to": 0,
    "topic": False,
    "silent": False,
    "throttled": False,
}
"""Of each field of an ask the plainest value."""

_WRONG = (asks.Epoch.AGAIN, asks.Epoch.SKIP)


@attrs.frozen
class Brokers(Kit[asks.Ask, WireTarget, WireHello, WireScene]):
    """The kit for brokers.

    Its commands name no offsets, so that nothing has to move when less is produced, and its clock
    cannot be hurried, so that shrinking is limited.
    """

    commands = asks.Ask
    goals_of = "broker"
    longer = 3
    examples = 2
    shrink_seconds = 10.0
    tries: int = 3
    confirmations = 3

    def stage(self, target: WireTarget, hello: WireHello) -> WireScene:
        """Return a stage for one group and topic, which the first command creates."""
        return WireScene(target, hello)

    def bounds(self, hello: WireHello) -> tuple[str, ...]:
        """Return how late an event may be."""
        sweep = hello.capabilities.sweep_ms
        return (
            f"a lock ends at most {sweep + SLACK_MS} ms late",
            f"a closed connection ends its sessions within {DISCONNECT_MS} ms",
        )

    def draws(
        self, random: Random, hello: WireHello
    ) -> tuple[asks.Ask, Callable[[WireScene], asks.Ask]]:
        """Begin with a new group and topic."""
        mix, first = begin(random, hello)
        return first, partial(next_ask, random, mix)

    def simpler(self, ask: asks.Ask) -> Iterator[asks.Ask]:
        """Yield the first member, fewer batches, and each field at its plainest value."""
        if isinstance(ask, asks.WireOpen):
            return
        yield from _first_member(ask)
        if isinstance(ask, asks.WireFetch | asks.WireAcknowledge):
            for less in less_of(ask.acknowledged, _simpler_part, least=0):
                yield attrs.evolve(ask, acknowledged=less)
        if isinstance(ask, asks.WireProduceAborted | asks.WireProduceOpen):
            yield asks.WireProduce(ask.partition, ask.batches)
        if isinstance(ask, asks.WireProduce | asks.WireProduceAborted | asks.WireProduceOpen):
            for batches in less_of(ask.batches, _simpler_sizes):
                yield attrs.evolve(ask, batches=batches)
        if isinstance(ask, asks.WireDeleteRecords) and ask.by > 1:
            yield attrs.evolve(ask, by=ask.by - 1)
        names = {field.name for field in attrs.fields(type(ask))}
        for name, value in _PLAIN.items():
            if name in names:
                yield attrs.evolve(ask, **{name: value})  # type: ignore[arg-type] # a field's value

    def plainer(self, sequence: tuple[asks.Ask, ...]) -> Iterator[tuple[asks.Ask, ...]]:
        """Yield the sequence with one partition, and with an earlier member instead of another."""
        if isinstance(sequence[0], asks.WireOpen):
            earliest = attrs.evolve(sequence[0].config, auto_offset_reset=AutoOffsetReset.EARLIEST)
            yield (attrs.evolve(sequence[0], config=earliest), *sequence[1:])
            yield (attrs.evolve(sequence[0], partitions=1), *sequence[1:])
            yield (attrs.evolve(sequence[0], group=""), *sequence[1:])
            yield (attrs.evolve(sequence[0], group=sequence[0].group[:1]), *sequence[1:])
        for last, member in enumerate(MEMBERS):
            for other in MEMBERS[:last]:
                yield tuple(_with(ask, member, other) for ask in sequence)

    def features(self, ask: asks.Ask) -> Iterator[str]:
        """Yield its name, and what is not as in most requests."""
        name = ask_name(type(ask))
        yield name
        if isinstance(ask, asks.WireFetch | asks.WireAcknowledge):
            odd = "wrong epoch" if ask.epoch in _WRONG else f"{name} epoch {ask.epoch}"
            yield from (odd,) if ask.epoch is not asks.Epoch.NEXT else ()
            yield from (f"absent {ask.stranger}",) if ask.stranger else ()
            yield from ("acknowledges",) if ask.acknowledged else ()
            for batch in (batch for part in ask.acknowledged for batch in part.batches):
                yield from ("malformed", batch.shape.value) if batch.shape else ()
                yield from ("renew",) if AcknowledgeType.RENEW in batch.types else ()
        if isinstance(ask, asks.WireOpen):
            yield from ("group id",) if ask.group else ()
            reset = ask.config.auto_offset_reset
            yield from (reset.value,) if reset is not AutoOffsetReset.EARLIEST else ()
            yield from () if ask.config.renew_acknowledge_enable else ("renewals off",)
        if isinstance(ask, asks.WireAlterOffset | asks.WireRecreate):
            yield from () if ask.hang_up else ("emptied while connected",)
        if isinstance(ask, asks.WireBriefMember):
            yield from ("silent",) if ask.silent else ()
        if isinstance(ask, asks.WireEndTransaction):
            yield from () if ask.committed else ("aborts",)
        if isinstance(ask, asks.WireFetch):
            yield from ("few bytes",) if ask.max_bytes < asks.MOST_BYTES else ()
            yield from ("forgotten",) if ask.forgotten else ()
            yield from ("some partitions",) if ask.partitions else ()
            yield from ("at most 0",) if ask.max_records == 0 else ()
            yield from ("throttled",) if ask.throttled else ()


BROKERS = Brokers()


def _first_member(ask: asks.Ask) -> Iterator[asks.Ask]:
    if isinstance(ask, asks.WireFetch | asks.WireAcknowledge | asks.WireDisconnect):
        yield attrs.evolve(ask, member=MEMBERS[0])


def _simpler_part(part: asks.Acknowledged) -> Iterator[asks.Acknowledged]:
    for batches in less_of(part.batches, _simpler_batch):
        yield attrs.evolve(part, batches=batches)


def _simpler_batch(batch: asks.AskBatch) -> Iterator[asks.AskBatch]:
    yield attrs.evolve(batch, shape=Shape.WELL_FORMED)
    yield attrs.evolve(batch, whose=MEMBERS[0] if batch.whose else "")
    yield attrs.evolve(batch, nth=0)
    yield attrs.evolve(batch, length=1, types=batch.types[:1])
    yield attrs.evolve(batch, types=batch.types[:1])


def _simpler_sizes(batch: tuple[int, int]) -> Iterator[tuple[int, int]]:
    missing, size = batch
    for change in ((0, size), (missing, 1), (missing, max(1, size // 2)), (missing, size - 1)):
        if change[1]:
            yield change


def _with(ask: asks.Ask, member: str, other: str) -> asks.Ask:
    if isinstance(ask, asks.WireDisconnect):
        return attrs.evolve(ask, member=other) if ask.member == member else ask
    if not isinstance(ask, asks.WireFetch | asks.WireAcknowledge):
        return ask
    acknowledged = tuple(
        attrs.evolve(
            part,
            batches=tuple(
                attrs.evolve(batch, whose=other) if batch.whose == member else batch
                for batch in part.batches
            ),
        )
        for part in ask.acknowledged
    )
    who = other if ask.member == member else ask.member
    return attrs.evolve(ask, member=who, acknowledged=acknowledged)
