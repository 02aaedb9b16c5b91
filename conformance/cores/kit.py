"""The kit for cores: implementations of one share-partition, in virtual time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from random import Random
from typing import Any

import attrs

from conformance.commands import ask_name
from conformance.cores import asks
from conformance.cores.generate import mixture, next_ask
from conformance.cores.scene import Scene
from conformance.cores.target import CoreHello, Target
from conformance.kit import Kit, less_of
from model.errors import ErrorCode
from model.operations import Acknowledge, AcknowledgementBatch, AlterConfig
from model.profile import KIP, Profile, profile_named
from model.states import AcknowledgeType
from spec.validation import validate

_ALL = 500
_WRITING = (
    asks.CoreAcknowledge | asks.CoreMemberLeaves | asks.CoreAdvanceTime | asks.CoreFinishDeadLetter
)
_SETTLED = (ErrorCode.NONE, ErrorCode.PENDING)
_FIRST = "m1"
_MANY = 10
"""From how many fetches in a row on they are made equal."""


@attrs.frozen
class Cores(Kit[asks.Ask, Target, CoreHello, Scene]):
    """The kit for cores.

    ``offered_within``: as in ``model.profile.Profile``; None for the number of the core's profile.
    """

    commands = asks.Ask
    goals_of = "core"
    judges_invariants = True
    plays_vectors = True
    sequences = 3000
    longer = 8
    opening = 1
    examples = 6
    offered_within: int | None = None

    def stage(self, target: Target, hello: CoreHello) -> Scene:
        """Reset a core, with an empty log."""
        return Scene(target, hello, self._profile(hello))

    def draws(
        self, random: Random, hello: CoreHello
    ) -> tuple[asks.Ask, Callable[[Scene], asks.Ask]]:
        """Begin with a leader that takes over."""
        mix = mixture(random, hello.capabilities)
        first = asks.CoreTakeOver(mix.config, mix.persisted, mix.log_start)
        return first, partial(next_ask, random, mix)

    def features(self, ask: asks.Ask, /) -> Iterator[str]:
        """Yield its name, and whether it leaves a gap in the log."""
        yield ask_name(type(ask))
        if isinstance(ask, asks.CoreProduce) and any(before for before, _ in ask.batches):
            yield "gap in the log"

    def simpler(self, ask: asks.Ask) -> Iterator[asks.Ask]:
        """Yield fewer answers, the first member, and less of what the command names."""
        if isinstance(ask, _WRITING):
            yield attrs.evolve(ask, answers=())
            yield attrs.evolve(ask, answers=ask.answers[:-1])
        if isinstance(ask, asks.CoreAcknowledge | asks.CoreMemberLeaves | asks.CoreFetch):
            yield attrs.evolve(ask, member=_FIRST)
        match ask:
            case asks.CoreProduce(batches):
                yield from map(asks.CoreProduce, less_of(batches, _simpler_sizes))
            case asks.CoreProduceAborted(size):
                yield from (
                    asks.CoreProduce(((0, size),)),
                    asks.CoreProduceAborted(max(1, size - 1)),
                )
            case asks.CoreAcknowledge(batches=acknowledged):
                fewer = less_of(acknowledged, _single_offsets)
                yield from (attrs.evolve(ask, batches=batches) for batches in fewer)
            case asks.CoreFetch():
                yield attrs.evolve(ask, max_records=_ALL, batch_size=_ALL)
                yield attrs.evolve(ask, batch_size=_ALL)
            case asks.CoreAdvanceLogStart(by) if by > 1:
                yield asks.CoreAdvanceLogStart(by - 1)
            case asks.CoreCompleteWrite() | asks.CoreFinishDeadLetter():
                yield from _plainly_ended(ask)
            case asks.CoreCompact(batch) if batch:
                yield asks.CoreCompact(batch - 1)

    def plainer(self, sequence: tuple[asks.Ask, ...]) -> Iterable[tuple[asks.Ask, ...]]:
        """Yield the sequence with equal fetches in a row, and with a log that begins at 0."""
        for place in (-1, 0):
            if (even := tuple(_even(sequence, place))) != sequence:
                yield even
        first, *others = sequence
        if isinstance(first, asks.CoreTakeOver) and first.log_start:
            lower = (self.moved_down(ask, first.log_start) for ask in others)
            yield attrs.evolve(first, log_start=0), *lower

    def produced(self, ask: asks.Ask) -> int:
        """Count the records of a produce with the gaps between them, and a marker."""
        if isinstance(ask, asks.CoreProduceAborted):
            return ask.size + 1
        batches = ask.batches if isinstance(ask, asks.CoreProduce) else ()
        return sum(missing + size for missing, size in batches)

    def moved_down(self, ask: asks.Ask, by: int) -> asks.Ask:
        """Move an acknowledgement, the only command that names offsets."""
        if not isinstance(ask, asks.CoreAcknowledge):
            return ask
        return attrs.evolve(ask, batches=tuple(_lower(batch, by) for batch in ask.batches))

    def bounds(self, hello: CoreHello) -> tuple[str, ...]:
        """Return how many fetches may pass over a record."""
        fetches = self._profile(hello).offered_within
        about = "may pass over an available record, or meet a full window of finished records"
        return (f"at most {fetches} fetches {about}",)

    def needs(self, sequence: Sequence[asks.Ask]) -> Mapping[str, Any]:
        """Return the capabilities that a sequence needs; any acquire mode stands for another."""
        acknowledged = [ask for ask in sequence if isinstance(ask, asks.CoreAcknowledge)]
        types = {kind for ask in acknowledged for batch in ask.batches for kind in batch.types}
        statuses = {status for ask in sequence for status in _statuses(ask)}
        configs = [a.config for a in sequence if isinstance(a, asks.CoreTakeOver | AlterConfig)]
        done = {asks.NEEDS.get(type(ask)) for ask in sequence[1:]}
        persisted = any(isinstance(ask, asks.CoreTakeOver) and ask.persisted for ask in sequence)
        wanted: dict[str, Any] = {
            "renew": AcknowledgeType.RENEW in types,
            "renew_setting": not all(config.renew_acknowledge_enable for config in configs),
            "validates_requests": any(map(_is_malformed, acknowledged)),
            "pending_writes": bool(statuses),
            "write_errors": sorted(s.name for s in statuses if s not in _SETTLED),
            "advance_log_start": "advance_log_start" in done,
            "take_over": "take_over" in done or persisted,
            "alter_config": "alter_config" in done,
            "dead_letter_queue": any(config.dead_letter_queue for config in configs),
            "aborted_transactions": "aborted_transactions" in done,
        }
        return {name: needed for name, needed in wanted.items() if needed}

    def _profile(self, hello: CoreHello) -> Profile:
        profile = profile_named(hello.profile)
        return attrs.evolve(profile, offered_within=self.offered_within or profile.offered_within)


CORES = Cores()


def _statuses(ask: asks.Ask) -> tuple[ErrorCode, ...]:
    return (ask.status,) if isinstance(ask, asks.CoreCompleteWrite) else getattr(ask, "answers", ())


def _is_malformed(ask: asks.CoreAcknowledge) -> bool:
    return validate(Acknowledge(ask.member, ask.batches), KIP) is not ErrorCode.NONE


def _lower(batch: AcknowledgementBatch, less: int) -> AcknowledgementBatch:
    """Return the batch so many offsets lower, or as far as it can go and stay as wide."""
    by = min(less, max(0, batch.first))
    return attrs.evolve(batch, first=batch.first - by, last=batch.last - by)


def _even(sequence: Sequence[asks.Ask], place: int) -> Iterator[asks.Ask]:
    """Yield the sequence with one fetch of many in a row, the first or last, for each of them."""
    for is_fetch, run in groupby(sequence, key=lambda ask: isinstance(ask, asks.CoreFetch)):
        asked = list(run)
        yield from [asked[place]] * len(asked) if is_fetch and len(asked) >= _MANY else asked


def _plainly_ended(ask: asks.CoreCompleteWrite | asks.CoreFinishDeadLetter) -> Iterator[asks.Ask]:
    yield attrs.evolve(ask, nth=0)
    if isinstance(ask, asks.CoreFinishDeadLetter):
        yield attrs.evolve(ask, fails=False)


def _simpler_sizes(batch: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    missing, size = batch
    return (0, size), (missing, 1), (missing, max(1, size - 1))


def _single_offsets(batch: AcknowledgementBatch) -> Iterator[AcknowledgementBatch]:
    for bound in (batch.first, batch.last):
        yield attrs.evolve(batch, first=bound, last=bound, types=batch.types[:1])
