"""The kit for share coordinators, in virtual time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from random import Random

import attrs

from conformance.coordinators import share_asks as asks
from conformance.coordinators.share_generate import next_state_ask, state_mix
from conformance.coordinators.share_scene import ShareCapabilities, ShareScene
from conformance.cores.protocol import DriverTarget
from conformance.kit import Kit, less_of
from conformance.target import Hello
from model.share_state_requests import InitializeState, StateRequest, WriteState

_KEYED = StateRequest | asks.FindPartition

_Target = DriverTarget[ShareCapabilities]
_Hello = Hello[ShareCapabilities]


@attrs.frozen
class ShareCoordinators(Kit[asks.StateAsk, _Target, _Hello, ShareScene]):
    """The kit. What is known is told apart before it is shrunk: each defect is a cause."""

    commands = asks.StateAsk
    goals_of = "coordinator"
    passes_over_known = True
    sequences = 1000
    longer = 8
    examples = 3

    def stage(self, target: _Target, hello: _Hello) -> ShareScene:
        """Return a stage, which the first command resets."""
        return ShareScene(target, hello)

    def draws(
        self, random: Random, hello: _Hello
    ) -> tuple[asks.StateAsk, Callable[[ShareScene], asks.StateAsk | None]]:
        """Begin with an empty state topic."""
        mix = state_mix(random, hello.capabilities)
        return mix.first, partial(next_state_ask, random, mix)

    def simpler(self, ask: asks.StateAsk) -> Iterator[asks.StateAsk]:
        """Yield fewer and shorter batches, the start offset kept, and less time."""
        match ask:
            case WriteState(state_batches=batches):
                yield attrs.evolve(ask, state_batches=())
                shorter = less_of(batches, lambda batch: (attrs.evolve(batch, last=batch.first),))
                yield from (attrs.evolve(ask, state_batches=less) for less in shorter)
                yield attrs.evolve(ask, start_offset=-1)
                yield attrs.evolve(ask, delivery_complete_count=-1)
            case InitializeState():
                yield attrs.evolve(ask, start_offset=-1)
            case asks.PassTime(ms) if ms > 1:
                yield asks.PassTime(1)

    def plainer(self, sequence: tuple[asks.StateAsk, ...]) -> Iterator[tuple[asks.StateAsk, ...]]:
        """Yield the sequence with fewer or plainer share-partitions, and the default settings."""
        keys = dict.fromkeys(ask.key for ask in sequence if isinstance(ask, _KEYED))
        for key, other in product(keys, (asks.PLAIN_KEY, *keys)):
            yield tuple(
                attrs.evolve(ask, key=other) if isinstance(ask, _KEYED) and ask.key == key else ask
                for ask in sequence
            )
        yield (asks.OpenCoordinator(), *sequence[1:])

    def bounds(self, _hello: _Hello) -> tuple[str, ...]:
        """Return what the KIPs leave open."""
        return (
            "pruning reaches the oldest of the latest snapshots at once",
            "an idle share-partition gets its snapshot when the timer runs, unless all have one",
        )

    def needs(self, sequence: Sequence[asks.StateAsk]) -> Mapping[str, bool]:
        """Return the capabilities that the commands need.

        The first state can begin without InitializeShareGroupState.
        """
        needs = [asks.NEEDS[type(ask)] for ask in sequence[2:] if type(ask) in asks.NEEDS]
        counts = (ask.delivery_complete_count for ask in sequence if isinstance(ask, WriteState))
        needs += ["delivery_complete_count"] * any(count != -1 for count in counts)
        return dict.fromkeys(needs, True)


SHARE_COORDINATORS = ShareCoordinators()
