"""Which heavy libraries each command loads: those that it uses, when it uses them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sharespec.cli import COMMANDS
from tests.replay.samples import kafka_rows, write_lines

HEAVY, QUICK = ("numba", "pyspark", "z3"), "pyarrow"
"""What takes long to load, and what takes less."""

USED = {"explore": {"numba"}, "prove": {"z3"}, "refine": {"numba"}}
"""What commands do nothing without, so that already their modules load it; of others nothing."""

RUN = """
import json, sys
from click.testing import CliRunner
from sharespec.cli import cli
results = []
for arguments in json.loads(sys.argv[1]):
    done = CliRunner().invoke(cli, arguments)
    heavy = [name for name in json.loads(sys.argv[2]) if name in sys.modules]
    results.append((done.exit_code, done.output, heavy))
print(json.dumps(results))
"""


def loaded(*commands: list[str]) -> list[tuple[int, str, set[str]]]:
    """Run commands one after another in one process; return what is loaded after each."""
    arguments = [sys.executable, "-c", RUN, json.dumps(commands), json.dumps((*HEAVY, QUICK))]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    return [(status, text, set(heavy)) for status, text, heavy in json.loads(done.stdout)]


def test_help_loads_only_what_a_command_does_nothing_without() -> None:
    light = [name for name in COMMANDS if name not in USED]
    first, *results = loaded(["--help"], *([name, "--help"] for name in light))
    assert first[2] == set()
    assert [(status, heavy - {QUICK}) for status, _, heavy in results] == [(0, set())] * len(light)


@pytest.mark.parametrize("name", USED)
def test_what_a_command_does_nothing_without_is_seen(name: str) -> None:
    [(status, _, heavy)] = loaded([name, "--help"])
    assert (status, heavy - {QUICK}) == (0, USED[name])


def test_commands_that_only_follow_the_specification_load_neither_numba_nor_spark(
    tmp_path: Path,
) -> None:
    trace = str(write_lines(tmp_path / "t.jsonl", kafka_rows(count=20)))
    topic = tmp_path / "topic.txt"
    topic.write_text("")
    results = loaded(
        ["explain", trace],
        ["describe", trace],
        ["in-flight", trace],
        ["state-topic", str(topic)],
    )
    assert [heavy - {QUICK} for _, _, heavy in results] == [set()] * 4
    assert [status for status, _, _ in results[:3]] == [0] * 3
    assert "acquire" in results[0][1]
    assert "orders" in results[1][1]
