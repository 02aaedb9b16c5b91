import attrs
import numpy as np

from impl import layout as at
from impl.partition import FastSharePartition
from model.checks import MAX_INT64
from model.config import SharePartitionConfig
from model.operations import (
    Initialize,
    MemberLeaves,
)
from model.outcome import Choice, Expiry
from model.profile import DRAFT_RESOLVED, KAFKA
from model.snapshot import DurableState
from tests.impl.helpers import interpreted
from tests.impl.scenario import (
    fetch,
    mark,
    partition,
    ranges,
    shown,
    wait,
)

CONFIG = SharePartitionConfig(
    record_lock_duration_ms=10,
    in_progress_staleness_threshold_ms=20,
    in_progress_max_lock_extension_ms=50,
    in_progress_rebalance_grace_ms=5,
)
OK, STATE = "NONE", "INVALID_RECORD_STATE"


def held(**config: int) -> FastSharePartition:
    """Return a share-partition where a holds 0 to 4 by acquisition 0, and b 5 to 9 by 1."""
    made = FastSharePartition(DRAFT_RESOLVED)
    settings = attrs.evolve(CONFIG, **config)  # type: ignore[arg-type]
    made.apply(Initialize(settings, 0, 10, DurableState(0, 0, leader_epoch=7)))
    assert fetch(made, "a", (0, 4)).acquisition == 0
    assert fetch(made, "b", (5, 9)).acquisition == 1
    return made


def marked(made: FastSharePartition, member: str, *batches: tuple[int, int, int]) -> list[str]:
    """Let a member mark as the leader of ``held`` names its deliveries."""
    return mark(made, member, *batches, epoch=7)


def test_a_profile_without_marks_refuses_one_first() -> None:
    inner, state = interpreted("progress"), interpreted("state").new_state(KAFKA)
    sent = inner.Mark(0, np.array([(0, 0, 0, 0)]))
    assert inner.mark_in_progress(state, sent, at.UNSET) == at.verdict(at.NO_MARKS)


def test_the_times_of_a_mark_stay_within_64_bits() -> None:
    made = held(
        in_progress_staleness_threshold_ms=MAX_INT64, in_progress_max_lock_extension_ms=MAX_INT64
    )
    wait(made, 5)
    assert marked(made, "a", (0, 4, 0)) == [OK]
    wait(made, MAX_INT64 - 6)
    assert shown(made) == "0-4:P1a 5-9:A1"


def test_runs_of_different_deliveries_look_like_one() -> None:
    made = partition((0, 9), profile=DRAFT_RESOLVED)
    fetch(made, "a", (0, 4))
    fetch(made, "a", (5, 9))
    assert shown(made) == "0-9:Q1a"
    assert mark(made, "a", (0, 9, 0), (5, 9, 1), (0, 4, 0)) == [STATE, OK, OK]
    wait(made, 1)
    mark(made, "a", (2, 3, 0))
    assert shown(made) == "0-9:P1a"


def test_equal_locks_are_one_run_after_the_grace() -> None:
    made = held()
    marked(made, "a", (0, 1, 0))
    wait(made, 1)
    marked(made, "a", (2, 4, 0))
    made.apply(MemberLeaves("a"))
    wait(made, 5, Choice(expired=(Expiry(ranges((0, 4))),)))
    assert shown(made) == "0-4:A1 5-9:Q1b"
