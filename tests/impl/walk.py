"""Random histories of one share-partition, played by the object face itself."""

import json
import random
from typing import Any

import attrs

from impl.partition import FastSharePartition
from judge.dice import SeededDice
from judge.world import Recorder, World
from model.profile import Profile
from model.snapshot import DurableState
from model.trace import TraceEvent
from model.trace_codec import row_from_event
from tests.lockstep import world
from tests.lockstep.world import CONFIG, LOAD, OPERATIONS

_OTHERS = {
    world.acquire_otherwise,
    world.advance_time_in_groups,
    world.begin_below_log,
    world.grant,
    world.lapse,
    world.leave_with_a_write,
    world.notice,
    world.pass_over,
    world.pass_time,
    world.stay_full,
    world.take_over,
    world.tell,
}
_WEIGHTS = {
    World.take_over: 1,
    **{operation: weight for operation, weight in OPERATIONS.items() if operation not in _OTHERS},
}
"""Of the lockstep's operations those without a choice; a new leader reads what was written."""


class Walk:
    """A share-partition that random operations happen to, and the events so far.

    The implementation chooses what its policies say. Three events in ten do not record records.
    """

    def __init__(self, partition: FastSharePartition, seed: int, profile: Profile) -> None:
        self.partition = partition
        self._dice = SeededDice(seed)
        self._random = random.Random(seed)  # noqa: S311 - a test, no secret
        self._recorder = Recorder("g:t:0", partition)
        load = attrs.evolve(LOAD, choose=0.0)
        self._world = World(self._recorder, profile, CONFIG, load, self._dice)
        self._world.initialize(DurableState(0, 0))
        self.events = self._recorder.events

    def run(self, steps: int) -> list[TraceEvent]:
        """Take so many random steps; return all events."""
        done = len(self.events)
        for _ in range(steps):
            operation = self._dice.weighted(_WEIGHTS)
            operation(self._world)
        for place in range(done, len(self.events)):
            if self._random.random() < 0.3:
                event = self.events[place]
                bare = attrs.evolve(event.after, records=None)
                self.events[place] = attrs.evolve(event, after=bare)
        return self.events

    def rows(self, steps: int) -> list[dict[str, Any]]:
        """Take so many random steps; return all events as rows of a trace file."""
        return [json.loads(json.dumps(row_from_event(event))) for event in self.run(steps)]
