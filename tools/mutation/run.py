"""Run checks against a mutant, each in a process of its own with limits."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.mutation.mutants import Mutant

ROOT = Path(__file__).parents[2]
CHECKS = {
    "lockstep": (20, "tests/mutants/lockstep.py", ""),
    "recorded events": (90, "tests/mutants/recorded_events.py", "impl"),
    "own tests": (
        90,
        "tests/{folder}/test_{name}.py tests/rules/test_{rules}.py tests/judge/test_{name}.py",
        "",
    ),
    "long lockstep": (90, "tests/mutants/long_lockstep.py", ""),
    "numbered properties": (150, "tests/mutants/numbered_properties.py", "spec"),
    "restatements": (150, "tests/mutants/restatements.py", "spec"),
    "all tests": (300, "tests/{package} tests/rules", ""),
}
"""The CPU seconds of each check, many times what it needs, its tests, and the package it is for.

Of the tests those run that there are; without any, those of the rules.
"""
QUICK = ("lockstep", "recorded events", "own tests")
"""The checks that run against mutants listed as equivalent."""
_RULES = {
    "dead_letter": "dead_letters",
    "expiry": "expire",
    "leadership": "initialize",
    "locks": "expire",
    "policy": "policies",
    "progress": "mark_in_progress",
    "reading": "read",
    "waiting": "offered",
}
"""Modules of impl whose rules are tested under the name of the specification's module."""
_SETTINGS = {
    "COLUMNS": "300",  # So wide pytest says what failed.
    "NUMBA_DISABLE_JIT": "1",  # To compile impl anew would take longer than every check.
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}


def killed_by(mutant: Mutant, checks: Iterable[str], kept: str) -> tuple[str, str]:
    """Return the first check that notices a mutant and what fails in it, or empty texts.

    What checks compute of the unchanged code is kept in a folder.
    """
    module, function = mutant.key[:2]
    folder, _, name = module.replace(".", "/").rpartition("/")
    package = module.split(".", maxsplit=1)[0]
    known = {"SHARESPEC_MUTANT": f"{module}:{function}", "SHARESPEC_KEPT": kept}
    for check in checks:
        cpu_s, tests, only = CHECKS[check]
        if only not in {"", package}:
            continue
        names = {"folder": folder, "name": name, "rules": _RULES.get(name, name)}
        named = tests.format(**names, package=package).split()
        paths = [path for path in named if ROOT.joinpath(path).exists()] or ["tests/rules"]
        try:
            run = subprocess.run(  # noqa: S603 - fixed arguments
                [sys.executable, "-m", "tests.mutants.stand_in", module, str(cpu_s), *paths],
                cwd=ROOT,
                env={**os.environ, **_SETTINGS, **known},
                input=mutant.source(),
                capture_output=True,
                check=False,
                text=True,
                timeout=10 * cpu_s,
            )
        except subprocess.TimeoutExpired:
            return check, "too much time"
        if run.returncode:
            failed = re.search("^(?:FAILED|ERROR) (.*)", run.stdout, re.MULTILINE)
            said = failed[1] if failed else run.stderr.strip().rpartition("\n")[2]
            is_import = run.returncode == 1 and not run.stdout
            return "import" if is_import else check, said or f"exit status {run.returncode}"
    return "", ""
