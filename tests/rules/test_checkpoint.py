from typing import Any

import attrs
import pytest

from judge.recorded_partition import recorded
from judge.view import readable
from model.errors import ErrorCode, InvalidValueError
from model.guards import Guard
from model.operations import AdvanceTime, Checkpoint, CompleteWrite, Expire, Gap, LockEnd
from model.outcome import Answer, Choice, Completion
from model.profile import DRAFT_RESOLVED, KAFKA
from model.ranges import StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from spec.invariants import violated
from spec.partition import SharePartition
from spec.step import new_partition
from tests.checkpoints import checkpoint_of
from tests.rules.share_partition import apply, refusal, run, started, states
from tests.spec.worlds import SMALL, acknowledgement, fetch, spans

PENDING = Answer(ErrorCode.PENDING, 4)


def busy() -> SharePartition:
    """c1 holds 1 and 2 of 0 to 4 until 100; 0 is released, 3 accepted, and 4 waits for write 4."""
    partition = run(started(KAFKA, timed=True), fetch("c1", (0, 4)), AdvanceTime(10))
    partition = run(partition, acknowledgement("c1", (0, 0, 2), (3, 3, 1)))
    return apply(partition, acknowledgement("c1", (4, 4, 1)), answers=[PENDING], seq=7).partition


def resumed(partition: SharePartition, **changes: Any) -> SharePartition:  # noqa: ANN401 - any field
    """The share-partition after events were lost and its leader told its state."""
    told = attrs.evolve(checkpoint_of(partition), **changes)
    choice = Choice(start_offset=told.state.start_offset)
    return apply(run(partition, Gap(3)), told, choice).partition


@pytest.mark.parametrize("first", [True, False])
def test_a_state_that_is_told_is_taken_over_where_nothing_is_known(first: bool) -> None:  # noqa: FBT001 - a case
    told = checkpoint_of(busy())
    before = new_partition(KAFKA) if first else run(busy(), Gap())
    partition = apply(before, told, Choice(start_offset=0)).partition
    assert states(partition) == "0:A1 1-2:Q1@c1 3:K1 4:K1*"
    assert (partition.now, recorded(partition).timed, partition.ready) == (10, True, True)
    assert violated(partition) == []
    assert {o: partition.window.records[o].deadline for o in (1, 2)} == {1: 100, 2: 100}


def test_a_window_that_is_told_ends_with_a_record() -> None:
    told = checkpoint_of(busy())
    wider = attrs.evolve(told, state=attrs.evolve(told.state, end_offset=8))
    partition = apply(new_partition(KAFKA), wider, Choice(start_offset=0)).partition
    assert states(partition) == "0:A1 1-2:Q1@c1 3:K1 4:K1* 7:A0"
    assert violated(partition) == []
    assert partition.log.holes == ((5, 6),)


def test_an_empty_window_is_told_without_a_record() -> None:
    empty = SharePartitionSnapshot(7, 7, 0, ())
    told = attrs.evolve(checkpoint_of(busy()), state=empty, deadlines=(), outstanding=())
    partition = apply(new_partition(KAFKA), told, Choice(start_offset=7)).partition
    assert (states(partition), partition.log.holes) == ("", ())
    assert violated(partition) == []


def test_settings_without_effect_may_differ() -> None:
    told = checkpoint_of(busy())
    other = attrs.evolve(told.config, in_progress_rebalance_grace_ms=1)
    choice = Choice(start_offset=0)
    assert apply(busy(), attrs.evolve(told, config=other), choice).partition == busy()
    other = attrs.evolve(told.config, delivery_count_limit=told.config.delivery_count_limit + 1)
    guard, _ = refusal(busy(), attrs.evolve(told, config=other), choice)
    assert guard is Guard.CHECKPOINT_IS_THE_STATE


def test_a_window_may_be_told_as_wide_as_offsets_go() -> None:
    told, end = checkpoint_of(busy()), 2**62
    wider = attrs.evolve(told, state=attrs.evolve(told.state, end_offset=end))
    partition = apply(new_partition(KAFKA), wider, Choice(start_offset=0)).partition
    assert partition.log.holes == ((5, end - 2),)
    assert violated(partition) == []
    assert run(partition, AdvanceTime(90)).window.end_offset == end


def test_what_was_taken_over_goes_on() -> None:
    partition = run(resumed(busy()), AdvanceTime(90), Expire(spans((1, 2)), 100))
    step = apply(partition, CompleteWrite(4, ErrorCode.NONE))
    assert step.outcome.completed == (Completion(7, ErrorCode.NONE),)
    assert states(step.partition) == "0-2:A1 3-4:K1"
    assert step.partition.next_write > 4


def test_a_write_that_fails_later_gives_its_records_back() -> None:
    failed = apply(resumed(busy()), CompleteWrite(4, ErrorCode.NOT_COORDINATOR)).partition
    assert states(failed) == "0:A1 1-2:Q1@c1 3:K1 4:Q1@c1"
    assert failed.window.records[4].deadline == 100


