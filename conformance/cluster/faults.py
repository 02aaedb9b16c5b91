"""Faults as they are done to a cluster of brokers, and undone."""

from collections.abc import Callable, Iterator
from uuid import UUID

import attrs

from conformance.cluster.fault_plan import (
    GROUPS,
    NODES,
    STATE_PARTITIONS,
    STATE_TOPIC,
    TOPIC,
    Argument,
    PlannedFault,
)
from conformance.cluster.nodes import CONTROLLER, Nodes
from conformance.target import TargetError
from conformance.wire.admin import Admin, Resource
from model.state_topic import SharePartitionKey, state_partition


@attrs.frozen
class DoneFault:
    """What was done, in words; it is undone after ``undo_ms``, if there is anything to undo."""

    text: str
    undo_ms: int = 0
    undo: Callable[[], None] | None = None


@attrs.frozen
class Injector:
    """Does faults to the nodes of a cluster, whose topic is this."""

    nodes: Nodes
    topic_id: str

    def inject(self, fault: PlannedFault) -> DoneFault:
        """Do a fault; one that cannot be done, as no leader is there, says so."""
        try:
            return getattr(self, f"_{fault.name}")(fault, **fault.arguments)  # type: ignore[no-any-return]
        except TargetError as error:
            return DoneFault(f"{fault}: perhaps not done, {error}")

    def heal(self) -> None:
        """Undo everything: what is cut, what is paused, what is down."""
        self.nodes.links.heal_all()
        for node in NODES:
            self.nodes.resume(node)
            if self.nodes.is_down(node):
                self.nodes.kill(node)
                self.nodes.start(node)

    def _pause(self, fault: PlannedFault, node: str, for_ms: int) -> DoneFault:
        self.nodes.pause(node)
        return DoneFault(str(fault), for_ms, lambda: self.nodes.resume(node))

    def _kill(self, fault: PlannedFault, node: str, for_ms: int) -> DoneFault:
        def start() -> None:
            if self.nodes.is_down(node):
                self.nodes.start(node)

        self.nodes.kill(node)
        return DoneFault(str(fault), for_ms, start)

    def _isolate(self, fault: PlannedFault, node: str, for_ms: int) -> DoneFault:
        others = [other for other in NODES if other != node]
        ways = [(node, other) for other in others] + [(other, node) for other in others]
        return self._cut_links(fault, ways, for_ms)

    def _cut(self, fault: PlannedFault, source: str, target: str, for_ms: int) -> DoneFault:
        return self._cut_links(fault, [(source, target)], for_ms)

    def _cut_links(
        self, fault: PlannedFault, ways: list[tuple[str, str]], for_ms: int
    ) -> DoneFault:
        links = [link for way in ways for link in _listeners(*way)]
        for link in links:
            self.nodes.links.cut(*link)

        def heal() -> None:
            for link in links:
                self.nodes.links.heal(*link)

        return DoneFault(str(fault), for_ms, heal)

    def _delay(
        self, fault: PlannedFault, source: str, target: str, by_ms: int, for_ms: int
    ) -> DoneFault:
        for link in _listeners(source, target):
            self.nodes.links.delay(*link, by_ms / 1000)

        def heal() -> None:
            for link in _listeners(source, target):
                self.nodes.links.delay(*link, 0)

        return DoneFault(str(fault), for_ms, heal)

    def _reset(self, fault: PlannedFault, source: str, target: str) -> DoneFault:
        count = sum(self.nodes.links.reset(*link) for link in _listeners(source, target))
        return DoneFault(f"{fault}: {count} connections")

    def _move(self, fault: PlannedFault, topic: str, partition: int, node: str) -> DoneFault:
        before = self._leaders(topic)[partition]
        self.nodes.ask(lambda admin: admin.move_leader(topic, partition, int(node)))
        return DoneFault(f"{fault}: from {before}")

    def _delete_records(self, fault: PlannedFault, partition: int, leave: int) -> DoneFault:
        leader = str(self._leaders(TOPIC)[partition])
        end = self.nodes.ask(lambda admin: admin.end_offset(TOPIC, partition), leader)
        start = max(0, end - leave)
        self.nodes.ask(lambda admin: admin.delete_records(TOPIC, partition, start), leader)
        return DoneFault(f"{fault}: the log begins at {start}")

    def _alter(self, fault: PlannedFault, group: str, setting: str, value: Argument) -> DoneFault:
        altered = {f"share.{setting.replace('_', '.')}": str(value)}
        self.nodes.ask(lambda admin: admin.configure(Resource.GROUP, group, altered))
        return DoneFault(str(fault))

    def _move_and_return(self, fault: PlannedFault, partition: int, cut_ms: int) -> DoneFault:
        """Move leadership away and back while writes to the coordinator are sent again."""
        leader = str(self._leaders(TOPIC)[partition])
        other = next((n for n in NODES if n != leader and not self.nodes.is_down(n)), None)
        if leader not in NODES or other is None:
            raise TargetError("there is no leader, or no other node")
        key = SharePartitionKey(GROUPS[0], UUID(self.topic_id), partition)
        coordinator = str(self._leaders(STATE_TOPIC)[state_partition(key, STATE_PARTITIONS)])
        links = self.nodes.links
        if cut_ms:
            links.cut(leader, coordinator)
        count = links.reset(leader, coordinator)
        text = f"{fault}: {leader} to {other} and back, {count} connections to {coordinator} reset"

        def heal() -> None:
            links.heal(leader, coordinator)

        def move(admin: Admin) -> None:
            # Over one connection: the writes are sent again a second after the reset.
            for node in (other, leader):
                admin.move_leader(TOPIC, partition, int(node))

        try:
            self.nodes.ask(move)
        except TargetError as error:
            text = f"{text}: perhaps not done, {error}"
        return DoneFault(text, cut_ms, heal)

    def _leaders(self, topic: str) -> dict[int, int]:
        return self.nodes.ask(lambda admin: admin.leaders(topic))


def _listeners(source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield the links from a source to both listeners of a node."""
    yield source, target
    yield source, target + CONTROLLER
