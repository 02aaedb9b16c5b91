"""How a replay checks, which share-partitions, what is known before, and what comes of it."""

import hashlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from model.checks import non_negative, optional, whole
from model.errors import InvalidValueError
from model.profile import Profile, profile_named
from replay.pauses import Pause, Pauses
from replay.state_file import Carried
from replay.verdict import PartitionVerdict, Problem

if TYPE_CHECKING:
    from replay.check_sorted import Segment


def _profile(_plan: object, _field: object, name: str) -> None:
    profile_named(name)


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _against(_plan: object, _field: object, names: tuple[str, ...]) -> None:
    if "impl" not in names or not set(names) <= {"spec", "impl"}:
        raise InvalidValueError("against", names, "impl, or spec and impl")


def _fraction(_plan: object, _field: object, value: float) -> None:
    if not 0 < value <= 1:
        raise InvalidValueError("sample", value, "more than 0, at most 1")


def _positive(_plan: object, field: "attrs.Attribute[int]", value: int) -> None:
    whole(field.name, value, 1)


@attrs.frozen
class Plan:
    """How to check: the profile's name, what to check against, and the details of it.

    ``against`` is impl, in whose states pieces of a share-partition begin, or spec and impl;
    invariants are checked after every ``invariants_every`` events, 0 for never; ``lag_folder`` is
    where lag is written, if anywhere. ``offered_within``
    replaces the profile's bound on the fetches that an available record may wait for, ``sweep_ms``
    that on how late a timer may end a lock. A share-partition with more than ``segment_events`` is
    checked in segments of about as many; None: one that is large for those that check it.
    ``state_folder`` has where an earlier replay left share-partitions, and gets where this one
    does. One with more than ``piece_events`` is held in memory in pieces of about as many. Each is
    checked up to ``max_divergences``.
    ``pauses`` of brokers make their timers late by as much.
    ``all_or_none`` says that a refused request renews nothing, whatever the profile (decision 161).
    ``labels`` are names and texts that go into the metadata of every file that is written.

    Raises InvalidValueError for a value that is not allowed.
    """

    profile: str = attrs.field(default="kafka", validator=_profile)
    against: tuple[str, ...] = attrs.field(
        default=("spec", "impl"), converter=_names, validator=_against
    )
    sample: float = attrs.field(default=1.0, validator=_fraction)
    invariants_every: int = attrs.field(default=50, validator=non_negative)
    lag_folder: str | None = None
    offered_within: int | None = attrs.field(default=None, validator=optional(_positive))
    sweep_ms: int | None = attrs.field(default=None, validator=optional(non_negative))
    segment_events: int | None = attrs.field(default=None, validator=optional(_positive))
    state_folder: str | None = None
    piece_events: int = attrs.field(default=200_000, validator=_positive)
    max_divergences: int = attrs.field(default=1, validator=_positive)
    pauses: tuple[Pause, ...] = ()
    all_or_none: bool = False
    labels: tuple[tuple[str, str], ...] = ()

    @cached_property
    def rules(self) -> Profile:
        """Return the profile, with the bounds of this plan."""
        profile, fetches, sweep = profile_named(self.profile), self.offered_within, self.sweep_ms
        profile = (self.all_or_none and profile.all_or_none) or profile
        return attrs.evolve(
            profile,
            offered_within=profile.offered_within if fetches is None else fetches,
            sweep_ms=profile.sweep_ms if sweep is None else sweep,
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
