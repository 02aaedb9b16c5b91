"""Every state of a small broker: two members, two share-partitions of one record each.

Members send requests of every epoch, right and wrong, acknowledge what they hold, forget and add a
share-partition, close and lose their connection; locks expire; writes are answered at once, and
those of one member also later, or not well. So that the world is finite, sessions always expect
epoch 1, times are told by whether a lock is over, and the order of a session is forgotten.
"""

from collections.abc import Iterator, Mapping

import attrs
from immutables import Map

from judge.invariants import broken_names
from judge.share_broker_invariants import BROKER_INVARIANTS
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch, CompleteWrite
from model.outcome import Answer
from model.profile import KIP
from model.share_messages import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    Conduct,
    PartitionConduct,
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
    ShareResponse,
    TopicPartition,
)
from model.states import AcknowledgeType
from spec import share_broker, share_request
from spec.coordinator import Durable
from spec.log import Log
from spec.partition import Outstanding, SharePartition
from spec.record import Record
from spec.share_broker import Handled, ShareBroker
from spec.share_session import SessionPartition, ShareSession

GROUP, MEMBERS = "g", ("m", "n")
PARTITIONS = P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
LOCK_MS = 1
FAILS, WAITS = Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE), Answer(ErrorCode.PENDING)
FAILED_WRITES = frozenset(f"write at {at.partition}: {FAILS.status.name}" for at in PARTITIONS)
"""The only steps after which a member without a session may hold a record again."""


@attrs.frozen
class Session:
    """A broker, and what was wrong with the step that led here, if anything."""

    broker: ShareBroker
    fault: str | None = None


def beginning(delivery_count_limit: int = 1) -> Session:
    """Return the world before any request, in which no record is delivered more often."""
    config = SharePartitionConfig(delivery_count_limit, 2, LOCK_MS, AutoOffsetReset.EARLIEST)
    broker = ShareBroker(KIP, Map({"t": 2}))
    for at in PARTITIONS:
        broker = share_broker.lead(broker, (GROUP, at), config, Log(0, 1), Durable(0, 0))
    return Session(broker)


def check(world: Session) -> str | None:
    """Return what is wrong with the broker, or with the step that led to it."""
    return world.fault or next(iter(broken_names(BROKER_INVARIANTS, world.broker)), None)


def holds(broker: ShareBroker, member: str, at: TopicPartition) -> bool:
    """Return whether the member holds the acquisition lock of the record there."""
    window = broker.partitions[GROUP, at].window
    return any(window.records[offset].owner == member for offset in window.held)


def steps(world: Session) -> Iterator[tuple[str, Session]]:
    """Yield everything that can happen next, with its name."""
    for name, after in _steps(world):
        held_again = name not in FAILED_WRITES and _holds_again(world.broker, after.broker)
        fault = "a member without a session holds a record again" if held_again else None
        yield name, attrs.evolve(after, fault=after.fault or fault)


def _holds_again(before: ShareBroker, after: ShareBroker) -> bool:
    gone = [member for member in MEMBERS if (GROUP, member) not in after.sessions]
    return any(
        holds(after, member, at) and not holds(before, member, at)
        for member in gone
        for at in PARTITIONS
    )


def _steps(world: Session) -> Iterator[tuple[str, Session]]:
    broker = world.broker
    yield "locks expire", _expired(broker)
    for at in PARTITIONS:
        for write in broker.partitions[GROUP, at].outstanding:
            for status in (ErrorCode.NONE, FAILS.status):
                answered = share_broker.complete_write(
                    broker, (GROUP, at), CompleteWrite(write, status)
                )
                fault = _answered_otherwise(broker, answered)
                yield (
                    f"write at {at.partition}: {status.name}",
                    Session(small_broker(answered.broker), fault),
                )
    for member in MEMBERS:
        yield f"{member} disconnects", _disconnected(broker, member)
        for name, request, conduct in _requests(broker, member):
            handled = share_request.handle(broker, request, broker.now, conduct)
            fault = _fault(broker, request, conduct, handled)
            if fault is not None or not _is_refused(handled):
                yield f"{member} {name}", Session(small_broker(handled.broker), fault)


