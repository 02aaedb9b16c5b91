from collections.abc import Callable

import attrs
import pytest

from impl import layout as at
from impl.kernel import replay_partition
from impl.partition import FastSharePartition
from model.config import IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError
from model.guards import Difference, Guard
from model.operations import AdvanceLogStart, AlterConfig, ArchiveAborted, CompleteWrite, Initialize
from model.outcome import Choice, Outcome
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, Profile
from model.trace_arrow import table_from_rows
from tests.impl.scenario import (
    ACCEPT,
    REJECT,
    RELEASE,
    ack,
    fetch,
    mark,
    partition,
    ranges,
    shown,
    wait,
    written,
)
from tests.replay.samples import Row, aborted_rows

PLAIN = SharePartitionConfig(record_lock_duration_ms=10)
COMMITTED = attrs.evolve(PLAIN, isolation_level=IsolationLevel.READ_COMMITTED)


def committed(
    *batches: tuple[int, int], profile: Profile = KAFKA, **config: int
) -> FastSharePartition:
    """Return a share-partition under read_committed with locks of 10 ms."""
    made = partition(*batches, profile=profile)
    made.apply(AlterConfig(attrs.evolve(COMMITTED, **config)))  # type: ignore[arg-type]
    return made


def keep_back(
    made: FastSharePartition, *pairs: tuple[int, int], start: int | None = None
) -> Outcome:
    """Say which offsets, of what was read, are of aborted transactions."""
    return made.apply(ArchiveAborted(ranges(*pairs)), Choice(start_offset=start))


@pytest.mark.parametrize("profile", [KAFKA, KIP, DRAFT_RESOLVED], ids=lambda profile: profile.name)
def test_acquired_records_are_archived_at_once_without_a_write(profile: Profile) -> None:
    made = committed((0, 5), profile=profile)
    fetch(made, "a", (0, 5))
    assert keep_back(made, (2, 3)) == Outcome()
    assert shown(made) == "0-1:Q1a 2-3:X1 4-5:Q1a"
    assert (made.snapshot().start_offset, made.snapshot().delivery_complete_count) == (0, 2)
    assert made.lag() == 4
    assert made.durable().state_batches == ()
    assert keep_back(made, (0, 1)) == Outcome()
    assert (made.snapshot().start_offset, shown(made)) == (4, "4-5:Q1a")
    assert made.durable().start_offset == 0


def test_the_start_offset_moves_as_chosen() -> None:
    made = committed((0, 5))
    fetch(made, "a", (0, 5))
    keep_back(made, (0, 3), start=0)
    assert shown(made) == "0-3:X1 4-5:Q1a"
    keep_back(made, start=3)
    assert shown(made) == "3-3:X1 4-5:Q1a"
    with pytest.raises(IllegalChoiceError) as raised:
        keep_back(made, (4, 4), start=6)
    assert raised.value.guard is Guard.START_STOPS_AT_UNFINISHED
    assert shown(made) == "3-3:X1 4-5:Q1a"


def test_records_of_any_owner_are_archived_and_lose_their_owner() -> None:
    made = committed((0, 5))
    fetch(made, "a", (0, 2))
    fetch(made, "b", (3, 5))
    keep_back(made, (2, 4))
    assert shown(made) == "0-1:Q1a 2-4:X1 5-5:Q1b"
    for member, offset in (("a", 2), ("b", 4)):
        status = ack(made, member, (offset, offset, ACCEPT)).status
        assert status is ErrorCode.INVALID_RECORD_STATE
        assert keep_back(made) == Outcome()
    assert written(wait(made, 10)) == [(0, 3, [(0, 1, 0, 1), (5, 5, 0, 1)])]


@pytest.mark.parametrize(
    ("named", "after"),
    [
        ([(4, 5), (0, 1)], "2-3:Q1a 4-5:X1 6-6:Q1a"),
        ([(3, 5), (2, 4), (2, 5)], "1-1:Q1a 2-5:X1 6-6:Q1a"),
        ([(0, 0), (5, 2**20)], "1-4:Q1a 5-6:X1"),
        ([(7, 9), (2**62, 2**62)], "1-6:Q1a"),
        ([(0, 2**20 - 1)], ""),
        ([], "1-6:Q1a"),
    ],
)
def test_ranges_may_overlap_in_any_order_and_exceed_the_window(
    named: list[tuple[int, int]], after: str
) -> None:
    made = committed((0, 6), (7, 9))
    fetch(made, "a", (0, 6))
    made.apply(AdvanceLogStart(1))
    keep_back(made, *named)
    assert shown(made) == after


