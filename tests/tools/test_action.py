"""What the GitHub Action runs, without GitHub: its inputs are its script's, which works."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "action" / "verify.sh"
ACTION = (ROOT / "action.yml").read_text()


def test_every_input_reaches_the_script_and_no_shell() -> None:
    inputs = re.findall(r"^  (\w+):$", ACTION.split("inputs:")[1].split("runs:")[0], re.MULTILINE)
    assert inputs == ["exec", "seconds", "operations", "seed", "known", "name"]
    used = re.findall(r"\$\{\{ inputs\.(\w+) \}\}", ACTION)
    assert sorted(used) == sorted(inputs)
    for line in ACTION.splitlines():
        if "${{" in line:
            assert re.match(r" +(?:- )?(\w+): \$\{\{ [^}]+ \}\}(/[\w-]+)?$", line), line
    given = re.findall(r"^ {8}([A-Z_]+): \$", ACTION, re.MULTILINE)
    assert given
    assert all(
        f"${name}" in SCRIPT.read_text() or f"${{{name}" in SCRIPT.read_text() for name in given
    )


def run(folder: Path, driver: str, **more: str) -> tuple[int, str]:
    """Run the script as the action does; ``sharespec`` is that of this tree."""
    tools = folder / "bin"
    tools.mkdir()
    (tools / "sharespec").write_text(f'#!/bin/sh\nexec {sys.executable} -m sharespec "$@"\n')
    (tools / "sharespec").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "DRIVER": driver,
        "REPORTS": str(folder / "reports"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        **more,
    }
    done = subprocess.run(
        [str(SCRIPT)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.slow
def test_a_driver_that_deviates_fails_the_job_and_has_its_reports(tmp_path: Path) -> None:
    driver = f'{sys.executable} -m tests.doubles.small_core "ignores the limit of the window"'
    status, output = run(tmp_path, driver, OPERATIONS="200")
    assert status == 1, output
    assert "deviates" in output
    names = {path.name for path in (tmp_path / "reports").iterdir()}
    assert names == {"report.html", "report.md", "report.xml"}
    assert (tmp_path / "summary.md").read_text() == (tmp_path / "reports/report.md").read_text()


@pytest.mark.slow
def test_known_deviations_do_not_fail_it(tmp_path: Path) -> None:
    driver = f'{sys.executable} -m tests.doubles.small_core "ignores the limit of the window"'
    known = tmp_path / "known 'x'.toml"
    arguments = ("--exec", driver, "--operations", "200", "--write-known", str(known))
    subprocess.run(
        [sys.executable, "-m", "sharespec", "verify", *arguments],
        cwd=ROOT,
        check=False,
        timeout=600,
    )
    status, output = run(tmp_path, driver, OPERATIONS="200", KNOWN=str(known))
    assert status == 0, output


def test_a_driver_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    status, output = run(tmp_path, "/no/such/driver $(touch x)", SECONDS_TO_SEARCH="1")
    assert status == 2
    assert "cannot be started" in output
    assert not (ROOT / "x").exists()