def test_a_write_of_what_nobody_waits_for_is_kept_too() -> None:
    partition = run(busy(), AdvanceTime(90))
    step = apply(partition, Expire(spans((1, 2))), answers=[Answer(ErrorCode.PENDING, 9)])
    told = resumed(step.partition)
    assert told.outstanding[9].offsets == ()
    assert states(run(told, CompleteWrite(9, ErrorCode.NONE))) == "0-2:A1 3:K1 4:K1*"


def test_between_gaps_a_lock_ends_neither_early_nor_never() -> None:
    early = run(resumed(busy()), AdvanceTime(89))
    assert refusal(early, Expire(spans((1, 2))))[0] is Guard.LOCK_LASTS_ITS_DURATION
    late = AdvanceTime(91 + KAFKA.sweep_ms)
    assert refusal(resumed(busy()), late)[0] is Guard.LOCK_ENDS_ON_TIME


def test_after_a_gap_nothing_happens_before_a_whole_state() -> None:
    lost = run(busy(), Gap())
    for operation in (AdvanceTime(1), fetch("c1", (5, 6))):
        assert refusal(lost, operation)[0] is Guard.PARTITION_IS_INITIALIZED


def test_of_the_log_below_nothing_is_known() -> None:
    partition = resumed(busy(), log_end_offset=40)
    assert (partition.log.known, partition.log.end_offset, partition.log.batches) == (False, 40, ())
    assert resumed(busy(), log_end_offset=40, log_known=True).log.known
    assert not resumed(busy(), log_known=True).log.known
    state = checkpoint_of(busy()).state
    told = attrs.evolve(state, records=(state.records or ())[1:])
    assert resumed(busy(), state=told).log.holes == ((0, 0),)
    told = attrs.evolve(
        state, records=tuple(r for r in state.records or () if r.first in (0, 3, 4))
    )
    ends = (LockEnd(4, 4, 100),)
    assert resumed(busy(), state=told, deadlines=ends).log.holes == ((1, 2),)


CHANGED: tuple[dict[str, Any], ...] = (
    {"config": attrs.evolve(SMALL, delivery_count_limit=3)},
    {"timed": False},
    {"outstanding": ()},
    {"deadlines": (LockEnd(1, 2, 99), LockEnd(4, 4, 100))},
    {"deadlines": (LockEnd(1, 2, 101 + KAFKA.sweep_ms), LockEnd(4, 4, 100))},
)


@pytest.mark.parametrize("change", CHANGED, ids=range(len(CHANGED)))
def test_in_the_middle_what_is_told_is_what_the_events_led_to(change: dict[str, Any]) -> None:
    partition, told = busy(), checkpoint_of(busy())
    here = Choice(start_offset=0)
    assert apply(partition, told, here).partition == attrs.evolve(partition)
    wrong = attrs.evolve(told, **change)
    assert refusal(partition, wrong, here)[0] is Guard.CHECKPOINT_IS_THE_STATE


@pytest.mark.parametrize(
    "change",
    [{"start_offset": 1}, {"delivery_complete_count": 1}, {"id": 5}, {"state_batches": ()}],
    ids=lambda change: next(iter(change)),
)
def test_in_the_middle_an_outstanding_write_is_told_as_it_is(change: dict[str, Any]) -> None:
    told = checkpoint_of(busy())
    (write,) = told.outstanding
    wrong = attrs.evolve(told, outstanding=(attrs.evolve(write, **change),))
    assert refusal(busy(), wrong, Choice())[0] is Guard.CHECKPOINT_IS_THE_STATE
    uncounted = attrs.evolve(write, delivery_complete_count=0, counted=False)
    apply(busy(), attrs.evolve(told, outstanding=(uncounted,)), Choice(start_offset=0))


def test_what_is_durable_is_not_lost_in_a_gap() -> None:
    partition = run(busy(), acknowledgement("c1", (1, 2, 1)))
    state = checkpoint_of(partition).state
    lost = tuple(
        attrs.evolve(r, state=RecordState.AVAILABLE) if r.first == 2 else r
        for r in state.records or ()
    )
    told = attrs.evolve(checkpoint_of(partition), state=attrs.evolve(state, records=lost))
    guard, detail = refusal(run(partition, Gap()), told, Choice())
    assert guard is Guard.CHECKPOINT_IS_THE_STATE
    assert detail == 2
    anew = attrs.evolve(told, state_epoch=1)
    assert apply(run(partition, Gap()), anew, Choice(start_offset=0)).partition.ready


def test_a_window_of_one_offset_without_a_record_has_one_never_delivered() -> None:
    told = Checkpoint(SMALL, 0, SharePartitionSnapshot(4, 5, 0, ()))
    assert states(apply(run(started(), Gap()), told).partition) == "4:A0"


