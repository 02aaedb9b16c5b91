from collections.abc import Callable
from typing import Any

import attrs
import pytest

from model.config import IsolationLevel
from model.errors import IllegalChoiceError
from model.guards import Guard
from model.operations import Compact, Initialize, Produce, ResetOffset, SkipAcquire
from model.outcome import Choice
from model.profile import KIP
from model.ranges import PassedOver
from model.snapshot import DurableState
from tests.impl.held import Held, held
from tests.impl.scenario import ACCEPT, RELEASE, ack, fetch, ranges

HASTY = attrs.evolve(KIP, offered_within=2)
NOTHING = Choice(acquired=())


def hasty(*batches: tuple[int, int], **how: Any) -> Held:  # noqa: ANN401 - as held takes it
    """Return a share-partition whose records at most two fetches may pass over."""
    return held(*batches, profile=HASTY, **how)


def passed_over(made: Held, *batches: tuple[int, int], times: int = 3) -> str | None:
    """Let as many fetches take nothing; return where the last one is refused, if it is."""
    for _ in range(times - 1):
        fetch(made, "b", *batches, choice=NOTHING)
    try:
        fetch(made, "b", *batches, choice=NOTHING)
    except IllegalChoiceError as error:
        return f"{error.guard.name} {error.detail}"
    return None


def released() -> Held:
    """Return a share-partition in which only 1 and 2 of 0 to 4 are available."""
    made = hasty((0, 4), (5, 9), partition_max_record_locks=5)
    fetch(made, "a", (0, 4))
    ack(made, "a", (1, 2, RELEASE))
    return made


def test_an_available_record_is_offered_within_so_many_fetches() -> None:
    assert passed_over(released(), (0, 4), times=2) is None
    assert passed_over(released(), (0, 4)) == "RECORD_IS_OFFERED at 1"


def test_a_produced_record_is_offered_before_any_fetch_read_it() -> None:
    assert passed_over(hasty((0, 4))) == "RECORD_IS_OFFERED at 0"
    assert passed_over(hasty()) is None


def test_a_record_that_was_read_is_offered_though_nobody_described_the_log() -> None:
    assert passed_over(hasty(), (3, 4)) == "RECORD_IS_OFFERED at 3"


def test_a_record_without_room_is_not_offered() -> None:
    made = hasty((0, 4), (5, 9), partition_max_record_locks=5)
    fetch(made, "a", (0, 4))
    assert passed_over(made, (5, 9)) is None
    ack(made, "a", (0, 0, ACCEPT), choice=Choice(start_offset=0))
    assert passed_over(made, (5, 9)) == "RECORD_IS_OFFERED at 5"


def test_a_later_record_that_is_acquired_passes_over_the_earlier_ones() -> None:
    made = released()
    fetch(made, "b", (0, 4), choice=NOTHING)
    fetch(made, "b", (0, 4), choice=NOTHING)
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "b", (0, 4), choice=Choice(acquired=ranges((2, 2))))
    assert raised.value.detail == "at 1"
    fetch(made, "b", (0, 4), choice=Choice(acquired=ranges((1, 1))))
    assert passed_over(made, (0, 4), times=2) is None
    assert passed_over(made, (0, 4), times=1) == "RECORD_IS_OFFERED at 2"


def test_no_other_record_that_waits_masks_one_that_starves() -> None:
    made = hasty((0, 4), (5, 9), partition_max_record_locks=5)
    fetch(made, "a", (0, 4))
    ack(made, "a", (1, 4, RELEASE))
    take = [Choice(acquired=ranges((n, n))) for n in range(5)]
    fetch(made, "b", (0, 4), choice=take[4])
    assert made.spec.waiting == (PassedOver(1, 3, 1),)
    fetch(made, "b", (0, 4), choice=take[1])
    fetch(made, "b", (0, 4), choice=take[3])
    assert made.spec.waiting == (PassedOver(2, 2, 2),)
    ack(made, "b", (1, 1, RELEASE))
    ack(made, "b", (3, 4, RELEASE))
    fetch(made, "a", (0, 4), choice=take[1])
    ack(made, "a", (1, 1, RELEASE))
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "b", (0, 4), choice=take[3])
    assert raised.value.detail == "at 2"


def test_a_record_that_was_compacted_is_not_offered() -> None:
    made = released()
    made.apply(Compact(ranges((1, 1))))
    assert passed_over(made, (2, 4), times=2) is None
    assert passed_over(made, (2, 4), times=1) == "RECORD_IS_OFFERED at 2"


def test_a_record_of_an_open_transaction_is_not_offered() -> None:
    made = hasty()
    made.apply(Initialize(made.spec.config, 0, 0, DurableState(0, 0)))
    config = attrs.evolve(made.spec.config, isolation_level=IsolationLevel.READ_COMMITTED)
    made.apply(Initialize(config, 0, 0, DurableState(0, 0)))
    made.apply(Produce(ranges((0, 4)), 5, 0))
    assert passed_over(made) is None
    made.apply(Produce((), 5))
    assert passed_over(made) == "RECORD_IS_OFFERED at 0"


@pytest.mark.parametrize(
    "forgets",
    [
        lambda made: made.apply(Initialize(made.spec.config, 0, 10, DurableState(0, 0))),
        lambda made: made.apply(ResetOffset(0)),
    ],
    ids=["initialize", "reset_offset"],
)
def test_a_new_leader_or_start_offset_begins_to_count_again(
    forgets: Callable[[Held], object],
) -> None:
    made = hasty((0, 4), (5, 9))
    assert passed_over(made, times=2) is None
    forgets(made)
    assert passed_over(made, times=2) is None
    assert passed_over(made, times=1) == "RECORD_IS_OFFERED at 0"


def test_a_fetch_for_no_records_counts_for_nothing() -> None:
    made = released()
    for _ in range(4):
        fetch(made, "b", (0, 4), limit=0, choice=NOTHING)
    assert passed_over(made, (0, 4), times=2) is None


def test_what_is_finished_leaves_a_full_window_within_so_many_fetches() -> None:
    made = hasty((0, 4), (5, 9), partition_max_record_locks=5)
    fetch(made, "a", (0, 4))
    made.apply(SkipAcquire("b"))
    ack(made, "a", (0, 2, ACCEPT), choice=Choice(start_offset=0))
    for _ in range(2):
        made.apply(SkipAcquire("b"), Choice(start_offset=0))
    with pytest.raises(IllegalChoiceError) as raised:
        made.apply(SkipAcquire("b"), Choice(start_offset=0))
    assert raised.value.guard is Guard.FINISHED_LEAVES_FULL_WINDOW
    assert raised.value.detail == "at 0"
    made.apply(SkipAcquire("b"))
    assert made.snapshot().start_offset == 3
