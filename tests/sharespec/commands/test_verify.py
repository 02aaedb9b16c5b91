"""``sharespec verify``: targets, exit statuses, and one clear line for what is wrong."""

import json
import os
import shlex
import subprocess
import sys
from contextlib import nullcontext
from math import inf
from pathlib import Path
from signal import SIGINT
from time import sleep
from typing import Any

import attrs
import pytest

from conformance.coordinators.group_scene import GroupCapabilities
from conformance.coordinators.share_scene import ShareCapabilities
from conformance.cores.kit import CORES
from conformance.cores.protocol import DriverTarget
from conformance.known import read_known
from conformance.releases import NEWEST
from conformance.subjects import NAMED
from conformance.target import TargetError
from conformance.vectors.source import cases
from conformance.wire.target import WireTarget
from sharespec.exit import Exit
from sharespec.verifying import VerifyPlan
from tests.doubles.broker_faults import UNCOUNTED
from tests.doubles.failing_brokers import DyingBroker, SlippingBroker
from tests.doubles.group_coordinator import GroupCoordinatorDouble
from tests.doubles.share_coordinator import DoubleCoordinator
from tests.doubles.spec_broker import SpecBroker
from tests.sharespec.running import runner
from tools.documents.findings import known_of
from tools.promises.behaviour import HONEST
from tools.promises.catalogue import BEHAVIOURS
from tools.promises.faces import core

QUICK, FEWEST = ["--sequences", "25"], ["--sequences", "2"]
"""To search, and to see what comes after a search."""
VECTOR = "under-record-limit-the-window-keeps-to-its-limit"
LIMIT = "WITHIN_WINDOW_LIMIT"
SAME = ("rule", "operation", "observed", "expected", "steps", "sequence", "cause")
WRONG = f'{sys.executable} -m tests.doubles.small_core "ignores the limit of the window"'


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    few = (*cases()["transitions"], *cases()["window"])
    monkeypatch.setattr("sharespec.verifying.all_cases", lambda: few)


run = runner("verify")


def test_the_specification_conforms() -> None:
    result = run("spec", *QUICK)
    assert result.exit_code == 0, result.output
    assert "conforms: 0 new, 0 known, 0 gone; 25 sequences" in result.output


@pytest.mark.slow
def test_a_known_deviation_fails_the_run_only_when_it_is_gone(tmp_path: Path) -> None:
    lines = [
        json.loads(line) for line in run("--exec", WRONG, *QUICK, "--json").stdout.splitlines()
    ]
    line = next(line for line in lines if line["rule"] == "WITHIN_WINDOW_LIMIT")
    path = tmp_path / "known.toml"
    path.write_text(
        f'[[deviation]]\nname = "wide"\ntitle = "Wide."\nreason = "r"\n'
        f"signature = {[line['rule'], line['operation']]}\n"
        f"vectors = {lines[-1]['vectors']['deviate']}\n"
        f"sequence = '''{json.dumps(line['sequence'])}'''\n"
    )
    page = tmp_path / "known.md"
    known = ["--known", str(path), "--markdown", str(page)]
    assert run("--exec", WRONG, *QUICK, *known).exit_code == 0
    assert "\n## Known: wide: Wide.\n" in page.read_text()
    assert run("spec", *QUICK, *known).exit_code == 1
    only = ["--known", str(path), "--only", "wide"]
    shown = run("--exec", WRONG, *only)
    assert shown.exit_code == 1
    assert "wide: Wide." in shown.stdout
    assert "expected" in shown.stdout
    page.unlink()
    lines = [
        json.loads(line)
        for line in run(
            "--exec", WRONG, *only, "--json", "--markdown", str(page)
        ).stdout.splitlines()
    ]
    assert (lines[0]["kind"], lines[0]["name"], lines[-1]["kind"]) == ("known", "wide", "summary")
    assert "\n## Known: wide: Wide.\n" in page.read_text()
    assert "gone: wide: Wide.\n  It does not show any more.\n" in run("spec", *only).stdout
    assert run("spec", "--known", str(path), "--only", "thin").exit_code == 2


def stand_in(monkeypatch: pytest.MonkeyPatch, broker: WireTarget) -> None:
    """Let a broker in this process be kfake."""
    named = attrs.evolve(NAMED["kfake"], start=lambda *_how: nullcontext(broker))
    monkeypatch.setitem(NAMED, "kfake", named)


