"""Plays a script: a broker of its own, a client behind a driver, and a journal of both."""

import time
from collections.abc import Callable
from contextlib import suppress

import attrs

from clients.broker import Broker, running
from clients.drivers import Driver, opened, returned
from clients.events import (
    ACCEPT,
    RENEW,
    Called,
    ClientRecord,
    Delivered,
    Drained,
    Ended,
    Place,
    Returned,
    Waited,
)
from clients.judge import keeps_back
from clients.scripts import (
    ACKNOWLEDGE,
    HABITS,
    ODD,
    PRODUCES,
    SUBSCRIPTIONS,
    TRANSACTIONS,
    Do,
    Script,
)
from conformance.target import GoneError
from serve.rare import Habit

TOPIC, OTHER = SUBSCRIPTIONS[-1]
FAR = 1 << 32
"""Where the log of the other topic begins: its offsets need more than 32 bits."""
_REFUSED = "share.renew.acknowledge.enable", "false"
_COMMITTED = "share.isolation.level", "read_committed"
_INTERVAL = "share.heartbeat.interval.ms"
_EMPTY_POLLS = 2
"""A client has nothing more once so many polls in a row brought nothing, and nothing is left."""
_MOST_POLLS = 200
_HEARTBEATS = 2
"""The first tells a member that it is none any more, by the second it joins again."""
_STEP_SECONDS = 0.005
_IDLE_SECONDS = 1.0
_BRIEFLY_MS = 100


@attrs.frozen
class Pace:
    """How long a poll may wait, in ms, and how long polls go on while there is a record, in s.

    librdkafka asks each 10 s for metadata of a partition that is assigned and not in it.
    """

    poll_ms: int = 500
    patience_seconds: float = 15.0


def play(script: Script, start: Callable[[], Driver], pace: Pace | None = None) -> ClientRecord:
    """Play a script and return what happened. Raises TargetError where the driver fails."""
    with running(count=script.brokers) as broker:
        broker.topic(TOPIC, script.partitions)
        if any(do is Do.SUBSCRIBE for do, _ in script.steps):
            broker.topic(OTHER, 1, FAR)
        driver = start()
        try:
            opened(driver, broker.served.address, script.settings)
            with suppress(GoneError):  # The journal has it.
                _Application(broker, driver, script, pace or Pace()).run()
        finally:
            driver.close()
        return broker.journal.record(script.settings)


