"""What properties look at, of a leader and of a durable state."""

from immutables import Map

from model.states import RecordState
from proofs.exploration.facts import durable_facts, facts_of
from proofs.exploration.world import ExploredLeader, SmallWorld
from spec.coordinator import Durable
from spec.log import Log
from spec.partition import SharePartition
from spec.record import Record
from spec.window import Window, replace

WORLD = SmallWorld(offsets=4, window=4)
HELD = Record(RecordState.ACQUIRED, 2, "m1", 5)
PENDING = Record(RecordState.ACKNOWLEDGED, 1, pending=True, former_owner="m1", former_deadline=5)
DONE = Record(RecordState.ACKNOWLEDGED, 1)
AGAIN = Record(RecordState.AVAILABLE, 1)


def _leader(records: dict[int, Record], start: int = 0, end: int = 4) -> ExploredLeader:
    log = Log(0, 4)
    window = replace(Window(start, end), records)
    return ExploredLeader(SharePartition(WORLD.profile, WORLD.config, log=log, window=window), log)


def test_a_leader_in_masks_of_offsets() -> None:
    facts = facts_of(WORLD, _leader({0: HELD, 1: PENDING, 2: DONE, 3: AGAIN}))
    assert (facts.held, facts.awaited, facts.takeable) == (0b0001, 0b0010, 0b1000)
    assert (facts.unfinished, facts.present) == (0b1011, 0b1111)
    assert (facts.full, facts.quiet, facts.behind) == (True, True, False)


def test_what_a_new_leader_should_find() -> None:
    facts = facts_of(WORLD, _leader({0: HELD, 1: PENDING, 2: DONE, 3: AGAIN}))
    assert facts.committed == (0x01_A1_00_01, 0xFF_FF_00_FF)
    assert facts.acknowledged == (0x00_A1_00_00, 0x00_FF_00_00)
    assert facts.available == (0, 0x80_00_00_00)
    assert facts.delivered == (0x02, 0x0F)


def test_what_the_leader_passed_should_be_terminal() -> None:
    facts = facts_of(WORLD, _leader({}, start=2, end=2))
    assert facts.committed == (0x00_00_80_80, 0xFF_FF_80_80)


def test_a_durable_state_byte_by_byte() -> None:
    entries = Map({1: (RecordState.AVAILABLE, 1), 2: (RecordState.ARCHIVED, 2)})
    facts = durable_facts(WORLD, Durable(1, 1, entries))
    assert facts.code == 0x00_C2_01_80
    assert (facts.start, facts.terminal, facts.reported) == (1, 0b0101, 2)


def test_a_durable_state_that_was_never_written() -> None:
    facts = durable_facts(WORLD, Durable())
    assert (facts.start, facts.code, facts.terminal, facts.reported) == (-1, 0, 0, 0)
