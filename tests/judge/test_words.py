import pytest

from judge.words import (
    clock_text,
    many,
    operation_text,
    outcome_text,
    printable,
    ranges_text,
    snapshot_text,
    span,
)
from model import operations as ops
from model.config import SharePartitionConfig
from model.ranges import OffsetRange, RecordRange
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState
from tests.replay.samples import draft_rows, events, kafka_rows


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders:0 – ä", "orders:0 – ä"),
        ("\x1b[2J\r\n\t", r"\x1b[2J\r\n\t"),
        ("\u202egnp", r"\u202egnp"),
        ("\u2028\x9b\ud800", r"\u2028\x9b\ud800"),
        ("x" * 30, "x" * 20 + "…"),
    ],
)
def test_only_what_is_plainly_visible_is_shown(text: str, shown: str) -> None:
    assert printable(text, 20) == shown


def test_ranges() -> None:
    assert (span(7, 7), span(7, 9)) == ("7", "7–9")
    assert ranges_text([OffsetRange(1, 2), OffsetRange(5, 5)]) == "1–2, 5"
    assert ranges_text([]) == "nothing"
    assert ranges_text([OffsetRange(i, i) for i in range(0, 40, 2)]).endswith(", and 8 more")


def test_a_long_window_is_shown_around_an_offset() -> None:
    records = tuple(RecordRange(i, i, RecordState.ACQUIRED, 1, f"m{i}") for i in range(100))
    snapshot = SharePartitionSnapshot(0, 100, 0, records)
    assert "count 0; …, 44 ACQUIRED(1) m44" in snapshot_text(snapshot, 50)
    assert "50 ACQUIRED(1) m50" in snapshot_text(snapshot, 50)
    assert "50 ACQUIRED(1) m50" not in snapshot_text(snapshot)
    empty = SharePartitionSnapshot(3, 4, 1, ())
    assert snapshot_text(empty) == "start 3, end 4, delivery complete count 1"
    assert snapshot_text(SharePartitionSnapshot(3, 4, 1)).endswith("; records not recorded")


def test_every_operation_and_outcome_of_the_traces_has_words() -> None:
    seen = set()
    for name in ("core", "record-limit", "write-faults", "log-start"):
        for event in events(kafka_rows(name, partition=3, count=500)):
            text = operation_text(event.operation)
            assert text
            assert outcome_text(event.outcome)
            seen.add(text.split()[0])
    assert seen == {
        "initialize,",
        "produce",
        "acquire",
        "acknowledge",
        "member",
        "time",
        "write",
        "log",
    }


def test_times_have_words_by_the_clock_that_shows_them() -> None:
    assert clock_text(1_795_692_923_273) == "2026-11-26T11:35:23.273Z"
    assert clock_text(1_795_692_923_273, real=False) == "1795692923273 ms"
    assert clock_text(2**62) == f"{2**62} ms"


def test_one_is_one() -> None:
    assert [many(n, "line") for n in (0, 1, 2000)] == ["0 lines", "1 line", "2,000 lines"]
    assert many(2, "batch", "es") == "2 batches"


def test_acquisitions_and_marks_have_words() -> None:
    acquired, marked = events(draft_rows())[1:3]
    assert outcome_text(acquired.outcome) == "NONE; acquired 0–3 (1); acquisition 0"
    marks = "NONE; marks NONE, INVALID_REQUEST, INVALID_RECORD_STATE"
    assert outcome_text(marked.outcome) == marks


def test_a_checkpoint_with_locks_and_outstanding_writes_has_words() -> None:
    """Its parts are of other kinds than those of every other operation."""
    state = SharePartitionSnapshot(0, 0, 0, ())
    write = ops.OutstandingWrite(3, 0, 0, ())
    checkpoint = ops.Checkpoint(SharePartitionConfig(), 0, state, (), (write,))
    assert operation_text(checkpoint)
