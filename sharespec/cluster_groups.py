"""The share groups of a run of a cluster: what is drawn of them, and what came of each."""

from collections.abc import Collection, Iterator
from pathlib import Path
from random import Random

import attrs

from clients.subjects import driver_of
from clients.work import ANSWER_SECONDS, PLAIN, TRANSACTIONS, MemberPlan, WorkEvent
from conformance.cluster.fault_plan import GROUPS, PlannedFault
from conformance.cluster.history import (
    GroupSettings,
    Happening,
    InjectedFault,
    LetterAppended,
)
from conformance.cluster.run_state import LATEST, READ_COMMITTED
from model.state_topic import StateRecord


@attrs.define
class GroupRun:
    """What of a run concerns a share group: of other groups it has nothing.

    ``happened`` are alterations, faults, dead letters and leaders at rest, with their ms; ``work``
    is what was produced and what its members saw; ``committed`` are its records in the state topic.
    """

    name: str
    settings: GroupSettings
    members: tuple[MemberPlan, ...] = ()
    happened: list[tuple[int, Happening]] = attrs.field(factory=list)
    work: tuple[WorkEvent, ...] = ()
    committed: list[tuple[int, StateRecord]] = attrs.field(factory=list)

    @property
    def letters(self) -> int:
        """Return how many dead letters it has in the end."""
        return sum(isinstance(what, LetterAppended) for _ms, what in self.happened)


@attrs.define
class ClusterRun:
    """What came of a run, with its groups.

    ``log`` is what the topic has, as in ``Work``; ``paused_ms`` is how long nodes were paused
    together; ``troubles`` is what could not be done.
    """

    seed: int
    groups: tuple[GroupRun, ...]
    plan: tuple[PlannedFault, ...]
    folder: Path
    log: str = PLAIN
    topic_id: str = ""
    troubles: list[str] = attrs.field(factory=list)
    seconds: float = 0.0
    paused_ms: int = 0
    drained_s: float | None = None
    interrupted: bool = False

    @property
    def faults(self) -> tuple[InjectedFault, ...]:
        """Return the faults that were done."""
        of_any = self.groups[0].happened
        return tuple(what for _ms, what in of_any if isinstance(what, InjectedFault))

    def named(self, name: str) -> Iterator[GroupRun]:
        """Yield the group of this name, if it is one of the run."""
        return (group for group in self.groups if group.name == name)

    def note(self, ms: int, what: Happening) -> None:
        """Note what happened to every group."""
        for group in self.groups:
            group.happened.append((ms, what))


def drawn_groups(random: Random, log: str) -> tuple[GroupRun, ...]:
    """Draw the groups; their limits are those of the brokers."""
    settings = _drawn_settings(random, log)
    first, second = GROUPS
    members, own = _members(random, first, (1, 2)), _drawn_settings(random, log)
    of_second = attrs.evolve(
        settings,
        isolation_level=own.isolation_level,
        auto_offset_reset=own.auto_offset_reset,
        dead_letter_queue=own.dead_letter_queue,
    )
    return (
        GroupRun(first, settings, members),
        GroupRun(second, of_second, _members(random, second, (3,))),
    )


def _members(random: Random, group: str, numbers: Collection[int]) -> tuple[MemberPlan, ...]:
    """Return as many members of Apache Kafka as of librdkafka; one group of three renews."""
    renews = not random.randrange(3)
    return tuple(
        MemberPlan(
            f"{client}-{number}",
            group,
            driver_of(client, None, ANSWER_SECONDS).command,
            random.choice(("batch_optimized", "record_limit")) if client == "kafka" else "",
            random.choice((5, 20, 100)),
            renews and client == "kafka",
        )
        for client in ("kafka", "librdkafka")
        for number in numbers
    )


def _drawn_settings(random: Random, log: str) -> GroupSettings:
    """Draw the settings of a run; only what is committed is read of transactions alone."""
    levels = ("read_uncommitted", READ_COMMITTED if log == TRANSACTIONS else "read_uncommitted")
    return GroupSettings(
        delivery_count_limit=random.choice((3, 5, 10)),
        partition_max_record_locks=random.choice((100, 200, 2000)),
        record_lock_duration_ms=random.choice((2000, 4000, 8000)),
        updates_per_snapshot=random.choice((5, 50, 500)),
        isolation_level=random.choice(levels),
        auto_offset_reset=random.choice((*("earliest",) * 5, LATEST)),
        dead_letter_queue=not random.randrange(3),
    )
