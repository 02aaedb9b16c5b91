"""How a replay checks, and which share-partitions."""

import hashlib

import attrs

from model.profile import Profile, profile_named
from replay.pauses import Pause


@attrs.frozen
class Plan:
    """How to check: the profile's name, what to check against, and the details of it.

    ``against`` is spec, impl or both; invariants are checked after every ``invariants_every``
    events, 0 for never; ``lag_folder`` is where lag is written, if anywhere. ``offered_within``
    replaces the profile's bound on the fetches that an available record may wait for, ``sweep_ms``
    that on how late a timer may end a lock. A share-partition with more than ``segment_events`` is
    checked in segments of about as many; None: one that is large for those that check it.
    ``state_folder`` has where an earlier replay left share-partitions, and gets where this one
    does. One with more than ``piece_events`` is held in memory in pieces of about as many, and
    checked up to its first divergence; others up to ``max_divergences``.
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
    def rules(self) -> Profile:
        """Return the profile, with the bounds of this plan."""
        profile, fetches, sweep = profile_named(self.profile), self.offered_within, self.sweep_ms
        return attrs.evolve(
            profile,
            offered_within=profile.offered_within if fetches is None else fetches,
            sweep_ms=profile.sweep_ms if sweep is None else sweep,
            renewal_survives_refusal=profile.renewal_survives_refusal and not self.all_or_none,
        )


def goes_on(plan: Plan, events: int) -> bool:
    """Return whether a share-partition of so many events is checked beyond its first divergence.

    Not where a later replay is to go on, which repeats the first divergence, nor where it is held
    in memory in pieces.
    """
    return plan.max_divergences > 1 and not plan.state_folder and events < plan.piece_events


def is_sampled(partition: str, fraction: float) -> bool:
    """Say whether a share-partition is among the fraction to check, the same in every run."""
    digest = hashlib.blake2b(partition.encode(), digest_size=8).digest()
    return int.from_bytes(digest) < fraction * 2**64
