from pathlib import Path

from replay.gather import gather
from replay.inputs import first_problems, inputs_of
from replay.plan import Found, gather_tasks
from replay.sources import find_sources
from replay.survey import survey
from replay.verdict import Problem
from tests.replay.samples import kafka_rows, write_lines, write_parquet


def test_lines_and_columns_are_put_together_with_where_each_began(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "a.jsonl", kafka_rows(count=3))
    lines.write_bytes(lines.read_bytes() + b"{\n")
    columns = write_parquet(tmp_path / "b.parquet", kafka_rows(partition=1, count=4))
    sources = find_sources([lines]).files
    gathered = [gather(task) for task in gather_tasks(sources, 1, str(tmp_path), 0)]
    found = inputs_of(gathered, [survey(*find_sources([columns]).files)])
    assert found.events == {"core:orders:0": 3, "core:orders:1": 4}
    assert found.places == {
        "core:orders:0": [Found(str(lines), 1)],
        "core:orders:1": [Found(str(columns), 1)],
    }
    assert [problem.line for problem in found.problems] == [4]


def test_the_first_problem_of_a_share_partition_counts() -> None:
    problems = [Problem("f", 1, "x"), Problem("f", 2, "y", "p"), Problem("f", 3, "z", "p")]
    assert first_problems(problems) == {"p": problems[1]}
