"""How a replay checks, which share-partitions, what is known before, and what comes of it."""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from model.profile import Profile, profile_named
from replay.pauses import Pause, Pauses
from replay.state_file import Carried
from replay.verdict import PartitionVerdict, Problem

if TYPE_CHECKING:
    from replay.check_sorted import Segment


@attrs.frozen
class Plan:
    """How to check: the profile's name, what to check against, and the details of it.

    ``against`` is spec, impl or both; invariants are checked after every ``invariants_every``
    events, 0 for never; ``lag_folder`` is where lag is written, if anywhere. ``offered_within``
    replaces the profile's bound on the fetches that an available record may wait for, ``sweep_ms``
    that on how late a timer may end a lock. A share-partition with more than ``segment_events`` is
    checked in segments of about as many; None: one that is large for those that check it.
    ``state_folder`` has where an earlier replay left share-partitions, and gets where this one
    does. One with more than ``piece_events`` is held in memory in pieces of about as many. Each is
    checked up to ``max_divergences``.
    ``pauses`` of brokers make their timers late by as much.
    ``all_or_none`` says that a refused request renews nothing, whatever the profile (decision 161).
    ``labels`` are names and texts that go into the metadata of every file that is written.
    """

    profile: str = "kafka"
    against: tuple[str, ...] = ("spec", "impl")
    sample: float = 1.0
    invariants_every: int = 50
    lag_folder: str | None = None
    offered_within: int | None = None
    sweep_ms: int | None = None
    segment_events: int | None = None
    state_folder: str | None = None
    piece_events: int = 200_000
    max_divergences: int = 1
    pauses: tuple[Pause, ...] = ()
    all_or_none: bool = False
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def goes_on(self) -> bool:
        """Return whether share-partitions are checked beyond their first divergence."""
        return self.max_divergences > 1

    @property
    def rules(self) -> Profile:
        """Return the profile, with the bounds of this plan."""
        profile, fetches, sweep = profile_named(self.profile), self.offered_within, self.sweep_ms
        return attrs.evolve(
            profile,
            offered_within=profile.offered_within if fetches is None else fetches,
            sweep_ms=profile.sweep_ms if sweep is None else sweep,
            renewal_survives_refusal=profile.renewal_survives_refusal and not self.all_or_none,
        )


def is_sampled(partition: str, fraction: float) -> bool:
    """Say whether a share-partition is among the fraction to check, the same in every run."""
    digest = hashlib.blake2b(partition.encode(), digest_size=8).digest()
    return int.from_bytes(digest) < fraction * 2**64


@attrs.frozen
class InputFacts:
    """What rows alone do not tell of their files and share-partitions.

    ``events`` has how many rows a share-partition has, as some may be damaged; ``bad`` the first
    line of one that could not be read. Those in ``unusable`` are not checked. ``unfinished`` are
    files that a recorder did not close. ``carried`` has where an earlier replay left
    share-partitions. Those in ``large`` are checked in segments of about so many events, of which
    ``folder`` gets the rows. ``pauses`` are those of the brokers.
    """

    events: Mapping[str, int] = attrs.field(factory=dict)
    bad: Mapping[str, Problem] = attrs.field(factory=dict)
    unusable: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()
    carried: Mapping[str, Carried] = attrs.field(factory=dict)
    large: Mapping[str, int] = attrs.field(factory=dict)
    folder: str = ""
    pauses: Pauses = attrs.field(factory=Pauses)


@attrs.frozen
class CheckedPartition:
    """The verdict on a share-partition, if all of its segments conform; without any it is checked.

    ``left`` is where a later replay goes on if it conforms.
    """

    verdict: PartitionVerdict
    left: Carried | None = None
    segments: "tuple[Segment, ...]" = ()
