"""The draft with every question answered as in draft_resolved is the specification itself."""

from collections.abc import Iterator

import attrs
import pytest

from model import operations as ops
from model.errors import ErrorCode
from model.ranges import OffsetRange
from model.snapshot import DurableState
from model.states import AcquireMode, RecordState
from proofs.exploration.search import search
from proofs.hazards.acts import acts_in
from proofs.hazards.draft_readings import DRAFT_LITERAL, MENDED
from proofs.hazards.machine import RESOLVED, Machine, Shown, draft_machine, older_broker_reads
from proofs.hazards.run import begin, follow
from proofs.hazards.together import WORLDS
from proofs.hazards.world import Act, HazardMoment, HazardMove, HazardState, HazardWorld, Setting
from spec.coordinator import Durable

pytestmark = pytest.mark.slow

MOVES = frozenset(HazardMove) - {HazardMove.CALL_MARK, HazardMove.POLL, HazardMove.DOWNGRADE}
NO_ANSWER = ErrorCode.COORDINATOR_NOT_AVAILABLE
SIDE_BY_SIDE = [
    attrs.evolve(WORLDS[1], moves=MOVES - {HazardMove.OLD_MARK}, fetches=2, until=60_000),
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


def anything(_moment: HazardMoment) -> None:
    return None


@pytest.mark.parametrize("world", SIDE_BY_SIDE)
def test_the_mended_draft_and_the_specification_go_side_by_side(world: HazardWorld) -> None:
    mended = Setting(world, draft_machine(MENDED), MENDED, anything)
    resolved = attrs.evolve(mended, machine=RESOLVED)

    def both(pair: Pair) -> Iterator[tuple[Act, Pair]]:
        left, right = pair
        for act in acts_in(left, world, leaps=False):
            yield act, (follow(mended, left, act), follow(resolved, right, act))

    def differ(pair: Pair) -> str | None:
        left, right = pair
        same = left.view == right.view and left.answers == right.answers
        return None if same else f"{left.view} {right.view}"

    found = search([(begin(mended), begin(resolved))], both, differ)
    assert found.violation is None
    assert found.unfinished is None
    assert found.states > 400


def test_the_draft_as_written_does_not_go_side_by_side() -> None:
    world = HazardWorld(MOVES)
    literal = Setting(world, draft_machine(DRAFT_LITERAL), DRAFT_LITERAL, anything)
    resolved = Setting(world, RESOLVED, MENDED, anything)
    views = []
    for setting in (literal, resolved):
        state = follow(setting, begin(setting), Act(HazardMove.FETCH, "A"))
        mark = next(a for a in acts_in(state, world, leaps=False) if a.move is HazardMove.MARK)
        views.append(follow(setting, state, mark).view)
    assert views[0].durable != views[1].durable


@pytest.mark.parametrize("machine", [RESOLVED, draft_machine(MENDED)])
def test_what_is_before_the_start_offset_is_archived(machine: Machine) -> None:
    world = HazardWorld(frozenset({HazardMove.FETCH, HazardMove.ACCEPT}), records=2)
    setting = Setting(world, machine, MENDED, anything)
    state = begin(setting)
    for _ in range(2):
        state = follow(setting, state, list(acts_in(state, world, leaps=False))[-1])
    assert state.view.records == (Shown(RecordState.ARCHIVED, 0), Shown(RecordState.AVAILABLE, 0))
    assert (state.view.start, state.view.lag, state.view.durable_lag) == (1, 1, 1)
    assert state.view.records[0].is_terminal
    assert not state.view.records[0].is_held


def test_locks_end_when_they_end_though_more_time_passes_at_once() -> None:
    machine = RESOLVED
    read = ops.Initialize(WORLDS[0].config, 0, 2, DurableState(0, 0))
    log = (OffsetRange(0, 1),)
    fetch = ops.Acquire("A", AcquireMode.RECORD_LIMIT, 1, 1, 0, log)
    system = machine.new()
    for operation in (read, fetch, ops.AdvanceTime(10_000), fetch, ops.AdvanceTime(90_000)):
        system, _ = machine.apply(system, operation, ())
    view = machine.view(system)
    assert view.now == 100_000
    assert [record.delivery_count for record in view.records] == [1, 1]


def test_an_older_broker_reads_what_it_knows() -> None:
    known = Durable(0, 0).entries.set(0, (RecordState.ARCHIVED, 1))
    unknown = known.set(0, (RecordState.IN_PROGRESS, 1))
    assert older_broker_reads(Durable(0, 0, known), 1)
    assert not older_broker_reads(Durable(0, 0, unknown), 1)
