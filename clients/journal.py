"""A journal of one client: what the broker sees and what the application says, in one order."""

import threading
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import attrs
from kio.schema.errors import ErrorCode as KafkaError

from clients.events import (
    RENEW,
    Acknowledgement,
    Answered,
    Asked,
    ClientRecord,
    Cut,
    Deleted,
    Event,
    Granted,
    Heartbeat,
    Lost,
    Place,
    Settings,
)
from clients.judge import DISCONNECTED
from model.share_messages import FINAL_EPOCH, INITIAL_EPOCH
from serve.asked import Values
from serve.node import Cluster, Topic
from serve.rare import SLOW_SECONDS, Habit

MOST_EVENTS = 50_000
"""How many events of a run are kept."""

MOST_ACKNOWLEDGEMENTS = 200_000
"""How many batches of acknowledgements of a run are kept, and as many types within them."""

_SHARE = ("share_fetch", "share_acknowledge")
_HEARTBEAT = "share_group_heartbeat"
_SIZES = ("max_wait", "min_bytes", "max_bytes", "max_records")
"""What a ShareFetch asks for, of which one that renews has nothing (spec.share_session)."""

_LONGEST_ID = 1000


@attrs.define
class Journal:
    """Is told by the broker in its thread, and by the harness in its own.

    Beyond its limits nothing more is kept. ``heartbeats`` counts those that were answered,
    ``welcomed`` those without an error; ``acknowledged`` the batches of acknowledgements that were
    not refused and do more than renew. ``underway``: the connection of each request that is not
    answered yet, by its number.
    """

    cluster: Cluster
    most: int = MOST_EVENTS
    full: bool = False
    heartbeats: int = 0
    welcomed: int = 0
    acknowledged: int = 0
    underway: dict[int, str] = attrs.field(factory=dict)
    _acknowledging: dict[int, tuple[Acknowledgement, ...]] = attrs.field(factory=dict)
    _beat: tuple[str, int, int] = ("", 0, 0)
    _events: list[Event] = attrs.field(factory=list)
    _room: int = MOST_ACKNOWLEDGEMENTS
    _connections: dict[str, int] = attrs.field(factory=dict)
    _deleted: dict[str, str] = attrs.field(factory=dict)
    _lock: threading.Lock = attrs.field(factory=threading.Lock)
    _began: float = attrs.field(factory=time.monotonic)

    def now(self) -> int:
        """Return the time of an event, in ms."""
        return int((time.monotonic() - self._began) * 1000)

    def note(self, event: Event) -> None:
        """Keep an event, as long as there is room."""
        with self._lock:
            if len(self._events) >= self.most:
                self.full = True
            if not self.full:
                self._events.append(event)

    def record(self, settings: Settings) -> ClientRecord:
        """Return everything so far."""
        with self._lock:
            return ClientRecord(settings, tuple(self._events), self.full)

    def asked(
        self, number: int, broker: int, connection: str, api: str, body: SimpleNamespace
    ) -> None:
        """Take note of a request to a broker."""
        self.underway[number] = connection
        if api == _HEARTBEAT:  # It is answered before any other request is looked at.
            self._beat = str(body.member_id)[:_LONGEST_ID], body.member_epoch, broker
        if api not in _SHARE:
            return
        epoch = body.share_session_epoch
        if epoch == INITIAL_EPOCH:
            others = {name: id_ for name, id_ in self._connections.items() if id_ != broker}
            self._connections = {**others, connection: broker}
        most = getattr(body, "max_records", 0)
        fetches = api == "share_fetch" and epoch != FINAL_EPOCH and most > 0
        batches = tuple(self._batches(body))
        if batches:
            self._acknowledging[number] = batches
        member = str(body.member_id)[:_LONGEST_ID]
        named = self._named(body.topics) if api == "share_fetch" else ()
        forgotten = self._named(getattr(body, "forgotten_topics_data", ()))
        event = Asked(self.now(), number, member, epoch, fetches, most, batches, broker)
        asks = any(getattr(body, size, 0) for size in _SIZES)
        says = bool(getattr(body, "is_renew_ack", False)) and not asks
        self.note(attrs.evolve(event, named=named, forgotten=forgotten, says_renewal=says))

    def _named(self, topics: Iterable[Any]) -> tuple[Place, ...]:
        """Return the partitions of topics; the run is full where they are too many."""
        pairs = [(topic.topic_id, part) for topic in topics for part in topic.partitions]
        self._room -= len(pairs)
        if self._room < 0:
            self.full = True
            return ()
        return tuple(
            self._place(topic_id, part if isinstance(part, int) else part.partition_index)
            for topic_id, part in pairs
        )

    def _batches(self, body: SimpleNamespace) -> "list[Acknowledgement]":
        """Return the acknowledgements of a request; the run is full where they are too many.

        Of a share-partition that is named twice the last counts, as for the broker.
        """
        batches: dict[tuple[object, int], list[Acknowledgement]] = {}
        for topic in body.topics:
            for part in topic.partitions:
                mine = batches[topic.topic_id, part.partition_index] = []
                for batch in part.acknowledgement_batches:
                    self._room -= 1 + len(batch.acknowledge_types)
                    if self._room < 0:
                        self.full = True
                        return []
                    place = self._place(topic.topic_id, part.partition_index)
                    types = tuple(batch.acknowledge_types)
                    mine.append(
                        Acknowledgement(place, batch.first_offset, batch.last_offset, types)
                    )
        return [batch for mine in batches.values() for batch in mine]

    def _assigned(self, assignment: Values | None) -> tuple[Place, ...] | None:
        if assignment is None:
            return None
        return tuple(
            self._place(topic["topic_id"], partition)
            for topic in assignment["topic_partitions"]
            for partition in topic["partitions"]
        )

    def _place(self, topic_id: object, partition: int) -> Place:
        topic = self.cluster.topic_of(str(topic_id))
        return (topic.name if topic else self._deleted.get(str(topic_id), "?"), partition)

    def delete(self, topic: Topic) -> None:
        """Take note of a topic that is deleted; what names it goes by a name that no topic has."""
        former = f"{topic.name}~{len(self._deleted) + 1}"
        self._deleted[str(topic.id)] = former
        self.note(Deleted(self.now(), topic.name, former))

    def answered(self, number: int, api: str, values: Values) -> None:
        """Take note of an answer."""
        self.underway.pop(number, None)
        if api == _HEARTBEAT:
            error = values["error_code"].value
            given = 0 if error else values["member_epoch"]
            assigned = self._assigned(values["assignment"])
            member, epoch, broker = self._beat
            beat = Heartbeat(self.now(), member, epoch, error, given, assigned, broker)
            told = values.get("throttle_time", 0), values.get("heartbeat_interval", 0)
            slow = self.cluster.rare.next_of((Habit.SLOW_HEARTBEAT,)) is not None
            late = int(SLOW_SECONDS * 1000) if slow else 0
            self.note(attrs.evolve(beat, throttle_ms=told[0], interval_ms=told[1], late_ms=late))
            self.heartbeats += 1
            self.welcomed += not error
            return
        if api not in _SHARE:
            return
        granted: list[Granted] = []
        refused: list[tuple[Place, int]] = []
        elsewhere: list[tuple[Place, int]] = []
        for topic in values["responses"]:
            for part in topic["partitions"]:
                place = self._place(topic["topic_id"], part["partition_index"])
                granted += _granted(place, part)
                if part["error_code"] is KafkaError.not_leader_or_follower:
                    elsewhere.append((place, part["current_leader"]["leader_id"]))
                error = part["acknowledge_error_code" if api == "share_fetch" else "error_code"]
                if int(getattr(error, "value", error)):
                    refused.append((place, int(getattr(error, "value", error))))
        error = values["error_code"].value
        acknowledged = self._acknowledging.pop(number, ()) if not error else ()
        self.acknowledged += sum(
            one.place not in dict(refused) and set(one.types) != {RENEW} for one in acknowledged
        )
        lists = tuple(granted), tuple(refused), tuple(elsewhere)
        throttle = values["throttle_time"]
        self.note(Answered(self.now(), number, error, *lists, throttle_ms=throttle))

    def cut(self, number: int, *, took_effect: bool) -> None:
        """Take note of a connection that the broker cuts."""
        self.underway.pop(number, None)
        self.note(Cut(self.now(), number, took_effect))

    def lose(self, why: str, broker: int = 0) -> None:
        """Take note that the member holds nothing more, of one broker or, by 0, of any."""
        self.note(Lost(self.now(), why, broker))

    def ended(self, connection: str) -> None:
        """Take note of the end of a connection, over which a share session may have been opened."""
        broker = self._connections.pop(connection, None)
        if broker is not None:
            self.lose(DISCONNECTED, broker)


def _granted(place: Place, part: dict[str, Any]) -> list[Granted]:
    return [
        Granted(place, one["first_offset"], one["last_offset"], one["delivery_count"])
        for one in part.get("acquired_records", ())
    ]
