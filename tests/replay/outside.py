"""Programs in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("sharespec")
Ended = subprocess.CompletedProcess[str]


def run(*command: object, cwd: str | Path = ROOT, **environment: str) -> Ended:
    """Run a program with these variables besides those of this process."""
    return subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def printed(*command: object, cwd: str | Path = ROOT, **environment: str) -> str:
    """Run a program, which must end well, and return what it printed."""
    done = run(*command, cwd=cwd, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
