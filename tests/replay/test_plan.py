from replay.gather import Gathered, bucket_of
from replay.plan import (
    CHUNK_BYTES,
    Found,
    bucket_count,
    bucket_tasks,
    find_conflicts,
    gather_tasks,
    line_bases,
    ordered_tasks,
)
from replay.sources import Form, Source
from replay.survey import Run, Survey
from replay.verdict import Problem


def gathered(number: int, path: str, lines: int, names: list[str]) -> Gathered:
    source = Source(path, Form.LINES, 2 * CHUNK_BYTES + 5)
    task = gather_tasks([source], 4, "/work", number)[0]
    groups: dict[int, tuple[int, ...]] = {bucket_of(name, 4): (i,) for i, name in enumerate(names)}
    return Gathered(task, lines, lines, 0, (), dict.fromkeys(names, (1, lines)), groups)


def test_plain_lines_are_split_in_parts_and_gzip_is_not() -> None:
    size = 2 * CHUNK_BYTES + 5
    tasks = gather_tasks(
        [Source("a", Form.LINES, size), Source("b", Form.GZIP, size), Source("c", Form.LINES, 0)],
        4,
        "/work",
        10,
    )
    assert [(t.number, t.source.path, t.start, t.end) for t in tasks] == [
        (10, "a", 0, CHUNK_BYTES),
        (11, "a", CHUNK_BYTES, 2 * CHUNK_BYTES),
        (12, "a", 2 * CHUNK_BYTES, None),
        (13, "b", 0, None),
        (14, "c", 0, None),
    ]
    assert len({t.target for t in tasks}) == 5


def test_buckets_grow_with_the_input_within_limits() -> None:
    assert bucket_count([], 2) == 8
    assert bucket_count([Source("a", Form.GZIP, 1 << 30)], 2) == 426
    assert bucket_count([Source("a", Form.LINES, 1 << 50)], 2) == 2048


def test_lines_are_counted_on_over_the_parts_of_a_file() -> None:
    parts = [gathered(1, "a", 7, ["p"]), gathered(0, "a", 5, ["p"]), gathered(2, "b", 3, ["q"])]
    assert line_bases(parts) == {0: 0, 1: 5, 2: 0}


def test_a_share_partition_in_two_files_is_a_conflict_and_in_two_parts_is_none() -> None:
    conflicts = find_conflicts(
        {"p": [Found("a", 9), Found("a", 2)], "q": [Found("b", 4), Found("a", 8), Found("a", 6)]}
    )
    text = "the share-partition stands in 2 files: also in b, line 4"
    assert conflicts == {"q": Problem("a", 6, text, "q")}


def test_a_bucket_is_a_task_with_what_concerns_its_share_partitions() -> None:
    parts = [gathered(0, "a", 5, ["p", "q"]), gathered(1, "a", 5, ["p"])]
    problem = Problem("a", 1, "bad", "p")
    tasks = bucket_tasks(parts, {"p": problem, "x": problem}, {}, ["p", "x"], 3)
    (task,) = tasks
    assert (task.number, task.bad, task.chosen) == (3, {"p": problem}, frozenset({"p"}))
    assert [part.base for part in task.parts] == [0, 5]
    assert bucket_tasks([], {}, {}, ["p"], 0) == []


def test_runs_in_order_are_grouped_at_row_groups_and_only_what_is_needed_is_read() -> None:
    runs = tuple(Run(f"p{i}", 10_000 * i, 10_000) for i in range(20))
    source = Source("a", Form.PARQUET, 1)
    survey = Survey(source, 200_000, (40_000,) * 5, runs, None, generated=False)
    names = frozenset(run.partition for run in runs)
    tasks = ordered_tasks([survey], names, 2, 7)
    assert [(t.number, t.row_groups, len(t.runs)) for t in tasks] == [
        (7 + i, (i,), 4) for i in range(5)
    ]
    (task,) = ordered_tasks([survey], frozenset({"p1", "p17"}), 2, 0)
    assert (task.row_groups, [run.partition for run in task.runs]) == ((0, 4), ["p1", "p17"])
