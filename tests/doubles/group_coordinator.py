"""A group coordinator made of the specification's own plans, and faults that can be planted in it.

It answers the messages of a driver without a process. Faults are named in ``FAULTS``. That of
``serve`` is no driver: it calls no share coordinator, whose answers fail or come late here.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.share_messages import TopicPartition
from serve.assignor import assign
from spec.group_lifecycle import (
    GroupPlan,
    alter_offsets,
    carry_out,
    delete_group,
    delete_offsets,
    describe_offsets,
    leave,
    subscribe,
)
from spec.group_membership import LEAVING, Members, beat, ended, heartbeat_answers, restarted
from spec.share_group import (
    CallDelete,
    CallInitialize,
    Coordinators,
    EraseGroup,
    PartitionMetadata,
    ShareGroup,
    WriteGroup,
    WriteMetadata,
    assignable,
    group_of,
    perform,
)

FAULTS = {
    "the group epoch stays when a member leaves": "GROUP_EPOCH_RISES",
    "the group epoch stays when offsets are altered": "GROUP_EPOCH_RISES",
    "the group epoch stays when a topic grows": "GROUP_EPOCH_RISES",
    "the group epoch rises with every heartbeat": "GROUP_EPOCH_STAYS",
    "added partitions start at the latest offset": "FIRST_OFFSET",
    "altered offsets are off by one": "FIRST_OFFSET",
    "deleting a group leaves its state": "STATE_IS_DELETED",
    "deleting offsets leaves their state": "STATE_IS_DELETED",
    "a deletion that waited takes what came since": "STATE_IS_DELETED",
    "a deletion of offsets that failed is not completed": "STATE_IS_DELETED",
    "no member epoch is fenced": "REQUEST_ANSWER",
    "a member cannot join again": "REQUEST_ANSWER",
    "a group is never full": "REQUEST_ANSWER",
    "offsets of a group with members are altered": "REQUEST_ANSWER",
    "members get the default interval": "HEARTBEAT_INTERVAL",
    "a group has no interval of its own": "HEARTBEAT_INTERVAL",
    "a group has no session timeout of its own": "SESSION_TIMEOUT",
    "sessions do not end": "SESSION_TIMEOUT",
    "sessions end early": "SESSION_TIMEOUT",
    "changed topics are not taken up": "MEMBERS",
    "share-partitions are assigned before they are initialized": "ASSIGNED_IS_INITIALIZED",
    "the last share-partition is not assigned": "EVERY_PARTITION_IS_ASSIGNED",
    "one member is assigned everything": "ASSIGNMENT_IS_EVEN",
    "a failed initialization is not tried again": "NEW_IS_INITIALIZED",
    "what is initialized is initialized again": "NEW_IS_INITIALIZED",
    "the state epoch lags behind": "STATE_EPOCH",
    "a description leaves out what was altered": "OFFSETS_DESCRIBED",
    "taking over raises the group epoch": "REPLAYED",
    "a member epoch goes ahead": "MEMBER_EPOCH",
    "a member is not told what it is assigned later": "REQUEST_ANSWER",
    "altering offsets answers nothing of unknown partitions": "REQUEST_ANSWER",
    "a partition below 0 is altered": "REQUEST_ANSWER",
    "joining throws": "CRASHED",
}
"""Each fault, and the rule by which it is found."""

_NONE, _PENDING = ErrorCode.NONE, ErrorCode.PENDING
_RETRY_MS = 30_000
Reply = dict[str, Any]


class GroupCoordinatorDouble:
    """The group coordinator, its cluster and its share coordinators, with one fault at most."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self._begin(6, 45_000, 5_000)

    def _begin(self, most: int, session_ms: int, heartbeat_ms: int) -> None:
        self.most, self.session_ms, self.heartbeat_ms = most, session_ms, heartbeat_ms
        self.now, self.next_id = 0, 0
        self.world, self.names = Coordinators(), dict[str, str]()
        self.subscriptions, self.members = dict[str, frozenset[str]](), Members()
        self.target: dict[str, frozenset[TopicPartition]] = {}
        self.current: dict[str, frozenset[TopicPartition]] = {}
        self.begun: dict[TopicPartition, int] = {}
        self.starts: dict[TopicPartition, int] = {}
        self.waiting: dict[int, tuple[int, set[TopicPartition]]] = {}
        self.ending: dict[int, tuple[int, frozenset[TopicPartition], list[str]]] = {}
        self.altering: dict[int, list[list[Any]]] = {}
        self.seen: object = None
        self._was: object = frozenset()
        self.instance = 0

    def ask(self, message: Reply, /) -> Reply:
        """Answer a message of the kit."""
        match message["do"]:
            case "hello":
                texts = {"name": "double", "version": "1", "profile": "kafka"}
                return {"protocol": 1, **texts, "capabilities": {"configures": True, "waits": True}}
            case "reset":
                self._begin(message["max_members"], message["session_ms"], message["heartbeat_ms"])
                return {}
        request, self.answers = message["operation"], list(message["answers"])
        self.calls: list[Reply] = []
        try:
            result = getattr(self, f"_{request['op']}")(request) or {}
        except ZeroDivisionError as error:
            return {"error": f"ZeroDivisionError: {error}"}
        return {"result": result, "calls": self.calls, "group": self._group()}

    def close(self) -> None:
        """Nothing is to be released."""

    def is_faulty(self, fault: str) -> bool:
        """Return whether it has a fault."""
        assert fault in FAULTS
        return self.fault == fault

    # Members.

    def _heartbeat(self, request: Reply) -> Reply:
        member, epoch = request["member"], request["epoch"]
        if epoch == LEAVING:
            plan = leave(self.world, member)
            if plan.error is _NONE:
                self._remove([member], raises=not self.is_faulty(next(iter(FAULTS))))
            return {"status": plan.error.name, "member_epoch": LEAVING}
        if error := self._refusal(member, epoch):
            return {"status": error.name}
        if self.is_faulty("joining throws") and epoch == 0 and len(self.members) == 2:
            raise ZeroDivisionError("a third member")
        known = self.subscriptions.get(member)
        topics = known if request["topics"] is None else frozenset(request["topics"])
        changes = not (known and self.is_faulty("changed topics are not taken up"))
        self.subscriptions[member] = frozenset(topics or ()) if changes else known or frozenset()
        is_due = self._is_due(known != self.subscriptions[member])
        if is_due:
            self._raise()
            self._assign()
        epoch = group_of(self.world).epoch + self.is_faulty("a member epoch goes ahead")
        self.members = beat(self.members, member, epoch, self.now, self.session_ms)
        self.current[member] = self.target.get(member, frozenset())
        self._initialize()
        told = request["epoch"] == 0 or not self.is_faulty(
            "a member is not told what it is assigned later"
        )
        assigned = {"assignment": _plain(self.current[member])} if told else {}
        interval = (
            5_000 if self.is_faulty("members get the default interval") else self.heartbeat_ms
        )
        return {"status": "NONE", "member_epoch": epoch, "heartbeat_ms": interval, **assigned}

    def _refusal(self, member: str, epoch: int) -> ErrorCode | None:
        members = None if self.world.group is None else self.members
        if self.is_faulty("a member cannot join again") and epoch == 0 and member in self.members:
            return ErrorCode.FENCED_MEMBER_EPOCH
        most = 10**6 if self.is_faulty("a group is never full") else self.most
        allowed = heartbeat_answers(members, member, epoch, most)
        lenient = self.is_faulty("no member epoch is fenced") and member in self.members
        if _NONE in allowed or lenient:
            return None
        return min(allowed, key=lambda error: error.name)

    def _is_due(self, changed: bool) -> bool:  # noqa: FBT001 - a fact of one call
        assigned = frozenset(key for keys in self.target.values() for key in keys)
        seen = self._subscribed()
        grown = seen != self.seen and not (
            self.is_faulty("the group epoch stays when a topic grows") and not changed
        )
        always = self.is_faulty("the group epoch rises with every heartbeat")
        missing = assigned != assignable(self._named()) and not self._assigns_oddly()
        odd = self._assigns_oddly() and self._was != group_of(self.world).metadata.initialized
        return changed or grown or missing or always or odd

    def _assigns_oddly(self) -> bool:
        odd = ("share-partitions are assigned before they", "the last share-partition is not")
        return self.fault.startswith(odd)

    def _advance_time(self, request: Reply) -> None:
        self.now += request["ms"]
        at = self.now + (20_000 if self.is_faulty("sessions end early") else 0)
        gone = ended(self.members, at)
        if gone and not self.is_faulty("sessions do not end"):
            self._remove(gone)

    def _remove(self, names: Iterable[str], *, raises: bool = True) -> None:
        for name in names:
            self.members = self.members.delete(name)
            del self.subscriptions[name]
            self.current.pop(name, None)
        if raises:
            self._raise()
        else:
            self._write(group_of(self.world).epoch)
        self._assign()

    def _raise(self) -> None:
        self._write(group_of(self.world).epoch + 1)
        self.seen = self._subscribed()

    def _write(self, epoch: int) -> None:
        self._perform(WriteGroup(epoch, self._named_subscriptions()))

    def _perform(self, effect: Any) -> None:  # noqa: ANN401 - any effect
        self.world = carry_out(self.world, (effect,))

    def _named_subscriptions(self) -> Map[str, frozenset[str]]:
        each = self.subscriptions.items()
        return Map({m: frozenset(self.names.get(n, n) for n in names) for m, names in each})

    def _named(self) -> Coordinators:
        """Return the world with subscriptions by the ids that topics have now."""
        if self.world.group is None:
            return self.world
        group = attrs.evolve(self.world.group, subscriptions=self._named_subscriptions())
        return attrs.evolve(self.world, group=group)

    def _subscribed(self) -> object:
        names = {name for each in self.subscriptions.values() for name in each}
        ids = {self.names[name] for name in names if name in self.names}
        return frozenset((topic, self.world.topics[topic]) for topic in ids)

    def _assign(self) -> None:
        """Deal the share-partitions out."""
        keys, subscriptions = assignable(self._named()), self._named_subscriptions()
        self._was = group_of(self.world).metadata.initialized
        if self.is_faulty("share-partitions are assigned before they are initialized"):
            topics = {topic for names in subscriptions.values() for topic in names}
            keys = frozenset(
                TopicPartition(topic, part)
                for topic in topics
                for part in range(self.world.topics.get(topic, 0))
            )
        if self.is_faulty("the last share-partition is not assigned"):
            keys = frozenset(sorted(keys)[:-1])
        if self.is_faulty("one member is assigned everything"):
            firsts = {topic: m for m in sorted(subscriptions)[::-1] for topic in subscriptions[m]}
            self.target = {
                member: frozenset(key for key in keys if firsts[key.topic_id] == member)
                for member in subscriptions
            }
        else:
            self.target = assign(subscriptions, keys, {})

    def _initialize(self) -> None:
        plan = subscribe(self._named(), "", frozenset())
        due = {each.topic_partition: each for each in self._calls_of(plan, CallInitialize)}
        wait = 10**9 if self.is_faulty("a failed initialization is not tried again") else _RETRY_MS
        recent = {key for key, at in self.begun.items() if self.now - at < wait}
        keys = [key for key in sorted(due) if key not in recent]
        if self.is_faulty("what is initialized is initialized again") and not keys:
            keys = sorted(group_of(self.world).metadata.initialized)
        # What was begun is finished unchanged (decision 93).
        starts = {key: due[key].start_offset if key in due else -1 for key in keys}
        starts |= {key: self.starts[key] for key in keys if key in self.starts}
        if self.is_faulty("added partitions start at the latest offset"):
            starts = dict.fromkeys(keys, -1)
        self._call(starts, group_of(self.world).epoch)

    def _call(self, starts: dict[TopicPartition, int], epoch: int) -> str:
        if not starts:
            return "NONE"
        status = self.answers.pop(0) if self.answers else "NONE"
        call = self.next_id
        self.next_id += 1
        epoch -= self.is_faulty("the state epoch lags behind")
        for key, start in starts.items():
            about = {"start_offset": start, "state_epoch": epoch, "status": status}
            self.calls.append({"id": call, "call": "initialize", **_named_key(key), **about})
            self.begun[key] = self.now
            self.starts[key] = start
            if status in ("NONE", "PENDING"):
                _error, self.world = perform(self.world, CallInitialize(key, start, epoch))
        metadata = group_of(self.world).metadata
        begun = metadata.initializing | (frozenset(starts) - metadata.initialized)
        left = metadata.deleting - frozenset(starts)
        self._metadata(PartitionMetadata(begun, metadata.initialized, left))
        if status == "NONE":
            self._end(frozenset(starts))
        elif status == "PENDING":
            self.waiting[call] = (self.instance, set(starts))
        return status

    def _end(self, keys: frozenset[TopicPartition]) -> None:
        known = group_of(self.world).metadata
        left, done = known.initializing - keys, known.initialized | keys
        self._metadata(attrs.evolve(known, initializing=left, initialized=done))

    def _metadata(self, metadata: PartitionMetadata) -> None:
        group = attrs.evolve(group_of(self.world), metadata=metadata)
        self.world = attrs.evolve(self.world, group=group)

    def _calls_of(self, plan: GroupPlan, kind: type[Any]) -> Iterator[Any]:
        return (each for each in plan.effects if isinstance(each, kind))

    def _answer(self, request: Reply) -> Reply:
        if request["id"] in self.ending:
            return self._ended(request)
        instance, keys = self.waiting.pop(request["id"])
        if request["status"] == "NONE" and instance == self.instance and self.world.group:
            keys &= group_of(self.world).metadata.initializing
            self._end(frozenset(keys))
        asked = self.altering.pop(request["id"], [])
        ends = request["status"]
        return {"partitions": [[n, p, ends if s == "PENDING" else s] for n, p, s in asked]}

    def _ended(self, request: Reply) -> Reply:
        instance, keys, names = self.ending.pop(request["id"])
        status = request["status"] if instance == self.instance else "NOT_COORDINATOR"
        if status == "NONE" and self.world.group is None:
            status = "GROUP_ID_NOT_FOUND"
        known = PartitionMetadata() if self.world.group is None else self.world.group.metadata
        if names:
            if status == "NONE":
                self._metadata(attrs.evolve(known, deleting=known.deleting - keys))
            return {"status": "NONE", "topics": [[name, status] for name in names]}
        came = known.initialized | known.initializing
        if self.is_faulty("a deletion that waited takes what came since"):
            came = frozenset()
        if status == "NONE" and (came or self.subscriptions):
            status = "NON_EMPTY_GROUP"
        if status == "NONE":
            self._erase((WriteMetadata(), EraseGroup()))
        return {"status": status}

    def _erase(self, effects: Iterable[Any]) -> None:
        self.world = carry_out(self.world, tuple(effects))
        self.target, self.current, self.seen = {}, {}, None

    def _waits(self, plan: GroupPlan, names: list[str]) -> None:
        """Take up that a call which deletes waits for its answer, though it is served."""
        keys = frozenset(each.topic_partition for each in self._calls_of(plan, CallDelete))
        self.ending[self.next_id - 1] = (self.instance, keys, names)
        self.world = carry_out(self._named(), (plan.effects[0], *self._calls_of(plan, CallDelete)))

    def _delete(self, plan: GroupPlan) -> str:
        keys = {each.topic_partition for each in self._calls_of(plan, CallDelete)}
        if not keys:
            return "NONE"
        status = self.answers.pop(0) if self.answers else "NONE"
        for key in sorted(keys):
            about = {"id": self.next_id, "call": "delete", "status": status}
            self.calls.append({**about, **_named_key(key)})
        self.next_id += 1
        return status

    def _forget(self, keys: Iterable[TopicPartition]) -> None:
        for key in keys:
            self.begun.pop(key, None)
            self.starts.pop(key, None)

    # Administrators.

    def _alter_offsets(self, request: Reply) -> Reply:
        off = self.is_faulty("altered offsets are off by one")
        asked = [each for each in request["offsets"] if each[1] >= 0]
        offsets = {self._key(name, part): start for name, part, start in asked}
        world = self._named()
        if self.is_faulty("offsets of a group with members are altered") and world.group:
            world = attrs.evolve(world, group=attrs.evolve(world.group, subscriptions=Map()))
        plan = alter_offsets(world, offsets)
        if plan.error is not _NONE:
            return {"status": plan.error.name}
        calls = {each.topic_partition: each for each in self._calls_of(plan, CallInitialize)}
        status = "NONE"
        if calls:
            stays = self.is_faulty("the group epoch stays when offsets are altered")
            if not (stays and self.world.group):
                self._raise()
            starts = {key: each.start_offset for key, each in calls.items()} | self.starts
            starts = {key: offsets.get(key, starts[key]) + off for key in calls}
            status = self._call(starts, group_of(self.world).epoch)
        told = [
            [name, part, "UNKNOWN_TOPIC_OR_PARTITION" if key in plan.refused else status]
            for (name, part, _start), key in zip(asked, offsets, strict=True)
            if key not in plan.refused
            or not self.is_faulty("altering offsets answers nothing of unknown partitions")
        ]
        done = self.is_faulty("a partition below 0 is altered")
        below = "NONE" if done else "UNKNOWN_TOPIC_OR_PARTITION"
        told += [[name, part, below] for name, part, _start in request["offsets"] if part < 0]
        if status == "PENDING":
            self.altering[self.next_id - 1] = told
            return {"status": status}
        return {"status": "NONE", "partitions": told}

    def _key(self, name: str, part: int) -> TopicPartition:
        return TopicPartition(self.names.get(name, name), part)

    def _delete_offsets(self, request: Reply) -> Reply:
        ids = {name: self.names.get(name, name) for name in request["topics"]}
        plan = delete_offsets(self._named(), tuple(ids.values()))
        if plan.error is not _NONE:
            return {"status": plan.error.name}
        leaves = self.is_faulty("deleting offsets leaves their state") or (
            self.is_faulty("a deletion of offsets that failed is not completed")
            and group_of(self.world).metadata.deleting
        )
        status = "NONE" if leaves else self._delete(plan)
        effects = plan.effects if status == "NONE" else plan.effects[:1]
        self.world = carry_out(self._named(), effects)
        self._forget(each.topic_partition for each in self._calls_of(plan, CallDelete))
        if status == "PENDING":
            self._waits(plan, [name for name, topic in ids.items() if topic not in plan.refused])
            return {"status": status}
        refused = {name: topic in plan.refused for name, topic in ids.items()}
        told = {n: "UNKNOWN_TOPIC_OR_PARTITION" if bad else status for n, bad in refused.items()}
        return {"status": "NONE", "topics": [list(each) for each in told.items()]}

    def _delete_group(self, _request: Reply) -> Reply:
        plan = delete_group(self._named())
        if plan.error is not _NONE:
            return {"status": plan.error.name}
        leaves = self.is_faulty("deleting a group leaves its state")
        status = "NONE" if leaves else self._delete(plan)
        if status == "NONE":
            self._erase(plan.effects)
        elif status == "PENDING":
            self._waits(plan, [])
        else:
            self.world = carry_out(self.world, plan.effects[:1])
        self._forget(tuple(self.begun))
        return {"status": status}

    def _describe_offsets(self, _request: Reply) -> Reply:
        starts = describe_offsets(self._named())
        if self.is_faulty("a description leaves out what was altered"):
            starts = {key: start for key, start in starts.items() if not start}
        told = [[k.topic_id, k.partition, -1 if s is None else s] for k, s in starts.items()]
        return {"status": "NONE", "offsets": told}

    # The cluster.

    def _create_topic(self, request: Reply) -> None:
        self.names[request["topic"]] = request["id"]
        self._add_partitions(request)

    def _add_partitions(self, request: Reply) -> None:
        topic, topics = self.names[request["topic"]], self.world.topics
        topics = topics.set(topic, topics.get(topic, 0) + request["partitions"])
        self.world = attrs.evolve(self.world, topics=topics)

    def _delete_topic(self, request: Reply) -> None:
        topic = self.names.pop(request["topic"])
        states = Map({k: v for k, v in self.world.states.items() if k.topic_id != topic})
        self.world = attrs.evolve(self.world, topics=self.world.topics.delete(topic), states=states)
        if self.world.group is not None:
            stages = attrs.astuple(self.world.group.metadata, recurse=False)
            kept = (frozenset(k for k in stage if k.topic_id != topic) for stage in stages)
            self._metadata(PartitionMetadata(*kept))

    def _configure(self, request: Reply) -> None:
        if not self.is_faulty("a group has no interval of its own"):
            self.heartbeat_ms = request["heartbeat_ms"]
        if not self.is_faulty("a group has no session timeout of its own"):
            self.session_ms = request["session_ms"]

    def _fail_over(self, _request: Reply) -> None:
        self.instance += 1
        self.members = restarted(self.members, self.now, self.session_ms)
        self.begun = dict.fromkeys(self.begun, self.now)
        if self.is_faulty("taking over raises the group epoch") and self.world.group:
            self._raise()

    def _group(self) -> Reply | None:
        group: ShareGroup | None = self.world.group
        if group is None:
            return None
        members = [
            {
                "member": name,
                "epoch": self.members[name].epoch,
                "topics": sorted(topics),
                "assignment": _plain(self.current.get(name, frozenset())),
            }
            for name, topics in self.subscriptions.items()
        ]
        told = {"status": "NONE", "epoch": group.epoch, "assignment_epoch": group.epoch}
        return {**told, "members": members}


def _plain(keys: frozenset[TopicPartition]) -> list[list[object]]:
    return [[key.topic_id, key.partition] for key in sorted(keys)]


def _named_key(key: TopicPartition) -> Reply:
    return {"topic": key.topic_id, "partition": key.partition}
