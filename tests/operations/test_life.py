import re

import pytest

from model.profile import DRAFT_RESOLVED, KAFKA
from operations.life import LifeEvent, life, rule_text
from spec import record
from tests.replay.samples import Row, draft_rows, events, kafka_rows
from tests.replay.samples import recorded as recorded_rows


def told(rows: list[Row], offset: int) -> list[LifeEvent]:
    return list(life(events(rows), KAFKA, offset))


def rules(lives: list[LifeEvent]) -> list[tuple[int, str]]:
    return [(each.seq, each.rule.partition(":")[0]) for each in lives]


def test_a_record_is_produced_acquired_acknowledged_written_and_passed() -> None:
    lives = told(kafka_rows(count=30), 5)
    assert rules(lives) == [
        (1, "spec.produce.produce"),
        (4, "spec.record.acquire"),
        (10, "spec.record.acknowledge"),
        (10, "spec.coordinator.merge"),
        (12, "spec.partition.move_start"),
    ]
    assert [each.state for each in lives] == [
        "not in flight",
        "ACQUIRED(1) m1, locked until 30000 ms",
        "ACKNOWLEDGED(1)",
        "ACKNOWLEDGED(1)",
        "below the start offset",
    ]
    assert "acquire by m1" in lives[1].what


def test_where_the_clock_is_a_real_one_times_are_in_iso_8601() -> None:
    (rows,) = recorded_rows("kafka-4.4.0").values()
    lives = told(rows[:60], 5)
    assert all(re.fullmatch(r"1970-01-01T[\d:.]{12}Z", each.time) for each in lives)
    assert any(re.search(r"locked until 1970-.*Z", each.state) for each in lives)
    assert {each.time for each in told(kafka_rows(count=30), 5)} == {""}


def test_a_record_that_the_start_offset_passes_at_once_is_acknowledged_first() -> None:
    lives = told(kafka_rows(partition=1, count=7), 0)
    assert [rule.rpartition(".")[2] for _seq, rule in rules(lives)][-3:] == [
        "acknowledge",
        "move_start",
        "merge",
    ]


def test_a_rule_is_named_with_its_sentence() -> None:
    assert rule_text(record.acquire) == (
        "spec.record.acquire: Give the record to a member (KIP-932, In-flight records)."
    )


@pytest.mark.parametrize("trace", ["core", "log-start", "write-faults"])
def test_every_change_of_a_record_is_in_its_life(trace: str) -> None:
    rows = kafka_rows(trace, count=90)
    states: list[object] = []
    offset = 24
    for row in rows:
        after = row["after"]
        inside = after["start_offset"] <= offset < after["end_offset"]
        known = [r for r in after["records"] if r["first"] <= offset <= r["last"]]
        kept = ("state", "delivery_count", "member", "pending")
        state = [known[0][name] for name in kept] if inside and known else None
        states.append(state)
    changed = {i for i in range(1, len(rows)) if states[i] != states[i - 1]}
    assert changed
    assert changed <= {each.seq for each in told(rows, offset)}


def test_the_log_start_passes_a_record_and_the_divergence_ends_what_is_checked() -> None:
    [rows] = recorded_rows("agent-4.4.0-records-deleted").values()
    lives = told(rows, 3400)
    assert rules(lives) == [
        (1, "spec.record.acquire"),
        (35, "spec.log_start.advance_log_start"),
        (36, "EXCEPTION"),
    ]
    assert lives[1].what == "log start offset 5071 passes it"
    assert "NullPointerException" in lives[2].what
    assert lives[2].is_checked


def test_after_a_divergence_what_is_recorded_is_told_as_unchecked() -> None:
    rows = kafka_rows(count=30)
    rows[2]["after"]["end_offset"] += 1
    lives = told(rows, 5)
    assert [(each.seq, each.is_checked) for each in lives] == [
        (1, True),
        (2, True),
        (4, False),
        (10, False),
        (10, False),
        (12, False),
    ]


def test_renewals_expiries_writes_and_dead_letters_have_their_rules() -> None:
    [recorded] = recorded_rows("agent-4.4.0-records-deleted").values()
    names = {
        rule
        for rows, offsets in (
            (kafka_rows(partition=1, count=40), (0, 5, 9)),
            (kafka_rows("write-faults", count=80), (0, 6, 24)),
            (recorded, (3763,)),
        )
        for offset in offsets
        for _seq, rule in rules(told(rows, offset))
    }
    wanted = ("renew", "expire", "release", "commit", "roll_back")
    assert names >= {f"spec.record.{name}" for name in wanted}
    draft = [e for o in range(3) for e in life(events(draft_rows()), DRAFT_RESOLVED, o)]
    assert {rule for _seq, rule in rules(draft)} >= {
        "spec.record.mark",
        "spec.record.finish_dead_letter",
    }


def test_an_offset_that_no_event_concerns_has_no_life() -> None:
    assert told(kafka_rows(count=30), 10**9) == []
