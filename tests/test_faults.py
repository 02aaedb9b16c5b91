"""Evidence that the checks can fail: each planted fault is noticed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FAULTS = json.loads((ROOT / "tests" / "data" / "faults.json").read_text())
TIMEOUT_S = 240
PYTEST = ("pytest", "-x", "-q", "-c", str(ROOT / "pyproject.toml"), "-o", "pythonpath=")
"""What no run of a sound leader reaches is left to tests of the part itself."""


def _plant(fault: dict[str, str], tree: Path) -> None:
    """Copy the package into ``tree`` with the fault in it; all else is imported as it is."""
    faulty = Path(fault["file"])
    package = faulty.parts[0]
    shutil.copytree(ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__"))
    source = (ROOT / faulty).read_text()
    assert source.count(fault["from"]) == 1, f"{fault['name']} no longer fits {faulty}"
    (tree / faulty).write_text(source.replace(fault["from"], fault["to"]))


def _run(tree: Path, *arguments: str, compiled: bool) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment.pop("COVERAGE_PROCESS_START", None)
    if not compiled:
        environment["NUMBA_DISABLE_JIT"] = "1"
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.mark.parametrize("fault", FAULTS, ids=[fault["name"] for fault in FAULTS])
def test_planted_fault_is_noticed(fault: dict[str, str], tmp_path: Path) -> None:
    _plant(fault, tmp_path)
    tests = fault.get("tests")
    arguments = [*PYTEST, str(ROOT / tests)] if tests else ["tests.kill"]
    result = _run(tmp_path, *arguments, compiled=False)
    assert result.returncode == 1, f"{result.stdout}{result.stderr}"
    assert result.stdout, result.stderr


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
def test_nothing_is_noticed_without_a_fault(tmp_path: Path, *, compiled: bool) -> None:
    result = _run(tmp_path, "tests.kill", compiled=compiled)
    assert result.returncode == 0, f"{result.stdout}{result.stderr}"


@pytest.mark.parametrize("path", sorted({f["tests"] for f in FAULTS if "tests" in f}))
def test_tests_that_a_fault_names_pass_without_it(path: str, tmp_path: Path) -> None:
    result = _run(tmp_path, *PYTEST, str(ROOT / path), compiled=False)
    assert result.returncode == 0, f"{result.stdout}{result.stderr}"
