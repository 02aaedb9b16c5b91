"""Running a small world: what may happen next, its requests to the leader, and one step."""

from collections.abc import Iterator
from itertools import product

import attrs

from model import operations as ops
from model.errors import ErrorCode
from model.outcome import Answer, Outcome
from model.ranges import OffsetRange
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode
from proofs.hazards.draft_consumer import Consumer, Given, mark, may_poll, poll
from proofs.hazards.draft_readings import Readings
from proofs.hazards.memory import remember
from proofs.hazards.world import (
    BEGAN,
    HazardAct,
    HazardMoment,
    HazardMove,
    HazardPast,
    HazardState,
    HazardWorld,
    Setting,
)
from spec.coordinator import durable_state


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


def acts_in(state: HazardState, world: HazardWorld) -> Iterator[HazardAct]:
    """Yield every possible next act; none after a broken step or a failed leader."""
    if not state.past.is_over and state.broken is None:
        for move in HazardMove:
            if move in world.moves:
                yield from _ENABLED[move](move, state, world)


def _present(state: HazardState, world: HazardWorld) -> list[str]:
    away = state.past.away
    return [member for member in world.members if member not in away]


def _fetches(move: HazardMove, state: HazardState, world: HazardWorld) -> Iterator[HazardAct]:
    busy = {c.member for c in state.past.consumers if c.unacknowledged or c.marks}
    if state.past.fetches < world.fetches:
        yield from (HazardAct(move, m) for m in _present(state, world) if m not in busy)


def _with_a_record(move: HazardMove, state: HazardState, world: HazardWorld) -> Iterator[HazardAct]:
    present = _present(state, world)
    newest = {(member, given.offset): given for member, given in state.past.given}
    for member, given in state.past.given:
        is_newest = newest[member, given.offset] == given
        if member in present and is_newest is not (move is HazardMove.OLD_MARK):
            yield HazardAct(move, member, given)
            if move in world.slow and not state.view.waiting:
                yield HazardAct(move, member, given, ErrorCode.PENDING)


def _leaves(move: HazardMove, state: HazardState, world: HazardWorld) -> Iterator[HazardAct]:
    holders = {record.owner for record in state.view.records}
    yield from (HazardAct(move, member) for member in _present(state, world) if member in holders)


def _returns(move: HazardMove, state: HazardState, _world: HazardWorld) -> Iterator[HazardAct]:
    yield from (HazardAct(move, member) for member in state.past.away)


def _answers(move: HazardMove, state: HazardState, world: HazardWorld) -> Iterator[HazardAct]:
    for number, answer in product(state.view.waiting, world.answers):
        yield HazardAct(move, answer=answer, number=number)


def _waits(move: HazardMove, state: HazardState, world: HazardWorld) -> Iterator[HazardAct]:
    remaining = (BEGAN + world.until - state.view.now) // world.quantum
    for times in range(1, (remaining if world.leaps else min(remaining, 1)) + 1):
        yield HazardAct(move, number=times * world.quantum)


def _fails_over(move: HazardMove, state: HazardState, _world: HazardWorld) -> Iterator[HazardAct]:
    if not state.past.failed_over:
        yield HazardAct(move)


def _reads_again(move: HazardMove, state: HazardState, _world: HazardWorld) -> Iterator[HazardAct]:
    if not state.past.has_read_again and not state.view.waiting:
        yield HazardAct(move)


def _calls(move: HazardMove, state: HazardState, _world: HazardWorld) -> Iterator[HazardAct]:
    for consumer in state.past.consumers:
        for given in consumer.unacknowledged:
            if given not in consumer.marks:
                yield HazardAct(move, consumer.member, given)


def _polls(move: HazardMove, state: HazardState, _world: HazardWorld) -> Iterator[HazardAct]:
    yield from (HazardAct(move, each.member) for each in state.past.consumers if may_poll(each))


_ENABLED = {
    HazardMove.FETCH: _fetches,
    HazardMove.MARK: _with_a_record,
    HazardMove.OLD_MARK: _with_a_record,
    HazardMove.ACCEPT: _with_a_record,
    HazardMove.RELEASE: _with_a_record,
    HazardMove.REJECT: _with_a_record,
    HazardMove.LEAVE: _leaves,
    HazardMove.RETURN: _returns,
    HazardMove.ANSWER: _answers,
    HazardMove.WAIT: _waits,
    HazardMove.FAIL_OVER: _fails_over,
    HazardMove.READ_AGAIN: _reads_again,
    HazardMove.DOWNGRADE: _fails_over,
    HazardMove.CALL_MARK: _calls,
    HazardMove.POLL: _polls,
}
_TYPES = {
    HazardMove.ACCEPT: AcknowledgeType.ACCEPT,
    HazardMove.RELEASE: AcknowledgeType.RELEASE,
    HazardMove.REJECT: AcknowledgeType.REJECT,
}


def requests_of(
    state: HazardState, act: HazardAct, world: HazardWorld, readings: Readings
) -> tuple[tuple[Consumer, ...], tuple[ops.Operation, ...]]:
    """Return the consumers after the act, and its requests to the leader."""
    consumers = state.past.consumers
    request: tuple[ops.Operation, ...] = ()
    match act.move:
        case HazardMove.CALL_MARK | HazardMove.POLL:
            index = world.members.index(act.member)
            if act.given is not None:
                consumer, request = mark(consumers[index], act.given, readings)
            else:
                consumer, request = poll(consumers[index])
            return (*consumers[:index], consumer, *consumers[index + 1 :]), request
        case HazardMove.FETCH:
            log = (OffsetRange(0, world.records - 1),)
            mode = AcquireMode.RECORD_LIMIT
            request = (ops.Acquire(act.member, mode, 1, world.take, 0, log),)
        case HazardMove.MARK | HazardMove.OLD_MARK:
            request = (ops.MarkInProgress(act.member, (_progress(act),)),)
        case HazardMove.ACCEPT | HazardMove.RELEASE | HazardMove.REJECT:
            offset = _subject(act).offset
            batch = ops.AcknowledgementBatch(offset, offset, (_TYPES[act.move],))
            request = (ops.Acknowledge(act.member, (batch,)),)
        case HazardMove.LEAVE:
            request = (ops.MemberLeaves(act.member),)
        case HazardMove.ANSWER:
            request = (ops.CompleteWrite(act.number, act.answer),)
        case HazardMove.WAIT:
            request = (ops.AdvanceTime(act.number),)
        case HazardMove.FAIL_OVER | HazardMove.READ_AGAIN:
            later = act.move is HazardMove.FAIL_OVER
            request = (_takeover(state, world, state.view.durable.leader_epoch + later),)
    return consumers, request


def _takeover(state: HazardState, world: HazardWorld, leader_epoch: int) -> ops.Initialize:
    persisted = durable_state(attrs.evolve(state.view.durable, leader_epoch=leader_epoch))
    return ops.Initialize(world.config, 0, world.records, persisted, state.view.now)


def _subject(act: HazardAct) -> Given:
    assert act.given is not None  # noqa: S101 - such an act is about a record
    return act.given


def _progress(act: HazardAct) -> ops.ProgressBatch:
    given = _subject(act)
    return ops.ProgressBatch(given.offset, given.offset, given.leader_epoch, given.acquisition)
