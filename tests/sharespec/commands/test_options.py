from collections.abc import Callable

import click
import pytest
from click.testing import CliRunner

from operations.naming import SharePartitionName
from replay.load import PartitionRows
from replay.sources import NoSuchTraceError
from replay.verdict import Problem
from sharespec.commands.options import ends_well, in_group, named, tell
from tests.replay.samples import kafka_rows, placed, renamed


def _fails(error: BaseException) -> Callable[[], list[Problem]]:
    def command() -> list[Problem]:
        raise error

    return command


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        (list, 0, ""),
        (lambda: [Problem("f", 3, "x\n", "p")], 1, "p: f:3: x\\n\n"),
        (_fails(NoSuchTraceError("there is no trace")), 2, "sharespec: there is no trace\n"),
        (_fails(OSError(28, "No space left", "/out")), 2, "sharespec: /out: No space left\n"),
        (_fails(KeyboardInterrupt()), 130, ""),
    ],
    ids=["well", "problem", "no trace", "no room", "stopped"],
)
def test_a_command_ends_in_a_line_and_a_status(
    command: Callable[[], list[Problem]], status: int, said: str
) -> None:
    done = CliRunner().invoke(click.command("x")(ends_well(command)))
    assert (done.exit_code, done.stderr) == (status, said)


def test_a_reader_that_stops_early_is_no_failure() -> None:
    with pytest.raises(BrokenPipeError):
        ends_well(_fails(BrokenPipeError()))()


def test_problems_are_told_once_in_order_and_not_without_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problems = [Problem("f", n, "x", f"p{n:02}") for n in range(22)]
    tell([*problems[::-1], *problems])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "p00: f:0: x"
    assert lines[-1] == "… and 2 more places"
    assert len(lines) == 21


def test_a_group_may_hold_colons() -> None:
    assert in_group(None)("any")
    assert in_group("a:b")("a:b:orders:1")
    assert not in_group("a")("a:b:orders:1")


def test_a_name_that_is_none_is_a_problem_and_nothing_to_name_is_not() -> None:
    def rows(name: str, count: int) -> PartitionRows:
        return PartitionRows(name, placed(renamed(kafka_rows(count=count), name)), count, None)

    problems: list[Problem] = []
    assert named(rows("g:orders:1", 2), problems) == SharePartitionName("g", "orders", 1)
    assert named(rows("g:orders:1", 0), problems) is None
    assert problems == []
    assert named(rows("orders", 2), problems) is None
    message = "partition is 'orders'; allowed: group:topic:partition"
    assert problems == [Problem("trace.jsonl", 1, message, "orders")]
