"""What the kit knows of a group coordinator, its group and what share coordinators hold of it."""

from collections.abc import Collection, Iterable
from typing import TypeVar

import attrs
from immutables import Map

from conformance.coordinators.group_reply import DescribedGroup
from model.rules import RULES, RuleKind
from model.share_messages import TopicPartition
from spec.coordinator import Durable
from spec.group_membership import SESSION_MS, Members, beat, restarted
from spec.share_group import Coordinators, PartitionMetadata, Partitions, ShareGroup

V = TypeVar("V")

RETRY_MS = 30_000
"""How long an initialization may wait for its answer before it must be tried again, as
group.share.initialize.retry.interval.ms of Apache Kafka; KIP-932 has no number."""

HEARTBEAT_MS = 7_000
"""The heartbeat interval that the coordinator is set to, which is no default; a group may have its
own."""

SETTLED = 2
"""After how many heartbeats of every member an assignment must be complete; KIP-932 has no number.
The first raises the group epoch, the second brings each member what the first has computed."""


class BrokenRuleError(Exception):
    """An answer breaks a rule: its name, its sentence, what was recorded and what was expected.

    ``kind`` tells apart what breaks one rule with different causes; empty where nothing does.
    """

    def __init__(self, rule: str, recorded: str, expected: str, kind: str = "") -> None:
        """Take the sentence of the rule from the table."""
        super().__init__(rule)
        self.rule, self.recorded, self.expected, self.kind = rule, recorded, expected, kind
        self.sentence = RULES[RuleKind.GROUP][rule].sentence


@attrs.frozen
class GroupBelief:
    """A group as it must be now, and the cluster around it. Times in ms of virtual time.

    ``topics`` has the partitions of each topic by its id, ``names`` the id of each that exists;
    ``subscriptions`` are names. ``widths`` are the partitions that a topic had when the group began
    to initialize it, ``begun`` when each share-partition was last initialized, ``starts`` at which
    start offset. ``waiting`` are the calls without an answer that initialize, ``ending`` those that
    delete: share-partitions of some topics, or, where that is None, of the whole group; ``former``
    those of an instance before. ``altering`` are those that AlterShareGroupOffsets waits for: each
    partition that it names, and whether that is known. ``seen`` is what the group epoch was last
    raised for of the subscribed topics; ``changed``: what is initialized changed since; ``beats``
    counts heartbeats since anything changed. ``heard`` is when each member last sent one. Where the
    session timeout has changed since, KIP-932 leaves open which holds: ``earliest`` is when a
    session may end, and ``members`` when it must. ``told`` is what each member was last told that
    it is assigned. ``group`` is the last description. ``noted`` are the rules that the last answer
    broke and that end no sequence; of share-partitions that are ``unclear`` the start offset is.

    To tell causes apart: ``taken`` is why a call no longer initializes a share-partition, since
    that was deleted; ``counted`` the same of what a late answer to it has named; ``lost`` why a
    coordinator may not know a share-partition any more; ``altered`` are those last begun as they
    were altered, ``held`` those that were altered, or deleted while they were being initialized,
    and of which that is not over, and ``vain`` topics of which only partitions were to be altered
    that do not exist.
    """

    initializes: bool = True
    max_members: int = 6
    heartbeat_ms: int = HEARTBEAT_MS
    session_ms: int = SESSION_MS
    now_ms: int = 0
    topics: Map[str, int] = Map()
    names: Map[str, str] = Map()
    exists: bool = False
    epoch: int = 0
    subscriptions: Map[str, frozenset[str]] = Map()
    members: Members = Map()
    heard: Map[str, int] = Map()
    earliest: Map[str, int] = Map()
    metadata: PartitionMetadata = attrs.field(factory=PartitionMetadata)
    states: Map[TopicPartition, Durable] = Map()
    widths: Map[str, int] = Map()
    begun: Map[TopicPartition, int] = Map()
    starts: Map[TopicPartition, int] = Map()
    waiting: Map[int, Partitions] = Map()
    ending: Map[int, Partitions | None] = Map()
    former: frozenset[int] = frozenset()
    taken: Map[tuple[int, TopicPartition], str] = Map()
    counted: Map[TopicPartition, str] = Map()
    lost: Map[TopicPartition, str] = Map()
    noted: tuple[BrokenRuleError, ...] = ()
    unclear: Partitions = frozenset()
    altered: Partitions = frozenset()
    held: Partitions = frozenset()
    vain: frozenset[str] = frozenset()
    altering: Map[int, Map[tuple[str, int], bool]] = Map()
    seen: frozenset[tuple[str, int]] = frozenset()
    changed: bool = False
    beats: Map[str, int] = Map()
    told: Map[str, Partitions] = Map()
    group: DescribedGroup | None = None

    @property
    def unanswered(self) -> list[int]:
        """Return the ids of all calls without an answer, the oldest first."""
        return sorted((*self.waiting, *self.ending))


def ids_of(belief: GroupBelief, names: Iterable[str]) -> frozenset[str]:
    """Return the ids of topics; the name of one that does not exist, which no topic has as id."""
    return frozenset(belief.names.get(name, name) for name in names)


def world(belief: GroupBelief) -> Coordinators:
    """Return the same as the specification has it, with topics by their ids."""
    ids = {member: ids_of(belief, names) for member, names in belief.subscriptions.items()}
    group = ShareGroup(belief.epoch, Map(ids), belief.metadata) if belief.exists else None
    return Coordinators(belief.topics, group, belief.states)


