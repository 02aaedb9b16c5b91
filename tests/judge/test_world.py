from collections import Counter

import attrs
import pytest

from judge.dice import SeededDice
from judge.engine import engines_for
from judge.follower import follow
from judge.world import Load, Recorder, World
from model import operations as ops
from model.config import IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.profile import DRAFT_RESOLVED, KAFKA, Profile
from model.snapshot import DurableState

SMALL = SharePartitionConfig(partition_max_record_locks=8, record_lock_duration_ms=10)
LOAD = Load(("a", "b"), answers=(ErrorCode.NONE, ErrorCode.PENDING))
OPERATIONS = (
    *[World.acquire] * 4,
    *[World.acknowledge] * 3,
    World.mark,
    World.produce,
    World.release,
    World.advance_time,
    World.expire,
    World.complete_write,
    World.advance_log_start,
    World.reset_offset,
    World.take_over,
    World.finish_dead_letters,
)


def world(
    seed: int = 0, profile: Profile = DRAFT_RESOLVED, load: Load = LOAD
) -> tuple[World, Recorder]:
    recorder = Recorder("g:t:0", engines_for(("spec",), profile)["spec"])
    config = attrs.evolve(SMALL, dead_letter_queue=profile is DRAFT_RESOLVED)
    return World(recorder, profile, config, load, SeededDice(seed)), recorder


def history(seed: int, profile: Profile = DRAFT_RESOLVED) -> Recorder:
    made, recorder = world(seed, profile)
    made.initialize(DurableState(0, 0))
    for _ in range(120):
        made.dice.one_of(OPERATIONS)(made)
    return recorder


@pytest.mark.parametrize("profile", [KAFKA, DRAFT_RESOLVED], ids=lambda profile: profile.name)
@pytest.mark.parametrize("seed", range(3))
def test_a_history_without_disorder_conforms_and_depends_on_the_seed(
    seed: int, profile: Profile
) -> None:
    events = history(seed, profile).events
    assert follow(events, engines_for(("spec",), profile), 1) is None
    assert events == history(seed, profile).events
    assert events != history(seed + 1, profile).events
    done = Counter(type(event.operation) for event in events)
    assert done[ops.Acquire] > 5
    assert done[ops.Acknowledge] > 5
    assert (done[ops.MarkInProgress] > 0) == profile.in_progress


def test_what_cannot_be_done_gives_way_to_something_else() -> None:
    made, recorder = world()
    made.initialize(DurableState(0, 0))
    made.acknowledge()
    made.acquire()
    made.complete_write()
    kinds = [type(event.operation) for event in recorder.events]
    assert kinds == [ops.Initialize, ops.Produce, ops.Acquire, ops.Acquire]


def test_disorder_and_choices_are_refused_now_and_then() -> None:
    made, recorder = world(1, load=attrs.evolve(LOAD, disorder=0.3, choose=0.5))
    made.initialize(DurableState(0, 0))
    made.config = attrs.evolve(made.config, isolation_level=IsolationLevel.READ_COMMITTED)
    steps = 0
    for _ in range(150):
        others = World.acknowledge_anything, World.archive_aborted, World.compact
        made.dice.one_of((*OPERATIONS, *others))(made)
        steps += 1
    assert 30 < len(recorder.events) < steps
