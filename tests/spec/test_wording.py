"""What the specification says of a choice that it refuses; the rules compare guard and offset."""

import pytest

from model.errors import ErrorCode
from model.operations import (
    AdvanceTime,
    ArchiveAborted,
    CompleteWrite,
    FinishDeadLetter,
    Operation,
    SkipAcquire,
)
from model.outcome import Answer, Choice, Expiry
from model.states import AcquireMode
from spec.partition import SharePartition
from tests.spec.worlds import acknowledgement, fetch, refusal, run, spans, started

LIMITED = AcquireMode.RECORD_LIMIT


def mixed() -> SharePartition:
    """0 is pending, c1 holds 1 to 4 until 100, and 5 is the end of the window."""
    partition = run(started(), fetch("c1", (0, 4)))
    return run(partition, acknowledgement("c1", (0, 0, 2)), answer=Answer(ErrorCode.PENDING))


def take(*parts: tuple[int, int], **more: object) -> Choice:
    return Choice(acquired=spans(*parts), **more)  # type: ignore[arg-type]


READ = fetch("c2", (0, 6), (9, 14), at=0)
SAID: list[tuple[Operation, Choice, str]] = [
    (
        READ,
        take((0, 0)),
        "NO_ACQUIRE_DURING_WRITE: offset 0 is AVAILABLE, its write is outstanding",
    ),
    (READ, take((1, 1)), "ONLY_AVAILABLE_IS_ACQUIRED: offset 1 is ACQUIRED"),
    (READ, take((5, 5), (5, 5)), "ONLY_AVAILABLE_IS_ACQUIRED: offset 5 is not available"),
    (READ, take((20, 20)), "ONLY_READ_IS_ACQUIRED: offset 20 was not read"),
    (READ, take((9, 9), entered=()), "NO_RECORD_SKIPPED: offset 5 is in the log and stays out"),
    (READ, take((5, 14)), "WITHIN_WINDOW_LIMIT: the window would span 15 offsets, the limit is 10"),
    (READ, take((5, 5), start_offset=2), "START_STOPS_AT_UNFINISHED: to 2, past offset 0"),
    (
        fetch("c2", (5, 9), most=3, mode=LIMITED),
        take((5, 8)),
        "WITHIN_RECORD_LIMIT: 4 records where 3 were asked for",
    ),
    (fetch("c2", (9, 9), at=5), take(start_offset=-1), "START_NEVER_GOES_BACK: from 0 to -1"),
    (SkipAcquire("c2"), Choice(), "CAN_ACQUIRE: 0 are available, the window spans 5 of 10 offsets"),
    (
        acknowledgement("c1", (9, 9, 1)),
        Choice(refusal=ErrorCode.NONE),
        "ACKNOWLEDGED_WAS_DELIVERED: offset 9 lies past the end of the window",
    ),
    (
        acknowledgement("c2", (1, 1, 1)),
        Choice(refusal=ErrorCode.NONE),
        "ACKNOWLEDGEMENT_JUDGED: the answer NONE, where the rules allow INVALID_RECORD_STATE",
    ),
    (
        AdvanceTime(99),
        Choice(expired=(Expiry(spans((1, 1))),)),
        "LOCK_LASTS_ITS_DURATION: offset 1 holds no lock that is over",
    ),
    (
        AdvanceTime(100),
        Choice(expired=(Expiry(spans((1, 2))),)),
        "LOCK_ENDS_ON_TIME: the lock of offset 3 is due",
    ),
    (
        fetch("c2", (5, 6)),
        Choice(deadline_ms=101),
        "LOCK_ENDS_ON_TIME: a lock granted until 101, which may end from 100 to 100",
    ),
    (CompleteWrite(7, ErrorCode.NONE), Choice(), "WRITE_IS_OUTSTANDING: write 7 is not"),
    (
        FinishDeadLetter(spans((3, 3))),
        Choice(),
        "DEAD_LETTER_IS_ARCHIVING: offset 3 is not ARCHIVING",
    ),
    (
        ArchiveAborted(spans((3, 3))),
        Choice(),
        "ONLY_COMMITTED_IS_ASKED_FOR: it is read_uncommitted",
    ),
]


@pytest.mark.parametrize(("operation", "choice", "said"), SAID, ids=[said for _, _, said in SAID])
def test_a_refusal_says_what_is_wrong(operation: Operation, choice: Choice, said: str) -> None:
    guard, detail = refusal(mixed(), operation, choice)
    assert f"{guard.name}: {detail}" == said
