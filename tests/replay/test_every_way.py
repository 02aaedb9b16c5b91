"""The same verdicts in this process, in its children and on Spark."""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from replay.gather import Gathered, GatherTask
from replay.plan import CheckedPartition, Plan
from replay.processes import HereRunner, ProcessRunner, Runner, open_processes
from replay.report import json_line
from replay.run import replay_sources
from replay.session import SparkRunner
from replay.sources import find_sources
from replay.verdict import Replay
from tests.replay.samples import FAST, RECORDED, TRACES, kafka_rows, write_lines
from tests.replay.watching import Watching
from tests.traces import QUICK

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def children() -> Iterator[ProcessRunner]:
    with open_processes(2, ["replay.check"]) as runner:
        yield runner


@pytest.fixture(scope="module")
def runners(spark: SparkSession, children: ProcessRunner) -> tuple[Runner, ...]:
    return HereRunner(), children, SparkRunner(spark)


def everywhere(runners: tuple[Runner, ...], path: Path, plan: Plan) -> Replay:
    """Return the result, which must be the same of all runners but for where and how long."""
    results = [replay_sources(runner, find_sources([path]), plan) for runner in runners]
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
    "path", [TRACES / QUICK, RECORDED / "agent-4.4.0-records-deleted.jsonl.gz"]
)
def test_recorded_traces(runners: tuple[Runner, ...], path: Path) -> None:
    """What each says is in ``test_recorded``: where it is said changes nothing of any."""
    result = everywhere(runners, path, Plan(invariants_every=20))
    assert result.counts.checked
    assert bool(result.counts.diverged) is (path.parent == RECORDED)


@pytest.mark.parametrize("here", [True, False])
def test_a_little_text_is_read_in_this_process(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    children: ProcessRunner,
    here: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    read: list[HereRunner] = []

    def noted() -> HereRunner:
        read.append(HereRunner())
        return read[-1]

    path = write_lines(tmp_path / "t.jsonl", kafka_rows())
    monkeypatch.setattr("replay.run.HERE_BYTES", path.stat().st_size - (not here))
    monkeypatch.setattr("replay.run.HereRunner", noted)
    result = replay_sources(children, find_sources([path]), FAST)
    assert (result.counts.conforms, result.counts.checked) == (1, 60)
    assert bool(read) is here


def test_an_interruption_while_this_process_reads_leaves_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, children: ProcessRunner
) -> None:
    def interrupted(_tasks: Sequence[GatherTask]) -> Iterator[Gathered]:
        raise KeyboardInterrupt

    monkeypatch.setattr("replay.run.gather", interrupted)
    path = write_lines(tmp_path / "t.jsonl", kafka_rows())
    result = replay_sources(children, find_sources([path]), FAST)
    assert (result.interrupted, result.counts.checked) == (True, 0)


@attrs.frozen
class Deadly(Plan):
    """A plan that ends the first worker that looks into it, and leaves a file that says so."""

    once: str = ""
    parent: int = 0

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - of any attribute
        if name == "profile" and os.getpid() != self.parent and not Path(self.once).exists():
            Path(self.once).touch()
            signal.raise_signal(signal.SIGKILL)
        return super().__getattribute__(name)


@pytest.mark.slow
def test_a_worker_that_dies_changes_nothing(runners: tuple[Runner, ...], tmp_path: Path) -> None:
    rows = [row for partition in range(4) for row in kafka_rows(partition=partition)]
    sources = find_sources([write_lines(tmp_path / "t.jsonl", rows)])
    here, *others = runners
    expected = replay_sources(here, sources, FAST)
    for number, runner in enumerate(others):
        once = tmp_path / str(number)
        plan = Deadly(against=("impl",), invariants_every=0, once=str(once), parent=os.getpid())
        assert replay_sources(runner, sources, plan).verdicts == expected.verdicts
        assert once.exists()
    assert expected.counts.conforms == 4


def is_checking(_tasks: int, results: Sequence[Any]) -> bool:
    return any(isinstance(result, CheckedPartition) for result in results)


@pytest.mark.slow
def test_an_interrupted_replay_keeps_its_results(
    runners: tuple[Runner, ...], tmp_path: Path
) -> None:
    rows = [row for partition in range(6) for row in kafka_rows(partition=partition, count=500)]
    sources = find_sources([write_lines(tmp_path / "t.jsonl", rows)])
    for runner in runners[:-1]:  # What Spark has done it does not tell before all is done.
        before, progress = threading.active_count(), Watching(is_checking)
        found = replay_sources(runner, sources, FAST, None, progress)
        assert (found.interrupted, progress.stages[-1][0]) == (True, "check")
        assert 1 <= found.counts.conforms < 6
        assert found.counts.conforms + found.counts.unchecked == 6
        assert threading.active_count() <= before + 1
        assert json_line(found).count("\n") == 0
