import attrs

from judge.choices import recorded_answers
from model import operations as ops
from model.errors import ErrorCode
from model.ranges import OffsetRange, RecordRange, StateBatch
from model.states import RecordState
from tests.replay.samples import events, first_of, kafka_rows


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

    def kept(
        operation: ops.Operation, made_after: int, *records: RecordRange, start_offset: int = 4
    ) -> bool:
        (answer,) = recorded_answers(
            attrs.evolve(
                event,
                operation=operation,
                outcome=attrs.evolve(
                    event.outcome, writes=(attrs.evolve(write, made_after=made_after),)
                ),
                after=attrs.evolve(event.after, start_offset=start_offset, records=records),
            )
        )
        return answer.keeps_back

    ranges = (OffsetRange(7, 7),)
    letter, timer, later = ops.FinishDeadLetter(ranges), ops.Expire(ranges), event.seq + 1
    held = attrs.evolve(finished, pending=True)
    for operation in (letter, timer, event.operation):
        assert kept(operation, later, other, held)
        assert not kept(operation, later, other, finished)
    assert not kept(letter, event.seq, other, finished)
    assert kept(timer, event.seq, other, finished)
    assert not kept(timer, event.seq, other, finished, start_offset=5)
    assert not kept(ops.AdvanceLogStart(5), event.seq, other, held)
