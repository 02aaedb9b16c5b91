"""Clusters of Apache Kafka's own classes: the same each time, and judged."""

from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cluster.simulated import SimulatedRun, Simulator, fewest_faults, simulated
from sharespec.cli import cli

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("simulated")]

SEEDS = range(12)


def runs_of(folder: Path, seeds: range, workers: int) -> list[SimulatedRun]:
    folder.mkdir()
    runs: list[SimulatedRun] = []
    simulated(folder, seeds, (), workers, runs.append)
    return runs


def test_a_seed_gives_one_history_in_whichever_process_it_runs(tmp_path: Path) -> None:
    alone = runs_of(tmp_path / "one", SEEDS, 1)
    together = runs_of(tmp_path / "two", SEEDS, 2)
    assert [run.digest for run in alone] == [run.digest for run in together]
    assert len({run.digest for run in alone}) == len(SEEDS)
    kinds = set().union(*(run.happenings for run in alone))
    assert {"InjectedFault", "LeaderAcquired", "LeaderAnswered", "StateCommitted"} <= kinds


def test_two_holders_after_a_fenced_write_need_one_fault(tmp_path: Path) -> None:
    with closing(Simulator(tmp_path)) as simulator:
        run = simulator.run(1)
        (finding,) = [each for each in run.findings if each.name == "ONE_HOLDER"]
        fewest, same = fewest_faults(simulator, run, finding)
        assert same.probable_cause == ("ONE_HOLDER", "a write was fenced since")
        assert len(fewest.injected) == 1
        assert simulator.run(1, sorted(range(run.faults))).findings == ()


def test_a_share_partition_that_stops_is_reported_with_the_command_that_shows_it() -> None:
    arguments = ["simulate", "kafka", "--runs", "1", "--seed", "139"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 1, done.output
    assert "new: LAG_COMES_TO_REST" in done.output
    assert "sharespec simulate kafka --runs 1 --seed 139 --without" in done.output
