"""``serve`` in process as a broker under test, whose clock is virtual and whose choices are random.

Requests and answers go through the protocol. Whatever the rules leave open it does in some way, and
late where it may be late, so that a judge that objects is wrong. With a behaviour of the catalogue
its share-partitions take faulty steps, and with a ``WireFault`` it does another thing wrong.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from random import Random
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import attrs
from immutables import Map

from conformance.target import TargetError
from conformance.wire.codec import exchange, message
from conformance.wire.connection import Replied
from conformance.wire.messages import Message, answered, encoded, received, request, response
from conformance.wire.target import (
    BatchOrigin,
    Described,
    Exchange,
    GroupTopic,
    NamedNode,
    WireCapabilities,
    WireHello,
)
from judge.view import durable, snapshot
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError
from model.operations import AdvanceLogStart, Produce
from model.outcome import Choice
from model.profile import profile_named
from model.ranges import OffsetRange
from model.share_messages import (
    Conduct,
    PartitionConduct,
    ShareFetch,
    ShareRequest,
    ShareResponse,
    TopicPartition,
)
from model.states import AcquireMode
from serve import coordination, share_api, topics
from serve.apis import APIS
from serve.asked import Call
from serve.batches import Stored
from serve.coordination import LEAVE, Beat
from serve.node import Cluster, Options, Topic
from serve.record_log import RecordLog, delete_below
from spec import share_broker, share_request
from spec.coordinator import Durable
from spec.lag import lag
from spec.log import Log, readable_end
from spec.partition import SharePartition
from spec.share_broker import Handled, ShareBroker
from spec.share_request import Received, readable
from spec.share_session import ShareSession
from spec.window import replace
from tests.doubles.brief_members import LEAST, MEMBER, NAME, BriefMembers
from tests.doubles.broker_faults import (
    FAULTY_API,
    BrokerFault,
    WireFault,
    faulty_conduct,
    faulty_config,
    faulty_coordinator,
    faulty_description,
    faulty_log,
    faulty_profile,
    faulty_request,
    faulty_reset,
    faulty_response,
    modules_of,
    written,
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
    resets=tuple(each.value for each in AutoOffsetReset),
    renew_setting=True,
    heartbeats_ms=(500, 15_000),
    timeout_ms=1000,
    committed=True,
    delivery_limits=(2, 3, 5),
    lock_limits=(4, 8, 20),
    max_sequence_ms=10**6,
)

_TRIP_MS = 2.0
_NOTICE_MS = 1000.0
_PATIENT_MS = 500
"""Who waits as long for records gets them."""

_YOUNG_MS = -1_800_000
_MS = {BatchOrigin.OLD: -7_200_000, BatchOrigin.OPEN: 0}
"""The timestamps of records."""
_TOPIC = UUID(int=1)
Ranges = tuple[OffsetRange, ...]
_GROUP = "group"
_BOTH = ("", "min.")
_FREE = Conduct()


class SpecBroker(BriefMembers):
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
        self._modules = modules_of(fault, "spec.", "serve.")
        self._share_broker = self._modules[share_broker.__name__]
        self._coordination = self._modules[coordination.__name__]
        self._topics = self._modules[topics.__name__]
        api = vars(self._modules[share_api.__name__])
        self._receive, self._complete = api["receive"], api["complete"]
        api.update(wait_until=_at_once, receive=self._began, complete=self._ended)
        api.update(FAULTY_API.get(fault, {}))
        vars(self._topics).update(uuid4=lambda: _TOPIC, config_of=lambda *_: self._config)
        self._clock = 0.0
        self._open = False

    def hello(self) -> WireHello:
        """Return who this is."""
        return WireHello(f"specification: {self._fault.name}", "1", self._profile, self._can)

    def open(self, config: SharePartitionConfig, partitions: int, group: str = "") -> GroupTopic:
        """Begin anew: every place has the same names, and the same choices are made in it."""
        self._group, self._config = f"{_GROUP}{group}", faulty_config(self._fault, config)
        self._random = Random(f"{self._seed}:{config}:{partitions}")  # noqa: S311 - no secret
        profile = faulty_profile(self._fault, profile_named(self._profile))
        locks = {f"group.share.{name}record.lock.duration.ms": self._can.lock_ms for name in _BOTH}
        locks |= LEAST
        now = lambda: int(self._clock)  # noqa: E731 - three clocks are one
        self._cluster = Cluster(
            Options(profile, broker=locks, group=faulty_reset(self._fault)), now, now, now
        )
        self._topic: Topic = self._topics.create_topic(self._cluster, NAME, partitions)
        self._join()
        if self._one_in(2):
            staying = {(self._group, MEMBER): ShareSession(1, MEMBER)}
            self._share = attrs.evolve(self._share, sessions=Map(staying))
        self._tells_durable = self._one_in(2)
        self._transactions: dict[TopicPartition, tuple[OffsetRange, ...]] = {}
        self._produced: Counter[TopicPartition] = Counter()
        self._gone: dict[str, float] = {}
        self._due: dict[tuple[TopicPartition, int], float] = {}
        self._open = True
        return GroupTopic(self._group, str(_TOPIC), partitions)

    def _join(self) -> None:
        beat = Beat(self._group, MEMBER, 0, frozenset({NAME}))
        self._coordination.heartbeat(self._cluster, beat)

    def _leave(self) -> None:
        self._coordination.leave(self._cluster, Beat(self._group, MEMBER, LEAVE, None))

    @property
    def _share(self) -> ShareBroker:
        return self._cluster.nodes[0].share(self._group)

    @_share.setter
    def _share(self, share: ShareBroker) -> None:
        self._cluster.nodes[0].put(self._group, share)

    def _alter(self, at: TopicPartition, **fields: Any) -> None:  # noqa: ANN401 - as they are
        """Alter fields of a share-partition where the leader has it."""
        share, key = self._share, (self._group, at)
        there = attrs.evolve(share.partitions[key], **fields)
        self._share = attrs.evolve(share, partitions=share.partitions.set(key, there))

    def _log(self, at: TopicPartition) -> RecordLog:
        return self._topic.logs[at.partition]

    def produce(
        self,
        place: GroupTopic,
        partition: int,
        batches: Sequence[tuple[int, int]],
        origin: BatchOrigin = BatchOrigin.PLAIN,
    ) -> tuple[OffsetRange, ...]:
        """Append log batches; what is missing before one is not in the log, as a marker is not."""
        at, aborted = TopicPartition(place.topic_id, partition), origin is BatchOrigin.ABORTED
        ranges, log = self._placed(at, batches), self._log(at)
        if origin is BatchOrigin.OPEN:
            self._transactions[at] = (*self._transactions.get(at, ()), *ranges)
        elif aborted or (log.aborted and self._fault is WireFault.COMMITTED_IS_KEPT_BACK):
            log.aborted += ranges
        self._append(at, ranges, ranges[-1].last + 1 + aborted, _MS.get(origin, _YOUNG_MS))
        return ranges

    def end_transaction(self, place: GroupTopic, partition: int, *, committed: bool) -> None:
        """End the open transaction. Raises KeyError if there is none."""
        at = TopicPartition(place.topic_id, partition)
        ended = self._transactions[at]
        if self._fault is not WireFault.COMMIT_IS_UNNOTICED or not committed:
            del self._transactions[at]
        if not committed and self._fault is not WireFault.ABORT_IS_UNNOTICED:
            self._log(at).aborted = sorted(
                (*self._log(at).aborted, *ended), key=attrgetter("first")
            )
        self._append(at, (), self._log(at).end + 1)

    def _placed(self, at: TopicPartition, batches: Sequence[tuple[int, int]]) -> Ranges:
        """Return the offsets of log batches that are to follow the end of the log."""
        end, ranges = self._log(at).end, []
        for missing, size in batches:
            ranges.append(OffsetRange(end + missing, end + missing + size - 1))
            end += missing + size
        return tuple(ranges)

    def _append(self, at: TopicPartition, ranges: Ranges, end: int, ms: int = 0) -> None:
        log, known = self._log(at), faulty_log(self._fault, self._produced[at], ranges)
        self._produced[at] += len(ranges)
        number = at.partition, self._fault is WireFault.VALUES_ALTERED
        log.batches += [Stored(one.first, one.last, ms, written(one, *number)) for one in known]
        log.end = end
        produced = Produce(known, end, self._stable(at))
        self._share = self._share_broker.append_to(self._share, (self._group, at), produced)

    def _stable(self, at: TopicPartition) -> int | None:
        """Return where the open transaction begins; None if there is none, or it is not minded."""
        if self._fault in (WireFault.OPEN_IS_DELIVERED, WireFault.OPEN_IS_SKIPPED):
            return None
        return min((one.first for one in self._transactions.get(at, ())), default=None)

    def delete_records(self, place: GroupTopic, partition: int, before: int) -> None:
        """Move the log start offset up; the leader notices with some later request."""
        at = TopicPartition(place.topic_id, partition)
        if self._fault is not WireFault.LOG_START_IGNORED:
            delete_below(self._log(at), before)
            known = self._share.partitions[self._group, at].log
            self._alter(at, log=attrs.evolve(known, start_offset=before))

    def disconnect(self, connection: str) -> None:
        """Close a connection, which is noticed some time later."""
        self._gone[connection] = self._clock + self._random.random() * _NOTICE_MS

    def alter_offset(self, place: GroupTopic, partition: int, offset: int) -> None:
        """Alter the start offset while the group has no member."""
        if self._fault is WireFault.OFFSETS_STAY:
            return
        at = TopicPartition(place.topic_id, partition)
        before = self._share.partitions[self._group, at]
        self._leave()
        self._coordination.alter_offsets(self._cluster, self._group, {at: offset})
        self._join()
        lost = Durable(offset, -1) if self._fault is WireFault.LAG_IS_LOST else None
        self._led_anew(at, before, lost)

    def recreate(self, place: GroupTopic, *, topic: bool) -> GroupTopic:
        """Delete the group, and the topic or nothing, and create them again."""
        if topic:
            return self.open(self._config, place.partitions, place.group.removeprefix(_GROUP))
        before, survives = self._share.partitions, self._fault is WireFault.STATE_SURVIVES
        self._leave()
        self._coordination.delete_group(self._cluster, self._cluster.groups[self._group])
        self._join()
        for (_group, at), there in before.items():
            kept = Durable(durable(there).start_offset, 0) if survives else None
            self._led_anew(at, there, kept)
        return place

    def _led_anew(self, at: TopicPartition, before: SharePartition, state: Durable | None) -> None:
        """Let the leader that begins anew know what ``serve`` has not: gaps, open transactions.

        It reads this state, if one is given. What the leader knew of the log before lacks the gaps
        that its window had passed.
        """
        read = self._share.partitions[self._group, at].durable
        self._alter(at, log=Log(0, 0), durable=state or read)
        known = tuple(OffsetRange(one.first, one.last) for one in self._log(at).batches)
        produced = Produce(known, self._log(at).end, self._stable(at))
        self._share = self._share_broker.append_to(self._share, (self._group, at), produced)
        log = self._share.partitions[self._group, at].log
        self._alter(at, log=attrs.evolve(log, start_offset=before.log.start_offset))

    def coordinator_of(self, key: str) -> NamedNode:
        """Name node 1, or refuse a key that is none; ``serve`` has no share coordinator."""
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
        seen = [snapshot(there) for there in self._share.partitions.values()]
        plain = attrs.evolve(request, session_epoch=0)
        self._random = Random(f"{self._seed}:{plain}:{seen}")  # noqa: S311 - no secret
        sent = self._clock
        self._clock += self._random.random() * _TRIP_MS
        self._pass_time()
        self._notice(request)
        reply = self._reply(message(request), connection)
        self._note_locks()
        self._clock += self._random.random() * _TRIP_MS
        said = exchange(request, Replied(reply, sent, self._clock))
        if isinstance(request, ShareFetch) and self._waits(said.response):
            self._clock += request.max_wait_ms
        return attrs.evolve(said, received_ms=self._clock)

    def _reply(self, asked: Message, connection: str = "") -> SimpleNamespace:
        """Let ``serve`` answer a request, through the bytes of both."""
        _header, body = received(encoded(asked, 1))
        key, version = asked.__api_key__, asked.__version__
        handler: Any = APIS[key].handler
        serving = vars(self._modules[handler.__module__])[handler.__name__]
        values = serving(self._cluster.nodes[0], Call(body, version, connection))
        if isinstance(values, Coroutine):
            values = asyncio.run(values)
        _, reply = response(asked, answered(key, version, 1, values))
        return reply

    def _waits(self, response: ShareResponse) -> bool:
        """Return whether it waits in vain for records: now and then not, for another reason."""
        if self._fault is WireFault.NEVER_WAITS or int(self._clock) % 5 == 0:
            return False
        return not any(part.acquired for part in response.partitions)

    def describe(self, place: GroupTopic, partition: int) -> Described:
        """Tell what is durable, or what is in memory."""
        sent = self._clock
        self._clock += self._random.random() * _TRIP_MS
        self._pass_time()
        named = {"topic_name": NAME, "partitions": [partition]}
        groups = [{"group_id": place.group, "topics": [named]}]
        reply = self._reply(request("describe_share_group_offsets", 1, groups=groups))
        (part,) = reply.groups[0].topics[0].partitions
        start, told = part.start_offset, None if part.lag < 0 else part.lag
        there = self._share.partitions[self._group, TopicPartition(place.topic_id, partition)]
        if there.ready and not self._tells_durable:
            start, told = there.window.start_offset, lag(there)
        if self._fault is WireFault.LAG_IGNORES_COMPLETE and told is not None:
            told = there.log.end_offset - max(0, start)
        said = Described(ErrorCode(part.error_code), start, told, sent, self._clock, 0, 0)
        return faulty_description(self._fault, said, there.window)

    def _began(
        self, share: ShareBroker, request: ShareRequest, now: int, connection: str
    ) -> Received:
        """Begin to serve a request, as ``share_request.receive``."""
        self._before, self._asked = share, request
        taken = faulty_request(self._fault, share, request)
        conduct = faulty_conduct(self._fault, share, Conduct())
        began: Received = self._receive(share, taken, now, conduct, connection)
        return began

    def _ended(self, waiting: Received, now: int, usual: Conduct = _FREE) -> Handled:
        """Finish a request, as ``share_request.complete``."""
        handled = self._handled(waiting, now, usual)
        after, said = faulty_response(self._fault, self._before, handled, self._asked)
        responses = handled.responses.set(handled.seq, said)
        return attrs.evolve(handled, broker=after, responses=responses)

    def _handled(self, waiting: Received, now: int, usual: Conduct) -> Handled:
        """Finish a request in a random way, the usual one, or giving nothing: what is legal."""
        nothing = PartitionConduct(acquire=Choice(acquired=(), entered=()), log_batches=())
        resets = {at: usual.of(at).reset_offset for _group, at in waiting.broker.partitions}
        idle = Conduct(tuple((at, attrs.evolve(nothing, reset_offset=resets[at])) for at in resets))
        for conduct in (self._conduct(waiting.broker, resets), usual):
            chosen = faulty_conduct(self._fault, waiting.broker, conduct)
            with suppress(IllegalChoiceError):
                share_request.complete(waiting, now, chosen)
                idle = chosen
                break
        handled: Handled = self._complete(waiting, now, idle)
        return handled

    def _kept_back(self, at: TopicPartition) -> tuple[OffsetRange, ...]:
        opened = self._transactions.get(at, ()) if self._fault is WireFault.OPEN_IS_SKIPPED else ()
        return (*self._log(at).aborted, *opened)

    def _conduct(self, share: ShareBroker, resets: Mapping[TopicPartition, int | None]) -> Conduct:
        chosen = []
        for (_group, at), there in share.partitions.items():
            further = self._random.randint(1, 3) if self._one_in(5) else None
            batches = self._batches(there, at, one=further is not None)
            if not _is_patient(self._asked) and self._one_in(10):
                batches = ()
            acquire = Choice(
                start_offset=there.window.start_offset if self._one_in(5) else None,
                end_offset=there.window.end_offset + further if further else None,
            )
            one = PartitionConduct(
                acquire=acquire,
                log_batches=batches,
                aborted=self._kept_back(at),
                reset_offset=resets[at],
            )
            chosen.append((at, one))
        return Conduct(tuple(chosen))

    def _batches(self, there: SharePartition, at: TopicPartition, *, one: bool) -> Ranges | None:
        """Read every log batch from the first available record on, or only the first one.

        A log that lost records cannot be read before that is noticed. None: every record that
        fits, one to a batch.
        """
        if _is_behind(there):
            return ()
        free, end = readable(there, 1), readable_end(there.log, there.config.isolation_level)
        log = (OffsetRange(batch.first, batch.last) for batch in self._log(at).batches)
        known = [batch for batch in log if free and free[0].first <= batch.last < end]
        if one:
            return tuple(known[:1])
        return tuple(known) if self._one_in(2) else None

    def _pass_time(self) -> None:
        """Move the clock on; a lock that is over may last some more, but not for long."""
        now, late = int(self._clock), self._one_in(2)
        for (_group, at), there in self._share.partitions.items():
            records = there.window.records
            timed = {}
            for offset in there.window.held:
                due = self._due[at, offset]
                stays = due > now or (late and due + self._can.sweep_ms > now)
                timed[offset] = attrs.evolve(records[offset], deadline=now + stays)
            self._alter(at, window=replace(there.window, timed))
        self._share = self._share_broker.advance(self._share, now)

    def _note_locks(self) -> None:
        for (_group, at), there in self._share.partitions.items():
            for offset in there.window.held:
                deadline = there.window.records[offset].deadline
                if deadline == self._share.now + there.config.record_lock_duration_ms:
                    self._due[at, offset] = deadline

    def _notice(self, request: ShareRequest) -> None:
        """Notice, or not yet, that connections are gone and that logs lost records."""
        for connection, time in list(self._gone.items()):
            if self._clock >= time:
                gone = self._share_broker.disconnect(self._share, connection, self._share.now)
                self._share = gone.broker
                del self._gone[connection]
        for key, there in self._share.partitions.items():
            if _is_behind(there) and (_is_patient(request) or self._one_in(2)):
                operation = AdvanceLogStart(there.log.start_offset)
                self._share, _ = self._share_broker.apply_to(self._share, key, operation)

    def _one_in(self, number: int) -> bool:
        return self._random.randrange(number) == 0


async def _at_once(*_arguments: object) -> None:
    """Wait for nothing: who asks waits, in virtual time."""


def _is_patient(request: ShareRequest) -> bool:
    return isinstance(request, ShareFetch) and request.max_wait_ms >= _PATIENT_MS


def _is_behind(there: SharePartition) -> bool:
    """Whether the leader has yet to notice where the log starts."""
    return there.ready and there.window.start_offset < there.log.start_offset
