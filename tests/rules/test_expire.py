import attrs
import pytest

from model.checks import MAX_INT64
from model.errors import ErrorCode, InvalidValueError
from model.guards import Guard
from model.operations import AdvanceTime, CompleteWrite, Expire, Operation
from model.outcome import Answer, Choice, Expiry, Outcome, Write
from model.profile import KAFKA, KIP, Profile
from model.ranges import StateBatch
from model.states import RecordState
from spec.partition import SharePartition
from tests.rules.share_partition import apply, durable, refusal, run, started, states
from tests.spec.worlds import BOTH, acknowledgement, fetch, spans, written


def holding(profile: Profile = KIP) -> SharePartition:
    """c1 holds 0 to 2 until 100, c2 holds 3 and 4 until 130."""
    return run(started(profile), fetch("c1", (0, 2)), AdvanceTime(30), fetch("c2", (3, 4)))


@BOTH
def test_a_lock_lasts_until_its_deadline(profile: Profile) -> None:
    step = apply(holding(profile), AdvanceTime(69))
    assert (step.outcome.writes, step.partition.now) == ((), 99)
    assert states(step.partition) == "0-2:Q1@c1 3-4:Q1@c2"


@BOTH
def test_due_locks_expire_in_one_write(profile: Profile) -> None:
    step = apply(holding(profile), AdvanceTime(70))
    assert step.outcome.status is ErrorCode.NONE
    assert [written(write) for write in step.outcome.writes] == [(0, 0, [(0, 2, 0, 1)])]
    assert states(step.partition) == "0-2:A1 3-4:Q1@c2"
    assert [b.last for b in durable(step.partition).state_batches] == [2]
    later = apply(step.partition, AdvanceTime(30))
    assert [written(write) for write in later.outcome.writes] == [(0, 0, [(3, 4, 0, 1)])]


def test_the_clock_stays_within_64_bits() -> None:
    latest = run(started(), AdvanceTime(MAX_INT64))
    assert latest.now == MAX_INT64
    with pytest.raises(InvalidValueError, match="ms is 1; allowed: a time that keeps the clock"):
        apply(latest, AdvanceTime(1))


def test_how_many_writes_report_the_locks_is_a_choice() -> None:
    groups = tuple(Expiry(spans(*each)) for each in (((2, 2), (0, 0)), ((1, 1),), ((3, 4),)))
    lost = Answer(ErrorCode.NOT_COORDINATOR)
    step = apply(holding(), AdvanceTime(100), Choice(expired=groups), [Answer(), lost, Answer()])
    assert [written(write)[2] for write in step.outcome.writes] == [
        [(0, 0, 0, 1), (2, 2, 0, 1)],
        [(1, 1, 0, 1)],
        [(3, 4, 0, 1)],
    ]
    assert [write.id for write in step.outcome.writes] == [0, 1, 2]
    assert states(step.partition) == "0-4:A1"
    assert [(b.first, b.last) for b in durable(step.partition).state_batches] == [
        (0, 0),
        (2, 4),
    ]


def test_a_group_that_the_start_offset_has_passed_still_writes_it() -> None:
    partition = run(holding(), acknowledgement("c1", (0, 0, 1)))
    groups = (Expiry(spans((0, 0))), Expiry(spans((0, 2))))
    later = Answer(ErrorCode.PENDING, 8)
    step = apply(partition, AdvanceTime(70), Choice(expired=groups), [later, Answer(id=9)])
    assert [(write.id, written(write)) for write in step.outcome.writes] == [
        (8, (1, 0, [])),
        (9, (1, 0, [(1, 2, 0, 1)])),
    ]
    assert states(step.partition) == "1-2:A1 3-4:Q1@c2"
    assert set(step.partition.outstanding) == {8}


def test_a_group_of_no_locks_makes_no_write_and_skips_its_answer() -> None:
    groups = (Expiry(()), Expiry(spans((0, 2))))
    lost = Answer(ErrorCode.NOT_COORDINATOR, 8)
    step = apply(holding(), AdvanceTime(70), Choice(expired=groups), [lost, Answer(id=9)])
    assert [(write.id, write.status) for write in step.outcome.writes] == [(9, ErrorCode.NONE)]


def test_a_lock_whose_write_is_outstanding_does_not_expire() -> None:
    accept = acknowledgement("c1", (1, 1, 1))
    partition = apply(holding(), accept, answers=[Answer(ErrorCode.PENDING)]).partition
    assert states(run(partition, AdvanceTime(70))) == "0:A1 1:K1* 2:A1 3-4:Q1@c2"
    choice = Choice(expired=(Expiry(spans((0, 2))),))
    guard, detail = refusal(partition, AdvanceTime(70), choice)
    assert (guard, detail) == (
        Guard.LOCK_LASTS_ITS_DURATION,
        1,
    )


@pytest.mark.parametrize(
    ("start", "guard"),
    [(3, Guard.START_STOPS_AT_UNFINISHED), (0, Guard.START_NEVER_GOES_BACK)],
)
def test_the_start_offset_of_a_group_is_guarded(start: int, guard: Guard) -> None:
    partition = run(holding(), acknowledgement("c1", (0, 0, 1)))
    choice = Choice(expired=(Expiry(spans((1, 2)), start),))
    assert refusal(partition, AdvanceTime(70), choice)[0] is guard


SWEEP = KAFKA.sweep_ms


def clocked(profile: Profile = KAFKA) -> SharePartition:
    """As ``holding``, under a real clock: it is 30."""
    partition = started(profile, timed=True)
    return run(partition, fetch("c1", (0, 2)), AdvanceTime(30), fetch("c2", (3, 4)))


