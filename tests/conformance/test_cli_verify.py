"""``sharespec verify``: targets, exit statuses, and one clear line for what is wrong."""

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.cli_verify import verify_command
from conformance.miniature import FaultKind
from conformance.wire.faults import WireFault
from conformance.wire.named import NAMES
from conformance.wire.spec_broker import SpecBroker

QUICK = ["--sequences", "25"]
WRONG = f'{sys.executable} -m conformance.miniature "{FaultKind.WINDOW_HAS_NO_LIMIT}"'


def run(*arguments: str) -> Result:
    return CliRunner().invoke(verify_command, arguments)


def test_the_specification_conforms() -> None:
    result = run("spec", *QUICK)
    assert result.exit_code == 0, result.output
    assert "conforms: 0 new, 0 known, 0 gone; 25 sequences" in result.output


def test_a_driver_that_deviates_is_told_how() -> None:
    result = run("--exec", WRONG, *QUICK, "--json")
    assert result.exit_code == 1
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert lines[0]["rule"] == "WITHIN_WINDOW_LIMIT"
    assert lines[-1]["verdict"] == "deviates"


def test_what_is_known_is_no_deviation_until_it_is_gone(tmp_path: Path) -> None:
    line = json.loads(run("--exec", WRONG, *QUICK, "--json").stdout.splitlines()[0])
    path = tmp_path / "known.toml"
    path.write_text(
        f'[[deviation]]\nname = "wide"\ntitle = "Wide."\nreason = "r"\n'
        f"signature = {[line['rule'], line['operation']]}\n"
        f"sequence = '''{json.dumps(line['sequence'])}'''\n"
    )
    page = tmp_path / "known.md"
    known = ["--known", str(path), "--markdown", str(page)]
    assert run("--exec", WRONG, *QUICK, *known).exit_code == 0
    assert page.read_text().startswith("## Wide.")
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


@pytest.mark.parametrize(
    ("arguments", "said"),
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
        (["spec", "--sequences", "0"], "nothing was tried, so nothing is known"),
    ],
    ids=str,
)
def test_what_cannot_be_run_exits_with_2(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.output
