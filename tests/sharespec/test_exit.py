from concurrent.futures.process import BrokenProcessPool

import click
import pytest
from click.testing import CliRunner

from replay.sources import NoSuchTraceError
from replay.verdict import Problem
from sharespec.exit import exits_on, report_problems


def command(error: BaseException) -> click.Command:
    @click.command("x")
    @exits_on(NoSuchTraceError)
    def run() -> None:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (NoSuchTraceError("there is no trace\x1b"), 2, "sharespec: there is no trace\\x1b\n"),
        (OSError(28, "No space left", "/out"), 2, "sharespec: /out: No space left on device\n"),
        (OSError("odd"), 2, "sharespec: odd\n"),
        (
            BrokenProcessPool("terminated abruptly"),
            2,
            "sharespec: a process with a part of the work was killed, or had no memory\n",
        ),
    ],
    ids=["no trace", "no space", "no file name", "killed"],
)
def test_an_error_becomes_one_line_and_an_exit_status(
    error: BaseException, status: int, line: str
) -> None:
    done = CliRunner().invoke(command(error))
    assert (done.exit_code, done.stderr) == (status, line)


@pytest.mark.parametrize("error", [BrokenPipeError(), ValueError("a bug"), RuntimeError("a bug")])
def test_a_closed_pipe_and_other_errors_pass_through(error: Exception) -> None:
    with pytest.raises(type(error)):
        command(error).main([], standalone_mode=False)


def test_problems_are_printed_once_in_order_up_to_a_limit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problems = [Problem("f", n, "x", f"p{n:02}") for n in range(22)]
    with pytest.raises(SystemExit) as exited:
        report_problems([*problems[::-1], *problems])
    assert exited.value.code == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "p00: f:0: x"
    assert lines[-1] == "… and 2 more places"
    assert len(lines) == 21
    report_problems([])
