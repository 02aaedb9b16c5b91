"""A known deviation of a broker accounts for that in its own state, not for one that looks alike.

Each case ends with an answer that is wrong in the way of a known deviation; its control is wrong in
the same way for another reason.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import pytest

import conformance
from conformance.known import KnownDeviation, read_known
from conformance.wire.asks import Key
from conformance.wire.cause import HELD_BELOW, KEPT, OVER_ABORTED
from conformance.wire.judge import Judge
from conformance.wire.target import BatchOrigin, Described, Exchange, NamedNode
from conformance.wire.visible import ill_coordinated, misled
from judge.finding import Finding
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.profile import KAFKA
from model.ranges import AcquiredRange, OffsetRange
from model.share_messages import (
    PartitionRequest,
    PartitionResponse,
    ShareFetch,
    ShareRequest,
    ShareResponse,
    TopicPartition,
)
from model.states import AcquireMode
from spec.coordinator import Durable
from tests.conformance.wire.worlds import (
    COMMITTED,
    CONFIG,
    P0,
    P1,
    PLACE,
    TIMING,
    acknowledge,
    answer,
    fetch,
)

TARGETS = Path(conformance.__file__).parent / "targets"
NONE, REFUSED = ErrorCode.NONE, ErrorCode.INVALID_RECORD_STATE
MOVED = ErrorCode.NOT_LEADER_OR_FOLLOWER
ILL, FAILED = ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR
ACCEPT, RELEASE, RENEW = 1, 2, 4
BY_DURATION = attrs.evolve(CONFIG, auto_offset_reset=AutoOffsetReset.BY_DURATION)
ABORTED, OLD = BatchOrigin.ABORTED, BatchOrigin.OLD
NOTHING = dict.fromkeys(("max_records", "max_bytes", "min_bytes", "max_wait_ms"), 0)
STRICT = AcquireMode.RECORD_LIMIT
_UNAVAILABLE = ("OFFSET_NOT_AVAILABLE",)
Asked = tuple[ShareRequest, Exchange]
HOLDS: Asked = (fetch("a", 0), answer((0, 1, 1)))
DONE: Asked = (acknowledge("a", 1, (0, 1, ACCEPT)), answer())


def made(*sizes: int, config: SharePartitionConfig = CONFIG) -> Judge:
    """Return a judge of a place where partition 0 has log batches of so many records."""
    judge = Judge(KAFKA, PLACE, config, TIMING)
    produced(judge, *sizes)
    return judge


def produced(judge: Judge, *sizes: int, origin: BatchOrigin = BatchOrigin.PLAIN) -> Judge:
    for size in sizes:
        end = judge.logs[P0].end
        judge.produced(0, [OffsetRange(end, end + size - 1)], origin)
    return judge


def shown(judge: Judge, *asked: Asked) -> Finding:
    """Return the deviation that the last of these shows; the others show none."""
    *before, last = (judge.exchange(request, request.member_id, said) for request, said in asked)
    assert not any(before)
    assert last is not None
    return last


def starved(judge: Judge, *asked: Asked) -> Finding:
    """Return the deviation that the last fetch gets nothing."""
    assert not any(judge.exchange(request, request.member_id, said) for request, said in asked)
    found = judge.starved(*asked[-1])
    assert found is not None
    return found


def also(said: Exchange, *unknown: str) -> Exchange:
    return attrs.evolve(said, unknown_errors=unknown)


def erring(error: ErrorCode, *unknown: str) -> Exchange:
    """Return a response with an error of the fetch from partition 0."""
    parts = (PartitionResponse(P0, error),)
    return Exchange(ShareResponse(partitions=parts), 0, 1, unknown_errors=unknown)


def failed(last: int, *unknown: str) -> Finding:
    wrong = acknowledge("a", 2, (0, last, ACCEPT)), also(answer(error=FAILED), *unknown)
    return shown(made(3), HOLDS, DONE, wrong)


def minus_one(member: str, last: int, refused: ErrorCode) -> Finding:
    opened = fetch("b", 0), answer((2, 2, 1))
    wrong = acknowledge(member, 1, (-1, last, ACCEPT)), answer(refused=refused)
    return shown(made(4), (HOLDS[0], answer((0, 1, 1))), opened, wrong)


def deleted(first: int, last: int) -> Finding:
    judge = made(3, 2)
    judge.deleted(0, 4)
    return shown(judge, (fetch("a", 0), answer((first, last, 1))))


def of_aborted(start: int, *, altered: bool = False, unknown: Sequence[str] = ()) -> Finding:
    judge = produced(made(config=COMMITTED), 3, origin=ABORTED)
    if altered:
        judge.begun_again({judge.key(0): Durable(start, 0)}, connected=False)
    else:
        judge.deleted(0, start)
    return shown(judge, (fetch("a", 0), erring(FAILED, *unknown)))


def with_another(start: int) -> Finding:
    """Return that partition 0 fails with partition 1, whose log begins at an offset."""
    judge = made(1, config=COMMITTED)
    judge.produced(1, [OffsetRange(0, 2)], ABORTED)
    judge.deleted(1, start)
    parts = (PartitionResponse(P0, FAILED), PartitionResponse(P1, FAILED))
    return shown(judge, (fetch("a", 0), Exchange(ShareResponse(partitions=parts), 0, 1)))


def full(*aborted: int) -> Finding:
    judge = produced(produced(made(config=COMMITTED), *aborted, origin=ABORTED), 2)
    return starved(judge, *((fetch("a", epoch), answer()) for epoch in range(3)))


def led(place: TopicPartition, node: int, about: str, error: ErrorCode = MOVED) -> Finding:
    parts = (PartitionResponse(place, error, MOVED),)
    said = Exchange(ShareResponse(partitions=parts), 0, 1, leaders=((place, node),))
    found = made().first(misled(said, about, {P0, P1}, {1}))
    assert found is not None
    return found


def unmoved(first: int, at: float = 2) -> Finding:
    """Return that the start offset stays at an accepted record, after deleted ones.

    Of records 0 and 1 those from ``first`` on were released before, the others are held.
    """
    judge = made(4)
    for request, said in (
        (fetch("a", 0), answer((0, 3, 1))),
        (acknowledge("a", 1, (first, 1, RELEASE)), answer()),
    ):
        assert judge.exchange(request, "a", said) is None
    judge.deleted(0, 2)
    told = Described(NONE, 2, 1, 2, 3)
    for each in (fetch("b", 0), acknowledge("a", 2, (2, 2, ACCEPT))):
        assert judge.exchange(each, each.member_id, answer()) is None
    assert judge.described(0, told) is None
    assert judge.exchange(acknowledge("a", 3, (3, 3, RELEASE)), "a", answer()) is None
    found = judge.described(0, attrs.evolve(told, sent_ms=at, received_ms=at + 1))
    assert found is not None
    return found


def kept(
    *asked: Asked, start: int = 0, connected: bool = True, acknowledged: bool = False
) -> Judge:
    """Return a judge after record 0 was delivered, and the start offset altered."""
    judge = made(2)
    for request, said in (HOLDS, *([DONE] if acknowledged else []), *asked):
        assert judge.exchange(request, "a", said) is None
    assert judge.exchange(fetch("a", -1), "a", answer()) is None
    judge.begun_again({judge.key(0): Durable(start, 0)}, connected=connected)
    return judge


def again(*acquired: tuple[int, int, int]) -> Asked:
    return fetch("a", 0), answer(*acquired)


def gapped(finished: int) -> Finding:
    """Return that released records starve behind a deleted one; this one of four is accepted."""
    judge = made(4)
    accepts = acknowledge("a", 1, (finished, finished, ACCEPT)), answer()
    for request, said in ((fetch("a", 0), answer((0, 3, 1))), accepts):
        assert judge.exchange(request, "a", said) is None
    judge.deleted(0, 1)
    return starved(judge, (fetch("a", -1), answer()), (fetch("b", 0), answer()))


def throttled(*, ms: int = 1000) -> Finding:
    """Return that records are starved after an empty answer, in which a client is throttled."""
    nothing = attrs.evolve(answer(), throttle_ms=ms)
    return starved(made(2), (fetch("a", 0), nothing), (fetch("a", 1), answer()))


def by_duration(error: ErrorCode, *unknown: str, origin: BatchOrigin = OLD) -> Finding:
    judge = produced(made(config=BY_DURATION), 2, origin=origin)
    return shown(judge, (fetch("a", 0), erring(error, *unknown)))


def late(*, young: bool) -> Finding:
    """Return the same of a share-partition of which an answer before said nothing."""
    judge = made(config=BY_DURATION)
    produced(judge, 2, origin=BatchOrigin.PLAIN if young else OLD)
    given = answer((0, 1, 1)) if young else answer()
    return shown(judge, (fetch("a", 0), given), (fetch("a", 1), erring(FAILED, *_UNAVAILABLE)))


def lost(request: ShareRequest, *acquired: tuple[int, int, int]) -> Finding:
    """Return that an acknowledgement is accepted which must be refused, with these records."""
    opened = fetch("b", 0), answer((2, 2, 1))
    return shown(made(5), HOLDS, opened, (request, answer(*acquired)))


def twice(*parts: PartitionResponse) -> Finding:
    return shown(made(3), (fetch("a", 0), Exchange(ShareResponse(partitions=parts), 0, 1)))


def renewing(*joined: TopicPartition) -> Finding:
    asked = fetch("a", 1, (0, 1, RENEW), **NOTHING, is_renew_ack=True)
    parts = (*asked.partitions, *map(PartitionRequest, joined))
    return shown(made(3), HOLDS, (attrs.evolve(asked, partitions=parts), answer(error=ILL)))


def beyond(origin: BatchOrigin) -> Finding:
    judge = made(1, config=COMMITTED)
    assert judge.exchange(fetch("a", 0), "a", answer((0, 0, 1))) is None
    produced(judge, 3, 2, origin=origin)
    produced(judge, 1)
    request: ShareFetch = attrs.evolve(fetch("b", 0), acquire_mode=STRICT)
    last = judge.logs[P0].end - 1
    return shown(judge, (request, answer((last if origin is ABORTED else 1, last, 1))))


def test_the_records_in_a_window_count_after_what_the_fetch_acknowledges() -> None:
    judge = made(1, 3, config=COMMITTED)
    first = fetch("a", 0), answer((0, 0, 1))
    second = fetch("a", 1), answer((1, 3, 1))
    assert not any(judge.exchange(request, "a", said) for request, said in (first, second))
    produced(judge, 3, origin=ABORTED)
    request: ShareFetch = attrs.evolve(fetch("a", 2, (0, 0, ACCEPT)), acquire_mode=STRICT)
    found = shown(judge, (request, answer((7, 7, 1))))
    assert found.probable_cause[-1] == OVER_ABORTED


def unfetched(*asked: Asked) -> Finding:
    wrong = acknowledge("b", 1), answer(error=ErrorCode.GROUP_ID_NOT_FOUND)
    return shown(made(3), *asked, wrong)


def keyed(*said: object) -> Finding:
    found = made().first(ill_coordinated(Key.NO_TOPIC, NamedNode(*said), {1}))  # type: ignore[arg-type] # its fields
    assert found is not None
    return found


def at_the_end(*, before: bool) -> Finding:
    judge = made(config=BY_DURATION)
    if not before:
        assert judge.exchange(fetch("a", 0), "a", answer()) is None
    return starved(produced(judge, 2), (fetch("a", 0), answer()))


ABSENT = TopicPartition("t", 99)
REFUSAL, RECORDS = PartitionResponse(P0, NONE, REFUSED), AcquiredRange(0, 0, 1)
GIVEN = PartitionResponse(P0, acquired=(RECORDS,))
TOO_MANY = ShareFetch("g", "a", 1, (), max_records=0)

CASES: dict[str, tuple[Callable[[], Finding], Callable[[], Finding]]] = {
    "kafka-broker/exception-takes-the-whole-response": (lambda: failed(2), lambda: failed(1)),
    "kafka-broker/batch-at-offset-minus-one-is-accepted": (
        lambda: minus_one("a", 1, NONE),
        lambda: minus_one("b", 1, NONE),
    ),
    "kafka-broker/batch-at-offset-minus-one-is-looked-up": (
        lambda: minus_one("b", 1, REFUSED),
        lambda: minus_one("a", 1, REFUSED),
    ),
    "kafka-broker/deleted-record-is-acquired": (lambda: deleted(3, 4), lambda: deleted(2, 4)),
    "kafka-broker/aborted-batch-across-log-start": (lambda: of_aborted(2), lambda: of_aborted(4)),
    "kafka-broker/aborted-batch-across-log-start-takes-other-partitions": (
        lambda: with_another(2),
        lambda: with_another(3),
    ),
    "kafka-broker/aborted-batch-across-start-offset": (
        lambda: of_aborted(2, altered=True),
        lambda: of_aborted(2, altered=True, unknown=("CORRUPT_MESSAGE",)),
    ),
    "kafka-broker/aborted-records-fill-the-window": (lambda: full(4, 2), lambda: full(3, 3)),
    "kafka-broker/deleted-gap-stops-the-share-partition": (lambda: gapped(3), lambda: gapped(0)),
    "kafka-broker/held-below-start-keeps-the-start-offset": (
        lambda: unmoved(1),
        lambda: unmoved(0),
    ),
    "kafka-broker/absent-partition-is-led-by-node-0": (
        lambda: led(ABSENT, 0, "fetch"),
        lambda: led(ABSENT, 1, "fetch"),
    ),
    "kafka-broker/absent-partition-is-led-by-node-0-in-acknowledge": (
        lambda: led(ABSENT, 0, "acknowledge"),
        lambda: led(P0, 0, "acknowledge"),
    ),
    "kafka-broker/refused-acknowledgement-is-led-by-node-0": (
        lambda: led(P0, 0, "fetch", NONE),
        lambda: led(P0, 0, "fetch"),
    ),
    "kafka-broker/altered-offset-is-not-noticed": (
        lambda: shown(kept(start=1), again((0, 0, 2))),
        lambda: shown(kept(start=1), again((0, 0, 1))),
    ),
    "kafka-broker/altered-offset-keeps-delivery-counts": (
        lambda: shown(kept(), again((0, 1, 2))),
        lambda: shown(kept(connected=False), again((0, 1, 2))),
    ),
    "kafka-broker/altered-offset-delivers-nothing": (
        lambda: starved(kept(acknowledged=True), again()),
        lambda: starved(kept(), again()),
    ),
    "kafka-broker/deleted-group-keeps-delivery-counts": (
        lambda: shown(kept(), again((0, 1, 2))),
        lambda: shown(kept(), again((0, 1, 3))),
    ),
    "kafka-broker/throttled-fetch-loses-its-records": (throttled, lambda: throttled(ms=0)),
    "kafka-broker/by-duration-without-a-young-record-is-refused": (
        lambda: by_duration(FAILED, "OFFSET_NOT_AVAILABLE"),
        lambda: by_duration(FAILED, "OFFSET_NOT_AVAILABLE", origin=BatchOrigin.PLAIN),
    ),
    "kfake/deleted-records-are-acquired": (lambda: deleted(0, 4), lambda: deleted(4, 5)),
    "kfake/deleted-records-are-acquired-with-their-batch": (
        lambda: deleted(3, 4),
        lambda: deleted(0, 4),
    ),
    "kfake/refusal-is-lost-while-waiting": (
        lambda: lost(fetch("a", 1, (2, 2, ACCEPT))),
        lambda: lost(fetch("a", 1, (2, 2, ACCEPT)), (3, 3, 1)),
    ),
    "kfake/undelivered-is-accepted-while-waiting": (
        lambda: lost(fetch("a", 1, (4, 4, ACCEPT))),
        lambda: lost(acknowledge("a", 1, (4, 4, ACCEPT))),
    ),
    "kfake/malformed-is-accepted-while-waiting": (
        lambda: lost(fetch("a", 1, (0, 1, 9))),
        lambda: lost(acknowledge("a", 1, (0, 1, 9))),
    ),
    "kfake/batch-at-offset-minus-one-is-accepted-while-waiting": (
        lambda: lost(fetch("a", 1, (-1, 1, ACCEPT))),
        lambda: lost(fetch("a", 1, (-1, 2, ACCEPT))),
    ),
    "kfake/partition-is-answered-twice": (
        lambda: twice(REFUSAL, GIVEN),
        lambda: twice(GIVEN, GIVEN),
    ),
    "kfake/renewing-fetch-with-another-partition": (lambda: renewing(P1), renewing),
    "kfake/no-records-are-five-hundred": (
        lambda: shown(made(3), HOLDS, (TOO_MANY, answer((2, 2, 1)))),
        lambda: shown(made(3), HOLDS, (acknowledge("a", 1, (0, 1, ACCEPT)), answer((2, 2, 1)))),
    ),
    "kfake/unknown-group": (unfetched, lambda: unfetched(HOLDS)),
    "kfake/aborted-records-need-no-room": (
        lambda: beyond(ABORTED),
        lambda: beyond(BatchOrigin.PLAIN),
    ),
    "kfake/topic-id-that-is-none-finds-a-coordinator": (
        lambda: keyed(NONE, 1),
        lambda: keyed(FAILED),
    ),
    "kfake/by-duration-begins-at-the-end": (
        lambda: at_the_end(before=True),
        lambda: at_the_end(before=False),
    ),
}


def known(name: str) -> KnownDeviation:
    target, _, entry = name.partition("/")
    listed = read_known(TARGETS / target / "known.toml")
    return next(each for each in listed if each.name == entry)


@pytest.mark.parametrize("name", CASES)
def test_a_known_deviation_has_its_cause_and_one_that_looks_alike_has_not(name: str) -> None:
    entry = known(name)
    found, other = (show() for show in CASES[name])
    assert found.signature == other.signature == entry.signature
    assert found.probable_cause == entry.difference
    assert other.probable_cause != entry.difference


def test_what_a_batch_at_minus_one_released_is_acquired_again() -> None:
    """Whatever has its cause is taken for it, as an entry's ``obscures`` says."""
    obscured = known("kafka-broker/batch-at-offset-minus-one-is-accepted").obscures
    again = fetch("a", 1, (-1, 0, RELEASE)), answer((0, 0, 2))
    assert obscured <= {*shown(made(3), HOLDS, again).probable_cause}
    more = again[0], answer((0, 1, 2))
    assert obscured.isdisjoint(shown(made(3), HOLDS, more).probable_cause)


