from typing import Any

import attrs
import pytest

from judge.invariants import violated
from judge.view import readable
from judge.whole_state import whole_state
from model.checkpoint import differences
from model.config import IsolationLevel
from model.errors import ErrorCode, InvalidValueError
from model.guards import Guard
from model.operations import AdvanceTime, Gap, LockEnd
from model.outcome import Answer, Choice
from model.profile import KAFKA
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from spec.partition import SharePartition
from spec.step import new_partition
from tests.checkpoints import checkpoint_of
from tests.rules.share_partition import apply, refusal, run, started, states
from tests.spec.worlds import SMALL, acknowledgement, fetch

PENDING = Answer(ErrorCode.PENDING, 4)


def busy() -> SharePartition:
    """c1 holds 1 and 2 of 0 to 4 until 100; 0 is released, 3 accepted, and 4 waits for write 4."""
    partition = run(started(KAFKA, timed=True), fetch("c1", (0, 4)), AdvanceTime(10))
    partition = run(partition, acknowledgement("c1", (0, 0, 2), (3, 3, 1)))
    return apply(partition, acknowledgement("c1", (4, 4, 1)), answers=[PENDING], seq=7).partition


def test_a_window_that_is_told_ends_with_a_record() -> None:
    told = checkpoint_of(busy())
    wider = attrs.evolve(told, state=attrs.evolve(told.state, end_offset=8))
    partition = apply(new_partition(KAFKA), wider, Choice(start_offset=0)).partition
    assert states(partition) == "0:A1 1-2:Q1@c1 3:K1 4:K1* 7:A0"
    assert violated(partition) == []
    assert partition.log.holes == ((5, 6),)


def test_a_window_may_be_told_as_wide_as_offsets_go() -> None:
    told, end = checkpoint_of(busy()), 2**62
    wider = attrs.evolve(told, state=attrs.evolve(told.state, end_offset=end))
    partition = apply(new_partition(KAFKA), wider, Choice(start_offset=0)).partition
    assert partition.log.holes == ((5, end - 2),)
    assert violated(partition) == []
    assert run(partition, AdvanceTime(90)).window.end_offset == end


def with_write(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """A change of the write that is outstanding."""
    (write,) = checkpoint_of(busy()).outstanding
    return {"outstanding": (attrs.evolve(write, **changes),)}


CHANGED: tuple[dict[str, Any], ...] = (
    {"config": attrs.evolve(SMALL, delivery_count_limit=3)},
    {"config": attrs.evolve(SMALL, partition_max_record_locks=11)},
    {"config": attrs.evolve(SMALL, record_lock_duration_ms=101)},
    {"config": attrs.evolve(SMALL, isolation_level=IsolationLevel.READ_COMMITTED)},
    {"config": attrs.evolve(SMALL, renew_acknowledge_enable=False)},
    {"config": attrs.evolve(SMALL, dead_letter_queue=True)},
    {"timed": False},
    {"outstanding": ()},
    with_write(start_offset=1),
    with_write(delivery_complete_count=9),
    with_write(state_batches=(StateBatch(4, 4, RecordState.ACKNOWLEDGED, 2),)),
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


def test_a_write_that_is_not_made_yet_may_have_any_numbers() -> None:
    known = whole_state(busy())
    told = attrs.evolve(checkpoint_of(busy()), **with_write(start_offset=3))
    assert len([*differences(told, known, 0)]) == 1
    writes = tuple(attrs.evolve(write, made_after=9) for write in known.writes)
    assert [*differences(told, attrs.evolve(known, writes=writes), 0)] == []


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


def test_after_a_gap_a_pending_record_waits_for_a_write_that_is_told() -> None:
    told = checkpoint_of(busy())
    other = (StateBatch(4, 4, RecordState.ACKNOWLEDGED, 2),)
    for writes in ((), (attrs.evolve(told.outstanding[0], state_batches=other),)):
        found = refusal(run(busy(), Gap()), attrs.evolve(told, outstanding=writes))
        detail = 4
        assert found == (Guard.CHECKPOINT_IS_THE_STATE, detail)


def test_a_checkpoint_has_records_and_an_end_of_each_lock() -> None:
    told = checkpoint_of(busy())
    for change in ({"deadlines": ()}, {"state": attrs.evolve(told.state, records=None)}):
        with pytest.raises(InvalidValueError):
            attrs.evolve(told, **change)
    held = [attrs.evolve(record, owner=None) for record in told.state.records or ()]
    with pytest.raises(InvalidValueError, match="member"):
        attrs.evolve(told, state=attrs.evolve(told.state, records=tuple(held)))
