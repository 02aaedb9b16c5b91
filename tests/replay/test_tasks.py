from pathlib import Path

import attrs

from replay.gather import Gathered, Survey, bucket_of, gather
from replay.plan import InputFacts
from replay.sources import Form, Source, find_sources
from replay.tasks import (
    CHUNK_BYTES,
    bucket_count,
    check_tasks,
    facts_of,
    gather_tasks,
    inputs_of,
    problems_of,
)
from replay.verdict import Problem, Recording
from tests.replay.samples import kafka_rows, write_lines, write_parquet


def gathered(number: int, path: str, lines: int, names: list[str]) -> Gathered:
    source = Source(path, Form.LINES, 2 * CHUNK_BYTES + 5)
    task = attrs.evolve(gather_tasks([source], 4, "/work")[0], number=number)
    groups = {bucket_of(name, 4): [i] for i, name in enumerate(names)}
    partitions = dict.fromkeys(names, (1, lines))
    return Gathered(task, lines, [], partitions, groups, set(names))


def test_plain_lines_are_split_in_parts_and_gzip_is_not() -> None:
    size = 2 * CHUNK_BYTES + 5
    tasks = gather_tasks(
        [Source("a", Form.LINES, size), Source("b", Form.GZIP, size), Source("c", Form.LINES, 0)],
        4,
        "/work",
    )
    assert [(t.number, t.source.path, t.start, t.end) for t in tasks] == [
        (0, "a", 0, CHUNK_BYTES),
        (1, "a", CHUNK_BYTES, 2 * CHUNK_BYTES),
        (2, "a", 2 * CHUNK_BYTES, None),
        (3, "b", 0, None),
        (4, "c", 0, None),
    ]
    assert len({t.target for t in tasks}) == 5


def test_buckets_grow_with_the_input_within_limits() -> None:
    assert bucket_count([], 2) == 8
    assert bucket_count([Source("a", Form.GZIP, 1 << 30)], 2) == 426
    assert bucket_count([Source("a", Form.LINES, 1 << 50)], 2) == 2048


def test_lines_count_on_over_the_parts_of_a_file() -> None:
    parts = [gathered(1, "a", 7, ["p"]), gathered(0, "a", 5, ["p"]), gathered(2, "b", 3, ["q"])]
    assert inputs_of(parts).places == {
        "p": {"a": 1},
        "q": {"b": 1},
    }


def test_a_share_partition_in_two_files_is_a_problem_but_not_one_in_two_parts_of_a_file() -> None:
    parts = [gathered(0, "a", 5, ["p", "q"]), gathered(1, "a", 5, ["p"])]
    inputs = inputs_of([*parts, gathered(2, "b", 3, ["q"])])
    text = "the share-partition is in 2 files: also in b, line 1; allowed: one file, or a "
    text += "leader_epoch in each event, which orders the files"
    assert problems_of(inputs) == {"q": Problem("a", 1, text, "q")}
    facts = facts_of(inputs)
    assert facts.unusable == {"q"}
    assert check_tasks(inputs, ["q"], 1, facts) == []


def test_the_task_of_a_bucket_has_the_problems_of_its_share_partitions() -> None:
    parts = [gathered(0, "a", 5, ["p", "q"]), gathered(1, "a", 5, ["p"])]
    first, later = (Problem("a", line, "bad", "p") for line in (1, 2))
    other = Problem("a", 3, "bad", "x")
    inputs = attrs.evolve(inputs_of(parts), problems=(first, later, other))
    (task,) = check_tasks(inputs, ["p", "x"], 1, facts_of(inputs))
    assert (task.facts.bad, task.events) == ({"p": first}, {"p": 10})
    assert [part.base for part in task.parts] == [0, 5]
    assert check_tasks(inputs_of([]), ["p"], 1, InputFacts()) == []


def test_runs_in_order_are_split_at_row_groups() -> None:
    runs = {f"p{i}": (10_000 * i + 1, 10_000) for i in range(20)}
    (task,) = gather_tasks([Source("a", Form.PARQUET, 1)], 4, "/work")
    survey = Survey((40_000,) * 5, runs)
    inputs = inputs_of([Gathered(task, 200_000, partitions=runs, survey=survey)])
    tasks = check_tasks(inputs, inputs.places, 2, InputFacts())
    assert [(t.number, len(t.first_rows)) for t in tasks] == [(i, 4) for i in range(5)]
    (both,) = check_tasks(inputs, ["p1", "p17"], 2, InputFacts())
    assert both.first_rows == {"p1": 10_000, "p17": 170_000}


def test_inputs_of_lines_and_parquet_are_combined(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "a.jsonl", kafka_rows(count=3))
    lines.write_bytes(lines.read_bytes() + b"{\n")
    columns = write_parquet(tmp_path / "b.parquet", kafka_rows(partition=1, count=4))
    tasks = gather_tasks(find_sources([tmp_path]).files, 1, str(tmp_path))
    found = inputs_of(list(gather(tasks)))
    assert found.events == {"core:orders:0": 3, "core:orders:1": 4}
    assert found.places == {
        "core:orders:0": {str(lines): 1},
        "core:orders:1": {str(columns): 1},
    }
    assert [problem.line for problem in found.problems] == [4]


def test_a_share_partition_of_several_leaders_may_be_in_several_files() -> None:
    parts = [
        attrs.evolve(gathered(n, path, 5, ["p"]), leaderless=set())
        for n, path in ((0, "a"), (1, "b"))
    ]
    assert problems_of(inputs_of(parts)) == {}
    one_alone = [parts[0], attrs.evolve(parts[1], leaderless={"p"})]
    assert set(problems_of(inputs_of(one_alone))) == {"p"}


def test_checks_know_the_files_that_a_recorder_did_not_close() -> None:
    begun, closed = Recording(headers=1), Recording(trailers=1)
    parts = [
        attrs.evolve(gathered(0, "a", 5, ["p"]), recording=begun),
        attrs.evolve(gathered(1, "b", 5, ["q"]), recording=begun),
        attrs.evolve(gathered(2, "b", 5, ["q"]), recording=closed),
    ]
    assert facts_of(inputs_of(parts)).unfinished == {"a"}