def subscribed(belief: GroupBelief) -> frozenset[tuple[str, int]]:
    """Return the topics that exist and to which members subscribe, with their partitions."""
    names = {name for each in belief.subscriptions.values() for name in each}
    ids = (belief.names[name] for name in names if name in belief.names)
    return frozenset((topic, belief.topics[topic]) for topic in ids)


def first_offsets(belief: GroupBelief, key: TopicPartition) -> frozenset[int]:
    """Return the start offsets with which a share-partition may be initialized (decisions 92, 93).

    -1 leaves it to the first leader: what the topic had when the group began with it. What was
    added later starts at 0, and where nothing of the topic is initialized yet, at either. What is
    tried again may start where it was tried before, as altered.
    """
    again = {belief.starts[key]} if key in belief.metadata.initializing else set[int]()
    width = belief.widths.get(key.topic_id)
    if width is None or key.partition < width:
        return frozenset({-1} | again)
    known = any(other.topic_id == key.topic_id for other in belief.metadata.initialized)
    return frozenset({0} | again) if known else frozenset({0, -1} | again)


def less(of: Map[TopicPartition, V], keys: Collection[TopicPartition]) -> Map[TopicPartition, V]:
    """Return what is known of share-partitions without some of them."""
    return Map({key: value for key, value in of.items() if key not in keys})


def without(belief: GroupBelief, keys: Partitions, *, states: Partitions) -> GroupBelief:
    """Return the belief without share-partitions in the group's metadata, and without states."""
    now = belief.metadata
    metadata = PartitionMetadata(
        now.initializing - keys, now.initialized - keys, now.deleting - keys
    )
    left = {key.topic_id for key in metadata.initializing | metadata.initialized}
    return attrs.evolve(
        belief,
        metadata=metadata,
        states=less(belief.states, states),
        widths=Map({topic: n for topic, n in belief.widths.items() if topic in left}),
        begun=less(belief.begun, keys),
        lost=less(belief.lost, keys),
        counted=less(belief.counted, keys | states),
        changed=belief.changed or metadata.initialized != now.initialized,
    )


def initialized_now(belief: GroupBelief, keys: Partitions) -> GroupBelief:
    """Return the belief once a share coordinator has answered that it holds share-partitions."""
    now = belief.metadata
    if keys <= now.initialized:
        return belief
    metadata = PartitionMetadata(
        now.initializing - keys, now.initialized | keys, now.deleting - keys
    )
    lost, held = less(belief.lost, keys), belief.held - keys
    return attrs.evolve(belief, metadata=metadata, lost=lost, held=held, changed=True, beats=Map())


def begun_now(belief: GroupBelief, key: TopicPartition, start_offset: int) -> GroupBelief:
    """Return the belief once the group coordinator has begun to initialize a share-partition."""
    now, topic = belief.metadata, key.topic_id
    widths, known = belief.widths, now.initializing | now.initialized
    if topic not in widths or not any(other.topic_id == topic for other in known):
        widths = widths.set(topic, belief.topics[topic])
    begun = now.initializing | ({key} - now.initialized)
    metadata = PartitionMetadata(begun, now.initialized, now.deleting - {key})
    return attrs.evolve(
        belief,
        metadata=metadata,
        widths=widths,
        begun=belief.begun.set(key, belief.now_ms),
        lost=less(belief.lost, (key,)),
        counted=less(belief.counted, (key,)),
        unclear=belief.unclear - {key},
        altered=belief.altered - {key},
        held=belief.held - {key},
        vain=belief.vain - {topic},
        starts=belief.starts.set(key, start_offset),
    )


def heard_now(belief: GroupBelief, member: str, epoch: int) -> GroupBelief:
    """Return the belief once a heartbeat was answered with a member epoch."""
    now, session = belief.now_ms, belief.session_ms
    return attrs.evolve(
        belief,
        members=beat(belief.members, member, epoch, now, session),
        heard=belief.heard.set(member, now),
        earliest=belief.earliest.set(member, now + session),
    )


def restarted_now(belief: GroupBelief) -> GroupBelief:
    """Return the belief once another group coordinator has taken over."""
    now, session = belief.now_ms, belief.session_ms
    return attrs.evolve(
        belief,
        members=restarted(belief.members, now, session),
        heard=Map(dict.fromkeys(belief.members, now)),
        earliest=Map(dict.fromkeys(belief.members, now + session)),
        # What waits was called by the instance before, and its answers come to nobody.
        waiting=Map(dict.fromkeys(belief.waiting, frozenset())),
        altering=Map(),
        former=belief.former | frozenset(belief.ending),
    )


def configured_now(belief: GroupBelief, heartbeat_ms: int, session_ms: int) -> GroupBelief:
    """Return the belief once the group has settings of its own."""
    ends = {name: belief.heard[name] + session_ms for name in belief.members}
    latest = {
        name: attrs.evolve(member, ends_ms=max(member.ends_ms, ends[name]))
        for name, member in belief.members.items()
    }
    return attrs.evolve(
        belief,
        heartbeat_ms=heartbeat_ms,
        session_ms=session_ms,
        members=Members(latest),
        earliest=Map({name: min(belief.earliest[name], end) for name, end in ends.items()}),
    )