def test_the_start_offset_does_not_go_back_in_a_gap() -> None:
    partition = run(busy(), acknowledgement("c1", (1, 2, 1)), fetch("c1", (0, 0)))
    partition = run(partition, acknowledgement("c1", (0, 0, 1)), fetch("c1", (5, 6)))
    partition = run(partition, acknowledgement("c1", (5, 5, 1)))
    assert partition.durable.start_offset == 4
    told = attrs.evolve(checkpoint_of(busy()), outstanding=())
    assert refusal(run(partition, Gap()), told)[0] is Guard.START_NEVER_GOES_BACK


def read_of(partition: SharePartition, *batches: StateBatch, start: int = 0) -> bool:
    """Whether a new leader may read this."""
    count = sum(b.last - b.first + 1 for b in batches if b.state is RecordState.ACKNOWLEDGED)
    read = DurableState(start, count, batches)
    return readable(partition, read) == read


DONE = StateBatch(3, 3, RecordState.ACKNOWLEDGED, 1)
FREE = StateBatch(0, 0, RecordState.AVAILABLE, 1)
WAITED = StateBatch(3, 4, RecordState.ACKNOWLEDGED, 1)


def test_a_write_without_an_answer_may_or_may_not_be_durable() -> None:
    assert read_of(busy(), FREE, DONE)
    assert read_of(busy(), FREE, WAITED)
    assert not read_of(busy(), FREE, StateBatch(3, 4, RecordState.ACKNOWLEDGED, 2))
    assert not read_of(busy(), DONE)
    assert not read_of(busy(), FREE, DONE, StateBatch(7, 7, RecordState.ARCHIVED, 1))


def test_of_a_write_without_an_answer_all_or_nothing_is_durable() -> None:
    answers = [Answer(ErrorCode.PENDING, 5)]
    both = acknowledgement("c1", (1, 1, 1), (2, 2, 1))
    partition = apply(busy(), both, answers=answers, seq=8).partition
    half = StateBatch(1, 1, RecordState.ACKNOWLEDGED, 1)
    assert not read_of(partition, FREE, half, WAITED)
    counted = DurableState(0, 9, (FREE, half, WAITED))
    assert readable(partition, counted) != counted
    assert read_of(partition, FREE, StateBatch(1, 4, RecordState.ACKNOWLEDGED, 1))


def test_a_write_that_is_made_later_is_told_by_its_offsets() -> None:
    later = [Answer(ErrorCode.PENDING, 5, made_after=20)]
    partition = apply(busy(), acknowledgement("c1", (1, 1, 1)), answers=later, seq=8).partition
    told = checkpoint_of(partition)
    apply(partition, told, Choice(start_offset=0))
    wrong = [attrs.evolve(write, state_batches=()) for write in told.outstanding]
    changed = attrs.evolve(told, outstanding=tuple(wrong))
    assert refusal(partition, changed, Choice())[0] is Guard.CHECKPOINT_IS_THE_STATE


def test_a_write_that_failed_is_not_durable() -> None:
    failed = run(busy(), CompleteWrite(4, ErrorCode.FENCED_LEADER_EPOCH))
    assert read_of(failed, FREE, DONE)
    assert not read_of(failed, FREE, WAITED)


def test_after_a_gap_more_may_be_durable_and_nothing_less() -> None:
    partition = resumed(busy())
    more = StateBatch(7, 7, RecordState.ARCHIVED, 1)
    assert read_of(partition, FREE, WAITED, more)
    assert not read_of(partition, FREE)
    assert not read_of(partition, StateBatch(0, 0, RecordState.AVAILABLE, 0), DONE)


def test_after_a_gap_a_pending_record_waits_for_a_write_that_is_told() -> None:
    told = checkpoint_of(busy())
    other = (StateBatch(4, 4, RecordState.ACKNOWLEDGED, 2),)
    for writes in ((), (attrs.evolve(told.outstanding[0], state_batches=other),)):
        found = refusal(run(busy(), Gap()), attrs.evolve(told, outstanding=writes))
        detail = 4
        assert found == (Guard.CHECKPOINT_IS_THE_STATE, detail)


def test_a_share_partition_that_was_reset_meanwhile_begins_anew() -> None:
    anew = DurableState(90, 0, (), state_epoch=1)
    assert readable(busy(), anew) == anew


def test_records_in_progress_are_not_told() -> None:
    told = checkpoint_of(busy())
    with pytest.raises(InvalidValueError, match="operation is"):
        apply(started(DRAFT_RESOLVED), told)


def test_a_checkpoint_has_records_and_an_end_of_each_lock() -> None:
    told = checkpoint_of(busy())
    for change in ({"deadlines": ()}, {"state": attrs.evolve(told.state, records=None)}):
        with pytest.raises(InvalidValueError):
            attrs.evolve(told, **change)
    held = [attrs.evolve(record, owner=None) for record in told.state.records or ()]
    with pytest.raises(InvalidValueError, match="member"):
        attrs.evolve(told, state=attrs.evolve(told.state, records=tuple(held)))