def test_only_acquired_records_change() -> None:
    made = committed((0, 6), dead_letter_queue=True)
    fetch(made, "a", (0, 6))
    ack(made, "a", (1, 3, ACCEPT, RELEASE, REJECT))
    ack(made, "a", (4, 5, ACCEPT, REJECT), answer=ErrorCode.PENDING)
    before = "1-1:K1 2-2:A1 3-3:G1 4-4:K1! 5-5:G1!"
    assert shown(made) == f"0-0:Q1a {before} 6-6:Q1a"
    keep_back(made, (0, 6), start=0)
    assert shown(made) == f"0-0:X1 {before} 6-6:X1"
    made.apply(CompleteWrite(1, ErrorCode.COORDINATOR_NOT_AVAILABLE))
    assert shown(made) == "2-2:A1 3-3:G1 4-5:Q1a 6-6:X1"
    keep_back(made, (4, 4))
    assert shown(made) == "2-2:A1 3-3:G1 4-4:X1 5-5:Q1a 6-6:X1"


def test_records_in_progress_stay() -> None:
    made = committed((0, 3), profile=DRAFT_RESOLVED)
    fetch(made, "a", (0, 3))
    assert mark(made, "a", (1, 2, 0)) == ["NONE"]
    keep_back(made, (0, 3), start=0)
    assert shown(made) == "0-0:X1 1-2:P1a 3-3:X1"
    assert ack(made, "a", (1, 2, ACCEPT)).status is ErrorCode.NONE


def test_withheld_records_of_different_acquisitions_join_in_one_run() -> None:
    made = committed((0, 1), (2, 3), (4, 5), profile=DRAFT_RESOLVED)
    fetch(made, "a", (0, 1))
    wait(made, 5)
    fetch(made, "b", (2, 3))
    fetch(made, "c", (4, 5))
    keep_back(made, (1, 4))
    assert shown(made) == "0-0:Q1a 1-4:X1 5-5:Q1c"
    header = made._state.header  # noqa: SLF001 - runs that look the same are shown as one anyway
    assert header[at.TAIL] - header[at.HEAD] == 3


def test_rows_after_the_last_run_are_no_records() -> None:
    made = committed((0, 6))
    fetch(made, "a", (0, 6))
    for named in [(2, 2)], [(1, 3)], [(0, 0)], [(4, 9)]:
        keep_back(made, *named, start=0)
    assert shown(made) == "0-6:X1"
    assert made.snapshot().delivery_complete_count == 7


@pytest.mark.parametrize("named", [[(0, 1)], []])
def test_the_current_isolation_level_applies(named: list[tuple[int, int]]) -> None:
    made = partition((0, 1), (2, 3))
    fetch(made, "a", (0, 1))
    before = shown(made)
    with pytest.raises(IllegalChoiceError, match=r": ArchiveAborted\(") as raised:
        keep_back(made, *named)
    assert raised.value.guard is Guard.ONLY_COMMITTED_IS_ASKED_FOR
    assert shown(made) == before
    made.apply(AlterConfig(COMMITTED))
    assert keep_back(made, *named) == Outcome()
    made.apply(AlterConfig(PLAIN))
    with pytest.raises(IllegalChoiceError):
        keep_back(made, *named)
    made.apply(Initialize(COMMITTED, 0, 4, made.durable()))
    assert keep_back(made, *named) == Outcome()


def test_a_new_leader_does_not_read_withheld_records() -> None:
    made = committed((0, 3))
    fetch(made, "a", (0, 3))
    keep_back(made, (0, 2))
    assert made.snapshot().start_offset == 3
    made.apply(Initialize(COMMITTED, 0, 4, made.durable()))
    assert (made.snapshot().start_offset, shown(made)) == (0, "")


@pytest.mark.parametrize(
    ("change", "kind", "offset"),
    [
        (lambda r: r["ranges"][0].update(last=9), Difference.DELIVERY_COMPLETE_COUNT, None),
        (lambda r: r["result"].update(status="INVALID_REQUEST"), Difference.STATUS, None),
        (lambda r: r["after"].update(start_offset=1), Guard.START_STOPS_AT_UNFINISHED, 0),
        (lambda r: r["after"]["records"][1].update(state="ACQUIRED"), Difference.RECORDS, 2),
    ],
)
def test_a_divergence_in_recorded_columns_is_found(
    change: Callable[[Row], object], kind: Guard | Difference, offset: int | None
) -> None:
    rows = aborted_rows()
    assert replay_partition(table_from_rows(rows), KAFKA).divergence is None
    place = next(i for i, row in enumerate(rows) if row["op"] == "archive_aborted")
    change(rows[place])
    found = replay_partition(table_from_rows(rows), KAFKA).divergence
    assert found
    assert (found.row, found.kind, found.offset) == (place, kind, offset)


def test_recorded_columns_follow_the_level_that_is_altered() -> None:
    rows = aborted_rows()
    altered = [row for row in rows if row["op"] == "alter_config"]
    assert [row["config"]["isolation_level"] for row in altered] == [
        "read_uncommitted",
        "read_committed",
    ]
    altered[1]["config"]["isolation_level"] = "read_uncommitted"
    found = replay_partition(table_from_rows(rows), KAFKA).divergence
    assert found
    assert rows[found.row]["op"] == "archive_aborted"
    assert (found.kind, found.offset) == (Guard.ONLY_COMMITTED_IS_ASKED_FOR, None)
