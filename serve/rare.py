"""What a broker may do and a real one does rarely: each is armed, and happens once.

Only what the broker chooses is chosen here; what then becomes of records ``spec`` computes.
"""

import time
from collections import deque
from collections.abc import Iterable
from enum import Enum
from random import Random

import attrs
from kio.schema.errors import ErrorCode as KafkaError

from model.ranges import OffsetRange, number_of_offsets, offsets, ranges_of
from model.share_messages import Conduct, PartitionResponse, ShareResponse, TopicPartition

THROTTLE_MS = 1000
"""For how long a client is to refrain from requests."""

START_SECONDS = 1.0
"""For how long Metadata names no leader of what a broker leads that starts again."""

SLOW_SECONDS = 0.5
"""How late a heartbeat is answered."""

LATE_METADATA_SECONDS = 1.0
"""How late Metadata is answered."""

LATE_SECONDS = 0.2
"""How much later than the one before a broker looks at a ShareAcknowledge."""

MOST_ARMED = 1000
"""How many may be armed at a time."""


class Habit(Enum):
    """What the broker does once, at the next request that it fits."""

    FEWER = "acquire only the first records of what is sent"
    HOLES = "acquire ranges with holes between them"
    NOTHING = "answer a fetch without records although there are some"
    CUT_FETCH = "cut the connection before a fetch is looked at"
    CUT_FETCHED = "cut the connection after a fetch took effect, in place of its answer"
    CUT_ACKNOWLEDGEMENT = "cut the connection before acknowledgements are looked at"
    CUT_ACKNOWLEDGED = "cut the connection after acknowledgements took effect"
    THROTTLE = "say with the answer to a fetch that the client is to wait"
    THROTTLE_MEMBER = "say with the answer to a heartbeat that the client is to wait"
    PIECES = "send the answer to a fetch in small pieces"
    SLOW_HEARTBEAT = "answer a heartbeat late"
    SLOW_METADATA = "answer a request for Metadata late"
    STORAGE = "answer a partition that has records with KAFKA_STORAGE_ERROR"
    UNKNOWN = "answer a partition that has records with UNKNOWN_TOPIC_OR_PARTITION"
    UNAUTHORIZED = "answer the partitions of a topic that have records TOPIC_AUTHORIZATION_FAILED"
    NO_COORDINATOR = "say that the coordinator of a group is not available"
    LOADING = "answer a heartbeat COORDINATOR_LOAD_IN_PROGRESS"
    UNAVAILABLE = "answer a heartbeat COORDINATOR_NOT_AVAILABLE"


REFUSED_WITH = {
    Habit.STORAGE: KafkaError.kafka_storage_error,
    Habit.UNKNOWN: KafkaError.unknown_topic_or_partition,
    Habit.UNAUTHORIZED: KafkaError.topic_authorization_failed,
}
"""The error of a partition in the answer to a fetch, which then acquires nothing of it.

That of an authorization is the same for all partitions of a topic.
"""
UNHEARD_WITH = {
    Habit.LOADING: KafkaError.coordinator_load_in_progress,
    Habit.UNAVAILABLE: KafkaError.coordinator_not_available,
}
"""The error of a heartbeat that a coordinator does not look at; the last of a member it does."""
ACQUIRING = (Habit.FEWER, Habit.HOLES, Habit.NOTHING, *REFUSED_WITH)
CUTS_FETCHES = (Habit.CUT_FETCH, Habit.CUT_FETCHED)
CUTS_ACKNOWLEDGEMENTS = (Habit.CUT_ACKNOWLEDGEMENT, Habit.CUT_ACKNOWLEDGED)
TAKES_EFFECT = (Habit.CUT_FETCHED, Habit.CUT_ACKNOWLEDGED)


