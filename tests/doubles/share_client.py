"""A small share consumer over the wire, behind the protocol of drivers, with faults to switch on.

It does one thing after the other in the thread of its caller, so that a script always goes the same
way, but for heartbeats (share_member.py). It is a voice of its own: no client of the kit is in it.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from clients.drivers import Values
from clients.events import ACCEPT, GAP, REJECT, RENEW, UNREADABLE, Place
from conformance.target import GoneError, TargetError
from conformance.wire.messages import Message, request
from tests.doubles.share_faults import Fault
from tests.doubles.share_member import GROUP, ShareMember
from tests.doubles.share_records import Got, batches, counts_of, has_empty, kept, unread, values_of
from tests.doubles.share_seats import Assigned, Seat, Seats, topics_of

SESSION_ERRORS = {122: "SHARE_SESSION_NOT_FOUND", 123: "INVALID_SHARE_SESSION_EPOCH"}
CUT = "DISCONNECTED"
NOT_LEADER = 6
NEVER = -1
MANY = 100


Due = dict[tuple[Place, int], int]
"""The type of acknowledgement of each record, by its share-partition and offset."""


class FailureError(Exception):
    """Why acknowledgements or a fetch came to nothing."""


class ShareClient:
    """A share consumer; ``fault`` is what it does wrong."""

    def __init__(self, fault: Fault | None = None) -> None:
        """Connect to nothing yet."""
        self.fault = fault
        self.seats: Seats | None = None
        self.member: ShareMember | None = None
        self.assigned: list[Assigned] = []
        self.known: dict[Place, Assigned] = {}
        self.topics: list[str] = []
        self.buffer: list[Got] = []
        self.current: dict[tuple[Place, int], Got] = {}
        self.pending: Due = {}
        self.givers: dict[tuple[Place, int], int] = {}
        self.sent_before: Due = {}
        self.again: list[Got] = []
        self.renewed: set[tuple[Place, int]] = set()
        self.stopped = False
        self.completed: list[Values] = []
        self.settings: Values = {}

    def ask(self, command: Values) -> Values:
        """Carry out a command."""
        calls: dict[str, Callable[[Values], Values]] = {
            "hello": self.hello,
            "open": self.open,
            "subscribe": self.subscribe,
            "poll": self.poll,
            "acknowledge": self.acknowledge,
            "commit": self.commit,
            "commit_async": self.commit_async,
            "close": self.end,
        }
        try:
            answer = calls[command["do"]](command)
        except FailureError as failure:
            answer = {"error": str(failure)}
        if not (self.has(Fault.TELLS_LATER) and command["do"] == "commit"):
            answer["completed"], self.completed = self.completed, []
        return answer

    def close(self) -> None:
        """Close the connections."""
        if self.member is not None:
            self.member.close()
            self.member = None
        if self.seats is not None:
            self.seats.close()
            self.seats = None

    def has(self, fault: Fault) -> bool:
        """Whether this is what it does wrong."""
        return self.fault is fault

    @property
    def explicit(self) -> bool:
        """Whether the application acknowledges."""
        return bool(self.settings["mode"] == "explicit")

    def hello(self, _command: Values) -> Values:
        """Describe it."""
        modes = ["batch_optimized", "record_limit"]
        name = self.fault.value if self.fault else "the double"
        flags = dict.fromkeys(("callbacks", "renews", "resubscribes", "deserializes"), True)
        return {"protocol": 1, "name": name, **flags, "acquire_modes": modes}

    def open(self, command: Values) -> Values:
        """Take the settings."""
        self.settings = command
        self.seats = Seats(command["bootstrap"])
        return {}

    @property
    def brokers(self) -> Seats:
        """The brokers, once it is open."""
        assert self.seats is not None
        return self.seats

    def send(self, seat: Seat, message: Message, wait_ms: int = 0) -> Any:  # noqa: ANN401 - a response
        """Send a request, once that is allowed. Raises FailureError where the connection is cut."""
        if not self.has(Fault.HASTY):
            time.sleep(max(0.0, seat.quiet_until - time.monotonic()))
        try:
            body = seat.wire.ask("c", message, wait_ms).body
        except TargetError:
            raise FailureError(CUT) from None
        seat.quiet_until = time.monotonic() + body.throttle_time / 1000
        return body

    def subscribe(self, command: Values) -> Values:
        """Subscribe; the next poll joins, or a heartbeat tells of it."""
        self.topics = command["topics"]
        if self.member is not None and not self.has(Fault.SUBSCRIBES_ONCE):
            self.brokers.refresh(self.topics)
            self.member.subscribe(self.topics)
        return {}

    def join(self) -> None:
        """Join the group and learn the assignment."""
        if self.member is None:
            self.member = ShareMember(self.settings["bootstrap"], self.topics, self.fault)
        assigned = self.member.join()
        self.brokers.refresh(self.topics)
        self.take_assignment(assigned)

    def take_assignment(self, assigned: list[Any]) -> None:
        """Take what it is to fetch now; what it has of other partitions it keeps."""
        given = [(topic.topic_id, part) for topic in assigned for part in topic.partitions]
        if not self.has(Fault.NEVER_LEARNS) and not self.brokers.knows(given):
            self.brokers.refresh(self.topics)
        self.assigned = [
            (topic_id, self.brokers.names[topic_id], part)
            for topic_id, part in given
            if self.brokers.knows([(topic_id, part)])
        ]
        later = {(name, nth): (id_, name, nth) for id_, name, nth in self.assigned}
        again = [place for place, part in later.items() if self.known.get(place, part) != part]
        if again and self.has(Fault.KEEPS_DELETED):
            self.assigned = [self.known[name, nth] for _, name, nth in self.assigned]
            return
        for place in again if not self.has(Fault.MIXES_TOPICS) else ():
            self.forget(place)
        self.known |= later

    def forget(self, place: Place) -> None:
        """Forget what it has of a topic that was deleted, whose name another one has now."""
        self.buffer = [got for got in self.buffer if got.place != place]
        self.current = {key: got for key, got in self.current.items() if key[0] != place}
        lost = [key for key in self.pending if key[0] == place]
        self.complete({k: self.pending.pop(k) for k in lost}, lambda _place: "UNKNOWN_TOPIC_ID")

    @property
    def member_id(self) -> str:
        """The member id of its requests."""
        assert self.member is not None
        return "other" if self.has(Fault.OTHER_FETCHER) else self.member.id

    def poll(self, command: Values) -> Values:
        """Poll: what is due is acknowledged with the fetch."""
        if self.explicit and self.current.keys() - self.renewed and not self.has(Fault.POLLS_ON):
            raise FailureError("IllegalStateException")
        self.accept_current()
        if not self.assigned:
            self.join()
        elif self.member is not None and not self.has(Fault.KEEPS_ASSIGNMENT):
            self.take_assignment(self.member.assigned)
        if self.buffer:
            self.acknowledge_apart()
        else:
            self.fetch(command["timeout_ms"])
        return {"records": [got.delivered() for got in self.taken()]}

    def accept_current(self) -> None:
        """Accept what the last poll returned, where that is implicit."""
        if not self.explicit and not self.has(Fault.EAGER):
            type_ = 3 if self.has(Fault.REJECTS) else ACCEPT
            self.pending |= dict.fromkeys(self.current, type_)
            self.givers |= {key: got.broker for key, got in self.current.items()}
            self.current = {}

    def taken(self) -> list[Got]:
        """Return what a poll returns of what is in hand."""
        most = 0 if self.stopped else self.settings["max_poll_records"]
        if self.has(Fault.RETURNS_MORE):
            most = len(self.buffer)
        taken, self.buffer = self.buffer[:most], self.buffer[most:]
        self.current |= {(got.place, got.offset): got for got in taken}
        self.renewed.difference_update((got.place, got.offset) for got in taken)
        if self.has(Fault.EAGER):
            self.pending |= dict.fromkeys(self.current, ACCEPT)
            self.current = {}
            self.acknowledge_apart()
        again, self.again = self.again, taken[-1:]
        return [*taken, *again] if self.has(Fault.TWICE) else taken

    def acknowledge(self, command: Values) -> Values:
        """Take note of what the application says of a record."""
        key = ((command["topic"], command["partition"]), command["offset"])
        if key not in self.current:
            raise FailureError("IllegalStateException")
        accepts = self.has(Fault.ALWAYS_ACCEPTS) and command["type"] != RENEW
        self.pending[key] = ACCEPT if accepts else command["type"]
        self.givers[key] = self.current[key].broker
        self.renewed.discard(key)
        if command["type"] == RENEW and not self.has(Fault.RENEWAL_ENDS):
            self.renewed.add(key)
        else:
            del self.current[key]
        if command["type"] == RENEW and self.has(Fault.RENEWS_NOTHING):
            del self.pending[key]
        return {}

    def commit(self, command: Values) -> Values:
        """Commit, and tell the result of each partition."""
        self.accept_current()
        if self.has(Fault.FORGETS_LATE) and command.get("timeout_ms") in range(1000):
            self.pending = {}
            raise FailureError("TimeoutException")
        if self.has(Fault.UNSAID):
            self.pending |= dict.fromkeys(self.current, ACCEPT)
        if self.has(Fault.FORGETS) and self.pending:
            self.pending.popitem()
        errors = self.acknowledge_apart()
        told = ({"topic": t, "partition": p, "error": e} for (t, p), e in errors.items())
        return {"results": list(told)}

    def commit_async(self, command: Values) -> Values:
        """Commit; only callbacks tell the result."""
        self.commit(command)
        return {}

    def acknowledge_apart(self, *, final: bool = False) -> dict[Place, str | None]:
        """Send what is pending in a request of its own."""
        due = self.due()
        errors: dict[Place, str | None] = {}
        split, moved = self.split(due)
        last: Due = {}
        if moved:
            errors |= self.complete(moved, lambda _place: "NOT_LEADER_OR_FOLLOWER")
        for seat in dict.fromkeys((*map(self.brokers.seat, split), *self.brokers.used())):
            mine = split.get(seat.id, {})
            if (mine or final) and not seat.epoch:
                errors |= self.complete(mine, lambda _place: "SHARE_SESSION_NOT_FOUND")
            elif mine or final:
                errors |= self.acknowledge_at(seat, mine, -1 if final else seat.epoch)
                last = mine
        self.stopped |= self.has(Fault.FREEZES) and RENEW in {*due.values()} - {*last.values()}
        return errors

    def acknowledge_at(self, seat: Seat, due: Due, epoch: int) -> dict[Place, str | None]:
        """Send a ShareAcknowledge to a broker."""
        asked = request(
            "share_acknowledge",
            2,
            group_id=GROUP,
            member_id=self.member_id,
            share_session_epoch=epoch,
            is_renew_ack=RENEW in due.values() and not self.has(Fault.RENEWS_UNSAID),
            topics=batches(self.with_due([], due), due, self.fault),
        )
        body, errors = self.exchange(seat, asked, due, "error_code")
        refused = any(
            part.error_code
            for topic in (body.responses if body else ())
            for part in topic.partitions
        )
        if refused and not self.has(Fault.STAYS_WITH_LEADER):
            self.brokers.refresh(self.topics)
        if epoch == NEVER:
            seat.epoch = 0
        return errors

    def split(self, due: Due) -> tuple[dict[int, Due], Due]:
        """Return what is due to each broker, and what was given by one that leads it no more."""
        split: dict[int, Due] = {}
        moved: Due = {}
        for key, type_ in due.items():
            leader, giver = self.brokers.leaders[key[0]], self.givers.get(key, 0)
            if leader != NEVER and (self.has(Fault.TO_NEW_LEADER) or giver in (0, leader)):
                split.setdefault(leader, {})[key] = type_
            else:
                moved[key] = type_
        return split, moved

    def exchange(
        self, seat: Seat, asked: Message, due: Due, field: str, wait_ms: int = 0
    ) -> tuple[Any, dict[Place, str | None]]:
        """Send a request of the session, and complete the acknowledgements in it."""
        try:
            body = self.send(seat, asked, wait_ms)
        except FailureError as failure:
            self.stopped |= self.has(Fault.GIVES_UP_CUT)
            self.drop(seat)
            seat.epoch = 0
            why = None if self.has(Fault.CUT_IS_SUCCESS) else str(failure)
            return None, self.complete(due, lambda _place: why)
        if body.error_code:
            seat.epoch = 0
            self.stopped |= self.has(Fault.GIVES_UP)
            name = SESSION_ERRORS.get(body.error_code, f"error {body.error_code}")
            if body.error_code != 123:  # The locks stay where only the epoch was wrong.
                self.drop(seat)
            return None, self.complete(due, lambda _place: name)
        seat.epoch += not self.has(Fault.EPOCH_STAYS) or seat.epoch == 0
        errors = {
            (self.name(topic.topic_id), part.partition_index): getattr(part, field)
            for topic in body.responses
            for part in topic.partitions
        }
        return body, self.complete(due, lambda p: f"error {errors[p]}" if errors.get(p) else None)

    def drop(self, seat: Seat, place: Place | None = None) -> None:
        """Drop what a broker gave, of one partition or of all, and nobody was told of."""
        self.buffer = [
            got for got in self.buffer if got.broker != seat.id or place not in (None, got.place)
        ]

    def due(self) -> Due:
        """Take what is pending."""
        due, self.pending = self.pending, {}
        before, self.sent_before = self.sent_before, due
        return {**before, **due} if self.has(Fault.REPEATS) else due

    def complete(self, due: Due, error: Callable[[Place], str | None]) -> dict[Place, str | None]:
        """Tell the application, by the callback, and return the error of each partition."""
        places = sorted({place for place, _offset in due})
        errors = {
            place: None if self.has(Fault.TELLS_SUCCESS) else error(place) for place in places
        }
        self.completed += [
            {
                "topic": place[0],
                "partition": place[1],
                "offsets": sorted(offset for other, offset in due if other == place),
                "error": errors[place],
            }
            for place in places
            if not self.has(Fault.SILENT if errors[place] else Fault.TELLS_NO_SUCCESS)
            for _ in range(1 + (self.has(Fault.TELLS_TWICE) and not errors[place]))
        ]
        return errors

    def with_due(self, parts: list[Assigned], due: Due) -> list[Assigned]:
        """Return partitions, and those of which acknowledgements are due besides."""
        if self.has(Fault.DROPS_REVOKED):
            return parts or self.assigned
        return list(dict.fromkeys((*parts, *(self.known[place] for place, _ in due))))

    def name(self, topic_id: UUID) -> str:
        """Return the name of a topic."""
        return self.brokers.names[topic_id]

    def fetch(self, wait_ms: int) -> None:
        """Fetch, with what is pending; what cannot go out with it fails."""
        assigned = [] if self.stopped else self.assigned
        leading = self.brokers.asked_for(self.topics, assigned, wait_ms)
        leading = leading[:4] if self.has(Fault.FOUR_BROKERS) else leading
        if self.has(Fault.BUSY):
            for _ in range(MANY):
                self.fetch_once(leading[0], {}, 0)
        if RENEW in self.pending.values() and not self.has(Fault.RENEWS_AND_FETCHES):
            self.acknowledge_apart()
        split, moved = self.split(self.due())
        if moved:
            self.complete(moved, lambda _place: "NOT_LEADER_OR_FOLLOWER")
        for seat in self.brokers.used():
            if seat not in leading:
                self.acknowledge_at(seat, split.pop(seat.id, {}), NEVER)
        for seat in leading:
            if self.has(Fault.REOPENS):
                seat.epoch = 0
            self.fetch_once(seat, split.get(seat.id, {}), wait_ms // len(leading))

    def fetch_once(self, seat: Seat, due: Due, wait_ms: int) -> None:
        """Send one fetch to a broker."""
        if not seat.epoch and due and not self.has(Fault.OPENS_WITH_ACKNOWLEDGEMENTS):
            self.complete(due, lambda _place: "SHARE_SESSION_NOT_FOUND")
            due = {}
        led = self.brokers.led_by(seat, self.assigned)
        gone = [part for part in seat.session if part not in led] if seat.epoch else []
        most = self.settings["max_poll_records"] * (2 if self.has(Fault.ASKS_MORE) else 1)
        limit = self.settings["acquire_mode"] == "record_limit"
        asked = request(
            "share_fetch",
            2,
            group_id=GROUP,
            member_id=self.member_id,
            share_session_epoch=seat.epoch,
            max_wait=wait_ms,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=most,
            batch_size=most,
            share_acquire_mode=int(limit and not self.has(Fault.RETURNS_MORE)),
            is_renew_ack=RENEW in due.values(),
            topics=batches(self.with_due(led, due), due, self.fault),
            forgotten_topics_data=[
                {"topic_id": topic, "partitions": [partition]} for topic, _, partition in gone
            ],
        )
        body, _ = self.exchange(seat, asked, due, "acknowledge_error_code", wait_ms)
        seat.session = self.with_due(led, due)
        for endpoint in body.node_endpoints if body else ():
            self.brokers.know(endpoint)
        for topic in topics_of(body, self.fault):
            for part in topic.partitions:
                self.receive(seat, (self.name(topic.topic_id), part.partition_index), part)

    def lose_leader(self, seat: Seat, place: Place, leader: int) -> None:
        """Follow a leader that moved, to the broker that is named or, by -1, that is asked for."""
        self.drop(seat, place)
        if self.has(Fault.STAYS_WITH_LEADER):
            return
        if leader == NEVER:
            self.brokers.refresh(self.topics)
        else:
            self.brokers.leaders[place] = leader

    def receive(self, seat: Seat, place: Place, part: Any) -> None:  # noqa: ANN401 - of a response
        """Take what was acquired of a partition into hand."""
        if part.error_code == NOT_LEADER:
            self.lose_leader(seat, place, part.current_leader.leader_id)
            return
        counts = counts_of(part.acquired_records, self.fault)
        values = values_of(part.records or b"", self.fault)
        if self.has(Fault.WHOLE_BATCH):
            counts = {offset: counts.get(offset, 1) for offset in values}
        self.stopped |= self.has(Fault.STOPS_AT_EMPTY) and has_empty(part.records or b"")
        refused = {offset for offset, value in values.items() if value == UNREADABLE}
        spoilt = counts.keys() & (unread(part.records or b"") | refused)
        for offset in spoilt:
            self.pending[place, offset] = ACCEPT if self.has(Fault.ACCEPTS_UNREAD) else REJECT
            self.givers[place, offset] = seat.id
        for offset in counts.keys() - values.keys() - spoilt:
            if not self.has(Fault.SILENT_ABOUT_GAPS):
                self.pending[place, offset] = ACCEPT if self.has(Fault.ACCEPTS_GAPS) else GAP
                self.givers[place, offset] = seat.id
        got = [
            Got(place, offset, count, values[offset], seat.id)
            for offset, count in sorted(counts.items())
            if offset in values.keys() - spoilt
        ]
        self.buffer += kept(got, self.fault)

    def end(self, _command: Values) -> Values:
        """Close: send what is pending with the final epoch, and leave the group."""
        if self.has(Fault.NEVER_CLOSES):
            raise GoneError("it was silent for 90 s")
        if self.has(Fault.ACCEPTS_AT_CLOSE):
            self.accept_current()
        if self.has(Fault.FORGETS_AT_CLOSE):
            self.pending = {}
        if self.brokers.used() or self.pending:
            self.acknowledge_apart(final=not self.has(Fault.HANGS_UP))
        if self.member is not None and not self.has(Fault.STAYS):
            self.member.leave()
        self.close()
        return {}


def main() -> None:
    """Answer commands on standard input; the first argument names a fault."""
    fault = Fault[sys.argv[1]] if len(sys.argv) > 1 else None
    client = ShareClient(fault)
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "goodbye":
            client.close()
            print("{}", flush=True)  # noqa: T201 - the protocol
            return
        if command["do"] == "hello":
            client = ShareClient(fault)
        print(json.dumps(client.ask(command)), flush=True)  # noqa: T201 - the protocol
        if command["do"] == "close":
            client.close()
            client = ShareClient(fault)


if __name__ == "__main__":
    main()
