"""The leaders of simulated clusters are judged event by event."""

from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cluster.simulated import JudgedTraces, Simulator
from conformance.target import TargetError
from judge.finding import Finding, FindingKind, FindingPlace
from sharespec.cli import cli
from sharespec.commands import simulate
from sharespec.leader_traces import judge_leaders
from tests.recorder.released import recorder

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("simulated")]

FENCED, TWO_OBJECTS, PAUSED = 17, 1, 12
DELETIONS = 5, 6
"""The faults of PAUSED that delete records, so that a share-partition stops."""


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


def test_what_the_first_of_two_objects_writes_later_is_no_divergence(simulator: Simulator) -> None:
    run = simulator.run(TWO_OBJECTS)
    names = [finding.name for finding in run.findings]
    assert names == ["ONE_HOLDER", "DELIVERIES_ARE_COUNTED"]
    assert run.judged.compared == run.judged.events > 500


def test_timers_of_a_paused_node_are_late_and_no_others(simulator: Simulator) -> None:
    run = simulator.run(PAUSED, DELETIONS)
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


def test_what_is_known_of_kafka_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder()
    place = FindingPlace("s17:t:0", event="{}")
    known = Finding(
        *(
            3,
            "spec",
            FindingKind.GUARD,
            "START_NEVER_GOES_BACK",
            "the start offset never goes back",
        ),
        *("5", "9", "", ""),
        operation="expire",
        operations_before=("advance_log_start", "expire"),
        place=place,
    )
    judged = JudgedTraces(2, 2, (known,))
    monkeypatch.setattr(
        simulate, "_trace_judge", lambda _workers: nullcontext(lambda _folder, _paused_ms: judged)
    )
    arguments = ["simulate", "kafka", "--traces", "--runs", "1", "--seed", str(FENCED)]
    done = CliRunner().invoke(cli, [*arguments, "--without", ",".join(map(str, range(12)))])
    assert done.exit_code == 1, done.output
    assert "known: START_NEVER_GOES_BACK: expire" in done.output
    assert "start-goes-back-on-expiry" in done.output


def test_the_command_keeps_traces_that_replay_reads(tmp_path: Path) -> None:
    """The faults that it needs not are left out; of what clients do, nothing is."""
    run = CliRunner().invoke
    arguments = ["simulate", "kafka", "--runs", "1", "--workers", "1", "--seed", str(FENCED)]
    arguments += ["--without", "0,2,3", "--shrink", "0", "--out", str(tmp_path), "--traces"]
    done = run(cli, arguments)
    assert done.exit_code == 1, done.output
    assert "known: PERSISTED: initialize" in done.output
    assert "--seed 17 --traces --without 0,1,2,3,4" in done.output
    assert "events were compared" in done.output
    replayed = run(cli, ["replay", str(tmp_path / "traces" / "17-0-2-3")])
    assert "PERSISTED" in replayed.output
