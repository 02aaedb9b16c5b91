"""A broker of the specification that writes a request log, with members that use it at once.

Time is virtual. A request takes effect somewhere between its arrival and its answer, the writes to
the share coordinator take their time, which those of ``serve`` do not, and members crash. With a
fault it is a wrong broker.
"""

import heapq
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
from immutables import Map

from conformance.coordinators.share_messages import body_of
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError
from model.operations import AcknowledgementBatch, AdvanceLogStart, CompleteWrite, Produce
from model.profile import profile_named
from model.ranges import OffsetRange
from model.share_messages import (
    Conduct,
    PartitionConduct,
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
    ShareResponse,
    TopicPartition,
)
from model.share_state_requests import InitializeState, ReadState, StateRequest
from model.state_topic_codec import batch_values
from model.states import AcknowledgeType, AcquireMode
from model.wire import uuid_text
from spec import share_broker, share_cluster
from spec.log import Log
from spec.partition import SharePartition
from spec.share_broker import ShareBroker
from spec.share_cluster import SentWrite, ShareCluster
from spec.share_coordinator import Reply, ShareCoordinator, serve
from spec.window import replace
from tests.doubles.broker_faults import (
    BrokerFault,
    WireFault,
    fault_named,
    faulty_conduct,
    faulty_log,
    faulty_profile,
    faulty_request,
    faulty_response,
    modules_of,
)
from tests.replay.observed.log_bodies import answered, asked, settled
from tools.promises.behaviour import HONEST

if TYPE_CHECKING:
    from model.state_topic import StateRecord

TOPIC = "00000000-0000-0000-0000-000000000001"
SHOWN = uuid_text(UUID(TOPIC))
AT, KEY = TopicPartition(TOPIC, 0), ("g", TopicPartition(TOPIC, 0))
BROKER = 1
PAST_THE_WINDOW = fault_named("accepts what lies past the window")
_BEGIN = 1_700_000_000_000
_LOCK_MS = 1000
_LATE_MS = 200
_NO_COORDINATOR = ErrorCode.COORDINATOR_NOT_AVAILABLE.value
_SERVED: Mapping[str, Any] = {}
_WRITE = "WRITE_SHARE_GROUP_STATE"

CONFIG = SharePartitionConfig(
    delivery_count_limit=3,
    partition_max_record_locks=20,
    record_lock_duration_ms=_LOCK_MS,
    auto_offset_reset=AutoOffsetReset.EARLIEST,
)


@attrs.define
class Member:
    """A member and what it holds, as far as it knows."""

    name: str
    epoch: int = 0
    held: dict[int, int] = attrs.field(factory=dict)
    asked: int | None = None
    gone: bool = False


@attrs.define
class _Flying:
    """A request that was not answered yet."""

    member: Member
    request: ShareRequest
    received: float


