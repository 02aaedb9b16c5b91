import attrs

from judge.choices import recorded_answers, recorded_choice
from model.errors import ErrorCode
from model.operations import (
    Acknowledge,
    Acquire,
    AdvanceLogStart,
    AdvanceTime,
    Expire,
    FinishDeadLetter,
    Operation,
)
from model.outcome import Answer, Choice, Expiry
from model.ranges import OffsetRange, RecordRange, StateBatch
from model.states import RecordState
from tests.replay.samples import events, first_of, kafka_rows


def test_an_acquire_shows_what_it_took_and_where_the_window_ended() -> None:
    row = first_of(kafka_rows(), lambda r: r["op"] == "acquire" and r["result"].get("acquired"))
    (event,) = events([row])
    choice = recorded_choice(event)
    assert [(r.first, r.last) for r in choice.acquired or ()] == [
        (r["first"], r["last"]) for r in row["result"]["acquired"]
    ]
    assert choice.end_offset == row["after"]["end_offset"]
    assert choice.start_offset == row["after"]["start_offset"]


def test_records_never_delivered_within_what_was_read_entered_the_window() -> None:
    row = first_of(kafka_rows(), lambda r: r["op"] == "acquire" and not r.get("skipped"))
    row["log_batches"] = [{"first": 10, "last": 19}]
    row["result"] = {"status": "NONE", "acquired": [], "count": 0}
    ranges = [
        (5, 11, "AVAILABLE", 0, None, False),
        (12, 13, "AVAILABLE", 1, None, False),
        (14, 15, "AVAILABLE", 0, None, True),
        (16, 16, "ACQUIRED", 1, "m", False),
        (17, 30, "AVAILABLE", 0, None, False),
    ]
    names = ("first", "last", "state", "delivery_count", "member", "pending")
    records = [dict(zip(names, values, strict=True)) for values in ranges]
    row["after"] = {
        "start_offset": 5,
        "end_offset": 31,
        "delivery_complete_count": 0,
        "records": records,
    }
    (event,) = events([row])
    assert recorded_choice(event).entered == (OffsetRange(10, 11), OffsetRange(17, 19))
    unrecorded = attrs.evolve(event, after=attrs.evolve(event.after, records=None))
    assert recorded_choice(unrecorded).entered is None
    assert isinstance(event.operation, Acquire)
    nothing_read = attrs.evolve(event, operation=attrs.evolve(event.operation, log_batches=()))
    assert recorded_choice(nothing_read).entered == ()


def test_an_acknowledgement_is_refused_only_by_the_two_errors_that_judge_it() -> None:
    (event,) = events([first_of(kafka_rows(), lambda r: r["op"] == "acknowledge")])
    assert isinstance(event.operation, Acknowledge)
    for status, refusal in (
        (ErrorCode.NONE, ErrorCode.NONE),
        (ErrorCode.PENDING, ErrorCode.NONE),
        (ErrorCode.FENCED_STATE_EPOCH, ErrorCode.NONE),
        (ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        (ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_RECORD_STATE),
    ):
        seen = attrs.evolve(event, outcome=attrs.evolve(event.outcome, status=status))
        assert recorded_choice(seen).refusal is refusal


def test_each_write_of_an_expiry_is_a_group_with_its_answer() -> None:
    rows = kafka_rows(count=500)
    row = first_of(rows, lambda r: r["op"] == "advance_time" and r["writes"])
    (event,) = events([row])
    assert isinstance(event.operation, AdvanceTime)
    assert recorded_choice(event).expired == tuple(
        Expiry(
            tuple(OffsetRange(b["first"], b["last"]) for b in write["state_batches"]),
            write["start_offset"],
        )
        for write in row["writes"]
    )
    assert recorded_answers(event) == tuple(
        Answer(write.status, write.id, written=write) for write in event.outcome.writes
    )


def test_only_records_that_a_write_finishes_show_that_it_keeps_them_back() -> None:
    other, finished = (
        RecordRange(first, first, RecordState.ARCHIVED, 1, None, pending=pending)
        for first, pending in ((4, True), (7, False))
    )
    rows = kafka_rows(count=500)
    (event,) = events([first_of(rows, lambda r: r["op"] == "advance_time" and r["writes"])])
    write = attrs.evolve(
        event.outcome.writes[0],
        start_offset=5,
        status=ErrorCode.PENDING,
        state_batches=(StateBatch(7, 7, RecordState.ARCHIVED, 1),),
    )

    def kept(operation: Operation, made_after: int, *records: RecordRange) -> bool:
        (answer,) = recorded_answers(
            attrs.evolve(
                event,
                operation=operation,
                outcome=attrs.evolve(
                    event.outcome, writes=(attrs.evolve(write, made_after=made_after),)
                ),
                after=attrs.evolve(event.after, records=records),
            )
        )
        return answer.keeps_back

    ranges = (OffsetRange(7, 7),)
    letter, timer, later = FinishDeadLetter(ranges), Expire(ranges), event.seq + 1
    held = attrs.evolve(finished, pending=True)
    for operation in (letter, timer, event.operation):
        assert kept(operation, later, other, held)
        assert not kept(operation, later, other, finished)
    assert not kept(letter, event.seq, other, finished)
    assert kept(timer, event.seq, other, finished)
    assert not kept(AdvanceLogStart(5), event.seq, other, held)


def test_everything_else_shows_where_the_start_offset_went() -> None:
    (event,) = events([first_of(kafka_rows(), lambda r: r["op"] == "produce")])
    assert recorded_choice(event) == Choice(start_offset=event.after.start_offset)