@attrs.define
class _Application:
    """The application of a script. ``pending`` are records that it may acknowledge.

    ``renewed`` are those that it renewed: until it acknowledges them otherwise they are its own,
    whether a poll returns them again or not. ``awaits``: it waits for the heartbeats that are due.
    ``until``: when its patience with polls that bring nothing is over, and ``acknowledged``, how
    many batches were when it began.
    """

    broker: Broker
    driver: Driver
    script: Script
    pace: Pace
    pending: list[Delivered] = attrs.field(factory=list)
    renewed: dict[tuple[Place, int], Delivered] = attrs.field(factory=dict)
    turn: int = 0
    moves: int = 0
    awaits: bool = True
    until: float = 0.0
    acknowledged: int = 0
    topics: tuple[str, ...] = (TOPIC,)

    def run(self) -> None:
        """Subscribe, take every step, and close the client."""
        self.call("subscribe", topics=self.topics)
        for do, number in self.script.steps:
            if self.broker.journal.full:
                return
            _STEPS[do](self, number)
        self.call("close")

    def produce(self, do: Do, number: int) -> None:
        """Append a batch of some kind to the partition whose turn it is."""
        place = self.place()
        if do in ODD:
            self.broker.odd(do, place, number)
        elif do in TRANSACTIONS:
            self.broker.transact(place, number, commits=do is Do.PRODUCE_COMMITTED)
        else:
            removed = range(1, number - 1, 3) if do is Do.PRODUCE_COMPACTED else ()
            self.broker.produce(place, number, frozenset(removed))

    def place(self) -> Place:
        """Return the partition whose turn it is to get records."""
        places = self.broker.places(self.topics)
        self.turn += 1
        return places[(self.turn - 1) % len(places)]

    def call(
        self, name: str, place: Place | None = None, topics: tuple[str, ...] = (), **numbers: int
    ) -> Returned:
        """Make a call of the application, and keep what it returned."""
        journal = self.broker.journal
        journal.note(Called(journal.now(), name, place=place or ("", 0), **numbers))
        asked: dict[str, object] = {"do": name, **numbers}
        if topics:
            asked["topics"] = [*topics]
        if place:
            asked["topic"], asked["partition"] = place
        try:
            answer = self.driver.ask(asked)
        except GoneError as error:
            journal.note(Ended(journal.now(), name, str(error)))
            raise
        result = returned(name, answer, journal.now())
        journal.note(result)
        return result

    def poll(self, timeout_ms: int = 0) -> Returned:
        """Poll once; what was pending before is pending on where that failed."""
        result = self.call("poll", timeout_ms=timeout_ms or self.pace.poll_ms)
        if result.error is None:
            again = {(record.place, record.offset) for record in result.records}
            kept = [record for key, record in self.renewed.items() if key not in again]
            self.pending = [*result.records, *kept]
        return result

    def poll_slowly(self) -> Returned:
        """Poll; one that brings nothing takes its part of the patience that polls are given.

        A client that acknowledges meanwhile gets on, such as through gaps, or with what it cannot
        read: patience begins again.
        """
        part = time.monotonic() + self.pace.patience_seconds / _MOST_POLLS
        result = self.poll()
        if result.records or self.broker.journal.acknowledged > self.acknowledged:
            self.be_patient()
        if not result.records:
            time.sleep(max(0.0, part - time.monotonic()))
        return result

    def be_patient(self) -> None:
        """Let patience with polls begin."""
        self.acknowledged = self.broker.journal.acknowledged
        self.until = time.monotonic() + self.pace.patience_seconds

    def poll_on(self) -> None:
        """Poll until something comes, as long as there is something."""
        self.be_patient()
        for _ in range(_MOST_POLLS):
            result = self.poll_slowly()
            if result.records or result.error is not None or not self.has_more():
                return
            if time.monotonic() > self.until:
                self.drained(starved=True)
                return

    def drained(self, *, starved: bool) -> None:
        """Take note that polls went on until nothing was left, or brought nothing all the time."""
        waited = int(self.pace.patience_seconds * 1000) if starved else 0
        waiting = self.broker.available(self.topics) if starved else ()
        self.broker.journal.note(Drained(self.broker.journal.now(), waited, waiting))

    def acknowledge(self, type_: int, number: int) -> None:
        """Acknowledge so many of the pending records, 0 for all."""
        if not self.script.settings.explicit:
            return
        count = number or len(self.pending)
        chosen, self.pending = self.pending[:count], self.pending[count:]
        for record in chosen:
            result = self.call("acknowledge", record.place, offset=record.offset, type=type_)
            key = record.place, record.offset
            if type_ == RENEW:
                self.renewed[key] = record
                self.pending.append(record)
            elif result.error is None:
                self.renewed.pop(key, None)

    def drain(self) -> None:
        """Append a record to each partition; take and accept whatever there is."""
        for place in self.broker.places(self.topics):
            self.broker.produce(place, 1)
        self.be_patient()
        empty = 0
        for _ in range(_MOST_POLLS):
            self.acknowledge(ACCEPT, 0)
            result = self.poll_slowly()
            empty = empty + 1 if not (result.records or self.has_more()) else 0
            if empty >= _EMPTY_POLLS or time.monotonic() > self.until or self.broker.journal.full:
                self.drained(starved=not empty)
                return

    def has_more(self) -> bool:
        """Whether a fetch could get records, or the client was given some and keeps them back."""
        if self.broker.available(self.topics):
            return True
        return keeps_back(self.broker.journal.record(self.script.settings))

    def move_coordinator(self) -> None:
        """Let another broker be the coordinator, and wait for a heartbeat that reaches it."""
        before, journal = self.broker.move_coordinator(), self.broker.journal
        if before is not None:
            self.wait_for_heartbeats(lambda: journal.welcomed > before)

    def rejoined(self, before: int | None) -> None:
        """Wait for heartbeats beyond so many."""
        journal = self.broker.journal
        if before is not None:
            self.wait_for_heartbeats(lambda: journal.heartbeats >= before + _HEARTBEATS)

    def wait_for_heartbeats(self, came: Callable[[], bool]) -> None:
        """Wait until heartbeats came. A client that seeks its coordinator in vain is not timed."""
        if not self.awaits:
            self.awaits = True
            return
        journal, sought = self.broker.journal, (Habit.NO_COORDINATOR,)
        began, until = journal.now(), time.monotonic() + self.pace.patience_seconds
        while not came():
            if time.monotonic() > until:
                if not self.broker.do(lambda cluster: cluster.rare.next_of(sought)):
                    journal.note(Waited(journal.now(), journal.now() - began))
                return
            time.sleep(_STEP_SECONDS)

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Change the subscription, and wait until the client can know its new assignment."""
        self.topics, journal = topics, self.broker.journal
        before = journal.heartbeats or None
        self.call("subscribe", topics=topics)
        self.rejoined(before)

    def create_again(self) -> None:
        """Delete the topic, and create it anew with as many partitions and no records."""
        partitions = len(self.broker.places((TOPIC,)))
        before = self.broker.delete(TOPIC)
        if self.awaits:
            self.rejoined(before)
        self.rejoined(self.broker.create(TOPIC, partitions))

    def interval(self, ms: int) -> None:
        """Set the interval of heartbeats, and wait for one that learns it and the next."""
        before = self.broker.journal.heartbeats or None
        self.broker.set_group(_INTERVAL, str(ms))
        self.rejoined(before)

    def unheard(self, habit: Habit) -> None:
        """Let the coordinator not look at a heartbeat, and wait for that one and the next."""
        before = self.broker.journal.heartbeats or None
        self.broker.do(lambda cluster: cluster.rare.arm(habit))
        self.rejoined(before)

    def hang_up(self) -> None:
        """End idle connections, once there is one; a client that has none keeps it waiting 1 s."""
        until = time.monotonic() + _IDLE_SECONDS
        while not self.broker.hang_up() and time.monotonic() < until:
            time.sleep(_STEP_SECONDS)

    def move_leader(self, *, named: bool) -> None:
        """Let the next broker lead the partition whose turn that is."""
        self.broker.move_leader((TOPIC, self.moves % self.script.partitions), named=named)
        self.moves += 1

    def at_once(self) -> None:
        """Let the next step that waits for heartbeats not do so."""
        self.awaits = False

    def commit(self, timeout_ms: int) -> None:
        """Commit, and wait so long for the outcome."""
        self.call("commit", timeout_ms=timeout_ms)


_Step = Callable[[_Application, int], object]


def _arming(habit: Habit) -> _Step:
    return lambda app, _n: app.broker.do(lambda cluster: cluster.rare.arm(habit))


def _unheard(habit: Habit) -> _Step:
    return lambda app, _n: app.unheard(habit)


def _acknowledging(type_: int) -> _Step:
    return lambda app, number: app.acknowledge(type_, number)


def _producing(do: Do) -> _Step:
    return lambda app, number: app.produce(do, number)


_STEPS: dict[Do, _Step] = {
    **{do: _arming(habit) for do, habit in HABITS.items()},
    **{do: _acknowledging(type_) for type_, do in enumerate(ACKNOWLEDGE, start=ACCEPT)},
    **{do: _producing(do) for do in PRODUCES},
    Do.POLL: lambda app, _n: app.poll_on(),
    Do.THROW: lambda app, _n: app.call("throw"),
    Do.POLL_ONCE: lambda app, _n: app.poll(),
    Do.POLL_FOR: lambda app, number: app.poll(number),
    Do.COMMIT: lambda app, _n: app.commit(int(app.pace.patience_seconds * 1000)),
    Do.COMMIT_BRIEFLY: lambda app, _n: app.commit(_BRIEFLY_MS),
    Do.COMMIT_ASYNC: lambda app, _n: app.call("commit_async"),
    Do.DRAIN: lambda app, _n: app.drain(),
    Do.IDLE: lambda _app, number: time.sleep(number / 1000),
    Do.AT_ONCE: lambda app, _n: app.at_once(),
    Do.SUBSCRIBE: lambda app, number: app.subscribe(SUBSCRIPTIONS[number - 1]),
    Do.INTERVAL: lambda app, number: app.interval(number),
    Do.EVICT: lambda app, _n: app.broker.evict(),
    Do.CROWD: lambda app, _n: app.broker.crowd(),
    Do.MISNUMBER: lambda app, _n: app.broker.misnumber(),
    Do.LAPSE: lambda app, _n: app.broker.lapse(),
    Do.REFUSE_RENEWALS: lambda app, _n: app.broker.set_group(*_REFUSED),
    Do.READ_COMMITTED: lambda app, _n: app.broker.set_group(*_COMMITTED),
    Do.ANSWER_LAST: lambda app, number: app.broker.do(lambda c: c.rare.answer_last(number)),
    Do.RESTART: lambda app, number: app.broker.restart(number),
    Do.MOVE_LEADER: lambda app, _n: app.move_leader(named=True),
    Do.MOVE_LEADER_UNNAMED: lambda app, _n: app.move_leader(named=False),
    Do.MOVE_COORDINATOR: lambda app, _n: app.move_coordinator(),
    Do.HANG_UP: lambda app, _n: app.hang_up(),
    # After these the client joins again, or learns another assignment.
    **{do: _unheard(HABITS[do]) for do in (Do.LOADING, Do.UNAVAILABLE)},
    Do.EXPEL: lambda app, _n: app.rejoined(app.broker.expel()),
    Do.FENCE: lambda app, _n: app.rejoined(app.broker.fence()),
    Do.SECOND_MEMBER: lambda app, _n: app.rejoined(app.broker.second_member(TOPIC)),
    Do.SECOND_LEAVES: lambda app, _n: app.rejoined(app.broker.second_leaves()),
    Do.CREATE_AGAIN: lambda app, _n: app.create_again(),
    Do.ADD_PARTITION: lambda app, _n: app.rejoined(app.broker.add_partition(TOPIC, late=False)),
    Do.ADD_PARTITION_LATE: lambda app, _n: app.rejoined(app.broker.add_partition(TOPIC, late=True)),
}