def _requests(broker: ShareBroker, member: str) -> Iterator[tuple[str, ShareRequest, Conduct]]:
    """Yield the requests of a member: every epoch, with what makes a difference at it."""
    session = broker.sessions.get((GROUP, member))
    expected = 1 if session is None else session.epoch
    every = tuple(PartitionRequest(at) for at in PARTITIONS)
    mine = tuple(at for at in PARTITIONS if holds(broker, member, at))

    def fetch(epoch: int, *asked: PartitionRequest, forgotten: bool = False) -> ShareFetch:
        return ShareFetch(GROUP, member, epoch, asked, (P0,) if forgotten else (), max_records=1)

    yield "opens", fetch(INITIAL_EPOCH, *every), Conduct()
    yield "fetches", fetch(expected), Conduct()
    yield "fetches at a wrong epoch", fetch(expected + 1, *every), Conduct()
    yield "fetches and forgets 0", fetch(expected, forgotten=True), Conduct()
    yield "fetches and adds 0", fetch(expected, every[0]), Conduct()
    yield "closes", fetch(FINAL_EPOCH), Conduct()
    troubled = mine and member == MEMBERS[0]
    if troubled:
        fails = _conduct(PartitionConduct(release_answer=FAILS))
        yield "closes, the release fails", fetch(FINAL_EPOCH), fails
    for kind in (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE) if mine else ():
        asked = tuple(PartitionRequest(at, _all(kind)) for at in mine)
        said = f"{kind.name.lower()}s"
        yield f"{said} and opens", fetch(INITIAL_EPOCH, *asked), Conduct()
        yield f"{said} and fetches", fetch(expected, *asked), Conduct()
        for epoch, when in ((expected, ""), (INITIAL_EPOCH, " at 0"), (FINAL_EPOCH, " and closes")):
            yield f"{said}{when}", ShareAcknowledge(GROUP, member, epoch, asked), Conduct()
        if troubled:
            waits = _conduct(PartitionConduct(acknowledge_answer=WAITS))
            yield f"{said} and waits", ShareAcknowledge(GROUP, member, expected, asked), waits


def _all(kind: AcknowledgeType) -> tuple[AcknowledgementBatch, ...]:
    return (AcknowledgementBatch(0, 0, (kind,)),)


def _conduct(everywhere: PartitionConduct) -> Conduct:
    return Conduct(tuple((at, everywhere) for at in PARTITIONS))


def _expired(broker: ShareBroker) -> Session:
    after = share_broker.advance(broker, broker.now + LOCK_MS)
    left = [at for at in PARTITIONS for member in MEMBERS if holds(after, member, at)]
    return Session(small_broker(after), "a lock outlasts its duration" if left else None)


def _disconnected(broker: ShareBroker, member: str) -> Session:
    after = share_broker.disconnect(broker, member, broker.now).broker
    return Session(small_broker(after), _held_after_the_end(broker, after, member))


def _is_refused(handled: Handled) -> bool:
    return handled.response is not None and handled.response.error is not ErrorCode.NONE


def _answered_otherwise(before: ShareBroker, handled: Handled) -> str | None:
    """Return what is wrong if not each request is answered once, or waits for its answer."""
    asked = {*before.waiting, handled.seq} - {share_broker.NOBODY}
    answered, waiting = set(handled.responses), set(handled.broker.waiting)
    same = answered <= asked and waiting == asked - answered
    return None if same else "a request has no answer, or another has it"


def _fault(
    before: ShareBroker, request: ShareRequest, conduct: Conduct, handled: Handled
) -> str | None:
    """Return what a request did that it may not do."""
    after, response = handled.broker, handled.response
    if fault := _answered_otherwise(before, handled):
        return fault
    if response is None:
        return None
    if _is_refused(handled):
        same = attrs.evolve(after, next_seq=before.next_seq) == before
        return None if same else "a request that was refused changed something"
    if request.session_epoch == FINAL_EPOCH:
        if conduct.of(P0).release_answer.status is not ErrorCode.NONE:
            return None
        return _held_after_the_end(before, after, request.member_id)
    return _not_in_session(request, response) or _not_given(after, request, response)