def test_a_broker_is_verified_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for fault, status in ((HONEST, 0), (UNCOUNTED, 1)):
        broker = SpecBroker(fault)
        stand_in(monkeypatch, broker)
        result = run("kfake", "--sequences", "4", "--known", os.devnull)
        assert result.exit_code == status, result.output
    assert "1. DELIVERY_COUNT in fetch" in result.output
    assert "0 ACQUIRED" in result.output


def test_reports_are_written_to_files(tmp_path: Path) -> None:
    files = {kind: tmp_path / kind for kind in ("junit", "html", "markdown")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    assert run("--exec", WRONG, *FEWEST, *options).exit_code == 1
    assert files["junit"].read_text().startswith("<?xml")
    assert files["html"].read_text().startswith("<!doctype html>")
    assert "\n## New: 1. WITHIN_WINDOW_LIMIT in acquire: " in files["markdown"].read_text()
    for name in ("WITHIN_WINDOW_LIMIT", VECTOR):
        assert all(name in path.read_text() for path in files.values())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--exec", f"{sys.executable} -c 'input()'"], " -c 'input()'\": it ended"),
        (["--exec", WRONG, "--vector", "renew-is-off"], "there is no vector"),
    ],
    ids=str,
)
def test_a_target_that_cannot_be_driven_exits_with_2(arguments: list[str], text: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert text in result.output


def test_a_vector_is_played_alone() -> None:
    result = run("--exec", WRONG, "--vector", VECTOR)
    assert result.exit_code == 1
    assert "1 vector, 1 deviate" in result.stdout
    assert f" --vector {VECTOR}\n" in result.stdout
    assert run("spec", "--vector", VECTOR).exit_code == 0


def test_a_reproduce_command_shows_its_deviation() -> None:
    result = run("--exec", WRONG, "--sequences", "9", "--json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    for line in (next(one for one in lines if one["rule"] == rule) for rule in (LIMIT, VECTOR)):
        words = shlex.split(line["again"])
        assert words[:2] == ["sharespec", "verify"]
        again = run(*words[2:], "--json")
        assert again.exit_code == 1
        shown = json.loads(again.stdout.splitlines()[0])
        assert {key: shown[key] for key in SAME} == {key: line[key] for key in SAME}
        assert run("spec", *words[4:]).exit_code == 0


def test_a_budget_of_operations_is_the_same_on_any_machine() -> None:
    first, again = (run("spec", "--operations", "200", "--json") for _ in range(2))
    found, other = (json.loads(each.stdout.splitlines()[-1]) for each in (first, again))
    assert found["asked"] == other["asked"]
    assert 200 <= found["operations"] < 200 + 3 * 40
    assert found["sequences"] > 1
    fewer = run("spec", "--operations", "200", "--sequences", "1", "--json")
    assert json.loads(fewer.stdout.splitlines()[-1])["sequences"] == 1


@pytest.mark.parametrize(
    ("arguments", "seconds", "sequences"),
    [
        ([], inf, CORES.sequences),
        (["--operations", "9"], inf, 1_000_000),
        (["--sequences", "9"], inf, 9),
        (["--operations", "9", "--seconds", "5"], 5, 1_000_000),
    ],
)
def test_a_number_of_sequences_ends_a_search_where_nothing_else_does(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], seconds: float, sequences: int
) -> None:
    plans: list[VerifyPlan] = []

    def searched(_target: object, plan: VerifyPlan) -> None:
        plans.append(plan)
        raise TargetError("it is enough")

    monkeypatch.setattr("sharespec.verifying._searched", searched)
    monkeypatch.setattr("sharespec.verifying.all_cases", tuple)
    run("spec", *arguments)
    found = [(plan.limits.seconds, plan.limits.sequences) for plan in plans]
    assert found == [(seconds, sequences)]


def test_without_sequences_only_the_vectors_run(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("spec", "--sequences", "0")
    assert result.exit_code == 0
    assert "43 vectors, 0 deviate; 3 not played: is not for profile kip\n" in result.stdout
    assert "conforms: 0 new, 0 known, 0 gone; 0 sequences" in result.stdout
    monkeypatch.setattr("sharespec.verifying.all_cases", tuple)
    result = run("spec", "--sequences", "0")
    assert result.exit_code == 2
    assert "nothing was tried, so nothing is known" in result.stderr


def test_one_cause_is_one_deviation_with_its_forms() -> None:
    passing = "moves the start offset past a record that is held"
    wrong = f'{sys.executable} -m tests.doubles.small_core "{passing}"'
    result = run("--exec", wrong, "--sequences", "0")
    assert result.exit_code == 1
    assert result.stdout.count("  observed ") == 1
    assert result.stdout.count("  also ") == 11
    assert " more: --json and every report to a file" in result.stdout
    assert "deviates: 1 new in " in result.stdout


DYING = """
import sys
from tests.doubles.small_core import SmallCore, serve

class Dying(SmallCore):
    left = int(sys.argv[1])

    def apply(self, seq, operation, answers):
        Dying.left -= 1
        if Dying.left < 0:
            sys.exit("out\\nof paper")
        return super().apply(seq, operation, answers)

serve(Dying("ignores the limit of the window"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [300, 1500], ids=["vectors", "search"])
def test_the_results_before_a_driver_dies_are_reported(tmp_path: Path, after: int) -> None:
    driver = tmp_path / "driver.py"
    driver.write_text(DYING)
    files = {kind: tmp_path / kind for kind in ("junit", "html", "markdown")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    command = f"{sys.executable} {driver} {after}"
    result = run("--exec", command, "--sequences", "9999", "--json", *options)
    assert result.exit_code == 2, result.output
    (line,) = (line for line in result.stderr.splitlines() if line.startswith("sharespec"))
    assert line.startswith("sharespec: it could not be driven any further: it ended")
    summary = json.loads(result.stdout.splitlines()[-1])
    assert "out" in summary["failure"]
    assert (summary["sequences"] > 1) == (after > 1000)
    for path in files.values():
        report = path.read_text()
        assert VECTOR in report
        assert "t could not be driven any further" in report


def test_the_results_before_a_broker_dies_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for left, verdict in ((300, "unknown: 0 new"), (10, "")):
        broker = DyingBroker(left)
        stand_in(monkeypatch, broker)
        result = run("kfake", "--sequences", "99", "--known", os.devnull)
        assert result.exit_code == 2
        assert verdict in result.stdout
        assert result.stderr.count("the connection is closed") == 1
    assert result.stdout == ""


def test_the_results_before_a_broker_dies_in_known_deviations_are_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = tmp_path / "known.toml"
    asked = [{"ask": "Describe", "partition": 0}]
    known.write_text(
        '[[deviation]]\nname = "n"\ntitle = "t"\nreason = "r"\nsignature = ["X", "describe"]\n'
        f"sequence = '''{json.dumps(asked)}'''\n"
    )
    monkeypatch.setattr("sharespec.verifying.replayed", _gone)
    stand_in(monkeypatch, SpecBroker())
    result = run("kfake", "--sequences", "2", "--known", str(known))
    assert result.exit_code == 2
    assert "unknown: 0 new, 0 known, 0 gone; 2 sequences" in result.stdout
    assert "it is gone" in result.stderr


def test_what_does_not_come_back_is_told_and_fails_no_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broker = SlippingBroker(1)
    stand_in(monkeypatch, broker)
    files = {kind: tmp_path / kind for kind in ("markdown", "junit", "html", "write-known")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    result = run("kfake", "--sequences", "6", "--known", os.devnull, *options)
    assert result.exit_code == 0, result.stdout
    assert (
        "1 unconfirmed, nothing else new: 0 new, 0 known, 0 gone, 1 unconfirmed; 6 sequences"
        in result.stdout
    )
    assert "SENT_AS_WRITTEN" not in files.pop("write-known").read_text()
    for text in (result.stdout, *(path.read_text() for path in files.values())):
        assert "SENT_AS_WRITTEN" in text
        assert "played again 3 times they did not" in text
    stand_in(monkeypatch, SlippingBroker(1))
    lines = run("kfake", "--sequences", "6", "--known", os.devnull, "--json").stdout.splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert (kinds.count("unconfirmed"), kinds.count("new")) == (1, 0)


_INTERRUPTIBLE = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("sharespec", run_name="__main__")
"""
"""Who is started in the background of a shell that is no terminal's ignores SIGINT otherwise."""


@pytest.mark.slow
def test_an_interrupted_search_keeps_its_results_and_conforms_to_nothing(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    command = [sys.executable, "-c", _INTERRUPTIBLE, "verify", "spec", "--html", str(page)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as begun:
        sleep(8)
        begun.send_signal(SIGINT)
        told, _ = begun.communicate(timeout=60)
    assert begun.returncode == Exit.INTERRUPTED, told
    assert "interrupted" in told
    assert "conforms" not in told
    assert '<strong class="verdict unknown">unknown</strong>' in page.read_text()


@pytest.mark.parametrize("during", ["play_vectors", "_searched", "replayed"])
def test_an_interruption_at_any_time_is_told(monkeypatch: pytest.MonkeyPatch, during: str) -> None:
    def interrupts(*_: object) -> None:
        raise KeyboardInterrupt

    listed = read_known(Path("conformance/targets/kafka/known.toml"), CORES.read)
    monkeypatch.setattr("sharespec.verifying.read_known", lambda *_: listed[:1])
    monkeypatch.setattr(f"sharespec.verifying.{during}", interrupts)
    result = run("spec", *FEWEST, "--known", "any")
    assert result.exit_code == Exit.INTERRUPTED
    assert "unknown: 0 new, 0 known, 0 gone" in result.output


def test_a_report_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page"
    options = ["--junit", "/dev/full", "--markdown", "/dev/full", "--html", str(page)]
    for target, status in (["spec"], 2), (["--exec", WRONG], 1):
        result = run(*target, *FEWEST, *options)
        assert result.exit_code == status
        assert result.stderr.count("sharespec: /dev/full: No space left on device\n") == 2
        assert "0 gone; " in result.stdout
        assert page.read_text().startswith("<!doctype html>")


def test_reports_are_tried_before_the_search_and_leave_nothing(tmp_path: Path) -> None:
    first = tmp_path / "first"
    result = run("--exec", "/no/such/driver", "--html", str(first), "--junit", "/proc/none")
    assert result.exit_code == 2
    assert "'--junit': /proc/none: No such file or directory" in " ".join(result.stderr.split())
    assert not first.exists()


def _gone(*_arguments: object) -> None:
    raise TargetError("it is gone")


def test_a_reader_who_closes_the_pipe_has_the_reports(tmp_path: Path) -> None:
    files = {kind: tmp_path / kind for kind in ("junit", "html", "markdown")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    command = [sys.executable, "-m", "sharespec", "verify", "--exec", WRONG, "--vector", VECTOR]
    read, write = os.pipe()
    with subprocess.Popen([*command, *options], stdout=write, stderr=subprocess.PIPE) as process:
        os.close(write)
        os.close(read)
        _out, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    assert errors == b""
    for path in files.values():
        assert VECTOR in path.read_text()


HELD = (
    '[{"ask": "TakeOver", "config": {"delivery_count_limit": 2, "partition_max_record_locks": 4}},'
    ' {"ask": "Produce", "batches": [[0, 3]]}, {"ask": "Fetch", "member": "m1", "mode":'
    ' "batch_optimized", "batch_size": 500, "max_records": 500, "max_batches": 1}]'
)


@pytest.mark.parametrize(
    ("behaviour", "said", "asserted"),
    [
        ("counts deliveries from 0", "", "assertEquals(1, countOf(0, acquired), "),
        ("skips the first record that it reads", "no test of NO_RECORD_LOST in acquire: ", None),
        ("delivers rejected records again", "is not written: no deviation shows that can", None),
    ],
)
def test_what_shows_becomes_a_test_in_java(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, behaviour: str, said: str, asserted: str | None
) -> None:
    (faulty,) = (b for b in BEHAVIOURS if b.name == behaviour)
    target = core(faulty)
    hello = attrs.evolve(target.hello(), version=NEWEST)
    monkeypatch.setattr(target, "hello", lambda: hello)
    monkeypatch.setattr("sharespec.commands.verify.opened", lambda _: nullcontext(target))
    path = tmp_path / "FoundTest.java"
    result = run("kafka", "--play", HELD, "--junit-test", str(path))
    assert said in result.stderr
    assert result.exit_code == (Exit.COULD_NOT_RUN if "no deviation" in said else Exit.WRONG)
    assert (path.read_text() if path.exists() else "").count(asserted or "-") == bool(asserted)


@pytest.mark.parametrize(
    ("name", "double", "kind"),
    [
        (
            "kafka-coordinator",
            DoubleCoordinator("", "kafka_4_4", says="kafka"),
            ShareCapabilities,
        ),
        (
            "kafka-group-coordinator",
            GroupCoordinatorDouble("the group epoch stays when offsets are altered"),
            GroupCapabilities,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_coordinator_shows_becomes_a_test_in_java(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    double: DoubleCoordinator | GroupCoordinatorDouble,
    kind: type[Any],
) -> None:
    target: DriverTarget[Any] = DriverTarget(double, kind)
    monkeypatch.setattr("sharespec.commands.verify.opened", lambda _: nullcontext(target))
    path, known = tmp_path / "FoundTest.java", known_of(name)[0]
    result = run(name, "--only", known.name, "--junit-test", str(path))
    assert result.exit_code == Exit.WRONG
    assert f"\n     * {known.title}." in path.read_text()
