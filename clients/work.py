"""Members of a share group and a producer at work on a cluster that fails, and what they saw.

Members are share consumers behind drivers, as in ``docs/verify-client.md``, each a process. Times
are in ms since the epoch.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from random import Random
from threading import Event, Lock, Thread
from typing import Any

import attrs

from clients.drivers import Driver, returned
from clients.events import ACCEPT, REJECT, RELEASE, RENEW, Completed, Delivered, Returned
from clients.subjects import Kept
from conformance.target import TargetError

ANSWER_SECONDS = 90.0
"""How long a driver may take for one answer."""

_POLL_MS, _COMMIT_MS, _PAUSE_S, _JOIN_SECONDS, _FLUSH_SECONDS = 500, 10_000, 0.2, 60.0, 20.0
_MAY_PRODUCE_S = 0.12
PLAIN, COMPACTED, TRANSACTIONS = "plain", "compacted", "transactions"
_KEYS, _TRANSACTION_MS, _MAY_TRANSACT, _MAY_ABORT = 40, 10_000, 0.3, 0.5
_TYPES = {ACCEPT: 80, RELEASE: 10, REJECT: 4}
_RENEWALS = 6
_LIVES = 400
"""In how many polls on average a member that is not in a hurry closes and comes back."""


@attrs.frozen
class WorkEvent:
    """What was seen, and when."""

    ms: int


@attrs.frozen
class RecordProduced(WorkEvent):
    """A record that the cluster confirmed."""

    partition: int
    offset: int


@attrs.frozen
class MemberPolled(WorkEvent):
    """What a poll returned, perhaps nothing."""

    member: str
    records: tuple[Delivered, ...]
    error: str | None = None


@attrs.frozen
class MemberAcknowledged(WorkEvent):
    """A call of a member that acknowledges a record; ``type`` as on the wire."""

    member: str
    partition: int
    offset: int
    count: int
    type: int


@attrs.frozen
class MemberTold(WorkEvent):
    """What the callback for acknowledgements said of some offsets of a partition."""

    member: str
    partition: int
    offsets: tuple[int, ...]
    error: str | None


@attrs.frozen
class MemberFailed(WorkEvent):
    """A call of a member failed, or its driver did."""

    member: str
    what: str


@attrs.frozen
class MemberPlan:
    """A member: the command of its driver, and how it works."""

    name: str
    group: str
    command: str
    acquire_mode: str
    max_poll_records: int
    renews: bool


@attrs.define
class Work:
    """What members and producers share: where the cluster is, what was seen, and when to end.

    ``log`` is what the topic has: ``PLAIN`` records, those that are ``COMPACTED``, with one of
    some keys each, or ``TRANSACTIONS``, of which some are aborted.
    ``draining`` lets members accept everything; ``ending`` lets them close. ``broken`` is what
    went wrong in a thread of this program.
    """

    bootstrap: str
    topic: str
    log: str = PLAIN
    events: list[WorkEvent] = attrs.field(factory=list)
    draining: Event = attrs.field(factory=Event)
    ending: Event = attrs.field(factory=Event)
    broken: list[Exception] = attrs.field(factory=list)
    _lock: Lock = attrs.field(factory=Lock)
    _threads: list[Thread] = attrs.field(factory=list)

    def note(self, event: WorkEvent) -> None:
        """Note an event; threads may do so side by side."""
        with self._lock:
            self.events.append(event)

    def start(self, name: str, run: Callable[..., None], *arguments: object) -> None:
        """Let something run until the work ends."""

        def guarded() -> None:
            try:
                run(self, *arguments)
            except Exception as error:  # noqa: BLE001 - it is raised where somebody sees it
                self.broken.append(error)

        thread = Thread(target=guarded, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def end(self) -> None:
        """Let members close and wait for them; no member holds up the end for long."""
        self.draining.set()
        self.ending.set()
        until = time.monotonic() + _JOIN_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def seen(self) -> tuple[WorkEvent, ...]:
        """Return what was seen so far. Raises what broke a thread."""
        if self.broken:
            raise self.broken[0]
        with self._lock:
            return tuple(self.events)


def now_ms() -> int:
    """Return the time in ms since the epoch."""
    return int(time.time() * 1000)


def member_at_work(work: Work, plan: MemberPlan, seed: int) -> None:
    """Poll, acknowledge and commit until the work ends, in one life of a consumer after another."""
    random = Random(seed)  # noqa: S311 - a run is drawn from its seed
    while not work.ending.is_set():
        driver = Kept(plan.command, ANSWER_SECONDS)
        try:
            _live(work, plan, driver, random)
        except TargetError as error:
            work.note(MemberFailed(now_ms(), plan.name, str(error)[:300]))
            work.ending.wait(1.0)
        finally:
            with suppress(TargetError):
                driver.end()


def _live(work: Work, plan: MemberPlan, driver: Driver, random: Random) -> None:
    """Live one life of a consumer."""
    wanted = {
        "bootstrap": work.bootstrap,
        "group": plan.group,
        "mode": "explicit",
        "acquire_mode": plan.acquire_mode,
        "max_poll_records": plan.max_poll_records,
    }
    _asked(work, plan, driver, "open", **wanted)
    _asked(work, plan, driver, "subscribe", topics=[work.topic])
    while not work.ending.is_set():
        answer = _asked(work, plan, driver, "poll", timeout_ms=_POLL_MS)
        work.note(MemberPolled(answer.at_ms, plan.name, answer.records, answer.error))
        if answer.error:
            work.ending.wait(_PAUSE_S)
        if answer.records:
            _acknowledge(work, plan, driver, random, answer.records)
        if not work.draining.is_set() and not random.randrange(_LIVES):
            break
    _asked(work, plan, driver, "close")


def _acknowledge(
    work: Work, plan: MemberPlan, driver: Driver, random: Random, records: Iterable[Delivered]
) -> None:
    """Acknowledge records, each with a type that is drawn, and commit."""
    types = _TYPES | ({RENEW: _RENEWALS} if plan.renews else {})
    for record in records:
        draining = work.draining.is_set()
        chosen = ACCEPT if draining else random.choices(list(types), list(types.values()))[0]
        topic, partition = record.place
        place = {"topic": topic, "partition": partition, "offset": record.offset}
        given = MemberAcknowledged(
            now_ms(), plan.name, partition, record.offset, record.count, chosen
        )
        if not _asked(work, plan, driver, "acknowledge", **place, type=chosen).error:
            work.note(given)
    if work.draining.is_set() or random.random() < 0.7:  # noqa: PLR2004 - most are synchronous
        _asked(work, plan, driver, "commit", timeout_ms=_COMMIT_MS)
    else:
        _asked(work, plan, driver, "commit_async")


def _asked(
    work: Work,
    plan: MemberPlan,
    driver: Driver,
    call: str,
    **values: Any,  # noqa: ANN401 - JSON
) -> Returned:
    """Let a driver do something, and note what callbacks said. Raises TargetError."""
    answer = returned(call, driver.ask({"do": call, **values}), now_ms())
    for said in answer.completed:
        work.note(_told(plan.name, said))
    if answer.error:
        work.note(MemberFailed(answer.at_ms, plan.name, f"{call}: {answer.error}"))
    return answer


def _told(member: str, said: Completed) -> MemberTold:
    return MemberTold(now_ms(), member, said.place[1], said.offsets, said.error)


def producer_at_work(work: Work, seed: int, partitions: int) -> None:
    """Produce bursts of records to random partitions until members drain; note the confirmed."""
    random = Random(seed)  # noqa: S311 - a run is drawn from its seed
    from confluent_kafka import KafkaException  # noqa: PLC0415 - an extra of the package

    plain, transactional = _producer(work), None
    while not work.draining.wait(_MAY_PRODUCE_S * random.random()):
        partition, records = random.randrange(partitions), random.randrange(1, 16)
        if work.log != TRANSACTIONS or random.random() >= _MAY_TRANSACT:
            _produce(work, plain, random, partition, records)
            plain.poll(0)
            continue
        try:
            transactional = transactional or _transactional(work)
            _transact(work, transactional, random, partition, records)
        except KafkaException:
            transactional = None  # The next one aborts what this one began.
    plain.flush(_FLUSH_SECONDS)


def _producer(work: Work, **settings: object) -> Any:  # noqa: ANN401 - the wheel has no types
    from confluent_kafka import Producer  # noqa: PLC0415 - an extra of the package

    quiet = {"log_level": 0, "error_cb": lambda _error: None}
    common = {"bootstrap.servers": work.bootstrap, "linger.ms": 5} | quiet
    times = {"enable.idempotence": True, "delivery.timeout.ms": 30_000}
    return Producer(common | times | settings)


def _transactional(work: Work) -> Any:  # noqa: ANN401 - as above
    """Return a producer of transactions; what another one left open is aborted."""
    id_, timeout = f"{work.topic}-transactions", _TRANSACTION_MS
    producer = _producer(
        work,
        **{
            "transactional.id": id_,
            "transaction.timeout.ms": timeout,
            "delivery.timeout.ms": timeout,
        },
    )
    producer.init_transactions(_FLUSH_SECONDS)
    return producer


def _transact(work: Work, producer: Any, random: Random, partition: int, records: int) -> None:  # noqa: ANN401 - as above
    """Produce records in a transaction, and commit or abort it. Raises KafkaException."""
    producer.begin_transaction()
    _produce(work, producer, random, partition, records)
    producer.flush(_FLUSH_SECONDS)
    if random.random() < _MAY_ABORT:
        producer.abort_transaction(_FLUSH_SECONDS)
    else:
        producer.commit_transaction(_FLUSH_SECONDS)


def _produce(work: Work, producer: Any, random: Random, partition: int, records: int) -> None:  # noqa: ANN401 - as above
    def confirmed(error: object, message: Any) -> None:  # noqa: ANN401 - as above
        if error is None:
            work.note(RecordProduced(now_ms(), message.partition(), message.offset()))

    for _ in range(records):
        # Half of the records have a key of their own, so that not all that is old is gone.
        number = random.randrange(random.choice((_KEYS, 2**63)))
        key = f"{number}" if work.log == COMPACTED else None
        with suppress(BufferError):
            producer.produce(work.topic, "v", key=key, partition=partition, on_delivery=confirmed)
