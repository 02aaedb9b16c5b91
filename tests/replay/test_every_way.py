"""The same verdicts in this process, in its children and on Spark."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from model.trace_json import line_from_row
from replay.gather import Gathered, GatherTask, gather
from replay.plan import Plan
from replay.processes import HereRunner, ProcessRunner, open_processes
from replay.run import replay_sources
from replay.runner import Runner
from replay.session import SparkRunner
from replay.sources import find_sources
from replay.verdict import Replay, Verdict
from tests.replay.samples import RECORDED, TRACES, kafka_rows, write_lines
from tests.replay.test_run import Interrupting

pytestmark = pytest.mark.xdist_group("spark")

SPEC = Plan(against=("spec",), invariants_every=0)


@pytest.fixture(scope="module")
def children() -> Iterator[ProcessRunner]:
    with open_processes(2, ["replay.check"]) as runner:
        yield runner


@pytest.fixture(scope="module")
def runners(spark: SparkSession, children: ProcessRunner) -> tuple[Runner, ...]:
    return HereRunner(), children, SparkRunner(spark)


def everywhere(runners: tuple[Runner, ...], path: Path, plan: Plan) -> Replay:
    """Return the result, which must be the same of all runners but for where and how long."""
    sources = find_sources([path])
    results = [replay_sources(runner, sources, plan) for runner in runners]
    assert [result.runner for result in results] == [
        "in this process",
        "in this process and 2 children",
        "Spark local[2]",
    ]
    here, *others = (attrs.evolve(result, seconds=0, runner="") for result in results)
    assert [here] * len(others) == others
    return here


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", sorted([*TRACES.iterdir(), *RECORDED.glob("*.gz")]), ids=lambda path: path.name
)
def test_every_recorded_trace(runners: tuple[Runner, ...], path: Path) -> None:
    result = everywhere(runners, path, Plan(invariants_every=20))
    assert result.counts.checked
    if path.parent == TRACES:
        assert result.counts.conforms == len(result.verdicts)


@pytest.mark.parametrize("here", [True, False])
def test_a_little_text_is_read_in_this_process(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    children: ProcessRunner,
    here: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    read: list[GatherTask] = []

    def noted(tasks: Sequence[GatherTask]) -> Iterator[Gathered]:
        read.extend(tasks)
        return gather(tasks)

    path = write_lines(tmp_path / "t.jsonl", kafka_rows())
    monkeypatch.setattr("replay.run.HERE_BYTES", path.stat().st_size - (not here))
    monkeypatch.setattr("replay.run.gather", noted)
    result = replay_sources(children, find_sources([path]), SPEC)
    assert (result.counts.conforms, result.counts.checked) == (1, 60)
    assert bool(read) is here


def test_an_interruption_while_this_process_reads_leaves_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, children: ProcessRunner
) -> None:
    def interrupted(_tasks: Sequence[GatherTask]) -> Iterator[Gathered]:
        raise KeyboardInterrupt

    monkeypatch.setattr("replay.run.gather", interrupted)
    path = write_lines(tmp_path / "t.jsonl", kafka_rows())
    result = replay_sources(children, find_sources([path]), SPEC)
    assert (result.interrupted, result.counts.checked) == (True, 0)


def _fault(rows: list[dict[str, Any]]) -> None:
    rows[30]["after"]["end_offset"] += 1


def _hole(rows: list[dict[str, Any]]) -> None:
    del rows[20]


def _twice(rows: list[dict[str, Any]]) -> None:
    rows[21]["seq"] = rows[20]["seq"]


def _malformed(rows: list[dict[str, Any]]) -> None:
    rows[25]["op"] = "unheard of"


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (_fault, Verdict.DIVERGES),
        (_hole, Verdict.UNREADABLE),
        (_twice, Verdict.UNREADABLE),
        (_malformed, Verdict.UNREADABLE),
    ],
)
def test_planted_faults_and_bad_lines(
    runners: tuple[Runner, ...],
    tmp_path: Path,
    change: Callable[[list[dict[str, Any]]], None],
    verdict: Verdict,
) -> None:
    rows = kafka_rows(count=60)
    change(rows)
    path = tmp_path / "t.jsonl"
    lines = b"".join(line_from_row(row) for row in rows)
    others = b"".join(line_from_row(row) for row in kafka_rows(partition=1, count=60))
    path.write_bytes(lines + others + b"[]\n")
    result = everywhere(runners, path, SPEC)
    assert [each.verdict for each in result.verdicts] == [verdict, Verdict.CONFORMS]
    assert any("[]" in problem.message for problem in result.problems)


class Deadly(Plan):
    """A plan that ends the first child that looks into it."""

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - of any attribute
        if name == "profile":
            once, parent = Path(os.environ["SHARESPEC_ONCE"]), os.environ["SHARESPEC_PARENT"]
            if str(os.getpid()) != parent and not once.exists():
                once.touch()
                signal.raise_signal(signal.SIGKILL)
        return super().__getattribute__(name)


@pytest.mark.slow
def test_a_child_that_dies_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for partition in range(4) for row in kafka_rows(partition=partition)]
    sources = find_sources([write_lines(tmp_path / "t.jsonl", rows)])
    monkeypatch.setenv("SHARESPEC_ONCE", str(tmp_path / "died"))
    monkeypatch.setenv("SHARESPEC_PARENT", str(os.getpid()))
    with open_processes(2) as runner:
        found = replay_sources(runner, sources, Deadly(against=("spec",), invariants_every=0))
    assert (tmp_path / "died").exists()
    assert found.verdicts == replay_sources(HereRunner(), sources, SPEC).verdicts
    assert found.counts.conforms == 4


@pytest.mark.slow
def test_an_interrupted_replay_keeps_its_results(tmp_path: Path) -> None:
    rows = [row for partition in range(6) for row in kafka_rows(partition=partition, count=300)]
    sources = find_sources([write_lines(tmp_path / "t.jsonl", rows)])
    with open_processes(2) as children:
        for runner in (HereRunner(), children):
            found = replay_sources(runner, sources, SPEC, None, Interrupting())
            assert found.interrupted
            assert 1 <= found.counts.conforms < 6
            assert found.counts.conforms + found.counts.unchecked == 6
