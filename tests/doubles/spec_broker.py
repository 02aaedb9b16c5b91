"""The specification as a broker in process, whose clock is virtual and whose choices are random.

Whatever the rules leave open it does in some way, and late where it may be late, so that a judge
that objects is wrong. With a behaviour of the catalogue its share-partitions take faulty steps, and
with a ``WireFault`` it does another thing wrong.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

import attrs
from immutables import Map

from conformance.target import TargetError
from conformance.wire.target import (
    Described,
    Exchange,
    GroupTopic,
    NamedNode,
    WireCapabilities,
    WireHello,
)
from judge.view import durable, snapshot
from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError
from model.operations import AdvanceLogStart, Produce
from model.outcome import Choice
from model.profile import profile_named
from model.ranges import OffsetRange, offsets
from model.share_messages import (
    Conduct,
    PartitionConduct,
    ShareFetch,
    ShareRequest,
    ShareResponse,
    TopicPartition,
)
from model.states import AcquireMode
from spec import share_broker, share_request
from spec.coordinator import Durable
from spec.lag import durable_lag, lag
from spec.log import Log, readable_end
from spec.partition import SharePartition
from spec.share_broker import Handled, ShareBroker
from spec.share_request import handle, readable
from spec.share_session import ShareSession
from spec.window import replace
from tests.doubles.broker_faults import (
    BrokerFault,
    WireFault,
    faulty_conduct,
    faulty_coordinator,
    faulty_description,
    faulty_log,
    faulty_profile,
    faulty_request,
    faulty_response,
    spec_of,
)
from tools.promises.behaviour import HONEST

CAPABILITIES = WireCapabilities(
    fetch_versions=(1, 2),
    acknowledge_versions=(1, 2),
    acquire_modes=tuple(mode.value for mode in AcquireMode),
    renew=True,
    offsets=True,
    lag=True,
    delete_records=True,
    gaps=True,
    aborted=True,
    transactions=True,
    coordinators=True,
    alters=True,
    recreates=True,
    config=True,
    committed=True,
    delivery_limits=(2, 3, 5),
    lock_limits=(4, 8, 20),
    max_sequence_ms=10**6,
)

_TRIP_MS = 2.0
_NOTICE_MS = 1000.0
_PATIENT_MS = 500
"""Who waits as long for records gets them."""

_TOPIC = "00000000-0000-0000-0000-000000000001"
_GROUP = "group"


class SpecBroker:
    """A broker under test, in memory. The same seed gives the same choices."""

    def __init__(
        self,
        fault: BrokerFault = HONEST,
        profile: str = "kip",
        seed: int = 0,
        can: WireCapabilities = CAPABILITIES,
    ) -> None:
        """Do this one thing wrong, and say that this can be done."""
        self._can = can
        self._fault, self._profile, self._seed = fault, profile, seed
        modules = spec_of(fault)
        self._share_broker = modules[share_broker.__name__]
        self._share_request = modules[share_request.__name__]
        self._clock = 0.0
        self._open = False

    def hello(self) -> WireHello:
        """Return who this is."""
        return WireHello(f"specification: {self._fault.name}", "1", self._profile, self._can)

    def open(self, config: SharePartitionConfig, partitions: int, group: str = "") -> GroupTopic:
        """Begin anew: every place has the same names, and the same choices are made in it."""
        self._group = f"{_GROUP}{group}"
        self._random = Random(f"{self._seed}:{config}:{partitions}")  # noqa: S311 - no secret
        profile = faulty_profile(self._fault, profile_named(self._profile))
        broker = ShareBroker(profile, topics=Map({_TOPIC: partitions}))
        for at in (TopicPartition(_TOPIC, p) for p in range(partitions)):
            broker = share_broker.lead(broker, (self._group, at), config, Log(0, 0), Durable())
        if self._one_in(2):
            staying = {(self._group, "-"): ShareSession(1, "-")}
            broker = attrs.evolve(broker, sessions=Map(staying))
        self._tells_durable = self._one_in(2)
        self._broker: ShareBroker = attrs.evolve(broker, now=int(self._clock))
        self._logs: dict[TopicPartition, list[OffsetRange]] = {}
        self._aborted: dict[TopicPartition, tuple[OffsetRange, ...]] = {}
        self._transactions: dict[TopicPartition, tuple[OffsetRange, ...]] = {}
        self._produced: Counter[TopicPartition] = Counter()
        self._gone: dict[str, float] = {}
        self._due: dict[tuple[TopicPartition, int], float] = {}
        self._open = True
        return GroupTopic(self._group, _TOPIC, partitions)

    def produce(
        self,
        place: GroupTopic,
        partition: int,
        batches: Sequence[tuple[int, int]],
        *,
        aborted: bool = False,
    ) -> tuple[OffsetRange, ...]:
        """Append log batches; what is missing before one is not in the log, as a marker is not."""
        at = TopicPartition(place.topic_id, partition)
        ranges = self._placed(at, batches)
        before = self._aborted.get(at, ())
        if aborted or (before and self._fault is WireFault.COMMITTED_IS_KEPT_BACK):
            self._aborted[at] = (*before, *ranges)
        self._append(at, ranges, ranges[-1].last + 1 + aborted)
        return ranges

    def produce_open(
        self, place: GroupTopic, partition: int, batches: Sequence[tuple[int, int]]
    ) -> tuple[OffsetRange, ...]:
        """Append log batches of the open transaction."""
        at = TopicPartition(place.topic_id, partition)
        ranges = self._placed(at, batches)
        self._transactions[at] = (*self._transactions.get(at, ()), *ranges)
        self._append(at, ranges, ranges[-1].last + 1)
        return ranges

    def end_transaction(self, place: GroupTopic, partition: int, *, committed: bool) -> None:
        """End the open transaction. Raises KeyError if there is none."""
        at = TopicPartition(place.topic_id, partition)
        ended = self._transactions[at]
        if self._fault is not WireFault.COMMIT_IS_UNNOTICED or not committed:
            del self._transactions[at]
        if not committed and self._fault is not WireFault.ABORT_IS_UNNOTICED:
            self._aborted[at] = tuple(sorted((*self._aborted.get(at, ()), *ended), key=_first))
        self._append(at, (), self._end(at) + 1)

    def _end(self, at: TopicPartition) -> int:
        return self._broker.partitions[self._group, at].log.end_offset

    def _placed(
        self, at: TopicPartition, batches: Sequence[tuple[int, int]]
    ) -> tuple[OffsetRange, ...]:
        """Return the offsets of log batches that are to follow the end of the log."""
        end, ranges = self._end(at), []
        for missing, size in batches:
            ranges.append(OffsetRange(end + missing, end + missing + size - 1))
            end += missing + size
        return tuple(ranges)

    def _append(self, at: TopicPartition, ranges: tuple[OffsetRange, ...], end: int) -> None:
        known = faulty_log(self._fault, self._produced[at], ranges)
        self._produced[at] += len(ranges)
        self._broker = self._share_broker.append(
            self._broker, at, Produce(known, end, self._stable(at))
        )
        self._logs.setdefault(at, []).extend(known)

    def _stable(self, at: TopicPartition) -> int | None:
        """Return where the open transaction begins; None if there is none, or it is not minded."""
        if self._fault in (WireFault.OPEN_IS_DELIVERED, WireFault.OPEN_IS_SKIPPED):
            return None
        return min((one.first for one in self._transactions.get(at, ())), default=None)

    def delete_records(self, place: GroupTopic, partition: int, before: int) -> None:
        """Move the log start offset up; the leader notices with some later request."""
        key = (place.group, TopicPartition(place.topic_id, partition))
        there = self._broker.partitions[key]
        if self._fault is not WireFault.LOG_START_IGNORED:
            there = attrs.evolve(there, log=attrs.evolve(there.log, start_offset=before))
            partitions = self._broker.partitions.set(key, there)
            self._broker = attrs.evolve(self._broker, partitions=partitions)

    def disconnect(self, connection: str) -> None:
        """Close a connection, which is noticed some time later."""
        self._gone[connection] = self._clock + self._random.random() * _NOTICE_MS

    def alter_offset(self, place: GroupTopic, partition: int, offset: int) -> None:
        """Set the durable state, with no record in flight."""
        if self._fault is not WireFault.OFFSETS_STAY:
            count = -1 if self._fault is WireFault.LAG_IS_LOST else 0
            self._begin_again(TopicPartition(place.topic_id, partition), Durable(offset, count))

    def recreate(self, place: GroupTopic, *, topic: bool) -> GroupTopic:
        """Forget what is durable of the group, and the log if the topic is deleted, too."""
        if topic:
            config = self._broker.partitions[self._group, TopicPartition(_TOPIC, 0)].config
            return self.open(config, place.partitions, place.group.removeprefix(_GROUP))
        for at in (TopicPartition(_TOPIC, p) for p in range(place.partitions)):
            kept = durable(self._broker.partitions[self._group, at])
            survives = self._fault is WireFault.STATE_SURVIVES
            self._begin_again(at, Durable(kept.start_offset, 0) if survives else Durable())
        return place

    def _begin_again(self, at: TopicPartition, state: Durable) -> None:
        key = self._group, at
        there = self._broker.partitions[key]
        start, end = there.log.start_offset, there.log.end_offset
        broker = self._share_broker.lead(self._broker, key, there.config, Log(0, 0), state)
        whole = Produce(tuple(self._logs.get(at, ())), end, self._stable(at))
        broker = self._share_broker.append(broker, at, whole)
        there = broker.partitions[key]
        there = attrs.evolve(there, log=attrs.evolve(there.log, start_offset=start))
        self._broker = attrs.evolve(broker, partitions=broker.partitions.set(key, there))

    def coordinator_of(self, key: str) -> NamedNode:
        """Name node 1, or refuse a key that is none."""
        return faulty_coordinator(self._fault, key)

    def wait(self, ms: float) -> None:
        """Let virtual time pass."""
        self._clock += ms

    def finish(self, place: GroupTopic) -> None:
        """Forget the place. Raises TargetError if it is not open."""
        if not self._open:
            raise TargetError(f"{place.group} is not open")
        self._open = False

    def close(self) -> None:
        """Do nothing: there is nothing to let go."""

    def ask(self, place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:
        """Serve a request somewhere between sending it and having the response.

        Choices depend on the request and the share-partitions only, so that a sequence can be
        shortened.
        """
        if not self._open:
            raise TargetError(f"{place.group} is not open")
        seen = [snapshot(there) for there in self._broker.partitions.values()]
        plain = attrs.evolve(request, session_epoch=0)
        self._random = Random(f"{self._seed}:{plain}:{seen}")  # noqa: S311 - no secret
        sent = self._clock
        self._clock += self._random.random() * _TRIP_MS
        self._pass_time()
        self._notice(request)
        before, taken = faulty_request(self._fault, self._broker, request)
        handled = self._handled(before, taken, connection)
        self._broker, response = faulty_response(self._fault, before, handled, request)
        self._note_locks()
        self._clock += self._random.random() * _TRIP_MS
        if isinstance(request, ShareFetch) and self._waits(response):
            self._clock += request.max_wait_ms
        read = self._read(response)
        return Exchange(
            response,
            sent,
            self._clock,
            read,
            lock_timeout_ms=self._can.lock_ms,
            altered=self._altered(read),
            leaders=self._leaders(response),
        )

    def _leaders(self, response: ShareResponse) -> tuple[tuple[TopicPartition, int], ...]:
        wrong = self._fault is WireFault.NODE_0_LEADS
        return tuple(
            (p.topic_partition, 0)
            for p in response.partitions
            if wrong and p.error is not ErrorCode.NONE
        )

    def _waits(self, response: ShareResponse) -> bool:
        """Return whether it waits in vain for records: now and then not, for another reason."""
        if self._fault is WireFault.NEVER_WAITS or int(self._clock) % 5 == 0:
            return False
        return not any(part.acquired for part in response.partitions)

    def _altered(
        self, read: tuple[tuple[TopicPartition, tuple[OffsetRange, ...]], ...]
    ) -> tuple[tuple[TopicPartition, tuple[int, ...]], ...]:
        if self._fault is not WireFault.VALUES_ALTERED:
            return ()
        return tuple((at, tuple(o for o in offsets(some) if o % 3 == 2)) for at, some in read)

    def describe(self, place: GroupTopic, partition: int) -> Described:
        """Tell what is durable, or what is in memory."""
        sent = self._clock
        self._clock += self._random.random() * _TRIP_MS
        self._pass_time()
        at = TopicPartition(place.topic_id, partition)
        there = self._broker.partitions[self._group, at]
        kept, end = durable(there), there.log.end_offset
        start, told = kept.start_offset, durable_lag(end, kept)
        if there.ready and not self._tells_durable:
            start, told = there.window.start_offset, lag(there)
        if self._fault is WireFault.LAG_IGNORES_COMPLETE and told is not None:
            told = end - max(0, start)
        said = Described(ErrorCode.NONE, start, told, sent, self._clock, 0, 0)
        return faulty_description(self._fault, said, there.window.complete if there.ready else 0)

    def _handled(self, broker: ShareBroker, request: ShareRequest, connection: str) -> Handled:
        """Serve a request in a random way, the plain one, or giving nothing: what is legal."""
        nothing = PartitionConduct(acquire=Choice(acquired=(), entered=()), log_batches=())
        idle = Conduct(tuple((at, nothing) for _group, at in broker.partitions))
        plain = Conduct(
            tuple(
                (at, PartitionConduct(aborted=self._kept_back(at)))
                for _group, at in broker.partitions
            )
        )
        for conduct in (self._conduct(broker, request), plain):
            with suppress(IllegalChoiceError):
                chosen = faulty_conduct(self._fault, broker, conduct)
                asked = broker, request, broker.now, chosen, connection
                handled = handle(*asked)
                return handled if self._share_request is share_request else self._served(*asked)
        return self._served(broker, request, broker.now, idle, connection)

    def _served(self, *asked: Any) -> Handled:  # noqa: ANN401 - as of ``handle``
        handled: Handled = self._share_request.handle(*asked)
        return handled

    def _kept_back(self, at: TopicPartition) -> tuple[OffsetRange, ...]:
        aborted = self._aborted.get(at, ())
        if self._fault is WireFault.OPEN_IS_SKIPPED:
            return (*aborted, *self._transactions.get(at, ()))
        return aborted

    def _conduct(self, broker: ShareBroker, request: ShareRequest) -> Conduct:
        chosen = []
        for group, at in broker.partitions:
            there = broker.partitions[group, at]
            further = self._random.randint(1, 3) if self._one_in(5) else None
            batches = self._batches(there, at, one=further is not None)
            if not _is_patient(request) and self._one_in(10):
                batches = ()
            acquire = Choice(
                start_offset=there.window.start_offset if self._one_in(5) else None,
                end_offset=there.window.end_offset + further if further else None,
            )
            aborted = self._kept_back(at)
            one = PartitionConduct(acquire=acquire, log_batches=batches, aborted=aborted)
            chosen.append((at, one))
        return Conduct(tuple(chosen))

    def _batches(
        self, there: SharePartition, at: TopicPartition, *, one: bool
    ) -> tuple[OffsetRange, ...] | None:
        """Read every log batch from the first available record on, or only the first one.

        A log that lost records cannot be read before that is noticed. None: every record that
        fits, one to a batch.
        """
        if _is_behind(there):
            return ()
        free, end = readable(there, 1), readable_end(there.log, there.config.isolation_level)
        log = self._logs.get(at, [])
        known = [batch for batch in log if free and free[0].first <= batch.last < end]
        if one:
            return tuple(known[:1])
        return tuple(known) if self._one_in(2) else None

    def _pass_time(self) -> None:
        """Move the clock on; a lock that is over may last some more, but not for long."""
        now, broker = int(self._clock), self._broker
        late = self._one_in(2)
        for key, there in broker.partitions.items():
            times = {}
            for offset in there.window.held:
                due = self._due[key[1], offset]
                stays = due > now or (late and due + self._can.sweep_ms > now)
                times[offset] = now + 1 if stays else now
            timed = {
                o: attrs.evolve(there.window.records[o], deadline=time) for o, time in times.items()
            }
            there = attrs.evolve(there, window=replace(there.window, timed))  # noqa: PLW2901
            broker = attrs.evolve(broker, partitions=broker.partitions.set(key, there))
        self._broker = self._share_broker.advance(broker, now)

    def _note_locks(self) -> None:
        for key, there in self._broker.partitions.items():
            for offset in there.window.held:
                deadline = there.window.records[offset].deadline
                if deadline == self._broker.now + there.config.record_lock_duration_ms:
                    self._due[key[1], offset] = deadline

    def _notice(self, request: ShareRequest) -> None:
        """Notice, or not yet, that connections are gone and that logs lost records."""
        for connection, time in list(self._gone.items()):
            if self._clock >= time:
                gone = self._share_broker.disconnect(self._broker, connection, self._broker.now)
                self._broker = gone.broker
                del self._gone[connection]
        for key, there in self._broker.partitions.items():
            if _is_behind(there) and (_is_patient(request) or self._one_in(2)):
                operation = AdvanceLogStart(there.log.start_offset)
                self._broker, _ = self._share_broker.apply_to(self._broker, key, operation)

    def _one_in(self, number: int) -> bool:
        return self._random.randrange(number) == 0

    def _read(
        self, response: ShareResponse
    ) -> tuple[tuple[TopicPartition, tuple[OffsetRange, ...]], ...]:
        """Return the log batches in which acquired records are."""
        found = []
        for said in response.partitions:
            batches = tuple(
                batch
                for batch in self._logs.get(said.topic_partition, [])
                if any(one.first <= batch.last and batch.first <= one.last for one in said.acquired)
            )
            cut = batches[1:] if self._fault is WireFault.RECORDS_LEFT_OUT else batches
            found.append((said.topic_partition, cut))
        return tuple(found)


def _first(batch: OffsetRange) -> int:
    return batch.first


def _is_patient(request: ShareRequest) -> bool:
    return isinstance(request, ShareFetch) and request.max_wait_ms >= _PATIENT_MS


def _is_behind(there: SharePartition) -> bool:
    """Whether the leader has yet to notice where the log starts."""
    return there.ready and there.window.start_offset < there.log.start_offset
