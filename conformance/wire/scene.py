"""A fresh group and topic of a broker, the commands sent to it, and the judge."""

from collections import Counter
from collections.abc import Sequence

import attrs

from conformance.deviation import StepText, target_finding
from conformance.exercised import answer_name
from conformance.kit import Stage
from conformance.wire import asks
from conformance.wire.belief import SLACK_MS, Belief, Timing
from conformance.wire.explain import WireDifference
from conformance.wire.judge import DISCONNECT_MS, Judge, is_passing
from conformance.wire.requests import QUICK_MS, Requests, member_id
from conformance.wire.served import FIND, Served, described, exercised
from conformance.wire.target import (
    BatchOrigin,
    Described,
    Exchange,
    UnansweredError,
    WireHello,
    WireTarget,
)
from conformance.wire.visible import ill_coordinated, misled, share_key
from conformance.wire.visit import Visit
from conformance.wire.words import described_text, request_text, response_text, status_of
from conformance.wire.written import WrittenLog, committed_only
from judge.finding import Finding
from judge.words import printable, ranges_text
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.profile import profile_named
from model.share_messages import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    PartitionRequest,
    ShareFetch,
    ShareRequest,
    ShareResponse,
)
from spec.coordinator import Durable
from spec.share_session import next_epoch

MEMBERS = ("m1", "m2", "m3")
PATIENT_MS = 500
"""How long a fetch waits (ms) when records are known to be available."""
TIMES_STARVED = 3
UNREADY_TRIES, UNREADY_PAUSE_MS = 10, 500
"""How often, and after which pauses (ms), a broker is asked again that says it does not lead."""
_MARGIN_MS = 100


_NAMES = {member_id(member): member for member in MEMBERS}