@pytest.mark.parametrize("target", ["kafka-broker", "kfake"])
def test_every_known_deviation_has_a_cause_and_a_control(target: str) -> None:
    listed = read_known(TARGETS / target / "known.toml")
    assert {f"{target}/{each.name}" for each in listed} <= {*CASES}


OTHER: Asked = (fetch("b", 0), answer())
CLOSED: Asked = (fetch("a", -1), answer())
RELEASED: Asked = (acknowledge("a", 1, (0, 1, RELEASE)), answer())


@pytest.mark.parametrize(
    ("asked", "gone", "fenced"),
    [
        ((), True, True),
        ((OTHER,), True, True),
        ((CLOSED,), False, True),
        ((RELEASED,), False, False),
        ((), False, False),
    ],
)
@pytest.mark.parametrize("connected", [True, False])
def test_the_release_of_a_session_that_ends_is_lost_where_its_leader_is_fenced(
    asked: tuple[Asked, ...],
    gone: bool,  # noqa: FBT001 - a parameter
    fenced: bool,  # noqa: FBT001 - a parameter
    connected: bool,  # noqa: FBT001 - a parameter
) -> None:
    """Records 0 and 1 are delivered with the count of before, here after an offset was altered."""
    judge = made()
    for request, said in ((fetch("a", 0), answer()), CLOSED):
        assert judge.exchange(request, "a", said) is None
    judge.begun_again({judge.key(0): Durable(0, 0)}, connected=connected)
    produced(judge, 2)
    for request, said in (HOLDS, *asked):
        assert judge.exchange(request, request.member_id, said) is None
    if gone:
        judge.disconnected("a", 2)
    last = (
        fetch("b", 1 if OTHER in asked else 0),
        answer((0, 1, 1), at=500 if asked or gone else 5000),
    )
    cause = shown(judge, last).probable_cause
    assert (KEPT in cause) == (fenced and connected)


