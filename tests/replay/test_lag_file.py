from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from impl.kernel import replay_partition
from judge.engine import Engine, SpecEngine
from judge.follower import follow
from model.profile import DRAFT_RESOLVED, KAFKA, Profile
from model.snapshot import SharePartitionSnapshot
from model.trace import TraceEvent
from model.trace_arrow import table_from_rows
from replay.result_schema import LAG, lag_file, lag_row, lag_table
from tests.replay.samples import Row, aborted_rows, draft_rows, events, kafka_rows


@pytest.mark.parametrize(
    ("rows", "profile"),
    [(kafka_rows(count=100), KAFKA), (aborted_rows(), KAFKA), (draft_rows(), DRAFT_RESOLVED)],
)
def test_the_kernel_and_the_specification_give_the_same_rows(
    rows: list[Row], profile: Profile
) -> None:
    table = table_from_rows(rows)
    observed: list[dict[str, Any]] = []

    def observe(event: TraceEvent, engine: Engine, state: SharePartitionSnapshot) -> None:
        observed.append(lag_row(event, state, engine.lag()))

    follow(events(rows), {"spec": SpecEngine(profile)}, 0, observe)
    found = lag_table(rows[0]["partition"], table, replay_partition(table, profile))
    assert found.schema.equals(LAG)
    assert found.equals(table_from_rows(observed, LAG))
    if profile is DRAFT_RESOLVED:
        assert found.column("in_progress").to_pylist() == [0, 0, 2, 2, 2, 1, 1, 1, 0]
        assert found.column("archiving").to_pylist() == [0, 0, 0, 0, 0, 1, 0, 0, 0]


def test_a_file_appears_whole_at_the_end(tmp_path: Path) -> None:
    table = table_from_rows(kafka_rows(count=10))
    rows = lag_table("p", table, replay_partition(table, KAFKA))
    target = tmp_path / "part-00003.parquet"
    with lag_file(str(tmp_path), 3) as write:
        write(rows)
        write(rows)
        assert not target.exists()
    assert pq.read_table(target).num_rows == 20
    assert list(tmp_path.iterdir()) == [target]
