from collections.abc import Callable

import attrs
import pytest

from impl import layout as at
from impl.kernel import replay_partition
from impl.partition import FastSharePartition
from model.config import IsolationLevel, SharePartitionConfig
from model.guards import Difference, Guard
from model.operations import AlterConfig, ArchiveAborted
from model.outcome import Choice, Outcome
from model.profile import DRAFT_RESOLVED, KAFKA, Profile
from model.trace_arrow import table_from_rows
from tests.impl.scenario import (
    fetch,
    partition,
    ranges,
    shown,
    wait,
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