def test_an_error_of_by_duration_may_come_after_an_answer_without_the_share_partition() -> None:
    cause = known("kafka-broker/by-duration-without-a-young-record-is-refused").difference
    assert late(young=False).probable_cause == cause
    assert late(young=True).probable_cause != cause


def test_what_is_deleted_is_held_until_its_lock_ends() -> None:
    assert HELD_BELOW in unmoved(1, at=1000).probable_cause
    assert HELD_BELOW not in unmoved(1, at=5000).probable_cause


@pytest.mark.parametrize(
    ("config", "origin", "unknown"),
    [(BY_DURATION, OLD, True), (BY_DURATION, BatchOrigin.PLAIN, False), (CONFIG, OLD, False)],
)
def test_an_acknowledgement_may_not_find_what_by_duration_did_not_begin(
    config: SharePartitionConfig,
    origin: BatchOrigin,
    unknown: bool,  # noqa: FBT001 - a parameter
) -> None:
    entry = known("kafka-broker/by-duration-without-a-young-record-is-refused")
    judge, asked = produced(made(config=config), 2, origin=origin), acknowledge("a", 1, (2, 3, 1))
    missing = answer(refused=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    found = shown(judge, (fetch("a", 0), answer()), (asked, missing))
    assert entry.obscures.isdisjoint(found.probable_cause) != unknown
