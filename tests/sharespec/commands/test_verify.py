"""``sharespec verify``: targets, exit statuses, and one clear line for what is wrong."""

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.target import TargetError
from conformance.vectors.source import cases
from conformance.wire.named import NAMES
from sharespec.commands.verify import verify_command
from tests.conformance.test_campaign import DyingBroker
from tests.doubles.broker_faults import WireFault
from tests.doubles.miniature import FaultKind
from tests.doubles.spec_broker import SpecBroker

QUICK = ["--sequences", "25"]
VECTOR = "under-record-limit-the-window-keeps-to-its-limit"
WRONG = f'{sys.executable} -m tests.doubles.miniature "{FaultKind.WINDOW_HAS_NO_LIMIT}"'


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    few = (*cases()["transitions"], *cases()["window"])
    monkeypatch.setattr("sharespec.commands.verify.all_cases", lambda: few)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(verify_command, arguments)


def test_the_specification_conforms() -> None:
    result = run("spec", *QUICK)
    assert result.exit_code == 0, result.output
    assert "conforms: 0 new, 0 known, 0 gone; 25 sequences" in result.output


@pytest.mark.slow
def test_the_deviations_of_a_driver_are_reported() -> None:
    result = run("--exec", WRONG, *QUICK, "--json")
    assert result.exit_code == 1
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert VECTOR in {line["rule"] for line in lines[:-2]}
    assert "WITHIN_WINDOW_LIMIT" in {line["rule"] for line in lines[:-2]}
    assert lines[-1]["verdict"] == "deviates"
    assert VECTOR in lines[-1]["vectors"]["deviate"]


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
    assert page.read_text().startswith("## Wide.\n")
    assert run("spec", *QUICK, *known).exit_code == 1
    only = ["--known", str(path), "--only", "wide"]
    shown = run("--exec", WRONG, *only)
    assert shown.exit_code == 1
    assert "wide: Wide." in shown.stdout
    assert "expected" in shown.stdout
    assert run("spec", *only).stdout == "wide: Wide.\nIt does not show any more.\n"
    assert run("spec", "--known", str(path), "--only", "thin").exit_code == 2


def test_a_broker_is_verified_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for fault, status in ((WireFault.NONE, 0), (WireFault.COUNT_STAYS, 1)):
        broker = SpecBroker(fault)
        monkeypatch.setitem(NAMES, "kfake", lambda _seconds: nullcontext(broker))  # noqa: B023 - used at once
        result = run("kfake", "--sequences", "4", "--known", os.devnull)
        assert result.exit_code == status, result.output
    assert "1. DELIVERY_COUNT in fetch" in result.output
    assert "0 ACQUIRED" in result.output


def test_reports_are_written_to_files(tmp_path: Path) -> None:
    files = {kind: tmp_path / kind for kind in ("junit", "html", "markdown")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    assert run("--exec", WRONG, *QUICK, *options).exit_code == 1
    assert files["junit"].read_text().startswith("<?xml")
    assert files["html"].read_text().startswith("<!doctype html>")
    assert files["markdown"].read_text().startswith("## New: ")
    for name in ("WITHIN_WINDOW_LIMIT", VECTOR):
        assert all(name in path.read_text() for path in files.values())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "give one of spec, impl, kafka,"),
        (["spec", "--exec", "x"], "--exec COMMAND, or --bootstrap HOST:PORT"),
        (["spec", "--bootstrap", "x:1"], "give one of"),
        (["--bootstrap", "127.0.0.1:9"], "127.0.0.1:9"),
        (["--bootstrap", "nowhere"], "nowhere"),
        (["--bootstrap", "x:1", "--profile", "odd"], "'odd' is not one of"),
        (["--bootstrap", "x:1", "--lock-ms", "9"], "9 is not in the range"),
        (["crab"], "is not one of"),
        (["spec", "--seconds", "0"], "0.0 is not in the range x>0"),
        (["spec", "--sequences", "-1"], "is not in the range x>=0"),
        (["--exec", "/no/such/driver"], "cannot be started"),
        (["--exec", f"{sys.executable} -c 1"], "it ended"),
        (["spec", "--known", "/no/such/file"], "/no/such/file"),
        (["spec", "--junit", "/no/such/folder/x"], "there is no folder /no/such/folder"),
        (["spec", "--html", "/"], "is a directory"),
    ],
    ids=str,
)
def test_a_target_that_cannot_be_driven_exits_with_2(arguments: list[str], text: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert text in result.output


def test_without_sequences_only_the_vectors_run(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("spec", "--sequences", "0")
    assert result.exit_code == 0
    assert "42 vectors, 0 deviate\n" in result.stdout
    assert "conforms: 0 new, 0 known, 0 gone; 0 sequences" in result.stdout
    monkeypatch.setattr("sharespec.commands.verify.all_cases", tuple)
    result = run("spec", "--sequences", "0")
    assert result.exit_code == 2
    assert "nothing was tried, so nothing is known" in result.stderr


def test_the_steps_of_only_the_first_deviations_are_shown() -> None:
    wrong = f'{sys.executable} -m tests.doubles.miniature "{FaultKind.START_PASSES_HELD}"'
    result = run("--exec", wrong, "--sequences", "0")
    assert result.exit_code == 1
    shown = result.stdout.count("   observed ")
    assert shown == 20 < result.stdout.count(", met 1×: ")


DYING = """
import sys
from tests.doubles.miniature import FaultKind, Miniature, serve

class Dying(Miniature):
    left = int(sys.argv[1])

    def apply(self, seq, operation, answers):
        Dying.left -= 1
        if Dying.left < 0:
            sys.exit("out\\nof paper")
        return super().apply(seq, operation, answers)

sys.modules["tests.doubles.miniature"].Miniature = Dying
serve(FaultKind.WINDOW_HAS_NO_LIMIT)
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [100, 1500], ids=["vectors", "search"])
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
        monkeypatch.setitem(NAMES, "kfake", lambda _seconds: nullcontext(broker))  # noqa: B023 - used at once
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
    monkeypatch.setattr("sharespec.commands.verify.replayed", _gone)
    monkeypatch.setitem(NAMES, "kfake", lambda _seconds: nullcontext(SpecBroker()))
    result = run("kfake", "--sequences", "2", "--known", str(known))
    assert result.exit_code == 2
    assert "unknown: 0 new, 0 known, 0 gone; 2 sequences" in result.stdout
    assert "it is gone" in result.stderr


def _gone(*_arguments: object) -> None:
    raise TargetError("it is gone")
