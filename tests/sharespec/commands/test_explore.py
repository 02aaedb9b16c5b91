import json

import pytest
from click.testing import CliRunner, Result

from sharespec.commands import explore as cli
from sharespec.commands.explore import explore_command
from spec import writes
from spec.record import commit

SMALL = ("--offsets", "1")


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(explore_command, [*SMALL, *arguments])


def test_a_small_world_is_visited_whole() -> None:
    result = _run()
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0].startswith("476 states, 3,357 transitions, depth 9, ")
    assert lines[1].startswith("29 states of a leader, in which specification and implementation")
    assert any(line.startswith("holds ") and "full_window_drains" in line for line in lines)
    assert any(line.startswith("fails, as expected, after 2 steps ") for line in lines)
    assert any(line.startswith("did not fail ") for line in lines)


def test_a_property_comes_with_its_run() -> None:
    result = _run("--property", "available_is_not_durably_terminal")
    assert result.exit_code == 0
    assert "a late write arrives" in result.stdout
    assert "full_window_drains" not in result.stdout


def test_an_endless_run_shows_where_it_repeats() -> None:
    name = "available_is_terminal_in_the_end"
    result = _run("--property", name, "--without", "fetching")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith("and from step ")


def test_json_is_one_object() -> None:
    report = json.loads(_run("--json").stdout)
    assert report["explored"]["states"] == 476
    assert report["explored"]["unfinished"] is None
    assert {verdict["holds"] for verdict in report["verdicts"]} == {True, False}


def test_properties_are_listed() -> None:
    result = _run("--list")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 12


def test_a_fault_exits_1_with_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "roll_back", lambda record, *_: commit(record))
    result = _run()
    assert result.exit_code == 1
    assert "FAILS" in result.stdout
    assert "the implementation's window is" in result.stdout
    assert "acquire by m1" in result.stdout


def test_states_that_were_not_visited_are_reported() -> None:
    result = _run("--depth", "2")
    assert result.exit_code == 3
    assert "Not every state was visited (depth 2): 2 states of depth 2 were" in result.stdout
    assert "holds so far" in result.stdout


def test_an_interruption_keeps_the_results_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(states: int, _depth: int) -> None:
        if states > 50:
            raise KeyboardInterrupt

    monkeypatch.setattr(cli, "progress_reporter", lambda: stop)
    result = _run("--offsets", "2")
    assert result.exit_code == 130
    assert "Not every state was visited (interrupted)" in result.stdout


def test_progress_is_reported_once_a_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter((0.0, 0.5, 1.5, 1.6))
    monkeypatch.setattr("sharespec.commands.explore.time.perf_counter", lambda: next(clock))
    report = cli.progress_reporter()
    for states in (1, 2000, 3):
        report(states, 4)
    assert capsys.readouterr().err == "       2,000 states, depth 4, 2 s\n"
