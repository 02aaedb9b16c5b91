"""The leaders of simulated clusters are judged event by event."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cluster.simulated import Simulator
from conformance.target import TargetError
from sharespec.cli import cli
from sharespec.leader_traces import judge_leaders
from tests.recorder.released import recorder

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("simulated")]

FENCED, TWO_OBJECTS, PAUSED = 17, 1, 12


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    recorder()
    with closing(Simulator(tmp_path_factory.mktemp("runs"), judge_leaders)) as running:
        yield running


def test_a_run_without_faults_conforms_and_all_of_it_is_compared(simulator: Simulator) -> None:
    run = simulator.run(FENCED, range(12))
    assert run.injected == ()
    assert run.findings == ()
    assert run.judged.compared == run.judged.events > 500


def test_a_fenced_write_that_is_confirmed_is_not_what_the_next_leader_reads(
    simulator: Simulator,
) -> None:
    (finding,) = simulator.run(FENCED).judged.findings
    assert finding.probable_cause == ("PERSISTED", "initialize")


def test_what_follows_a_second_object_in_a_leader_epoch_is_told_apart(
    simulator: Simulator,
) -> None:
    (finding,) = simulator.run(TWO_OBJECTS).judged.findings
    assert finding.probable_cause == ("PERSISTED", "initialize", "a leader epoch had two objects")


def test_timers_of_a_paused_node_are_late_and_no_others(simulator: Simulator) -> None:
    run = simulator.run(PAUSED)
    assert run.findings == ()
    paused_ms = sum(fault.paused_ms for fault in run.injected)
    assert paused_ms > 5_000
    (finding,) = judge_leaders(run.traces, 0).findings
    assert finding.name == "LOCK_ENDS_ON_TIME"


def test_a_trace_that_is_not_whole_is_refused(simulator: Simulator, tmp_path: Path) -> None:
    assert judge_leaders(tmp_path, 0).events == 0
    file = next(simulator.run(TWO_OBJECTS).traces.rglob("*.gz"))
    cut = file.read_bytes()
    (tmp_path / file.name).write_bytes(cut[: len(cut) // 2])
    with pytest.raises(TargetError, match="not whole"):
        judge_leaders(tmp_path, 0)


def test_the_command_keeps_traces_that_replay_reads(tmp_path: Path) -> None:
    run = CliRunner().invoke
    arguments = ["simulate", "kafka", "--runs", "1", "--seed", str(FENCED), "--out", str(tmp_path)]
    done = run(cli, [*arguments, "--traces"])
    assert done.exit_code == 1, done.output
    assert "new: PERSISTED: initialize" in done.output
    assert "--seed 17 --traces --without" in done.output
    assert "events were compared" in done.output
    replayed = run(cli, ["replay", str(tmp_path / "traces" / "17")])
    assert "PERSISTED" in replayed.output
    assert "compared" not in run(cli, arguments).output
