"""What is awaited for ever: no rule of an operation refuses it, and no answer ever shows it."""

from collections.abc import Sequence

import attrs
import pytest

from judge.engine import SpecEngine, engines_for
from judge.finding import Finding
from judge.follower import Follower, follow
from model import operations as ops
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.guards import Guard
from model.outcome import Answer, Choice, Outcome
from model.profile import KAFKA, Profile
from model.ranges import OffsetRange
from model.snapshot import DurableState, SharePartitionSnapshot
from model.trace import TraceEvent
from model.whole_state import Awaited, AwaitedKind
from tests.impl.helpers import interpreted, table_of
from tests.spec.worlds import acknowledgement, fetch

HASTY = attrs.evolve(KAFKA, answered_within=6, answered_within_ms=900, sweep_ms=10**9)
RECORDS = (OffsetRange(0, 4),)
FETCH = fetch("a", (0, 4))
LATER = Answer(ErrorCode.PENDING, 7)
Step = tuple[ops.Operation, tuple[Answer, ...]]


def acknowledged(kind: int, *answers: Answer) -> Step:
    return acknowledgement("a", (0, 0, kind)), answers


NEVER: dict[str, tuple[Step, ...]] = {
    "write": (acknowledged(1, LATER),),
    "expiry": ((ops.Expire(RECORDS), (LATER,)),),
    "composed": (acknowledged(1, attrs.evolve(LATER, made_after=99)),),
    "dead letter": (acknowledged(3),),
    "log": ((ops.AdvanceLogStart(9), ()),),
    "masked write": (
        acknowledged(1, LATER),
        *((ops.MemberLeaves("nobody"), ()),) * 3,
        (ops.CompleteWrite(7, ErrorCode.NONE), ()),
    ),
}


def events(steps: Sequence[Step], *, timed: bool, passes: int) -> list[TraceEvent]:
    """Return what happens after a fetch of 0 to 4, ``passes`` ms apart under a real clock."""
    engine, made, clock = SpecEngine(HASTY), [], 0
    config = SharePartitionConfig(record_lock_duration_ms=0, dead_letter_queue=True)
    begins: tuple[Step, ...] = (
        (ops.Initialize(config, 0, 0, DurableState(0, 0), timed=timed), ()),
        (ops.Produce(RECORDS, 5), ()),
        (FETCH, ()),
    )
    for seq, (operation, answers) in enumerate((*begins, *steps)):
        if timed and seq:
            here = Choice(start_offset=engine.snapshot().start_offset)
            engine.apply(ops.AdvanceTime(passes), here, (), seq)
            clock += passes
        outcome = engine.apply(operation, Choice(), answers, seq)
        made.append(TraceEvent("g:t:0", seq, clock, operation, outcome, engine.snapshot()))
    return made


def found(made: list[TraceEvent], profile: Profile = HASTY) -> Finding | None:
    finding = follow(made, engines_for(("spec", "impl"), profile))
    kernel = interpreted("kernel").replay_partition(table_of(made), profile).divergence
    told = finding and (finding.seq, finding.name, None)
    assert (kernel and (kernel.row, kernel.kind.name, kernel.offset)) == told
    return finding


QUIET: Step = (ops.MemberLeaves("nobody"), ())


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("name", [name for name in NEVER if name != "masked write"])
def test_what_never_comes_is_found(name: str, timed: bool) -> None:  # noqa: FBT001
    steps = (*NEVER[name], *[QUIET] * 7)
    passes = 150 if timed else 0
    if name == "expiry" and not timed:
        steps = (acknowledged(2, LATER), *steps[1:])
    made = events(steps, timed=timed, passes=passes)
    assert found(made[:-1]) is None
    finding = found(made)
    assert finding is not None
    assert (finding.seq, finding.name) == (10, Guard.ANSWER_COMES.name)
    assert "900 ms" not in finding.expected
    assert ("1050 ms" if timed else "7 events") in finding.expected


def test_an_answer_that_comes_late_is_an_answer() -> None:
    made = events((*NEVER["masked write"], *[QUIET] * 7), timed=False, passes=0)
    assert found(made) is None


def test_the_next_is_watched_from_when_it_is_first() -> None:
    again = attrs.evolve(LATER, id=8)
    steps = (
        acknowledged(1, LATER),
        (acknowledgement("a", (1, 1, 1)), (again,)),
        (ops.CompleteWrite(7, ErrorCode.NONE), ()),
    )
    made = events((*steps, *[QUIET] * 7), timed=False, passes=0)
    assert found(made[:-1]) is None
    finding = found(made)
    assert finding is not None
    assert "write 8" in finding.expected


def test_a_replay_that_goes_on_knows_since_when() -> None:
    made = events((*NEVER["write"], *[QUIET] * 7), timed=False, passes=0)
    engine = SpecEngine(HASTY)
    follower = Follower("spec", engine)
    assert [follower.step(event) for event in made[:6]] == [None] * 6
    standing = follower.standing(6)
    assert standing.awaited == (Awaited(AwaitedKind.WRITE, 7, 3),)
    kernel = interpreted("kernel").replay_partition
    whole = kernel(table_of(made[:6]), HASTY, None, 10).states[-1][1]
    assert whole == standing
    gone_on = Follower("spec", SpecEngine(HASTY, engine.partition))
    gone_on.resume(standing)
    later = [gone_on.step(event) for event in made[6:]]
    assert later[:-1] == [None] * 4
    assert later[-1] is not None
    assert kernel(table_of(made).slice(6), HASTY, standing).divergence.row == 4


@pytest.mark.parametrize("lost", [False, True])
def test_a_new_leader_and_missing_events_begin_anew(lost: bool) -> None:  # noqa: FBT001
    made = events((*NEVER["log"], *[QUIET] * 5), timed=False, passes=0)
    again = events((*NEVER["log"], *[QUIET] * 6), timed=False, passes=0)
    gap = TraceEvent("g:t:0", 9, 0, ops.Gap(), Outcome(), SharePartitionSnapshot(0, 0, 0, ()))
    table = table_of([*made, *([gap] if lost else []), *again])
    assert interpreted("kernel").replay_partition(table, HASTY).divergence is None
