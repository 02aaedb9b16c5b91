from pathlib import Path

from tests.replay.samples import ABORTED, kafka_rows, renamed, write_lines
from tests.sharespec.running import diverging, runner

TABLE = """
GROUP           TOPIC           PARTITION  START-OFFSET  LAG
core            orders          3          135           24
core            orders          4          -             -
"""

run = runner("describe")


def test_the_output_is_what_kafka_should_print(tmp_path: Path) -> None:
    rows = [*kafka_rows(partition=4), *kafka_rows(partition=3)]
    path = write_lines(tmp_path / "t.jsonl", rows)
    done = run(path, "--at", 5000)
    assert (done.exit_code, done.stdout) == (0, TABLE)
    at_first = run(path, "--seq", 0, "--verbose").stdout
    assert at_first.splitlines()[1].split() == (
        ["GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "START-OFFSET", "LAG"]
    )
    assert at_first.splitlines()[2:] == [
        "core            orders          3          0             135           0",
        "core            orders          4          -             -             -",
    ]


def test_records_withheld_as_aborted_are_in_the_durable_count() -> None:
    line = run(ABORTED).stdout.splitlines()[-1]
    assert line.split() == ["g", "t", "0", "6", "2"]


def test_the_group_option_shows_only_that_group(tmp_path: Path) -> None:
    rows = [*kafka_rows(count=5), *renamed(kafka_rows(count=5), "a:b:orders:7")]
    path = write_lines(tmp_path / "t.jsonl", rows)
    done = run(path, "--group", "a:b")
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == ["GROUP", "a:b"]


def test_a_divergence_is_reported_and_the_others_are_shown(tmp_path: Path) -> None:
    rows = [*kafka_rows(), *kafka_rows(partition=1)]
    rows[30]["after"]["end_offset"] += 1
    path = write_lines(tmp_path / "t.jsonl", rows)
    done = run(path)
    assert done.exit_code == 1
    assert f"core:orders:0: {path}:31: diverges at seq 30: END_OFFSET" in done.stderr
    assert len(done.stdout.splitlines()) == 4
    assert run(path, "--seq", 29).exit_code == 0


def test_both_lags_have_their_names_and_a_divergence_is_noted(tmp_path: Path) -> None:
    path = diverging(tmp_path / "t.jsonl", 30)
    done = run(path, "--leader-lag")
    assert done.exit_code == 1
    head, line = done.stdout.strip().splitlines()
    assert head.split()[-2:] == ["REPORTED-LAG", "LEADER-LAG"]
    assert line.endswith(" (after 30 events: see the error)")
    done = run(path, "--seq", 29)
    assert (done.exit_code, done.stdout.split()[4]) == (0, "LAG")
    assert "(" not in done.stdout
