"""The brokers of our small share consumer: who leads what, and a session with each."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from conformance.target import TargetError
from conformance.wire.connection import Address, Bounds, Wire
from conformance.wire.messages import Message, request
from tests.doubles.share_faults import Fault

if TYPE_CHECKING:
    from clients.events import Place

Assigned = tuple[UUID, str, int]
"""A partition that is assigned: the id and the name of its topic, and its number."""


@attrs.define(eq=False)
class Seat:
    """A broker, the next epoch of the session with it, 0 where there is none, and what is in it.

    ``quiet_until``: the monotonic time, in s, before which it is to be sent nothing.
    """

    id: int
    wire: Wire
    epoch: int = 0
    session: list[Assigned] = attrs.field(factory=list)
    quiet_until: float = 0.0


def asked_again(wire: Wire, message: Message) -> Any:  # noqa: ANN401 - a response
    """Return the answer to a request, which is sent again if the connection ends. TargetError."""
    try:
        return wire.ask("c", message).body
    except TargetError:
        return wire.ask("c", message).body


class Seats:
    """Every broker that the client knows."""

    def __init__(self, bootstrap: str) -> None:
        """Know one broker, which tells the others. Connect to nothing yet."""
        first = Address.parse(bootstrap.split(",", maxsplit=1)[0])
        self._bootstrap = Wire(first, Bounds(seconds=60))
        self._seats: dict[int, Seat] = {}
        self.names: dict[UUID, str] = {}
        self.leaders: dict[Place, int] = {}

    def refresh(self, topics: Iterable[str]) -> None:
        """Ask who leads topics. Raises TargetError."""
        asked = request(
            "metadata",
            13,
            topics=[{"topic_id": None, "name": name} for name in topics],
            allow_auto_topic_creation=False,
        )
        answer = asked_again(self._bootstrap, asked)
        for broker in answer.brokers:
            self.know(broker)
        for topic in answer.topics:
            self.names[topic.topic_id] = topic.name
            for part in topic.partitions:
                self.leaders[topic.name, part.partition_index] = part.leader_id

    def knows(self, parts: Iterable[tuple[UUID, int]]) -> bool:
        """Whether Metadata has told who leads each of these partitions."""
        return all((self.names.get(topic, ""), part) in self.leaders for topic, part in parts)

    def know(self, broker: Any) -> None:  # noqa: ANN401 - of a response
        """Take note of a broker, by its id and address."""
        if broker.node_id not in self._seats:
            wire = Wire(Address(broker.host, broker.port), Bounds(seconds=60))
            self._seats[broker.node_id] = Seat(broker.node_id, wire)

    def used(self) -> list[Seat]:
        """Return the brokers with which there is a session."""
        return [seat for _, seat in sorted(self._seats.items()) if seat.epoch]

    def seat(self, id_: int) -> Seat:
        """Return a broker."""
        return self._seats[id_]

    def leading(self, assigned: Iterable[Assigned]) -> list[Seat]:
        """Return the brokers that lead some of these partitions."""
        ids = {self.leaders[name, partition] for _, name, partition in assigned}
        return [self._seats[id_] for id_ in sorted(ids) if id_ in self._seats]

    def asked_for(
        self, topics: Iterable[str], assigned: Iterable[Assigned], wait_ms: int
    ) -> list[Seat]:
        """Return whom to fetch these from; wait where that is nobody. Raises TargetError."""
        if not self._seats.keys() >= set(self.leaders.values()):
            self.refresh(topics)
        leading = self.leading(assigned)
        if not leading:
            time.sleep(wait_ms / 1000)
        return leading

    def led_by(self, seat: Seat, assigned: Iterable[Assigned]) -> list[Assigned]:
        """Return those of these partitions that a broker leads."""
        return [part for part in assigned if self.leaders[part[1], part[2]] == seat.id]

    def close(self) -> None:
        """Close every connection."""
        for wire in (self._bootstrap, *(seat.wire for seat in self._seats.values())):
            wire.close()


def topics_of(body: Any, fault: Fault | None) -> list[Any]:  # noqa: ANN401 - a response
    """Return the topics of the answer to a fetch, if there is one, with their partitions."""
    topics = list(body.responses) if body else []
    refused = any(part.error_code not in (0, 6) for topic in topics for part in topic.partitions)
    return [] if refused and fault is Fault.DROPS_BESIDE else topics