def test_other_operations_come_between_the_ends_of_locks() -> None:
    partition = run(clocked(), AdvanceTime(104), Expire(spans((3, 3))))
    partition = run(partition, acknowledgement("c1", (0, 2, 1)), Expire(spans((4, 4)), 130))
    assert states(partition) == "3-4:A1"


def test_a_timer_of_records_that_the_start_offset_has_passed_writes_it() -> None:
    partition = run(clocked(), acknowledgement("c1", (0, 2, 1)), AdvanceTime(100))
    step = apply(partition, Expire(spans((0, 2))))
    assert [written(write) for write in step.outcome.writes] == [(3, 0, [])]
    assert apply(partition, Expire(())).outcome == Outcome()


def accepting(timed: bool = True) -> SharePartition:  # noqa: FBT001, FBT002 - one word in a table
    """c1 accepts 1 to 4 of 0 to 5; their locks are over when the write still has no answer."""
    partition = run(started(KAFKA, timed=timed), fetch("c1", (0, 5)), AdvanceTime(99))
    accepted = acknowledgement("c1", (1, 4, 1))
    partition = run(partition, accepted, answer=Answer(ErrorCode.PENDING))
    return run(partition, AdvanceTime(3))


def test_a_timer_that_is_late_releases_what_a_failed_write_gives_back() -> None:
    failed = CompleteWrite(0, ErrorCode.NOT_COORDINATOR, spans((3, 9)))
    partition = run(accepting(), failed)
    assert states(partition) == "0:Q1@c1 1-2:A1 3-5:Q1@c1"
    partition = run(partition, Expire(spans((0, 0), (3, 5))))
    assert states(partition) == "0-5:A1"


@pytest.mark.parametrize("ms", [69, 0])
def test_a_timer_ends_no_lock_a_millisecond_early(ms: int) -> None:
    partition = run(clocked(), AdvanceTime(ms))
    assert refusal(partition, Expire(spans((0, 2)))) == (
        Guard.LOCK_LASTS_ITS_DURATION,
        0,
    )
    on_time = run(clocked(), AdvanceTime(70))
    assert states(run(on_time, Expire(spans((0, 2)), 100))) == "0-2:A1 3-4:Q1@c2"


@BOTH
def test_no_lock_is_held_longer_than_a_sweep_after_its_deadline(profile: Profile) -> None:
    partition = clocked(attrs.evolve(profile, sweep_ms=SWEEP))
    latest = run(partition, AdvanceTime(70 + SWEEP))
    assert refusal(partition, AdvanceTime(71 + SWEEP)) == (
        Guard.LOCK_ENDS_ON_TIME,
        0,
    )
    assert states(run(latest, Expire(spans((0, 2))))) == "0-2:A1 3-4:Q1@c2"


def granted(partition: SharePartition, deadline: int) -> SharePartition:
    return apply(partition, fetch("c1", (5, 6)), Choice(deadline_ms=deadline)).partition


@BOTH
def test_a_lock_that_is_granted_late_is_not_shorter(profile: Profile) -> None:
    profile = attrs.evolve(profile, sweep_ms=SWEEP, grant_ms=20)
    idle = run(started(profile, timed=True), fetch("c1", (0, 4)), AdvanceTime(99))
    lock = Choice(deadline_ms=100)
    assert granted(idle, 100).window.records[5].deadline == 179
    renewed = apply(idle, acknowledgement("c1", (0, 4, 4)), lock).partition
    early = run(renewed, AdvanceTime(79))
    assert refusal(early, Expire(spans((0, 4))))[0] is Guard.LOCK_LASTS_ITS_DURATION
    assert states(run(early, AdvanceTime(1), Expire(spans((0, 4))))) == "0-4:A1"


@pytest.mark.parametrize(
    ("deadline", "guard"),
    [(129, Guard.LOCK_LASTS_ITS_DURATION), (151, Guard.LOCK_ENDS_ON_TIME)],
)
def test_a_lock_lasts_its_duration_whatever_is_claimed(deadline: int, guard: Guard) -> None:
    partition, choice = run(clocked(), AdvanceTime(20)), Choice(deadline_ms=deadline)
    operations: tuple[Operation, ...] = (
        fetch("c1", (5, 6)),
        acknowledgement("c1", (0, 0, 4)),
    )
    for operation in operations:
        assert refusal(partition, operation, choice)[0] is guard


def seen(start: int, *batches: StateBatch) -> tuple[Answer, ...]:
    """Return the answer to a write that was seen with this start offset."""
    return (Answer(id=0, written=Write(0, start, 0, batches)),)


@BOTH
def test_the_write_of_an_expiry_may_name_other_records_and_keep_the_start_offset(
    profile: Profile,
) -> None:
    before = run(started(profile), fetch("c1", (0, 2)), acknowledgement("c1", (2, 2, 1)))
    repeated = StateBatch(2, 2, RecordState.ACKNOWLEDGED, 1)
    ended = StateBatch(0, 1, RecordState.AVAILABLE, 1)
    groups = Choice(start_offset=0, expired=(Expiry(spans((0, 2)), -1),))
    step = apply(before, AdvanceTime(100), groups, seen(-1, ended, repeated))
    assert states(step.partition) == "0-1:A1 2:K1"
    assert durable(step.partition).state_batches == (ended, repeated)


@BOTH
def test_below_the_start_offset_of_its_write_a_lock_ends_unnamed(profile: Profile) -> None:
    before = run(started(profile), fetch("c1", (0, 1)), AdvanceTime(100), fetch("c1", (0, 1)))
    groups = Choice(expired=(Expiry((), 2),))
    step = apply(before, AdvanceTime(100), groups, seen(2))
    assert (states(step.partition), step.partition.window.start_offset) == ("", 2)
    assert durable(step.partition).start_offset == 2
