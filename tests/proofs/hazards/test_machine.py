"""The draft with every question answered as in draft_resolved is the specification itself."""

from collections.abc import Iterator

import attrs
import pytest

from model import operations as ops
from model.errors import ErrorCode
from model.ranges import OffsetRange
from model.snapshot import DurableState
from model.states import AcquireMode
from proofs.exploration.search import search
from proofs.hazards.catalogue import TOGETHER
from proofs.hazards.draft_readings import MENDED
from proofs.hazards.machine import RESOLVED, draft_machine
from proofs.hazards.run import acts_in, begin, follow
from proofs.hazards.world import HazardAct, HazardMove, HazardState, HazardWorld
from tests.proofs.hazards.stage import setting

pytestmark = pytest.mark.slow

MOVES = frozenset(HazardMove) - {HazardMove.CALL_MARK, HazardMove.POLL, HazardMove.DOWNGRADE}
NO_ANSWER = ErrorCode.COORDINATOR_NOT_AVAILABLE
SIDE_BY_SIDE = [
    attrs.evolve(TOGETHER[1], moves=MOVES - {HazardMove.OLD_MARK}, fetches=2, until=60_000),
    HazardWorld(
        frozenset({HazardMove.FETCH, HazardMove.MARK, HazardMove.LEAVE, HazardMove.WAIT}),
        30_000,
        60_000,
        records=2,
        members=("A", "B"),
        fetches=2,
    ),
    HazardWorld(
        MOVES
        - {HazardMove.OLD_MARK, HazardMove.FAIL_OVER, HazardMove.READ_AGAIN}
        - {HazardMove.LEAVE, HazardMove.RETURN},
        30_000,
        30_000,
        records=2,
        take=2,
        slow=frozenset({HazardMove.RELEASE}),
        answers=(ErrorCode.NONE, NO_ANSWER),
    ),
]
Pair = tuple[HazardState, HazardState]


@pytest.mark.parametrize("world", SIDE_BY_SIDE)
def test_the_mended_draft_and_the_specification_go_side_by_side(world: HazardWorld) -> None:
    resolved = setting(world)
    mended = attrs.evolve(resolved, machine=draft_machine(MENDED))

    def both(pair: Pair) -> Iterator[tuple[HazardAct, Pair]]:
        left, right = pair
        for act in acts_in(left, world):
            yield act, (follow(mended, left, act), follow(resolved, right, act))

    def differ(pair: Pair) -> str | None:
        left, right = pair
        same = left.view == right.view and left.answers == right.answers
        return None if same else f"{left.view} {right.view}"

    found = search([(begin(mended), begin(resolved))], both, differ)
    assert found.violation is None
    assert found.unfinished is None
    assert found.states > 400


def test_locks_end_when_they_end_though_more_time_passes_at_once() -> None:
    machine = RESOLVED
    read = ops.Initialize(TOGETHER[0].config, 0, 2, DurableState(0, 0))
    log = (OffsetRange(0, 1),)
    fetch = ops.Acquire("A", AcquireMode.RECORD_LIMIT, 1, 1, 0, log)
    system = machine.new()
    for operation in (read, fetch, ops.AdvanceTime(10_000), fetch, ops.AdvanceTime(90_000)):
        system, _ = machine.apply(system, operation, ())
    view = machine.view(system)
    assert view.now == 100_000
    assert [record.delivery_count for record in view.records] == [1, 1]
