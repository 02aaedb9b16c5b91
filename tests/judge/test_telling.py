"""What a reader is told of a finding, with recorded divergences and planted ones."""

from collections.abc import Callable

import pytest

from judge.engine import engines_for
from judge.finding import Finding
from judge.follower import follow
from model.guards import Difference, Guard
from model.profile import KAFKA
from tests.replay.samples import Row, events, first_of, kafka_rows, present, recorded


def told_of(rows: list[Row]) -> Finding:
    return present(follow(events(rows), engines_for(("spec", "impl"), KAFKA), 0))


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        (
            lambda r: r["after"].update(start_offset=r["after"]["start_offset"] + 1),
            Guard.START_STOPS_AT_UNFINISHED.name,
            "start offset 0 → 1",
        ),
        (
            lambda r: r["after"].update(delivery_complete_count=7),
            Difference.DELIVERY_COMPLETE_COUNT.name,
            "delivery complete count 0 → 7, expected 0",
        ),
        (
            lambda r: r["result"].update(status="INVALID_REQUEST"),
            Difference.STATUS.name,
            "INVALID_REQUEST, expected NONE",
        ),
    ],
)
def test_the_headline_has_the_offending_value(
    change: Callable[[Row], None], name: str, words: str
) -> None:
    rows = kafka_rows()
    row = first_of(rows, lambda r: r["result"].get("acquired"))
    change(row)
    finding = told_of(rows)
    assert (finding.name, finding.headline) == (name, words)
    assert (finding.operation, finding.signature) == ("acquire", (name, "acquire"))
    assert finding.event_text.startswith("acquire by ")
    assert finding.recorded_after.startswith(f"start {row['after']['start_offset']}, end ")
    assert ("not in flight → ACQUIRED(1) m1" in finding.changed) is name.startswith("START")


def test_records_that_differ_are_named_with_both_values() -> None:
    (rows,) = recorded("kafka-4.1.2").values()
    finding = told_of(rows)
    assert finding.headline == "offset 918 AVAILABLE(4), expected offset 918 ARCHIVED(5)"
    assert finding.event_text.endswith(" leaves")
    assert finding.changed == "", "this recorder tells no records"
    rows = kafka_rows(count=450)
    row = first_of(rows, lambda r: r["op"] == "release" and r["writes"])
    row["after"]["records"].clear()
    assert ", 0 AVAILABLE(1)" not in told_of(rows).changed
    assert "not in flight, expected " in told_of(rows).changed


def test_an_exception_is_the_headline_and_its_text_part_of_the_signature() -> None:
    (rows,) = recorded("agent-4.4.0-records-deleted").values()
    finding = told_of(rows)
    rule, operation, text = finding.signature
    assert (rule, operation) == ("CRASHED", "complete_write")
    assert len(text) == 60
    assert text in finding.headline


def test_a_start_offset_that_goes_back_is_told_with_both_values() -> None:
    rows = kafka_rows(count=450)
    row = first_of(rows, lambda r: r["after"]["start_offset"] > 3)
    before = rows[row["seq"] - 1]["after"]["start_offset"]
    later = rows[row["seq"] + 1]
    at = row["after"]["start_offset"]
    later["after"]["start_offset"] = 1
    finding = told_of(rows)
    assert before < at
    assert finding.name == Guard.START_NEVER_GOES_BACK.name
    assert finding.headline == f"start offset {at} → 1"
