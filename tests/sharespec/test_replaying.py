"""The command in a process of its own, which alone chooses what is compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from impl.cache import DISABLED
from tests.replay.samples import RECORDED, TRACES, kafka_rows, write_lines

ROOT = Path(__file__).parents[2]

SLOW = {"numba", "pandas.core", "pyspark", "z3"}
"""Packages that a small trace does not need; of pandas Arrow looks for the name."""


def ran(trace: Path, **environment: str) -> tuple[int, list[str], set[str]]:
    """Return the status, the lines but for how long it took, and the packages that it loaded."""
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "sharespec",
        "replay",
        str(trace),
        "--json",
    ]
    plain = {name: value for name, value in os.environ.items() if name != DISABLED}
    done = subprocess.run(
        command, cwd=ROOT, env=plain | environment, capture_output=True, text=True, check=False
    )
    *lines, totals = done.stdout.splitlines()
    rest = {name: value for name, value in json.loads(totals).items() if "second" not in name}
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    return done.returncode, [*lines, json.dumps(rest)], loaded


def test_a_small_trace_is_checked_without_what_takes_long_to_load(tmp_path: Path) -> None:
    status, lines, loaded = ran(write_lines(tmp_path / "t.jsonl", kafka_rows()))
    assert (status, json.loads(lines[-1])["events"]) == (0, 60)
    assert "pyarrow" in loaded
    assert not SLOW & loaded


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [TRACES / "kafka-core.jsonl.gz", *sorted(RECORDED.glob("kafka-4.1.2*.gz"))],
    ids=lambda path: path.name,
)
def test_what_is_not_compiled_gives_the_same_verdicts(tmp_path: Path, path: Path) -> None:
    small = tmp_path / path.name
    small.write_bytes(path.read_bytes())
    status, lines, loaded = ran(small, **{DISABLED: "1"})
    assert not SLOW & loaded
    compiled = ran(small, **{DISABLED: "0"})
    assert (status, lines) == compiled[:2]
