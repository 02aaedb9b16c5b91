"""A real cluster under faults: what the command refuses, tells, and leaves behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
from click.testing import Result

from clients.cluster_history import MadeHistory, StarvedMember
from clients.work import TRANSACTIONS
from conformance.cluster.fault_plan import GROUPS, NODES, PlannedFault
from conformance.cluster.history import GroupSettings, InjectedFault
from conformance.cluster.nodes import Nodes
from conformance.cluster.rules import judge_history
from conformance.cluster.run_state import READ_COMMITTED
from conformance.target import TargetError
from judge.finding import Finding, FindingKind, FindingPlace
from replay.observed.run import JudgedLogs
from replay.observed.verdict import ObservedVerdict
from replay.verdict import PartitionVerdict, Replay, Verdict
from sharespec import cluster_run
from sharespec.cluster_groups import ClusterRun, GroupRun
from sharespec.cluster_judges import JudgedCluster
from tests.conformance.cluster.test_rules import FAULTS
from tests.conformance.unbuilt import skip_unbuilt
from tests.recorder.released import eventually
from tests.sharespec.running import runner

SETTINGS = GroupSettings(5, 100, 2000, 5)
PLAN = (PlannedFault(100, "reset", {"source": "1", "target": "2"}),)
_START_S = 300

command = runner("cluster", "kafka")


def groups(*settings: GroupSettings) -> tuple[GroupRun, ...]:
    """The groups of a run that has not begun, with these settings or the usual ones."""
    each = settings or (SETTINGS, SETTINGS)
    return tuple(GroupRun(name, some) for name, some in zip(GROUPS, each, strict=True))


def judged(
    findings: tuple[Finding, ...] = (), *, told: int = 10, unmatched: int = 0, checked: int = 10
) -> JudgedCluster:
    """A run of which so much was judged, with these findings."""
    run = ClusterRun(7, groups(), PLAN, Path())
    run.note(0, InjectedFault(0, "reset"))
    verdicts = (PartitionVerdict("g:t:0", Verdict.CONFORMS, 10, checked),)
    traces = Replay(verdicts=verdicts, problems=(), seconds=0)
    logs = JudgedLogs(
        verdicts=(ObservedVerdict("g:t:0", Verdict.CONFORMS, 10, checked),),
        problems=(),
        seconds=0,
        troubles=(),
        gaps=(),
        lines=0,
        requests=0,
        unusable=0,
        backward=0,
        others=0,
    )
    return JudgedCluster(
        run, MadeHistory((), told, unmatched), findings, traces, logs, 3, causes=findings
    )


def told(monkeypatch: pytest.MonkeyPatch, what: JudgedCluster, *options: str) -> Result:
    """Run the command over a cluster that is not there."""
    monkeypatch.setattr(cluster_run, "run_cluster", lambda *_: what)
    return command(*options)


FOUND = tuple(judge_history(FAULTS["two holders"][0].events()))


def test_what_is_wrong_is_shown_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    result = told(monkeypatch, judged(FOUND), "--seed", "7", "--seconds", "5")
    assert result.exit_code == 1
    assert "new: ONE_HOLDER: nothing was fenced" in result.output
    assert "sharespec cluster kafka --seconds 5 --seed 7" in result.output
    assert "3 records that were confirmed to the producer reached no member" in result.output


@pytest.mark.parametrize("interrupts", [False, True])
def test_faults_are_left_out_while_the_same_shows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, interrupts: bool
) -> None:
    plan, out = tmp_path / "plan", tmp_path / "out"
    lines = [f'[{ms}, "reset", {{"source": "1", "target": "2"}}]' for ms in range(9)]
    plan.write_text("\n".join(lines))
    out.mkdir()
    played: list[list[int]] = []
    other = tuple(judge_history(FAULTS["one attempt too many"][0].events()))

    def run_cluster(
        _folder: Path, _seed: int, _s: float, plan: Sequence[PlannedFault], *_: object
    ) -> JudgedCluster:
        times = [fault.ms for fault in plan]
        played.append(times)
        # 3 and 7 are needed; what has fewer faults than all shows it at each second try only.
        shows = {3, 7} <= set(times) and (len(times) == 9 or played.count(times) == 2)
        what = judged(FOUND if shows else other)
        what.run.interrupted = interrupts and len(played) == 4
        return what

    monkeypatch.setattr(cluster_run, "run_cluster", run_cluster)
    options = ("--shrink", 2, "--plan", plan, "--out", out, "--json")
    result = command(*options)
    left = [0, 1, 2, 3, 4, 5, 6, 7, 8] if interrupts else [3, 7]
    assert result.exit_code == (130 if interrupts else 1), result.output
    told_of = next(row for row in map(json.loads, result.stdout.splitlines()) if "fewest" in row)
    assert (told_of["rule"], [row[0] for row in told_of["fewest"]]) == ("ONE_HOLDER", left)
    assert [json.loads(line)[0] for line in (out / "fewest.jsonl").read_text().splitlines()] == left
    assert max(played.count(times) for times in played) == 2


def test_a_run_that_conforms_exits_with_0(monkeypatch: pytest.MonkeyPatch) -> None:
    result = told(monkeypatch, judged())
    assert result.exit_code == 0
    assert "No rule is broken" in result.output


@pytest.mark.parametrize(
    "little",
    [judged(told=0), judged(told=10, unmatched=2), judged(checked=5)],
    ids=["nothing told", "not matched", "not compared"],
)
def test_too_little_is_unknown(monkeypatch: pytest.MonkeyPatch, little: JudgedCluster) -> None:
    result = told(monkeypatch, little)
    assert result.exit_code == 2
    assert "unknown: " in result.output


def test_an_interrupted_run_is_told_and_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    what = judged(FOUND)
    what.run.interrupted = True
    result = told(monkeypatch, what)
    assert result.exit_code == 130
    assert "Interrupted" in result.output
    assert "ONE_HOLDER" in result.output


def test_findings_and_totals_are_lines_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    finding, totals = map(
        json.loads, told(monkeypatch, judged(FOUND), "--json").stdout.splitlines()
    )
    assert (finding["rule"], finding["judge"], finding["known"]) == ("ONE_HOLDER", "cluster", None)
    assert (totals["seed"], totals["unseen"], totals["faults"]) == (7, 3, ["reset"])


def test_known_faults_have_their_pages() -> None:
    fenced = [f for f in _all_findings() if f.cause[1:] == ("a write of an older leader epoch",)]
    assert fenced
    assert "docs/findings/cluster.md" in judged().known(fenced[0])


def test_a_member_that_gets_nothing_is_known_after_a_renewal_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for renewed, badge in ((True, "known"), (False, "new")):
        starved = (StarvedMember("kafka-1", 20, 9, 90, renewed),)
        result = told(monkeypatch, attrs.evolve(judged(), starved=starved))
        assert result.exit_code == 1
        assert f"{badge}: drops-nothing: after" in result.output.replace(": without", ": after")
        assert "kafka-1: its last 20 polls returned nothing" in result.output


def test_what_a_leader_reads_is_known_where_the_rules_saw_the_lost_write() -> None:
    written = FAULTS["another is told that the write of the old leader is done"][0]
    rules = tuple(judge_history(written.events()))
    what = attrs.evolve(judged(rules), history=MadeHistory(tuple(written.lines), 10, 0))
    kind = FindingKind.DIFFERENCE
    read = Finding(0, "spec", kind, "PERSISTED", "", "", "", "", "", operation="initialize")
    here, elsewhere, of_other = (
        attrs.evolve(read, place=FindingPlace(partition=name))
        for name in ("g:t:0", "g:t:1", "h:t:0")
    )
    assert "fenced-write-is-confirmed" in what.known(here)
    assert not what.known(elsewhere)
    assert not what.known(of_other)
    assert not judged().known(here)


@pytest.mark.parametrize(
    ("rule", "operation", "offset", "is_known"),
    [
        ("STATUS", "complete_write", 0, True),
        ("WRITE_IS_DURABLE", "", 0, True),
        ("WRITE_IS_DURABLE", "", 1, False),
        ("RECORD_IS_THE_WRITE", "", 1, True),
        ("STATUS", "complete_write", 1, False),
    ],
)
def test_what_a_request_log_shows_of_the_record_of_a_known_fault_is_known(
    rule: str, operation: str, offset: int, *, is_known: bool
) -> None:
    written = FAULTS["another is told that the write of the old leader is done"][0]
    rules = tuple(judge_history(written.events()))
    assert [each.offset for each in rules] == [0]
    what = attrs.evolve(judged(rules), history=MadeHistory(tuple(written.lines), 10, 0))
    place = FindingPlace(partition="g:t:0")
    kind = FindingKind.DIFFERENCE
    found = Finding(0, "request log", kind, rule, "", "", "", "", "", operation=operation)
    found = attrs.evolve(found, place=place, offset=offset)
    assert what.known(found).startswith("fenced-write-is-confirmed") is is_known


def _all_findings() -> list[Finding]:
    return [found for written, *_ in FAULTS.values() for found in judge_history(written.events())]


def test_a_plan_is_refused_in_one_line(tmp_path: Path) -> None:
    plan = tmp_path / "plan"
    plan.write_text('[1, "explode", {}]\n')
    result = command("--plan", plan)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"sharespec: {plan}, line 1: no fault 'explode'; allowed: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.broker
def test_a_cluster_is_judged_and_nothing_of_it_remains(tmp_path: Path) -> None:
    out, plan = tmp_path / "out", tmp_path / "plan"
    plan.write_text(
        '[500, "alter", {"setting": "delivery_count_limit", "value": 10}]\n'
        '[500, "alter", {"setting": "isolation_level", "value": "read_uncommitted"}]\n'
        '[1000, "move_and_return", {"partition": 0, "cut_ms": 300}]\n'
        '[2500, "pause", {"node": 2, "for_ms": 1500}]\n'
        '[5000, "reset", {"source": "client", "target": "1"}]\n'
        '[5500, "delete_records", {"partition": 1, "leave": 5}]\n'
    )
    arguments = ("--seconds", "7", "--plan", str(plan), "--out", str(out), "--json")
    with run(tmp_path, "cluster", "kafka", *arguments) as done:
        output, errors = done.communicate(timeout=_START_S)
    if "Maven" in errors.decode() or "java" in errors.decode():
        skip_unbuilt(TargetError(errors.decode()))
    # Known faults may show; whatever shows has its line.
    assert done.returncode in {0, 1}, errors.decode()
    *found, totals = map(json.loads, output.splitlines())
    assert len(totals["faults"]) == 6
    assert totals["log"] == TRANSACTIONS
    assert totals["settings"]["g"]["isolation_level"] == READ_COMMITTED
    assert totals["lack"] is None
    # Known faults keep the lag above 0, such as after records were deleted from a gap.
    assert totals["drained_s"] is not None or any(row["known"] for row in found)
    assert all(part for part, _whole in totals["judged"].values())
    assert {path.name for path in out.iterdir()} >= {f"node-{id_}" for id_ in NODES} | {
        *("plan.jsonl", "history.jsonl", "state-topic.txt", "work.jsonl")
    }
    assert not running("sharespec.Broker", str(tmp_path))
    assert not list(tmp_path.glob("sharespec-*"))


@pytest.mark.slow
@pytest.mark.broker
def test_nodes_and_their_folder_go_with_a_process_that_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    code = (
        "from pathlib import Path; import sys; from conformance.cluster.nodes import Nodes\n"
        "nodes = Nodes(Path(sys.argv[1]), {}); nodes.start('1'); nodes.start('2')\n"
        "nodes.pause('2'); print('started', flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    node = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(node, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        try:
            if process.stdout.readline() != b"started\n":
                skip_unbuilt(TargetError(process.communicate()[1].decode()))
            # For a moment of its start a process has no command.
            eventually(lambda: len(running("sharespec.Broker", str(folder))) == 2)
        finally:
            process.send_signal(signal.SIGKILL)
    eventually(lambda: not running("sharespec.Broker", str(folder)) and not folder.exists())


@pytest.mark.slow
@pytest.mark.broker
def test_a_node_that_does_not_start_is_named_with_the_end_of_its_log(tmp_path: Path) -> None:
    try:
        nodes = Nodes(tmp_path / "cluster", {"process.roles": "pilot"})
    except TargetError as error:
        skip_unbuilt(error)
    try:
        for id_ in NODES:
            nodes.start(id_)
        with pytest.raises(
            TargetError, match=r"node 1 did not start, exit status 1; its log ends:"
        ):
            nodes.await_all()
        assert "pilot" in nodes.log_end("1")
    finally:
        nodes.close()
    assert not (tmp_path / "cluster").exists()


def run(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """Run a command with a folder for what is temporary."""
    return subprocess.Popen(
        [sys.executable, "-m", "sharespec", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3]), "TMPDIR": str(folder)},
    )


def running(*words: str) -> list[int]:
    """Return the processes whose command has these words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_text(errors="replace")
        except OSError:
            continue
        if all(word in command for word in words) and "python" not in command:
            found.append(int(path.parent.name))
    return found