def _held_after_the_end(before: ShareBroker, after: ShareBroker, member: str) -> str | None:
    session = before.sessions.get((GROUP, member))
    if session is None:
        return None
    ats = (one.topic_partition for one in session.partitions)
    held = any(holds(after, member, at) for at in ats)
    live = (GROUP, member) in after.sessions
    return "a session that ended lives or holds something" if held or live else None


def _not_in_session(request: ShareRequest, response: ShareResponse) -> str | None:
    if not isinstance(request, ShareFetch):
        return None
    fetched = {one.topic_partition for one in response.partitions if one.acquired}
    return "records of a forgotten one" if fetched & set(request.forgotten) else None


def _not_given(after: ShareBroker, request: ShareRequest, response: ShareResponse) -> str | None:
    given = [one.topic_partition for one in response.partitions if one.acquired]
    wrong = [at for at in given if not holds(after, request.member_id, at)]
    errors = [one for one in response.partitions if one.acquired and one.error.value]
    return "records were given that the member does not hold" if wrong or errors else None


def small_broker(broker: ShareBroker, ids: Mapping[int, int] | None = None) -> ShareBroker:
    """Return the broker with its clock at 0 and its numbers as low as they can be.

    ``ids`` are the numbers that writes get; None: those of each share-partition from 0 on.
    """
    numbers = {seq: number for number, seq in enumerate(sorted(broker.waiting))}
    partitions = {
        key: _small_partition(partition, ids, numbers)
        for key, partition in broker.partitions.items()
    }
    sessions = {key: _small_session(session) for key, session in broker.sessions.items()}
    return attrs.evolve(
        broker,
        now=0,
        next_seq=len(numbers),
        waiting=Map({numbers[seq]: waiting for seq, waiting in broker.waiting.items()}),
        sessions=Map(sessions),
        partitions=Map(partitions),
    )


def _small_session(session: ShareSession) -> ShareSession:
    members = sorted(part.topic_partition for part in session.partitions)
    parts = tuple(SessionPartition(topic_partition) for topic_partition in members)
    return ShareSession(1, session.connection, parts)


def _small_partition(
    partition: SharePartition, ids: Mapping[int, int] | None, numbers: Mapping[int, int]
) -> SharePartition:
    if ids is None:
        if partition.now == partition.next_write == 0:
            return partition
        ids = {id_: number for number, id_ in enumerate(sorted(partition.outstanding))}
    outstanding = {
        ids[id_]: _small_write(waiting, ids[id_], numbers)
        for id_, waiting in partition.outstanding.items()
    }
    known = {r.acquisition for r in partition.window.records.values()} - {None}
    numbered: dict[int | None, int | None] = {None: None}
    numbered |= {acquisition: rank for rank, acquisition in enumerate(sorted(known))}
    records = {
        o: attrs.evolve(_small_record(r, partition.now), acquisition=numbered[r.acquisition])
        for o, r in partition.window.records.items()
    }
    return attrs.evolve(
        partition,
        now=0,
        window=attrs.evolve(partition.window, records=Map(records)),
        outstanding=Map(outstanding),
        next_write=len(ids),
        next_acquisition=len(known),
    )


def _small_write(waiting: Outstanding, number: int, numbers: Mapping[int, int]) -> Outstanding:
    write = attrs.evolve(waiting.write, id=number)
    seq = None if waiting.seq is None else numbers.get(waiting.seq, share_broker.NOBODY)
    return attrs.evolve(waiting, write=write, seq=seq)


def _small_record(record: Record, now: int) -> Record:
    def remaining(deadline: int | None) -> int | None:
        return None if deadline is None else max(0, deadline - now)

    def age(since: int | None) -> int | None:
        return None if since is None else max(-LOCK_MS, since - now)

    return attrs.evolve(
        record,
        deadline=remaining(record.deadline),
        former_deadline=remaining(record.former_deadline),
        progress_start=age(record.progress_start),
        last_progress=age(record.last_progress),
    )
