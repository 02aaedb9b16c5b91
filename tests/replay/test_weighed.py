"""What a replay says where too little of what it was given could be judged."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from sharespec.cli import cli
from tests.replay.samples import Row, kafka_rows, led, renamed, write_lines

REMEDY = "record from the beginning, or with checkpoint=N"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["replay", "--against", "impl", *map(str, arguments)])


def told(*arguments: object) -> tuple[list[Row], Row, int]:
    done = run("--json", *arguments)
    *verdicts, totals = map(json.loads, done.stdout.splitlines())
    return verdicts, totals, done.exit_code


def gap_behind(row: Row) -> Row:
    """Return that a recorder lost events of a leader behind one."""
    kept = ("partition", "result", "writes", "completed", "after", "time_ms", "leader_epoch")
    gap = {"op": "gap", "seq": row["seq"] + 1, "lost": 9, "instance": 0}
    return {**{name: row[name] for name in kept}, **gap}


LATE = led(kafka_rows(count=150)[1:])
HOLED = led(kafka_rows(count=303)[::3])


@pytest.mark.parametrize(("rows", "checked"), [(LATE, 0), (HOLED, 1)])
def test_rows_that_the_tool_made_are_neither_events_nor_checked(
    tmp_path: Path, rows: list[Row], checked: int
) -> None:
    (verdict,), totals, status = told(write_lines(tmp_path / "t.jsonl", rows))
    told_of = verdict["verdict"], verdict["events"], verdict["checked"]
    assert told_of == ("unknown", len(rows), checked)
    assert (status, totals["unknown"], totals["events"]) == (2, 1, checked)
    assert verdict["reason"].startswith(f"{checked} of {len(rows)} events were judged")
    assert verdict["reason"].endswith(REMEDY)


def test_a_gap_that_a_recorder_tells_is_no_event_either(tmp_path: Path) -> None:
    rows = led(kafka_rows())
    gap = {**gap_behind(rows[0]), "seq": 0, "leader_epoch": 3}
    path = write_lines(tmp_path / "t.jsonl", [gap, *rows])
    (verdict,), totals, status = told(path)
    assert (verdict["verdict"], verdict["events"], verdict["checked"]) == ("conforms", 60, 60)
    assert (status, totals["gaps"]) == (0, 1)


@pytest.mark.parametrize(("behind", "expected"), [(1, "unknown"), (9, "conforms")])
def test_only_the_event_behind_a_gap_is_believed(
    tmp_path: Path, behind: int, expected: str
) -> None:
    """What ends with a gap was judged up to there; the next day begins behind it."""
    rows, state = led(kafka_rows(count=8)), tmp_path / "state"
    days = [[*rows[:1], gap_behind(rows[0])], led(kafka_rows(count=behind), 5)]
    given = [write_lines(tmp_path / f"{day}.jsonl", told_of) for day, told_of in enumerate(days)]
    found = [told(day, "--state", state)[0][0] for day in given]
    assert [each["verdict"] for each in found] == ["conforms", expected]
    assert [each["checked"] for each in found] == [1, behind]


def test_what_is_not_known_beside_what_conforms_is_not_well(tmp_path: Path) -> None:
    """A share-partition that was not asked for is another thing: it is said."""
    rows = [*renamed(kafka_rows(), "a:t:0"), *renamed(LATE, "b:t:0")]
    path = write_lines(tmp_path / "t.jsonl", rows)
    verdicts, totals, status = told(path)
    assert [each["verdict"] for each in verdicts] == ["conforms", "unknown"]
    assert (status, totals["unknown"], totals["unchecked"]) == (2, 1, 0)
    whole = [*renamed(kafka_rows(), "a:t:0"), *renamed(kafka_rows(), "c:t:0")]
    path = write_lines(tmp_path / "whole.jsonl", whole)
    verdicts, totals, status = told(path, "--sample", "0.5")
    assert {each["verdict"] for each in verdicts} == {"conforms", "not checked"}
    assert (status, totals["unknown"], totals["unchecked"]) == (0, 0, 1)


def test_a_divergence_is_one_whatever_was_not_judged(tmp_path: Path) -> None:
    rows = led(kafka_rows(count=3))
    rows[2]["after"]["end_offset"] += 1
    _, _, status = told(write_lines(tmp_path / "t.jsonl", [*rows, *led(kafka_rows()[7:])]))
    assert status == 1


def test_known_faults_that_hide_the_rest_are_not_well(tmp_path: Path) -> None:
    rows = kafka_rows()
    rows[3]["after"]["end_offset"] += 1
    path = write_lines(tmp_path / "t.jsonl", rows)
    known, signature = tmp_path / "known.toml", ["END_OFFSET", rows[3]["op"]]
    entry = '[[deviation]]\nname = "one"\nreason = "because"\nsignature = '
    known.write_text(entry + json.dumps(signature))
    _, _, whole = told(path, "--known", known)
    _, _, cut = told(path, "--known", known, "--divergences", "1")
    assert (whole, cut) == (0, 2)


def test_each_day_is_weighed_by_itself(tmp_path: Path) -> None:
    """What was left is right, so that the next day goes on from there."""
    rows, state = led(kafka_rows(count=60)), tmp_path / "state"
    short = led(kafka_rows()[1:30], 2)
    first = write_lines(tmp_path / "1.jsonl", [*short, *rows[:10]])
    second = write_lines(tmp_path / "2.jsonl", rows[10:])
    statuses = [
        CliRunner().invoke(cli, ["replay", str(day), "--state", str(state)]).exit_code
        for day in (first, second)
    ]
    assert statuses == [2, 0]


def test_every_report_tells_it(tmp_path: Path) -> None:
    path, out = write_lines(tmp_path / "t.jsonl", LATE), tmp_path / "out"
    junit, page, markdown = (tmp_path / name for name in ("j.xml", "p.html", "m.md"))
    done = run(path, "--out", out, "--junit", junit, "--html", page, "--markdown", markdown)
    assert done.exit_code == 2
    assert "1 unknown" in done.output
    assert REMEDY in done.output
    assert '<error message="0 of 149 events were judged' in junit.read_text()
    assert "0 diverge   0 unreadable   1 unknown" in markdown.read_text()
    assert "0 of 149 events were judged" in page.read_text()
    table = pq.read_table(out / "verdicts.parquet")
    assert table.column("verdict").to_pylist() == ["unknown"]
    assert REMEDY in table.column("reason")[0].as_py()
