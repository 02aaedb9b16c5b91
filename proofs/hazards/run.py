"""Running a small world: from its beginning, step by step."""

from collections.abc import Iterator

import attrs

from model import operations as ops
from model.outcome import Answer, Outcome
from model.snapshot import DurableState
from proofs.hazards.acts import acts_in, requests_of
from proofs.hazards.draft_consumer import Consumer
from proofs.hazards.memory import remember
from proofs.hazards.world import (
    BEGAN,
    HazardAct,
    HazardMoment,
    HazardMove,
    HazardPast,
    HazardState,
    Setting,
)


def begin(setting: Setting) -> HazardState:
    """Return the world at its beginning: a leader that has just read an untouched durable state."""
    world, machine = setting.world, setting.machine
    persisted = DurableState(0, 0, leader_epoch=1)
    read = ops.Initialize(world.config, 0, world.records, persisted, BEGAN)
    system, _ = machine.apply(machine.new(), read, ())
    consumers: tuple[Consumer, ...] = ()
    if {HazardMove.CALL_MARK, HazardMove.POLL} & world.moves:
        consumers = tuple(
            Consumer(member, world.explicit, most_waiting=world.most_marks)
            for member in world.members
        )
    nothing = (None,) * world.records
    past = HazardPast((0,) * world.records, nothing, nothing, consumers=consumers)
    return HazardState(system, past, machine.view(system))


def successors(setting: Setting, state: HazardState) -> Iterator[tuple[HazardAct, HazardState]]:
    """Yield each possible next act with the state that it leads to."""
    for act in acts_in(state, setting.world):
        yield act, follow(setting, state, act)


def follow(setting: Setting, state: HazardState, act: HazardAct) -> HazardState:
    """Return the state after the act, with what the property says of the step."""
    machine = setting.machine
    consumers, requests = requests_of(state, act, setting.world, setting.readings)
    system, outcomes = state.system, list[Outcome]()
    for request in requests:
        system, outcome = machine.apply(system, request, (Answer(act.answer),))
        outcomes.append(outcome)
    past = attrs.evolve(state.past, consumers=consumers)
    answers = tuple(code for outcome in outcomes for code in outcome.marked or (outcome.status,))
    after = HazardState(system, past, machine.view(system), answers)
    moment = HazardMoment(setting.world, state, act, requests, tuple(outcomes), after)
    after = attrs.evolve(after, past=remember(moment))
    broken = setting.holds(attrs.evolve(moment, after=after))
    return attrs.evolve(after, broken=next(broken, None))