@attrs.define
class Rare:
    """What is armed, in order, and the chance by which offsets are chosen.

    ``skipped_ms`` is by how much the clock of acquisition locks was put forward. ``names_leaders``:
    whoever asks a broker for what another leads is told which one. ``starting``: brokers that start
    again, by id, and until when, in s of the monotonic clock. ``unheard``: topics of which Metadata
    tells fewer partitions than there are, how many, and until when. ``full_until``: when there is
    room again for another share session. ``refusals``: errors of partitions in the next answer.
    """

    random: Random = attrs.field(factory=lambda: Random(0))  # noqa: S311 - chance, no secret
    skipped_ms: int = 0
    names_leaders: bool = True
    starting: dict[int, float] = attrs.field(factory=dict)
    unheard: dict[str, tuple[int, float]] = attrs.field(factory=dict)
    full_until: float = 0.0
    refusals: dict[TopicPartition, KafkaError] = attrs.field(factory=dict)
    _armed: deque[Habit] = attrs.field(factory=deque)
    _late: dict[int, int] = attrs.field(factory=dict)

    def arm(self, habit: Habit) -> None:
        """Let something happen once; beyond the most that may be armed, nothing more is.

        Whoever throttles a client does so on the connections of both, sessions and heartbeats.
        """
        also = (Habit.THROTTLE_MEMBER,) if habit is Habit.THROTTLE else ()
        self._armed += (habit, *also)[: MOST_ARMED - len(self._armed)]

    def fill(self) -> None:
        """Have no room for another share session, for a while."""
        self.full_until = time.monotonic() + START_SECONDS

    def is_full(self) -> bool:
        """Whether there is no room for another share session."""
        return time.monotonic() < self.full_until

    def answer_last(self, broker: int) -> None:
        """Let a broker look at its next ShareAcknowledge later than every other named before."""
        self._late[broker] = 1 + max(self._late.values(), default=0)

    def lateness(self, broker: int) -> float:
        """Return how late a broker is to look at a ShareAcknowledge, in s, which then happened."""
        return LATE_SECONDS * self._late.pop(broker, 0)

    def next_of(self, habits: Iterable[Habit]) -> Habit | None:
        """Return the first of these that is armed, which stays armed, or None."""
        wanted = frozenset(habits)
        return next((habit for habit in self._armed if habit in wanted), None)

    def happened(self, habit: Habit) -> None:
        """Disarm what has happened."""
        self._armed.remove(habit)

    def refuse(self, habit: Habit, places: Iterable[TopicPartition]) -> None:
        """Let the next answer refuse partitions, where this habit does."""
        if habit in REFUSED_WITH:
            self.refusals = dict.fromkeys(places, REFUSED_WITH[habit])

    def cut(self, *, fetches: bool, acknowledges: bool) -> Habit | None:
        """Return how the connection of this request is cut, which then has happened, or None."""
        fitting = (
            *(CUTS_FETCHES if fetches else ()),
            *(CUTS_ACKNOWLEDGEMENTS if acknowledges else ()),
        )
        habit = self.next_of(fitting)
        if habit is not None:
            self.happened(habit)
        return habit

    def takes(self, habit: Habit) -> bool:
        """Whether this is armed; then it has happened."""
        armed = self.next_of((habit,)) is not None
        if armed:
            self.happened(habit)
        return armed

    def acquired(
        self, habit: Habit, usual: ShareResponse
    ) -> dict[TopicPartition, tuple[OffsetRange, ...]]:
        """Return what to acquire in place of the usual, of each share-partition it differs in."""
        parts = [
            part
            for part in usual.partitions
            if number_of_offsets(part.acquired) >= _LEAST.get(habit, 1)
        ]
        first = [part.topic_partition for part in parts[:1]]
        if habit is Habit.UNAUTHORIZED:
            parts = [part for part in parts if part.topic_partition.topic_id == first[0].topic_id]
        elif habit in REFUSED_WITH:
            parts = parts[:1]
        return {part.topic_partition: self._part(habit, part) for part in parts}

    def _part(self, habit: Habit, part: PartitionResponse) -> tuple[OffsetRange, ...]:
        """Return fewer offsets; with holes the first and the last stay, the second does not."""
        usual = [*offsets(part.acquired)]
        if habit is Habit.NOTHING or habit in REFUSED_WITH:
            return ()
        if habit is Habit.FEWER:
            return ranges_of(usual[: self.random.randint(1, len(usual) - 1)])
        first, _second, *others, last = usual
        stays = [offset for offset in others if self.random.random() < _STAYS]
        return ranges_of([first, *stays, last])


_STAYS = 0.6
_LEAST = {Habit.FEWER: 2, Habit.HOLES: 3}
"""How many acquired records of a share-partition each needs; the others need one."""


def with_acquired(
    conduct: Conduct, acquired: dict[TopicPartition, tuple[OffsetRange, ...]]
) -> Conduct:
    """Return the conduct that acquires these offsets, where it says any."""
    return attrs.evolve(
        conduct,
        partitions=tuple(
            (place, attrs.evolve(chosen, acquire=attrs.evolve(chosen.acquire, acquired=taken)))
            if (taken := acquired.get(place)) is not None
            else (place, chosen)
            for place, chosen in conduct.partitions
        ),
    )