class Simulated:
    """A cluster of one broker, and its request log."""

    def __init__(  # noqa: PLR0913 - what may happen besides
        self,
        seed: int,
        fault: BrokerFault = HONEST,
        profile: str = "kafka",
        *,
        crashes: float = 0.01,
        updates_per_snapshot: int = 500,
        failures: float = 0,
        aborts: float = 0,
    ) -> None:
        """Begin with an empty topic and a new group; members crash with so many requests.

        So many writes fail, some of them when the locks of their records are over; a timer may be
        late to say so. So many log batches are of transactions that abort.
        """
        self._crashes, self._failures, self._aborts = crashes, failures, aborts
        self._aborted: tuple[OffsetRange, ...] = ()
        self.lines: list[tuple[float, str]] = []
        self.dump: list[StateRecord] = []
        self._random = Random(seed)  # noqa: S311 - no secret
        self._fault = fault
        rules = faulty_profile(fault, profile_named(profile))
        coordinator = ShareCoordinator(
            rules, Map({UUID(TOPIC): 1}), updates_per_snapshot=updates_per_snapshot
        )
        isolation = IsolationLevel.READ_COMMITTED if aborts else IsolationLevel.READ_UNCOMMITTED
        config = attrs.evolve(CONFIG, isolation_level=isolation)
        broker = ShareBroker(rules, topics=Map({TOPIC: 1}))
        cluster = ShareCluster(coordinator, Map({BROKER: broker}))
        self._cluster: ShareCluster = share_cluster.elect(
            cluster, BROKER, KEY, epoch=0, config=config, log=Log(0, 0)
        )
        modules = modules_of(fault, "spec.")
        self._share_broker = modules[share_broker.__name__]
        self._share_cluster = modules[share_cluster.__name__]
        self._heap: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = count()
        self._flying: dict[int, _Flying] = {}
        self._writes: dict[SentWrite, float] = {}
        self._appended = 0
        self._names = count()
        self._start = 0
        self._stamps: dict[str, int] = {}

    def run(self, members: int, until_ms: float) -> list[str]:
        """Let members work for a time and return the lines of the log."""
        self._initialize()
        self._at(1, self._produce)
        for _ in range(members):
            self._join(5 + self._random.random() * 50)
        while self._heap:
            time, _, happen = heapq.heappop(self._heap)
            if time > until_ms:
                break
            happen(time)
            self._send_writes(time)
        self._metadata(until_ms)
        return [line for _, line in sorted(self.lines, key=lambda one: one[0])]

    def _at(self, time: float, happen: Callable[[float], None]) -> None:
        heapq.heappush(self._heap, (time, next(self._order), happen))

    def _some(self, most: float) -> float:
        return 0.05 + self._random.random() * most

    def _broker(self) -> ShareBroker:
        return self._cluster.brokers[BROKER]

    def _replace(self, broker: ShareBroker) -> None:
        self._cluster = share_cluster._replaced(self._cluster, BROKER, broker)  # noqa: SLF001

    def _initialize(self) -> None:
        request = InitializeState(share_cluster.state_key(KEY), 1, -1)
        reply = serve(self._cluster.coordinator, request, 0)
        self._cluster = attrs.evolve(self._cluster, coordinator=reply.coordinator)
        self._durable(reply)
        self._log_state("INITIALIZE_SHARE_GROUP_STATE", request, (0.1, 0.5))

    def _durable(self, reply: Reply) -> None:
        if reply.record is not None:
            self.dump.append(reply.record)

    def _metadata(self, time: float) -> None:
        nodes = [{"nodeId": 1, "host": "h", "port": 9092, "rack": None}]
        topics = [{"errorCode": 0, "name": "t", "topicId": SHOWN}]
        self._log("METADATA", 13, (time, time + 1), {}, {"brokers": nodes, "topics": topics})

    def _produce(self, time: float) -> None:
        end = self._broker().partitions[KEY].log.end_offset
        missing = self._random.choice((0, 0, 0, 2))
        size = self._random.randint(1, 6)
        ranges = (OffsetRange(end + missing, end + missing + size - 1),)
        aborts = self._aborts > 0 and self._random.random() < self._aborts
        self._aborted += ranges if aborts else ()
        known = faulty_log(self._fault, self._appended, ranges)
        self._appended += 1
        produced = Produce(known, ranges[-1].last + 1, None)
        self._replace(share_broker.append(self._broker(), AT, produced))
        if self._random.random() < 0.03:
            self._delete(time)
        start = self._start
        answer = {
            "index": 0,
            "errorCode": 0,
            "baseOffset": ranges[0].first,
            "logStartOffset": start,
        }
        body = {"responses": [{"topicId": SHOWN, "partitionResponses": [answer]}]}
        request: dict[str, Any] = {"transactionalId": "x" if aborts else None, "topicData": []}
        self._log("PRODUCE", 13, (time - self._some(2), time + self._some(2)), request, body)
        self._at(time + self._some(120), self._produce)

    def _delete(self, time: float) -> None:
        """Move the log start offset up; the leader notices at once, or by a fault never."""
        partition = self._broker().partitions[KEY]
        if not partition.ready:
            return
        reached = max(partition.window.start_offset, self._start)
        before = min(partition.log.end_offset, reached + self._random.randint(1, 6))
        self._start = before
        if self._fault is not WireFault.LOG_START_IGNORED:
            broker, _ = self._share_broker.apply_to(self._broker(), KEY, AdvanceLogStart(before))
            self._replace(broker)
        answer = {"partitionIndex": 0, "lowWatermark": before, "errorCode": 0}
        body = {"topics": [{"name": "t", "partitions": [answer]}]}
        self._log("DELETE_RECORDS", 2, (time - self._some(2), time + self._some(2)), {}, body)

    def _join(self, time: float) -> None:
        member = Member(f"m{next(self._names)}")
        self._at(time, lambda now: self._ask(member, now))

    def _ask(self, member: Member, time: float) -> None:
        if member.gone:
            return
        request = self._request(member)
        arrival = time + self._some(2)
        self._at(arrival, lambda now: self._serve(member, request, time, now))

    def _request(self, member: Member) -> ShareRequest:
        dice = self._random
        epoch = member.epoch
        member.epoch += 1
        closes = epoch > 3 and dice.random() < 0.03
        batches = self._batches(member) if epoch and member.held and dice.random() < 0.8 else ()
        renews = any(AcknowledgeType.RENEW in batch.types for batch in batches)
        if closes:
            member.epoch = -1
            parts = (PartitionRequest(AT, batches),) if batches else ()
            return ShareAcknowledge("g", member.name, -1, parts, is_renew_ack=renews)
        if batches and (renews or dice.random() < 0.5):
            parts = (PartitionRequest(AT, batches),)
            return ShareAcknowledge("g", member.name, epoch, parts, is_renew_ack=renews)
        parts = (PartitionRequest(AT, batches),) if batches or not epoch else ()
        mode = dice.choice(tuple(AcquireMode))
        size = dice.randint(1, 8)
        return ShareFetch(
            "g", member.name, epoch, parts, max_records=size, batch_size=size, acquire_mode=mode
        )

    def _batches(self, member: Member) -> tuple[AcknowledgementBatch, ...]:
        dice = self._random
        kinds = (1, 1, 1, 1, 2, 2, 3, 0, 4)
        batches = []
        for offset in sorted(member.held):
            if dice.random() < 0.7:
                kind = dice.choice(kinds)
                batches.append(AcknowledgementBatch(offset, offset, (kind,)))
                if kind != AcknowledgeType.RENEW:
                    del member.held[offset]
        if dice.random() < 0.03:
            other = dice.randrange(0, 40)
            if all(batch.first != other for batch in batches):
                batches.append(AcknowledgementBatch(other, other, (1,)))
                member.held.pop(other, None)
        if self._fault is PAST_THE_WINDOW and dice.random() < 0.3:
            end = self._broker().partitions[KEY].log.end_offset + 50
            batches.append(AcknowledgementBatch(end, end, (1,)))
        return tuple(sorted(batches, key=lambda batch: batch.first))

    def _serve(self, member: Member, request: ShareRequest, received: float, now: float) -> None:
        clock = max(int(now), self._broker().now)
        self._cluster = self._share_cluster.advance(self._cluster, BROKER, clock)
        self._send_writes(now)
        before = self._broker().partitions[KEY].ready
        coordinator = self._cluster.coordinator
        taken = faulty_request(self._fault, self._broker(), request)
        handled = self._handled(taken, clock)
        if not before and self._broker().partitions[KEY].ready:
            self._log_read(coordinator, (received, now))
        self._flying[handled.seq] = _Flying(member, request, received)
        self._answer(handled.responses, now)
        if self._random.random() < self._crashes:
            self._crash(member, now)

    def _handled(self, request: ShareRequest, clock: int) -> share_broker.Handled:
        """Serve a request and do what is wrong with it; its answer may have to wait."""
        before = self._broker()
        aborted = PartitionConduct(aborted=self._aborted)
        conduct = Conduct(((AT, aborted),) if self._aborted else ())
        handled: share_broker.Handled
        asked = self._cluster, BROKER, request, clock
        try:
            chosen = faulty_conduct(self._fault, before, conduct)
            self._cluster, handled = self._share_cluster.handle(*asked, chosen)
        except IllegalChoiceError:
            self._cluster, handled = share_cluster.handle(*asked, conduct)
        waiting = handled.broker.waiting.get(handled.seq)
        response = handled.response or (waiting.response if waiting else None)
        if response is None or not isinstance(self._fault, WireFault):
            return handled
        shown = attrs.evolve(handled, responses=Map({handled.seq: settled(response)}))
        after, changed = faulty_response(self._fault, before, shown, request)
        if waiting is None:
            self._replace(after)
            return attrs.evolve(handled, responses=handled.responses.set(handled.seq, changed))
        waits = attrs.evolve(waiting, response=changed)
        self._replace(attrs.evolve(after, waiting=after.waiting.set(handled.seq, waits)))
        return handled

    def _send_writes(self, now: float) -> None:
        for sent in sorted(
            self._cluster.sent, key=lambda write: (write.broker, write.key, write.id)
        ):
            if sent not in self._writes:
                self._writes[sent] = now
                if self._random.random() < self._failures:
                    late = now + self._some(self._random.choice((15, _LOCK_MS + _LATE_MS)))
                    self._at(late, partial(self._fail, sent))
                else:
                    self._at(now + self._some(15), partial(self._arrive, sent))

    def _arrive(self, sent: SentWrite, now: float) -> None:
        if sent not in self._cluster.sent:
            return
        clock = max(int(now), self._broker().now)
        begin = self._writes[sent] + (now - self._writes[sent]) * self._random.random()
        self._durable(serve(self._cluster.coordinator, sent.request, clock))
        self._cluster, handled = self._share_cluster.arrive(self._cluster, sent, clock)
        self._log_state(_WRITE, sent.request, (begin, now + self._some(0.2)))
        self._answer(handled.responses, now + 0.2)

    def _fail(self, sent: SentWrite, now: float) -> None:
        if sent not in self._cluster.sent:
            return
        within = self._writes[sent], now + self._some(0.2)
        self._log_state(_WRITE, sent.request, within, {"errorCode": _NO_COORDINATOR})
        self._cluster = attrs.evolve(self._cluster, sent=self._cluster.sent - {sent})
        partition = self._broker().partitions[KEY]
        if sent.id not in partition.outstanding:
            return
        self._replace(
            attrs.evolve(
                self._broker(),
                partitions=self._broker().partitions.set(KEY, self._late(partition, now)),
            )
        )
        operation = CompleteWrite(sent.id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        handled = self._share_broker.complete_write(self._broker(), KEY, operation)
        self._replace(handled.broker)
        self._answer(handled.responses, now + 0.2)

    def _late(self, partition: SharePartition, now: float) -> SharePartition:
        """Let the timers of pending records be late by some time."""
        records = {
            offset: attrs.evolve(record, former_deadline=int(now) + 1 + self._random.randrange(50))
            for offset, record in partition.window.records.items()
            if record.pending
            and record.former_deadline is not None
            and record.former_deadline <= now < record.former_deadline + _LATE_MS
            and self._random.random() < 0.5
        }
        return attrs.evolve(partition, window=replace(partition.window, records))

    def _answer(self, responses: Map[int, ShareResponse], now: float) -> None:
        for seq, response in responses.items():
            flying = self._flying.pop(seq, None)
            if flying is None or flying.member.gone:
                continue
            end = now + self._some(1)
            self._log_share(flying, settled(response), end)
            self._at(end, partial(self._hear, flying, response))

    def _hear(self, flying: _Flying, response: ShareResponse, now: float) -> None:
        member = flying.member
        if response.error is not ErrorCode.NONE:
            member.epoch = 0
            member.held.clear()
        for part in response.partitions:
            for one in part.acquired:
                member.held.update(dict.fromkeys(range(one.first, one.last + 1), 1))
            if part.acknowledge_error is not ErrorCode.NONE:
                member.held.clear()
        if member.epoch == -1:
            member.gone = True
            self._join(now + self._some(100))
            return
        pause = 60 if self._random.random() < 0.9 else 4000
        self._at(now + self._some(pause), lambda time: self._ask(member, time))

    def _crash(self, member: Member, now: float) -> None:
        member.gone = True
        self._at(now + self._some(300), lambda time: self._notice(member, time))
        self._join(now + self._some(300))

    def _notice(self, member: Member, now: float) -> None:
        clock = max(int(now), self._broker().now)
        self._cluster = self._share_cluster.advance(self._cluster, BROKER, clock)
        handled = self._share_broker.disconnect(
            self._broker(),
            member.name,
            clock,
            share_cluster._pending(self._broker(), Conduct()),  # noqa: SLF001
        )
        self._replace(handled.broker)
        self._answer(handled.responses, now)

    def _log_share(self, flying: _Flying, response: ShareResponse, end: float) -> None:
        request = flying.request
        fetches = isinstance(request, ShareFetch)
        body: dict[str, Any] = {
            "groupId": "g",
            "memberId": request.member_id,
            "shareSessionEpoch": request.session_epoch,
            "isRenewAck": request.is_renew_ack,
            "topics": [
                {"topicId": SHOWN, "partitions": [asked(part)]} for part in request.partitions
            ],
        }
        if isinstance(request, ShareFetch):
            body["maxRecords"] = request.max_records
            body["shareAcquireMode"] = int(request.acquire_mode is AcquireMode.RECORD_LIMIT)
        parts = [answered(part, fetches=fetches) for part in response.partitions]
        answer = {
            "errorCode": response.error.value,
            "acquisitionLockTimeoutMs": _LOCK_MS,
            "responses": [{"topicId": SHOWN, "partitions": parts}] if parts else [],
        }
        name = "SHARE_FETCH" if fetches else "SHARE_ACKNOWLEDGE"
        self._log(name, 2, (flying.received, end), body, answer)

    def _log_read(self, coordinator: ShareCoordinator, within: tuple[float, float]) -> None:
        request = ReadState(share_cluster.state_key(KEY), 0)
        reply = serve(coordinator, request, 0)
        assert reply.state is not None
        self._durable(reply)
        answer = {
            "stateEpoch": reply.state.state_epoch,
            "startOffset": reply.state.start_offset,
            "stateBatches": batch_values(reply.state.state_batches),
        }
        begin, end = within
        third = (end - begin) / 3
        self._log_state("READ_SHARE_GROUP_STATE", request, (begin + third, end - third), answer)

    def _log_state(
        self,
        name: str,
        request: StateRequest,
        within: tuple[float, float],
        answer: Mapping[str, Any] = _SERVED,
    ) -> None:
        part = {"partition": 0, "errorCode": 0, **answer}
        results = {"results": [{"topicId": SHOWN, "partitions": [part]}]}
        self._log(name, 1, within, body_of(request), results)

    def _log(
        self,
        name: str,
        version: int,
        within: tuple[float, float],
        request: dict[str, Any],
        response: dict[str, Any],
    ) -> None:
        begin, end = within
        late = self._random.random() * 5
        who = request.get("memberId", name)
        # What comes over one connection is logged in its order.
        stamp = self._stamps[who] = max(int(_BEGIN + end + late), self._stamps.get(who, 0))
        header = {"requestApiVersion": version, "requestApiKeyName": name}
        data = {
            "requestHeader": header,
            "request": request,
            "response": response,
            "connection": "10.0.0.1:9092-10.0.0.2:5000-0-0",
            "totalTimeMs": round(end - begin, 3),
        }
        time = datetime.fromtimestamp(stamp // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        text = f"[{time},{stamp % 1000:03}] DEBUG Completed request:{json.dumps(data)}"
        self.lines.append((stamp, f"{text} (kafka.request.logger)\n"))
