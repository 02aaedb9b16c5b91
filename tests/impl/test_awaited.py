import pytest

from impl.kernel import KernelDivergence
from model.guards import Guard
from model.operations import Gap
from model.outcome import Outcome
from model.snapshot import SharePartitionSnapshot
from model.trace import TraceEvent
from tests.impl.helpers import interpreted, table_of
from tests.judge.test_awaited import HASTY, NEVER, QUIET, events


def stopped(made: list[TraceEvent]) -> KernelDivergence | None:
    divergence: KernelDivergence | None
    divergence = interpreted("kernel").replay_partition(table_of(made), HASTY).divergence
    return divergence


@pytest.mark.parametrize("name", ["write", "dead letter", "log"])
def test_what_never_comes_stops_the_kernel_at_no_offset(name: str) -> None:
    found = stopped(events((*NEVER[name], *[QUIET] * 9), timed=False, passes=0))
    assert found is not None
    assert (found.row, found.kind.name, found.offset) == (10, Guard.ANSWER_COMES.name, None)


@pytest.mark.parametrize("lost", [False, True])
def test_a_new_leader_and_missing_events_begin_anew(lost: bool) -> None:  # noqa: FBT001
    made = events((*NEVER["log"], *[QUIET] * 5), timed=False, passes=0)
    again = events((*NEVER["log"], *[QUIET] * 6), timed=False, passes=0)
    nothing = SharePartitionSnapshot(0, 0, 0, ())
    gap = TraceEvent("g:t:0", 9, 0, Gap(), Outcome(), nothing)
    assert stopped([*made, *([gap] if lost else []), *again]) is None
