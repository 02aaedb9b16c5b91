"""The judge of a broker: which states explain all its answers; a deviation, if none does."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

import attrs

from conformance.deviation import target_finding
from conformance.wire.belief import (
    Belief,
    Timing,
    appended,
    beginnings,
    begun_again,
    held_until,
    lost_connection,
    lost_records,
    merged,
    possible,
    relocked,
    reread,
    uncertain,
    unkept,
    unnoticed,
)
from conformance.wire.cause import AT_LATEST, KEPT, UNSENT, Met, kept_start, oddity, starving
from conformance.wire.explain import (
    AnswerMismatch,
    WireDifference,
    described_wrong,
    explained,
    partly_fetched,
    past_aborted,
)
from conformance.wire.target import BatchOrigin, Described, Exchange, GroupTopic
from conformance.wire.visible import (
    MOST_HASTY,
    altered,
    data,
    hasty,
    ill_acquired,
    ill_described,
    is_empty,
    twice,
)
from conformance.wire.written import WrittenLog, committed_only, deliverable
from judge.finding import Finding
from judge.view import snapshot
from judge.words import printable, snapshot_text
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.profile import Profile
from model.ranges import OffsetRange
from model.share_messages import (
    FINAL_EPOCH,
    ShareFetch,
    ShareRequest,
    ShareResponse,
    TopicPartition,
)
from model.snapshot import SharePartitionSnapshot
from spec.coordinator import Durable
from spec.partition import SharePartition
from spec.record import UNDELIVERED
from spec.share_broker import PartitionKey
from spec.share_request import acquirable
from spec.share_session import key_of
from spec.window import first_unfinished

MOST_BELIEFS = 400
"""With more beliefs the judge cannot follow. Of 160 sequences on the specification's own broker,
with windows of 100 and 200, one has more; 3 have more than half as many, and that costs a tenth."""

DISCONNECT_MS = 2000
"""How long a broker may take to notice that a connection is closed (ms)."""

PASSING = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
)
"""Errors of a leader that is not ready, or is none: after one the judge cannot follow."""

_LATE_MS = 2
"""How much earlier than its duration a lock may end (ms): clocks count whole ms."""


_After = dict[Belief, tuple[Belief, Belief]]
"""What a broker may be in after an answer, each with the beliefs before, as in ``explanation``."""
_Refused = list[tuple[Belief, AnswerMismatch]]


class Judge:
    """The beliefs about one group and its topic. ``over``: the judge cannot follow any more.

    ``beliefs`` has the most plausible one first. ``explanation`` is what led to it: the belief
    before the last answer, without and with the hidden events. ``refused`` is the share-partition
    before an answer that is a deviation; None where that concerns none or several. ``others`` has
    beliefs about a broker with a fault, by what it is: they explain every answer since as well.
    """

    def __init__(  # noqa: PLR0913 - what a judge knows from the beginning
        self,
        profile: Profile,
        place: GroupTopic,
        config: SharePartitionConfig,
        timing: Timing,
        names: Mapping[str, str] | None = None,
        *,
        tells_lag: bool = False,
    ) -> None:
        """Begin with empty partitions and a group without sessions; ``names`` are of members.

        ``tells_lag``: the broker describes a lag that it knows.
        """
        self._profile, self._tells_lag = profile, tells_lag
        self._names = names or {}
        self._place = place
        self._config = config
        self._timing = attrs.evolve(timing, lock_ms=config.record_lock_duration_ms)
        topic = place.topic_id, place.partitions
        self.beliefs = beginnings(profile, place.group, topic, config)
        self.others: dict[str, tuple[Belief, ...]] = {}
        if config.auto_offset_reset is AutoOffsetReset.BY_DURATION:
            latest = attrs.evolve(config, auto_offset_reset=AutoOffsetReset.LATEST)
            self.others[AT_LATEST] = beginnings(profile, place.group, topic, latest)
        self.logs = {
            TopicPartition(place.topic_id, p): WrittenLog() for p in range(place.partitions)
        }
        self.explanation = self.beliefs[0], self.beliefs[0]
        self.refused: SharePartitionSnapshot | None = None
        self.over = False
        self._ended = False
        self._exchanges = self._hasty = 0
        self._blurred_until = 0.0

    def key(self, partition: int) -> PartitionKey:
        """Return the key of a partition of the place."""
        return self._place.group, TopicPartition(self._place.topic_id, partition)

    def partition(self, partition: int) -> SharePartition:
        """Return a share-partition in its most plausible state."""
        return self._at(self.beliefs[0], self.key(partition)[1])

    def _at(self, belief: Belief, place: TopicPartition) -> SharePartition:
        return belief.broker.partitions[self._place.group, place]

    def kept_back(self, most: int) -> int:
        """Return how many fetches of at most ``most`` records may keep back all that they read.

        Each takes a log batch or as many records of it. A leader that begins anew may read again
        what the one before kept back: nobody has acknowledged it.
        """
        if not committed_only(self._config):
            return 0
        batches = (batch for log in self.logs.values() for batch in log.aborted)
        return sum(-(-(batch.last + 1 - batch.first) // max(1, most)) for batch in batches)

    def produced(
        self,
        partition: int,
        batches: Sequence[OffsetRange],
        origin: BatchOrigin = BatchOrigin.PLAIN,
    ) -> None:
        """Note that log batches were appended, and the marker of those that are ABORTED."""
        topic_partition = self.key(partition)[1]
        log = self.logs[topic_partition]
        log.append(batches, origin)
        self._each(lambda belief: appended(belief, topic_partition, batches, log))

    def ended(self, partition: int, *, committed: bool) -> None:
        """Note that the open transaction has ended, with a marker at the end of the log."""
        topic_partition = self.key(partition)[1]
        log = self.logs[topic_partition]
        log.ended(committed=committed)
        self._each(lambda belief: appended(belief, topic_partition, (), log))

    def deleted(self, partition: int, before: int) -> None:
        """Note that the log lost its records below an offset."""
        key = self.key(partition)
        self.logs[key[1]].deleted(before, max(held_until(b, key, before) for b in self.beliefs))
        self._each(lambda belief: lost_records(belief, key, before))

    def may_have_session(self, member: str) -> bool:
        """Return whether a member has a session in some belief."""
        key = self._place.group, member
        return any(key in belief.broker.sessions for belief in self.beliefs)

    def anew(self, place: GroupTopic) -> "Judge":
        """Return a judge of the same broker for a place where nothing has happened."""
        how = self._profile, place, self._config, self._timing, self._names
        return Judge(*how, tells_lag=self._tells_lag)

    def begun_again(self, states: Mapping[PartitionKey, Durable], *, connected: bool) -> None:
        """Note that share-partitions without sessions have another durable state (KIP-932).

        Their leader reads it when there is a session again. ``connected``: no connection was closed
        before, so that a leader with a fault keeps what it has. The state may fence its writes.
        """

        def begun(belief: Belief, kept: Mapping[PartitionKey, Durable] | None = None) -> Belief:
            for key, state in states.items():
                if kept is not None and belief.broker.partitions[key].ready:
                    belief = unnoticed(belief, key, kept.get(key))
                else:
                    belief = begun_again(belief, key, state, self.logs[key[1]])
            return belief

        might = (*self.others.pop(KEPT, ()), *self.beliefs) if connected else ()
        kept = [b for b in might if any(b.broker.partitions[key].ready for key in states)]
        self._each(begun)
        both = {begun(belief, fenced): 0 for belief in kept for fenced in ({}, states)}
        self.others |= {KEPT: tuple(both)} if kept else {}

    def _each(self, change: Callable[[Belief], Belief]) -> None:
        """Change the beliefs, those about a broker with a fault, too."""
        self.beliefs = tuple({change(belief): 0 for belief in self.beliefs})
        for name, beliefs in self.others.items():
            self.others[name] = tuple({change(belief): 0 for belief in beliefs})

    def disconnected(self, connection: str, now: float) -> None:
        """Note that a connection was closed at ``now`` (ms)."""
        self._ended, until = True, now + DISCONNECT_MS
        self._each(lambda belief: lost_connection(belief, connection, until))

    def exchange(
        self, request: ShareRequest, connection: str, exchange: Exchange
    ) -> Finding | None:
        """Judge a response, and keep the beliefs that explain it."""
        response = exchange.response
        self._ended |= request.session_epoch == FINAL_EPOCH
        if is_passing(response):
            self.over = True
            return None
        for wrong in self._seen_wrong(exchange):
            return self._deviation(wrong, self.beliefs[0])
        self._exchanges += 1
        unsent = self._unsent(request, connection, exchange)
        for name, beliefs in [*self.others.items()]:
            explaining, _ = self._answered(beliefs, request, connection, exchange)
            self.others[name] = tuple(merged(explaining))[:MOST_BELIEFS]
        if unsent:
            self.others[UNSENT] = (*self.others.get(UNSENT, ()), *unsent)[:MOST_BELIEFS]
        sent = exchange.sent_ms
        self._blur(sent, exchange.received_ms)
        after, refused = self._answered(self.beliefs, request, connection, exchange)
        how = request, exchange, connection, self.logs
        odd = (oddity(wrong, Met(before, *how)) for before, wrong in refused)
        still = (name for name, beliefs in self.others.items() if beliefs)
        return self._concluded(after, refused, sent, chain(still, odd))

    def _answered(
        self,
        beliefs: tuple[Belief, ...],
        request: ShareRequest,
        connection: str,
        exchange: Exchange,
    ) -> tuple[_After, _Refused]:
        """Return the beliefs that explain a response, and why each of the others does not."""
        sent, received = exchange.sent_ms, exchange.received_ms
        times = (sent - _LATE_MS, received, self._exchanges)
        after: _After = {}
        refused: _Refused = []
        for belief, before in self._before(beliefs, request, (sent, received), after):
            how = request, exchange.response, connection, self.logs
            brokers, wrong = explained(before, *how)
            refused.append((before, wrong))
            for broker in brokers:
                now = relocked(before, broker, self._timing, times)
                after.setdefault(now, (belief, before))
        return after, refused

    def _unsent(
        self, request: ShareRequest, connection: str, exchange: Exchange
    ) -> tuple[Belief, ...]:
        """Return beliefs about a broker that acquired records, and left them out as it throttles.

        How many it acquired does not show.
        """
        given = any(part.acquired for part in exchange.response.partitions)
        if given or not exchange.throttle_ms or not isinstance(request, ShareFetch):
            return ()
        sent, received = exchange.sent_ms, exchange.received_ms
        times = (sent - _LATE_MS, received, self._exchanges)
        beliefs, found = (*self.others.get(UNSENT, ()), *self.beliefs), {}
        for _belief, before in self._before(beliefs, request, (sent, received), {}):
            for broker in partly_fetched(before, request, connection):
                found[relocked(before, broker, self._timing, times)] = 0
        return tuple(found)

    def _before(
        self,
        beliefs: tuple[Belief, ...],
        request: ShareRequest,
        times: tuple[float, float],
        after: _After,
    ) -> Iterator[tuple[Belief, Belief]]:
        """Yield each belief with one that hidden events make of it before a request.

        Where none of them explains the answer (``after`` is empty), yield those that have passed
        over the aborted records at the start of their windows, too.
        """
        closing = key_of(request) if request.session_epoch == FINAL_EPOCH else None
        events = [
            (each, reread(before, self.logs))
            for each in beliefs
            for before in possible(each, *times, closing)
        ]
        yield from events
        if committed_only(self._config) and not after:
            for belief, before in events:
                passed = past_aborted(before, request, self.logs)
                if passed != before:
                    yield belief, passed

    def _blur(self, sent: float, received: float) -> None:
        until = (uncertain(belief, sent, received) for belief in self.beliefs)
        self._blurred_until = max(self._blurred_until, *until)

    def described(self, partition: int, reported: Described) -> Finding | None:
        """Judge a reported start offset and lag, and keep the beliefs that explain them."""
        if ill := next(ill_described(self.key(partition)[1], reported), None):
            return self._deviation(ill, self.beliefs[0])
        self._blur(reported.sent_ms, reported.received_ms)
        after, refused = self._told(self.beliefs, partition, reported)
        told = (n for n, each in self.others.items() if self._told(each, partition, reported)[0])
        odd = (wrong.odd for _before, wrong in refused)
        return self._concluded(after, refused, reported.sent_ms, chain(told, odd))

    def _told(
        self, beliefs: Sequence[Belief], partition: int, reported: Described
    ) -> tuple[_After, _Refused]:
        """Return the beliefs that explain a description, and why each of the others does not."""
        key, log = self.key(partition), self.logs[self.key(partition)[1]]
        after: _After = {}
        refused: _Refused = []
        for belief in beliefs:
            for before in possible(belief, reported.sent_ms, reported.received_ms):
                known, anew = before.broker.partitions[key], self._ended
                how = known, log, reported, key[1]
                wrong = described_wrong(*how, tells_lag=self._tells_lag, anew=anew)
                if wrong is None:
                    after.setdefault(unkept(before), (belief, before))
                else:
                    wrong = attrs.evolve(wrong, odd=kept_start(*how[:3]))
                    refused.append((before, wrong))
        return after, refused

    def first(self, wrongs: Iterator[AnswerMismatch]) -> Finding | None:
        """Return the first of these as a deviation, whatever state the broker is in."""
        wrong = next(wrongs, None)
        return self._deviation(wrong, self.beliefs[0]) if wrong else None

    def hasty(self, request: ShareFetch, exchange: Exchange) -> Finding | None:
        """Return a deviation if fetches without an error never wait although they get nothing.

        Not where a response may be empty because of what it keeps back, or a session has nothing.
        """
        session = self.beliefs[0].broker.sessions.get(key_of(request))
        fetches = session is not None and session.partitions and not committed_only(self._config)
        if exchange.throttle_ms or not (fetches and is_empty(request, exchange)):
            return None
        self._hasty = hasty(request, exchange, self._hasty)
        if self._hasty < MOST_HASTY:
            return None
        kind = WireDifference.FETCH_WAITS
        texts = f"{self._hasty} empty responses at once", f"a wait of {request.max_wait_ms} ms"
        return self._deviation(AnswerMismatch(kind, "fetch", *texts), self.beliefs[0])

    def starved(self, request: ShareRequest, exchange: Exchange) -> Finding | None:
        """Return a deviation if a fetch got nothing although a record is certainly available."""
        response = exchange.response
        fails = response.error is not ErrorCode.NONE or exchange.throttle_ms
        if fails or request.is_renew_ack or any(part.acquired for part in response.partitions):
            return None
        for place in self.logs:
            free = {self._free(belief, request, place) for belief in self.beliefs}
            if None not in free:
                offset = min(o for o in free if o is not None)
                wanted = f"offset {offset} of partition {place.partition}, or another"
                others = (
                    name
                    for name, beliefs in self.others.items()
                    if any(self._free(belief, request, place) is None for belief in beliefs)
                )
                known = self.beliefs[0].broker.partitions[request.group_id, place]
                odd = next(others, starving(known, self.logs[place], offset))
                what = WireDifference.AVAILABLE_RECORDS_ARE_DELIVERED, "fetch", "nothing acquired"
                wrong = AnswerMismatch(*what, wanted, place, odd)
                return self._deviation(wrong, self.beliefs[0])
        return None

    def undecided(self, now: float, until: float) -> float:
        """Return when (ms) all locks are decided that may end between ``now`` and ``until``."""
        return max((uncertain(belief, now, until) for belief in self.beliefs), default=0)

    def settled(self) -> float:
        """Return when (ms) every lock that may be held has certainly ended; 0 if none is held."""
        locks = (lo for b in self.beliefs for held in b.locks.values() for lo in held.values())
        return max((lock.latest for lock in locks), default=0)

    def state_text(self, belief: Belief | None = None) -> str:
        """Return the states of the share-partitions in a belief, in words."""
        partitions = (belief or self.beliefs[0]).broker.partitions
        states = {
            place.partition: snapshot_text(snapshot(each)) if each.ready else "not in memory"
            for (_group, place), each in sorted(partitions.items())
        }
        text = printable("; ".join(f"partition {n}: {state}" for n, state in states.items()))
        for id_, name in self._names.items():
            text = text.replace(id_, name)
        return text

    def _concluded(
        self, after: _After, refused: _Refused, sent: float, odd: Iterator[str]
    ) -> Finding | None:
        if after:
            self.explanation = next(iter(after.values()))
            beliefs = tuple(merged(after))
            self.beliefs = beliefs[:MOST_BELIEFS]
            self.over = len(beliefs) > MOST_BELIEFS
            return None
        if sent < self._blurred_until:
            self.over = True
            return None
        before, wrong = refused[0]
        return self._deviation(attrs.evolve(wrong, odd=next(filter(None, odd), "")), before)

    def _seen_wrong(self, exchange: Exchange) -> Iterator[AnswerMismatch]:
        """Yield what no state of a broker allows: wrong offsets, records and lock durations."""
        read = dict(exchange.read)
        lock_ms = exchange.lock_timeout_ms
        yield from twice(exchange)
        for part in exchange.response.partitions:
            log = self.logs.get(part.topic_partition)
            if log is None or not part.acquired:
                continue
            sent = read.get(part.topic_partition, ())
            yield from ill_acquired(part, log, sent, committed=committed_only(self._config))
            yield from altered(part, {*data(part, log)}, exchange)
            if lock_ms not in (None, self._timing.lock_ms):
                kind = WireDifference.LOCK_TIMEOUT
                texts = f"{lock_ms} ms", f"{self._timing.lock_ms} ms"
                yield AnswerMismatch(kind, "fetch", *texts, part.topic_partition)

    def _free(self, belief: Belief, request: ShareRequest, place: TopicPartition) -> int | None:
        """Return a record that a belief has available for the session of a request; None if none.

        A record that was never delivered is available if the window has room for it. A record that
        is only kept back makes room for the next.
        """
        session, partition = belief.broker.sessions.get(key_of(request)), self._at(belief, place)
        joined = {part.topic_partition for part in session.partitions} if session else ()
        if place not in joined or not partition.ready:
            return None
        window = partition.window
        cap = first_unfinished(window, partition.log) + self._config.partition_max_record_locks
        for offset in acquirable(partition):
            delivered = window.records.get(offset, UNDELIVERED).delivery_count > 0
            if delivered or offset < cap:
                return next(deliverable(partition, self.logs[place], offset), None)
        return None

    def _deviation(self, wrong: AnswerMismatch, belief: Belief) -> Finding:
        self.refused = self._state(belief, wrong.topic_partition)
        found = target_finding(
            wrong.rule.name,
            wrong.about,
            wrong.rule.value,
            printable(wrong.observed),
            printable(wrong.expected),
            before=self.state_text(belief),
        )
        return attrs.evolve(found, cause=(wrong.rule.name, wrong.odd) if wrong.odd else ())

    def _state(
        self, belief: Belief, topic_partition: TopicPartition | None
    ) -> SharePartitionSnapshot | None:
        (only, *others) = self.logs
        place = only if topic_partition is None and not others else topic_partition
        if place not in self.logs or not (partition := self._at(belief, place)).ready:
            return None
        state = snapshot(partition)
        records = (
            attrs.evolve(r, owner=self._names.get(r.owner or "", r.owner))
            for r in state.records or ()
        )
        return attrs.evolve(state, records=tuple(records))


def is_passing(response: ShareResponse) -> bool:
    """Return whether a response has an error of a leader that is not ready."""
    parts = (error for p in response.partitions for error in (p.error, p.acknowledge_error))
    return response.error in PASSING or any(error in PASSING for error in parts)
