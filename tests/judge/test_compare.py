import attrs

from judge.compare import first_mismatch
from judge.engine import SpecEngine
from judge.written import Around
from model.errors import ErrorCode
from model.outcome import Completion, Outcome, Write
from model.profile import KAFKA
from model.ranges import AcquiredRange, RecordRange, StateBatch
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState
from model.trace import TraceEvent
from tests.replay.samples import events, kafka_rows

BEFORE = SharePartitionSnapshot(10, 20, 0, (RecordRange(10, 19, RecordState.ACQUIRED, 1, "m"),))
AFTER = SharePartitionSnapshot(
    10, 20, 5, (RecordRange(10, 14, RecordState.ACKNOWLEDGED, 1, None, pending=True),)
)
WRITE = Write(3, 10, 5, (StateBatch(10, 14, RecordState.ACKNOWLEDGED, 1),), ErrorCode.PENDING)
OUTCOME = Outcome(
    ErrorCode.PENDING,
    (AcquiredRange(12, 15, 2),),
    (WRITE,),
    (Completion(1, ErrorCode.NONE),),
    acquisition=7,
    marked=(ErrorCode.NONE,),
)


AROUND = Around(BEFORE, AFTER, SpecEngine(KAFKA))
"""Of a leader that knows nothing more: no start offset may be later than that after the event."""


def event(*writes: Write) -> TraceEvent:
    row = next(r for r in kafka_rows(count=500) if r["op"] == "acknowledge")
    (sample,) = events([row])
    return attrs.evolve(sample, outcome=attrs.evolve(OUTCOME, writes=writes), after=AFTER)


def test_how_offsets_are_spread_over_writes_does_not_matter_and_the_last_one_counts() -> None:
    first = Write(3, 10, 2, (StateBatch(10, 11, RecordState.ACKNOWLEDGED, 1),), ErrorCode.PENDING)
    second = Write(4, 10, 5, (StateBatch(12, 14, RecordState.ACKNOWLEDGED, 1),), ErrorCode.PENDING)
    assert first_mismatch(event(first, second), OUTCOME, AROUND) is None
