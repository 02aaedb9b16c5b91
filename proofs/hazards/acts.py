"""What can happen next in a world, and what it asks of the leader."""

from collections.abc import Callable, Iterator

import attrs

from model import operations as ops
from model.errors import ErrorCode
from model.ranges import OffsetRange
from model.states import AcknowledgeType, AcquireMode
from proofs.hazards.draft_consumer import Consumer, Given, mark, may_poll, poll
from proofs.hazards.draft_readings import Readings
from proofs.hazards.world import BEGAN, Act, Move, State, World
from spec.coordinator import durable_state

__all__ = ["acts_in", "requests_of"]


def acts_in(state: State, world: World, *, leaps: bool) -> Iterator[Act]:
    """Yield everything that can happen next; nothing after a broken step or a failed leader."""
    if not state.past.is_over and state.broken is None:
        for move in Move:
            if move in world.moves:
                yield from _ENABLED[move](state, world, leaps)


def _present(state: State, world: World) -> list[str]:
    away = state.past.away
    return [member for member in world.members if member not in away]


def _fetches(state: State, world: World, _leaps: bool) -> Iterator[Act]:  # noqa: FBT001
    busy = {c.member for c in state.past.consumers if c.unacknowledged or c.marks}
    if state.past.fetches < world.fetches:
        yield from (Act(Move.FETCH, m) for m in _present(state, world) if m not in busy)


def _with_a_record(move: Move) -> Callable[[State, World, bool], Iterator[Act]]:
    def acts(state: State, world: World, _leaps: bool) -> Iterator[Act]:  # noqa: FBT001
        present = _present(state, world)
        newest = {(member, given.offset): given for member, given in state.past.given}
        for member, given in state.past.given:
            is_newest = newest[member, given.offset] == given
            if member in present and is_newest is not (move is Move.OLD_MARK):
                yield Act(move, member, given)
                if move in world.slow and not state.view.waiting:
                    yield Act(move, member, given, ErrorCode.PENDING)

    return acts


def _leaves(state: State, world: World, _leaps: bool) -> Iterator[Act]:  # noqa: FBT001
    holders = {record.owner for record in state.view.records}
    yield from (Act(Move.LEAVE, m) for m in _present(state, world) if m in holders)


def _returns(state: State, _world: World, _leaps: bool) -> Iterator[Act]:  # noqa: FBT001
    yield from (Act(Move.RETURN, member) for member in state.past.away)


def _answers(state: State, world: World, _leaps: bool) -> Iterator[Act]:  # noqa: FBT001
    for number in state.view.waiting:
        for answer in world.answers:
            yield Act(Move.ANSWER, answer=answer, number=number)


def _waits(state: State, world: World, leaps: bool) -> Iterator[Act]:  # noqa: FBT001
    left = (BEGAN + world.until - state.view.now) // world.quantum
    for times in range(1, (left if leaps else min(left, 1)) + 1):
        yield Act(Move.WAIT, number=times * world.quantum)


def _fails_over(move: Move) -> Callable[[State, World, bool], Iterator[Act]]:
    def acts(state: State, _world: World, _leaps: bool) -> Iterator[Act]:  # noqa: FBT001
        if not state.past.failed_over:
            yield Act(move)

    return acts


def _calls(state: State, _world: World, _leaps: bool) -> Iterator[Act]:  # noqa: FBT001
    for consumer in state.past.consumers:
        for given in consumer.unacknowledged:
            if given not in consumer.marks:
                yield Act(Move.CALL_MARK, consumer.member, given)


def _polls(state: State, _world: World, _leaps: bool) -> Iterator[Act]:  # noqa: FBT001
    for consumer in state.past.consumers:
        if may_poll(consumer):
            yield Act(Move.POLL, consumer.member)


_ENABLED: dict[Move, Callable[[State, World, bool], Iterator[Act]]] = {
    Move.FETCH: _fetches,
    Move.MARK: _with_a_record(Move.MARK),
    Move.OLD_MARK: _with_a_record(Move.OLD_MARK),
    Move.ACCEPT: _with_a_record(Move.ACCEPT),
    Move.RELEASE: _with_a_record(Move.RELEASE),
    Move.REJECT: _with_a_record(Move.REJECT),
    Move.LEAVE: _leaves,
    Move.RETURN: _returns,
    Move.ANSWER: _answers,
    Move.WAIT: _waits,
    Move.FAIL_OVER: _fails_over(Move.FAIL_OVER),
    Move.DOWNGRADE: _fails_over(Move.DOWNGRADE),
    Move.CALL_MARK: _calls,
    Move.POLL: _polls,
}
_TYPES = {
    Move.ACCEPT: AcknowledgeType.ACCEPT,
    Move.RELEASE: AcknowledgeType.RELEASE,
    Move.REJECT: AcknowledgeType.REJECT,
}


def requests_of(
    state: State, act: Act, world: World, readings: Readings
) -> tuple[tuple[Consumer, ...], tuple[ops.Operation, ...]]:
    """Return the consumers after the act, and what is asked of the leader."""
    consumers = state.past.consumers
    request: tuple[ops.Operation, ...] = ()
    match act.move:
        case Move.CALL_MARK | Move.POLL:
            at = world.members.index(act.member)
            if act.given is not None:
                consumer, request = mark(consumers[at], act.given, readings)
            else:
                consumer, request = poll(consumers[at], readings)
            return (*consumers[:at], consumer, *consumers[at + 1 :]), request
        case Move.FETCH:
            log = (OffsetRange(0, world.records - 1),)
            mode = AcquireMode.RECORD_LIMIT
            request = (ops.Acquire(act.member, mode, 1, world.take, 0, log),)
        case Move.MARK | Move.OLD_MARK:
            request = (ops.MarkInProgress(act.member, (_progress(act),)),)
        case Move.ACCEPT | Move.RELEASE | Move.REJECT:
            offset = _subject(act).offset
            batch = ops.AcknowledgementBatch(offset, offset, (_TYPES[act.move],))
            request = (ops.Acknowledge(act.member, (batch,)),)
        case Move.LEAVE:
            request = (ops.Release(act.member),)
        case Move.ANSWER:
            request = (ops.CompleteWrite(act.number, act.answer),)
        case Move.WAIT:
            request = (ops.AdvanceTime(act.number),)
        case Move.FAIL_OVER:
            durable = attrs.evolve(
                state.view.durable, leader_epoch=state.view.durable.leader_epoch + 1
            )
            persisted = durable_state(durable)
            now = state.view.now
            request = (ops.Initialize(world.config, 0, world.records, persisted, now),)
    return consumers, request


def _subject(act: Act) -> Given:
    assert act.given is not None  # noqa: S101 - such an act is about a record
    return act.given


def _progress(act: Act) -> ops.ProgressBatch:
    given = _subject(act)
    return ops.ProgressBatch(given.offset, given.offset, given.leader_epoch, given.acquisition)
