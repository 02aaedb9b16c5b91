from pathlib import Path

import attrs
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import replay.generate
import replay.histories
from impl.kernel import replay_partition
from judge.engine import engines_for
from judge.follower import follow
from model.profile import KAFKA
from model.trace_arrow import SCHEMA
from replay.gather import survey
from replay.generate import Request, TargetNotEmptyError, generate_traces
from replay.histories import draw_history, numbers_needed, pieces_of, pool_of, rows_of
from replay.sources import Form, Source
from replay.synthetic import RECORDS_EVERY, SyntheticPartition
from replay.tables import events_of


def test_a_seed_gives_the_same_files_however_many_processes_make_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay.generate, "EVENTS_PER_FILE", 100)
    monkeypatch.setattr(replay.generate, "ROWS_PER_GROUP", 60)
    done: list[int] = []
    request = Request(5, 203, 7)
    alone = generate_traces(request, tmp_path / "a", 1, done.append)
    assert done == [82, 81, 40]
    monkeypatch.undo()
    again = generate_traces(Request(5, 203, 7), tmp_path / "b", 2)
    other = generate_traces(Request(5, 203, 8), tmp_path / "c", 1)
    assert [path.name for path in alone] == [
        "part-00000.parquet",
        "part-00001.parquet",
        "part-00002.parquet",
    ]
    whole = pq.read_table(tmp_path / "a")
    assert whole.equals(pq.read_table(tmp_path / "b"))
    assert not whole.equals(pq.read_table(tmp_path / "c"))
    assert (len(again), len(other), whole.num_rows) == (1, 1, 203)


def test_processes_share_the_files(tmp_path: Path) -> None:
    request = Request(3, 3 * replay.generate.EVENTS_PER_FILE // 2)
    sizes = [len(indexes) for indexes in replay.generate._files(request)]  # noqa: SLF001
    assert sizes == [2, 1]
    files = generate_traces(Request(2, 20), tmp_path / "a", 2)
    assert [path.name for path in files] == ["part-00000.parquet"]


def test_generated_files_lie_in_order_and_say_what_they_are(tmp_path: Path) -> None:
    (path,) = generate_traces(Request(4, 100), tmp_path, 1)
    found = survey(Source(str(path), Form.PARQUET, 1))
    assert found.generated
    assert found.partitions
    assert [rows for _, rows in found.partitions.values()] == [25] * 4


def test_a_share_partition_is_of_histories_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each begins where the one before it has ended; where it does not, the trace is wrong."""
    monkeypatch.setattr(replay.histories, "LENGTHS", (30, 60))
    monkeypatch.setattr(replay.generate, "ROWS_PER_GROUP", 100)
    (path,) = generate_traces(Request(2, 800, 2), tmp_path, 1)
    with pq.ParquetFile(path) as file:
        groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert max(groups) < 2 * 100 + 80
    assert sum(groups) == 800
    table = pq.read_table(path).select(SCHEMA.names)
    leaders = table.filter(pc.equal(table.column("op"), "initialize"))
    begins = leaders.column("persisted").combine_chunks().field("start_offset")
    assert len(set(begins.to_pylist())) > 2 * 4
    for start in (0, 400):
        rows = table.slice(start, 400)
        result = replay_partition(rows, KAFKA)
        assert (result.divergence, result.events) == (None, 400)
        assert follow(events_of(rows), engines_for(("spec",), KAFKA), 50) is None
    numbers = numbers_needed(2, 1, 200)
    pool = pool_of(numbers, [draw_history(2, number, 200) for number in numbers])
    kept = {number: [0, *adds[1:]] for number, adds in pool.adds.items()}
    spoiled = attrs.evolve(pool, adds=kept)  # The next leader begins where the first did.
    rows = rows_of([*pieces_of("g:t:0", 2, 0, 200, spoiled)], spoiled)
    assert replay_partition(rows, KAFKA).events < rows.num_rows


def test_what_cannot_be_generated_is_refused(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("")
    with pytest.raises(TargetNotEmptyError, match="is not empty"):
        generate_traces(Request(1, 1), tmp_path)
    with pytest.raises(ValueError, match="at least one for each partition"):
        Request(10, 9)


@pytest.mark.slow
def test_generated_events_conform_and_reach_everything() -> None:
    operations: set[str] = set()
    statuses: set[str] = set()
    for i in range(4):
        events = list(SyntheticPartition(f"g:t:{i}", 3, KAFKA).events(1500))
        assert [event.seq for event in events] == list(range(1500))
        recorded = [event.after.records is not None for event in events]
        assert sum(recorded) == 1500 // RECORDS_EVERY
        assert follow(events, engines_for(("spec",), KAFKA), 50) is None
        operations |= {type(event.operation).__name__ for event in events}
        statuses |= {event.outcome.status.name for event in events}
    assert operations == {
        "Initialize", "Produce", "Acquire", "SkipAcquire", "Acknowledge", "MemberLeaves",
        "AdvanceTime", "CompleteWrite", "AdvanceLogStart", "ResetOffset",
    }  # fmt: skip
    assert statuses >= {
        "NONE",
        "PENDING",
        "INVALID_REQUEST",
        "INVALID_RECORD_STATE",
        "NOT_COORDINATOR",
    }


def test_more_files_than_can_be_planned_are_refused(tmp_path: Path) -> None:
    request = Request(10_000_000, 10**12)
    text = "1000000000000 events of 10000000 partitions take 5000000 files; allowed: at most 100000"
    with pytest.raises(ValueError, match=text):
        generate_traces(request, tmp_path / "new")
    assert not (tmp_path / "new").exists()
