import attrs
import numpy as np
import pytest

from impl import layout as at
from impl.partition import FastSharePartition
from model.checks import MAX_INT64
from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError
from model.guards import Guard
from model.operations import (
    AlterConfig,
    Initialize,
    MemberLeaves,
)
from model.outcome import Choice
from model.profile import DRAFT_RESOLVED, KAFKA
from model.snapshot import DurableState
from tests.impl.helpers import interpreted
from tests.impl.scenario import (
    ACCEPT,
    REJECT,
    RELEASE,
    RENEW,
    ack,
    fetch,
    mark,
    partition,
    shown,
    wait,
    written,
)

REQUEST = ErrorCode.INVALID_REQUEST
STATE = ErrorCode.INVALID_RECORD_STATE


def runs(made: FastSharePartition) -> int:
    """Return how many runs the records are kept in, also those that are shown as one."""
    header = made._state.header  # noqa: SLF001 - no event can show it
    return int(header[at.TAIL] - header[at.HEAD])


def alter(made: FastSharePartition, **config: int) -> None:
    """Replace the configuration by the default but for these settings."""
    made.apply(AlterConfig(attrs.evolve(SharePartitionConfig(), **config)))  # type: ignore[arg-type]


def test_offsets_of_one_type_are_taken_together() -> None:
    inner = interpreted("acknowledge")
    types = [ACCEPT, ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT]
    rows = np.array([(10, 15, 0, 6), (20, 29, 3, 4)])
    sent = inner.Acknowledgement(0, 0, rows, np.array(types))

    def taken(batch: int, offset: int, last: int) -> tuple[int, int]:
        kind, end = inner._type_from(sent, batch, offset, last)  # noqa: SLF001 - as above
        return kind, end

    ends = [12, 12, 12, 14, 14, 15]
    assert [taken(0, 10 + i, 15) for i in range(6)] == list(zip(types, ends, strict=True))
    assert [taken(0, 10, 11), taken(0, 13, 13)] == [(ACCEPT, 11), (RELEASE, 13)]
    assert taken(1, 22, 28) == (RELEASE, 28)


@pytest.mark.parametrize(
    ("batch", "refusal", "where"),
    [
        ((3, 4, ACCEPT), STATE, "Acknowledge(.*)"),
        ((3, 5, RELEASE), ErrorCode.NONE, "at 5"),
        ((3, 5, RENEW), REQUEST, "at 5"),
        ((3, 5, RENEW), ErrorCode.NOT_COORDINATOR, "at 5"),
        ((0, 9, ACCEPT), ErrorCode.NOT_COORDINATOR, "at 5"),
        ((6, 9, ACCEPT), ErrorCode.NOT_COORDINATOR, "Acknowledge(.*)"),
    ],
)
def test_an_illegal_refusal_names_the_record_that_fails(
    batch: tuple[int, ...], refusal: ErrorCode, where: str
) -> None:
    made = partition((0, 6))
    fetch(made, "a", (0, 6))
    ack(made, "a", (5, 5, RELEASE))
    with pytest.raises(IllegalChoiceError, match=f": {where}$") as raised:
        ack(made, "a", batch, choice=Choice(refusal=refusal))
    assert raised.value.guard is Guard.ACKNOWLEDGEMENT_JUDGED


def test_a_renewal_sets_one_lock_for_records_acquired_at_different_times() -> None:
    made = partition((0, 5), record_lock_duration_ms=10)
    for batch in (0, 1), (2, 3), (4, 5):
        fetch(made, "a", batch)
        wait(made, 1)
    assert runs(made) == 3
    ack(made, "a", (0, 5, RENEW))
    assert runs(made) == 1
    wait(made, 9)
    assert shown(made) == "0-5:Q1a"
    wait(made, 1)
    assert shown(made) == "0-5:A1"


def test_refused_records_keep_owner_and_lock() -> None:
    made = partition((0, 4), record_lock_duration_ms=0)
    fetch(made, "a", (0, 4))
    assert (
        ack(made, "a", (0, 1, ACCEPT), (3, 5, ACCEPT), choice=Choice(refusal=STATE)).status is STATE
    )
    assert (shown(made), runs(made)) == ("0-4:Q1a", 1)


def test_the_largest_offsets_of_all() -> None:
    top = MAX_INT64 - 2  # The end of the window is an offset too.
    made = FastSharePartition(KAFKA)
    made.apply(Initialize(SharePartitionConfig(), top - 4, top + 1, DurableState(top - 4, 0)))
    fetch(made, "a", (top - 4, top))
    with pytest.raises(IllegalChoiceError) as raised:
        ack(made, "a", (top, 2**70, RENEW), choice=Choice(refusal=ErrorCode.NONE))
    assert raised.value.guard is Guard.ACKNOWLEDGED_WAS_DELIVERED
    assert raised.value.detail == f"at {top + 1}"
    outcome = ack(made, "a", (top, top, ACCEPT))
    assert written(outcome) == [(top - 4, 1, [(top, top, 2, 1)])]
    outcome = made.apply(MemberLeaves("a"))
    assert written(outcome) == [(top - 4, 1, [(top - 4, top - 1, 0, 1)])]


def in_progress(grace: int) -> FastSharePartition:
    """Return a share-partition where a, at time 3, has marked 1 to 3 of 0 to 4 for 20 ms."""
    made = partition(
        (0, 4),
        profile=DRAFT_RESOLVED,
        record_lock_duration_ms=10,
        in_progress_staleness_threshold_ms=20,
        in_progress_rebalance_grace_ms=grace,
    )
    fetch(made, "a", (0, 4))
    wait(made, 3)
    assert mark(made, "a", (1, 3, 0)) == ["NONE"]
    return made


def test_locks_that_the_grace_makes_equal_are_of_one_run() -> None:
    made = in_progress(5)
    mark(made, "a", (0, 4, 0))
    alter(
        made,
        record_lock_duration_ms=10,
        in_progress_staleness_threshold_ms=60,
        in_progress_rebalance_grace_ms=5,
    )
    mark(made, "a", (0, 1, 0))
    assert (shown(made), runs(made)) == ("0-4:P1a", 2)
    assert made.apply(MemberLeaves("a")).writes == ()
    assert (shown(made), runs(made)) == ("0-4:P1a", 1)
