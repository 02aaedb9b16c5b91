from model.errors import ErrorCode
from model.operations import AdvanceLogStart, AdvanceTime, MemberLeaves, Produce
from tests.rules.share_partition import apply, run, started
from tests.spec.worlds import acknowledgement, fetch, spans


def test_the_log_start_offset_never_goes_back() -> None:
    moved = run(started(), AdvanceLogStart(7), AdvanceLogStart(4))
    assert (moved.log.start_offset, moved.window.start_offset) == (7, 7)


def test_acknowledgements_of_lost_records_are_ignored() -> None:
    partition = run(started(), fetch("c1", (0, 3)), AdvanceLogStart(4))
    step = apply(partition, acknowledgement("c1", (0, 3, 1)))
    assert (step.outcome.status, step.outcome.writes) == (ErrorCode.NONE, ())
    assert apply(partition, MemberLeaves("c1")).outcome.writes == ()
    assert apply(partition, AdvanceTime(100)).outcome.writes == ()


def test_the_last_stable_offset_is_at_least_the_log_start_offset() -> None:
    partition = run(started(end=0), Produce(spans((0, 9)), 10, 2))
    assert run(partition, AdvanceLogStart(1)).log.stable_offset == 2
    assert run(partition, AdvanceLogStart(5)).log.stable_offset == 5
