from pathlib import Path

import pyarrow.parquet as pq

from impl.kernel import replay_partition
from model.profile import KAFKA
from model.trace_arrow import table_from_rows
from replay.engine import SpecEngine
from replay.lag_file import LAG, LagFile, Observed, lag_table
from replay.partition import follow
from tests.replay.samples import events, kafka_rows


def test_the_kernel_and_the_specification_give_the_same_rows() -> None:
    rows = kafka_rows(count=100)
    table = table_from_rows(rows)
    observed = Observed()
    follow(events(rows), {"spec": SpecEngine(KAFKA)}, 0, observed)
    found = lag_table("core:orders:0", table, replay_partition(table, KAFKA))
    assert found.schema.equals(LAG)
    assert found.equals(observed.table())
    assert Observed().table().equals(LAG.empty_table())


def test_a_file_appears_whole_when_it_is_closed(tmp_path: Path) -> None:
    table = table_from_rows(kafka_rows(count=10))
    rows = lag_table("p", table, replay_partition(table, KAFKA))
    file = LagFile(str(tmp_path / "lag"), 3)
    file.write(rows)
    file.write(rows)
    target = tmp_path / "lag" / "part-00003.parquet"
    assert not target.exists()
    file.close()
    assert pq.read_table(target).num_rows == 20
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_nothing_is_written_without_a_folder_or_without_rows(tmp_path: Path) -> None:
    nowhere = LagFile(None, 0)
    assert not nowhere.wanted
    nowhere.write(LAG.empty_table())
    nowhere.close()
    empty = LagFile(str(tmp_path), 0)
    assert empty.wanted
    empty.write(LAG.empty_table())
    empty.close()
    assert list(tmp_path.iterdir()) == []
