from pathlib import Path

from click.testing import CliRunner, Result

from sharespec.commands.explain import explain_command
from sharespec.commands.generate import generate_command
from tests.replay.samples import kafka_rows, write_lines


def run(*arguments: object) -> Result:
    return CliRunner().invoke(explain_command, [str(argument) for argument in arguments])


def test_a_generated_trace_is_explained(tmp_path: Path) -> None:
    out = tmp_path / "g"
    options = [str(out), "--partitions", "2", "--events", "40", "--seed", "3"]
    done = CliRunner().invoke(generate_command, options)
    assert done.exit_code == 0
    assert "40 events of 2 share-partitions in 1 files" in done.stdout
    done = run(out, "--partition", "generated-3:topic-0:1", "--to", 9)
    assert done.exit_code == 0
    assert "SPSO" in done.stdout
    assert "initialize" in done.stdout


def test_a_divergence_is_shown_and_exits_with_1(tmp_path: Path) -> None:
    rows = kafka_rows()
    rows[30]["after"]["end_offset"] += 1
    path = write_lines(tmp_path / "a.jsonl", rows)
    done = run(path, "--from", "28")
    assert done.exit_code == 1
    assert "Divergence at seq 30" in done.stdout
    assert run(path, "--from", "5", "--to", "29").exit_code == 0


def test_a_trace_that_does_not_exist_exits_with_2() -> None:
    done = run("/nowhere")
    assert done.exit_code == 2
    assert done.stderr == "sharespec: /nowhere does not exist\n"