class WireScene(Stage[asks.Ask]):
    """The stage of a broker: a group and a topic, from their creation to their removal.

    ``last`` is the last operation, as ``answered`` has it.
    """

    def __init__(self, target: WireTarget, hello: WireHello) -> None:
        """Send nothing yet: the first command creates the group and the topic."""
        self._target, self._hello, self._can = target, hello, hello.capabilities
        self._connections: dict[str, int] = {}
        self._now = self._began = 0.0
        self._judge: Judge | None = None
        self.exercised: Counter[str] = Counter()
        self._misled: Finding | None = None
        self.last = ""
        self.answered: Counter[str] = Counter()
        self.steps: list[StepText] = []

    @property
    def judge(self) -> Judge:
        """The judge, once the first command has created the topic."""
        assert self._judge is not None  # noqa: S101 - the first ask of a sequence opens
        return self._judge

    @property
    def over(self) -> bool:
        """Whether the judge cannot follow any more, or the broker may soon remove the topic."""
        late = self._now - self._began > self._can.max_sequence_ms
        return self.unjudged or (self._judge is not None and late)

    @property
    def unjudged(self) -> bool:
        """Whether the judge cannot follow any more."""
        return self._judge is not None and self._judge.over

    @property
    def partitions(self) -> int:
        """How many partitions the topic has."""
        return self._place.partitions

    def end(self) -> tuple[Finding, ...]:
        """Return an error that names a leader which cannot be: it hides no other deviation."""
        return (self._misled,) if self._misled else ()

    def close(self) -> None:
        """Remove the group and the topic."""
        if self._judge is not None:
            self._target.finish(self._place)

    def ask(self, ask: asks.Ask) -> Finding | None:
        """Send a command and judge the answer. Raises TargetError if there is none.

        The step before a deviation gets the state in which the answer is not allowed.
        """
        deviation = self._asked(ask)
        if deviation and self.judge.refused:
            self.steps[-2] = attrs.evolve(self.steps[-2], state=self.judge.refused)
        return deviation

    def _asked(self, ask: asks.Ask) -> Finding | None:
        match ask:
            case asks.WireOpen(config, partitions, group):
                self._open(config, partitions, group)
            case asks.WireFetch() | asks.WireAcknowledge():
                return self._requested(ask)
            case asks.WireDescribe(partition):
                return self._described(partition % self.partitions)
            case asks.WireAlterOffset() | asks.WireRecreate():
                return self._renewed(ask)
            case asks.WireFindCoordinator():
                return self._coordinated(ask)
            case asks.WireBriefMember():
                return self._visited(ask)
            case asks.WireDisconnect(member):
                self._disconnect(member)
            case asks.WireWait(percent):
                self._wait(percent * self._can.lock_ms / 100)
            case asks.WireWaitPastLocks():
                self._wait(self.judge.settled() - self._now + 1)
            case _:
                self._change_log(ask)
        return None

    def _change_log(self, ask: asks.OfTheLog) -> None:
        partition = ask.partition % self.partitions
        match ask:
            case asks.WireProduce(batches=batches, old=old):
                origin = BatchOrigin.OLD if old else BatchOrigin.PLAIN
                self._produce(partition, batches, origin)
            case asks.WireProduceAborted(batches=batches):
                self._produce(partition, batches, BatchOrigin.ABORTED)
            case asks.WireProduceOpen(batches=batches):
                self._produce(partition, batches, BatchOrigin.OPEN)
            case asks.WireEndTransaction(committed=committed):
                self._end(partition, committed=committed)
            case asks.WireDeleteRecords(by=by):
                self._delete(partition, by)

    def held(self, partition: int, member: str) -> list[int]:
        """Return the offsets that a member most plausibly holds, ascending."""
        return self._requests.held(partition, member)

    @property
    def _requests(self) -> Requests:
        return Requests(self._place, self._can, self.judge)

    def log(self, partition: int) -> WrittenLog:
        """Return what was written to a partition."""
        return self.judge.logs[self.judge.key(partition)[1]]

    def _open(self, config: SharePartitionConfig, partitions: int, group: str) -> None:
        self._place = self._target.open(config, partitions, group)
        timing = Timing(self._can.lock_ms, self._can.sweep_ms)
        profile = profile_named(self._hello.profile)
        told = self._can.offsets and self._can.lag
        self._judge = Judge(profile, self._place, config, timing, _NAMES, tells_lag=told)
        reset = config.auto_offset_reset
        if reset is not AutoOffsetReset.EARLIEST:
            self.exercised[f"open at {reset.value} is done"] += 1
        if not config.renew_acknowledge_enable:
            self.exercised["open without renewals is done"] += 1
        if group:
            self.exercised["open with an odd group id is done"] += 1
        self._note(
            "open",
            f"{partitions} partitions, delivery limit {config.delivery_count_limit}, "
            f"window limit {config.partition_max_record_locks}"
            + (", read_committed" if committed_only(config) else "")
            + (f", {reset.value}" if reset is not AutoOffsetReset.EARLIEST else "")
            + ("" if config.renew_acknowledge_enable else ", renewals off")
            + (f", group id with {group!r}" if group else ""),
        )

    def _produce(
        self, partition: int, batches: tuple[tuple[int, int], ...], origin: BatchOrigin
    ) -> None:
        ranges = self._target.produce(self._place, partition, batches, origin)
        self.judge.produced(partition, ranges, origin)
        which = f"{ranges_text(ranges)} {origin}".strip()
        self._note("produce", f"produce {which} in partition {partition}")

    def _end(self, partition: int, *, committed: bool) -> None:
        if self.log(partition).open:
            self._target.end_transaction(self._place, partition, committed=committed)
            self.judge.ended(partition, committed=committed)
            verb = "commit" if committed else "abort"
            self._note("end_transaction", f"{verb} the transaction of partition {partition}")

    def _delete(self, partition: int, by: int) -> None:
        log = self.log(partition)
        before = min(log.stable, log.start + by)
        if before > log.start:
            self._target.delete_records(self._place, partition, before)
            self.judge.deleted(partition, before)
            self._note("delete_records", f"delete records of partition {partition} before {before}")

    def _renewed(self, ask: asks.WireAlterOffset | asks.WireRecreate) -> Finding | None:
        """Close every session, since only an empty group can be altered or deleted; then do it."""
        for member in MEMBERS:
            if self.judge.may_have_session(member_id(member)) and not self.over:
                closing = asks.WireFetch(member, epoch=asks.Epoch.CLOSE)
                wrong, _ = self._exchanged(member, self._requests.of(closing))
                if wrong:
                    return wrong
        if ask.hang_up:
            self._hang_up()
        open_ = any(self.log(partition).open for partition in range(self.partitions))
        if self.over or (open_ and isinstance(ask, asks.WireRecreate)):
            return None
        if isinstance(ask, asks.WireAlterOffset):
            self._alter(ask)
        else:
            self._recreate(ask)
        return None

    def _alter(self, ask: asks.WireAlterOffset) -> None:
        partition = ask.partition % self.partitions
        log = self.log(partition)
        offset = log.start + ask.to % (log.end - log.start + 1)
        self._target.alter_offset(self._place, partition, offset)
        states = {self.judge.key(partition): Durable(offset, 0)}
        self.judge.begun_again(states, connected=not ask.hang_up)
        text = f"alter the start offset of partition {partition} to {offset}"
        self._note("alter_offset", text)

    def _recreate(self, ask: asks.WireRecreate) -> None:
        self._place = self._target.recreate(self._place, topic=ask.topic)
        if ask.topic:
            self._judge = self.judge.anew(self._place)
        states = {self.judge.key(partition): Durable() for partition in range(self.partitions)}
        self.judge.begun_again(states, connected=not ask.hang_up)
        what = "the group and the topic" if ask.topic else "the group"
        self._note("recreate", f"delete {what} and create them again under the same names")

    def _disconnect(self, member: str) -> None:
        name = self._connection(member)
        self._target.disconnect(name)
        self.judge.disconnected(name, self._now)
        self._connections[member] = self._connections.get(member, 0) + 1
        self._note("disconnect", f"{member} is disconnected")

    def _hang_up(self) -> None:
        """Disconnect every member, and wait until the broker has noticed."""
        for member in MEMBERS:
            self._disconnect(member)
        self._wait(DISCONNECT_MS)

    def _wait(self, ms: float) -> None:
        if ms > 0:
            self._target.wait(ms)
            self._now += ms
            self._note("wait", f"{ms:.0f} ms pass")

    def _coordinated(self, ask: asks.WireFindCoordinator) -> Finding | None:
        place = self._requests.topic_partition(ask.partition)
        found = self._target.coordinator_of(share_key(self._place.group, place, ask.key))
        error, told = found.error, f"node {found.node}" if found.node >= 0 else "no node"
        self.exercised[answer_name(FIND, error.name)] += 1
        text = error.name if error is not ErrorCode.NONE else told
        what = f"a key with {ask.key}" if ask.key else f"partition {place.partition}"
        self._note("find_coordinator", f"find the share coordinator of {what}", text, error)
        return self.judge.first(ill_coordinated(ask.key, found, self._hello.capabilities.nodes))

    def _visited(self, ask: asks.WireBriefMember) -> Finding | None:
        if not self._can.heartbeats_ms:
            return None
        visit = Visit(self._target, self._place, self._can, ask)
        wrong = self.judge.first(iter(visit.judged()))
        self._now, self._began = visit.left_ms, self._began or visit.left_ms
        if not wrong:
            self.exercised[answer_name(visit.name, visit.said.error.name)] += 1
        self._note("brief_member", *visit.texts(), visit.said.error)
        return wrong

    def _described(self, partition: int) -> Finding | None:
        """Describe and judge; repeat for a while after a mismatch: writes may be outstanding.

        A lock that ends meanwhile would excuse what is wrong while records are held: if there is
        time enough, it is asked for the last time before that.
        """
        tries = 4
        usual = (self._can.sweep_ms + SLACK_MS) / tries
        for remaining in reversed(range(tries)):
            self._steer_clear(_MARGIN_MS)
            answer = self._target.describe(self._place, partition)
            self._answered(answer)
            wrong = self.judge.described(partition, answer)
            if wrong is None or remaining == 0:
                break
            left = _lasting(self.judge.beliefs) - self._now - _MARGIN_MS
            hurries = answer.error is ErrorCode.NONE and left > (remaining + 1) * SLACK_MS / tries
            pause = min(usual, left / (remaining + 1)) if hurries else usual
            self._target.wait(pause)
            self._now += pause
        if not (wrong or self.judge.over):
            self.exercised.update(described(*self.judge.explanation, answer))
        self._note(
            "describe", f"describe partition {partition}", described_text(answer), answer.error
        )
        return wrong

    def _requested(self, ask: asks.WireFetch | asks.WireAcknowledge) -> Finding | None:
        """Send a request; repeat a fetch that got nothing although records are available.

        The repeated fetch waits longer. More repetitions are allowed where a fetch may have kept
        back all that it read.
        """
        request = self._requests.of(ask)
        throttled = self._can.throttles and isinstance(ask, asks.WireFetch) and ask.throttled
        if throttled:
            self._now = self._target.throttle(on=True)
        wrong, exchange = self._exchanged(ask.member, request)
        if throttled:
            self._now = self._target.throttle(on=False)
            self._wait(exchange.received_ms + exchange.throttle_ms - self._now)
        starved = None
        most = request.max_records if isinstance(request, ShareFetch) else 0
        for _ in range(TIMES_STARVED + self.judge.kept_back(most)):
            if wrong or self.over or not isinstance(request, ShareFetch):
                return wrong
            starved = self.judge.starved(request, exchange)
            if starved is None:
                return None
            epoch = self._requests.epoch(ask.member, asks.Epoch.NEXT, INITIAL_EPOCH)
            request = attrs.evolve(
                request, session_epoch=epoch, partitions=(), forgotten=(), max_wait_ms=PATIENT_MS
            )
            wrong, exchange = self._exchanged(ask.member, request)
        still = isinstance(request, ShareFetch) and self.judge.starved(request, exchange)
        return wrong or (still or None)

    def _exchanged(
        self, member: str, request: ShareRequest, tries: int = UNREADY_TRIES
    ) -> tuple[Finding | None, Exchange]:
        wait = request.max_wait_ms if isinstance(request, ShareFetch) else 0
        self._steer_clear(wait + _MARGIN_MS)
        connection = self._connection(member)
        op = _op(request)
        try:
            exchange = self._target.ask(self._place, request, connection)
        except UnansweredError:
            return self._unanswered(op, request), Exchange(ShareResponse(), self._now, self._now)
        self._answered(exchange)
        self._misled = self._misled or self.judge.first(
            misled(exchange, op, self.judge.logs.keys(), self._hello.capabilities.nodes)
        )
        wrong = None if self.judge.over else self.judge.exchange(request, connection, exchange)
        if isinstance(request, ShareFetch) and not self.judge.over:
            wrong = wrong or self.judge.hasty(request, exchange)
        if not (wrong or self.judge.over):
            beliefs = *self.judge.explanation, self.judge.beliefs[0]
            served = Served(request, exchange, *beliefs, self.judge.logs)
            self.exercised.update(exercised(served))
        throttled = ("throttled",) if exchange.throttle_ms else ()
        more = "".join(f", {each}" for each in (*exchange.unknown_errors, *throttled))
        text = response_text(exchange.response) + more
        self._note(op, request_text(request, _NAMES), text, status_of(exchange))
        if is_passing(exchange.response):
            return self._unready(member, request, exchange, tries)
        return wrong, exchange

    def _unready(
        self, member: str, request: ShareRequest, exchange: Exchange, tries: int
    ) -> tuple[Finding | None, Exchange]:
        """Ask again for a while: the only broker of a cluster leads all of its partitions.

        Where the request has ended its session, another is opened, to be ended in the same way.
        """
        closed = exchange.response.error is ErrorCode.NONE and request.session_epoch == FINAL_EPOCH
        if exchange.response.error is ErrorCode.NONE and not closed:
            request = attrs.evolve(request, session_epoch=next_epoch(request.session_epoch))
        if tries:
            self._wait(UNREADY_PAUSE_MS)
            if closed:
                wrong, opened = self._exchanged(member, self._opening(request), tries - 1)
                if wrong:
                    return wrong, opened
            return self._exchanged(member, request, tries - 1)
        rule, seconds = WireDifference.LEADER_SERVES, UNREADY_TRIES * UNREADY_PAUSE_MS // 1000
        told = f"{status_of(exchange).name} for {seconds} s", "an answer of the leader"
        before = self.judge.state_text()
        return target_finding(rule.name, _op(request), rule.value, *told, before=before), exchange

    def _opening(self, request: ShareRequest) -> ShareFetch:
        """Return the request that opens a session of the same member and partitions."""
        same = (PartitionRequest(part.topic_partition) for part in request.partitions)
        names = request.group_id, request.member_id, INITIAL_EPOCH, tuple(same)
        return ShareFetch(*names, max_wait_ms=QUICK_MS, version=self._can.fetch_versions[1])

    def _unanswered(self, op: str, request: ShareRequest) -> Finding:
        rule, closed = WireDifference.UNANSWERED, "the connection was closed"
        self._note(op, request_text(request, _NAMES), closed, ErrorCode.UNKNOWN_SERVER_ERROR)
        before = self.judge.state_text()
        return target_finding(rule.name, op, rule.value, closed, "an answer", before=before)

    def _answered(self, described: Exchange | Described) -> None:
        """Read the time off an answer: the first one shows where the clock starts."""
        self._now, self._began = described.received_ms, self._began or described.sent_ms

    def _steer_clear(self, ms: float) -> None:
        """Wait until all locks are decided that may end within so many ms."""
        until = self.judge.undecided(self._now, self._now + ms)
        if until:
            self._wait(until - self._now + 1)

    def _connection(self, member: str) -> str:
        return f"{member}-{self._connections.get(member, 0)}"

    def _note(
        self, op: str, asked: str, answered: str = "", error: ErrorCode = ErrorCode.NONE
    ) -> None:
        self.last = op
        self.answered[f"{op} {error.name}"] += 1
        after = self.judge.state_text() if answered else ""
        if not answered:
            self.exercised[f"{op} is done"] += 1
        self.steps.append(StepText(printable(asked), printable(answered), after))


def _lasting(beliefs: Sequence[Belief]) -> float:
    """Return until when (ms) every lock lasts that may be held; infinity without any."""
    locks = (held for belief in beliefs for held in belief.locks.values())
    return min((each.earliest for held in locks for each in held.values()), default=float("inf"))


def _op(request: ShareRequest) -> str:
    return "fetch" if isinstance(request, ShareFetch) else "acknowledge"
