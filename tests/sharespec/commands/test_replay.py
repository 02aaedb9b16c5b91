import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from replay.session import SessionError
from replay.verdict import PartitionVerdict, Problem, Replay, Verdict, counted
from sharespec.cli import cli
from tests.replay.conftest import spark
from tests.replay.samples import kafka_rows, write_lines

__all__ = ["spark"]

pytestmark = pytest.mark.xdist_group("spark")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.mark.usefixtures("spark")
def test_a_trace_that_conforms(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", kafka_rows())
    done = run("replay", path, "--against", "spec", "--json", "--out", tmp_path / "out")
    assert done.exit_code == 0
    (line,) = done.stdout.splitlines()
    totals = json.loads(line)
    assert (totals["events"], totals["diverged"]) == (60, 0)
    assert (tmp_path / "out" / "divergences.parquet").exists()
    assert "1 conform" in run("replay", path, "--against", "spec").output


@pytest.mark.usefixtures("spark")
def test_a_divergence_and_an_unreadable_share_partition_exit_with_1(tmp_path: Path) -> None:
    rows = kafka_rows()
    rows[30]["after"]["end_offset"] += 1
    done = run("replay", write_lines(tmp_path / "a.jsonl", rows), "--against", "spec")
    assert done.exit_code == 1
    assert f"{tmp_path}/a.jsonl:31" in done.output
    del rows[20]
    done = run("replay", write_lines(tmp_path / "a.jsonl", rows), "--against", "spec")
    assert done.exit_code == 1
    assert "seq 20 is missing" in done.output


@pytest.mark.usefixtures("spark")
def test_a_run_that_checked_nothing_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    done = run("replay", tmp_path)
    assert done.exit_code == 2
    assert "a.jsonl: holds no events" in done.stderr
    assert "sharespec: nothing was checked" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay", "/nowhere"], "sharespec: /nowhere does not exist"),
        (["replay", "."], "there is no trace in ."),
        (["replay", "x", "--against", "guess"], "allowed: spec, impl or spec,impl"),
        (["replay", "x", "--sample", "0"], "allowed: more than 0, at most 1"),
        (["replay", "x", "--sample", "nan"], "allowed: more than 0, at most 1"),
        (["replay", "x", "--profile", "other"], "'other' is not one of"),
        (["replay"], "Missing argument"),
    ],
)
def test_bad_arguments_exit_with_2_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output


def _result(*, interrupted: bool = False, problems: int = 0) -> Replay:
    verdicts = (PartitionVerdict("p", Verdict.UNCHECKED, 3, 0, "stopped before it was"),)
    found = [Problem("f", None, "x")] * problems
    return Replay(
        verdicts, tuple(found), counted(list(verdicts), found), 1.0, interrupted=interrupted
    )


def test_an_interrupted_replay_reports_its_findings_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines(tmp_path / "t.jsonl", kafka_rows(count=1))
    monkeypatch.setattr("sharespec.commands.replay._replayed", lambda *_: _result(interrupted=True))
    done = run("replay", path)
    assert done.exit_code == 130
    assert "Stopped before the end" in done.output

    def stop(*_: object) -> Replay:
        raise KeyboardInterrupt

    monkeypatch.setattr("sharespec.commands.replay._replayed", stop)
    assert run("replay", path).exit_code == 130


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SessionError("Spark gave up"), "sharespec: Spark gave up"),
        (OSError(28, "No space left on device", "/out"), "sharespec: /out: No space left"),
    ],
)
def test_an_error_of_spark_or_the_disk_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def fail(*_: object) -> Replay:
        raise error

    monkeypatch.setattr("sharespec.commands.replay._replayed", fail)
    done = run("replay", tmp_path)
    assert done.exit_code == 2
    assert done.stderr.startswith(message)
