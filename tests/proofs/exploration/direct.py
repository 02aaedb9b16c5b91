"""The same world as whole values: nothing is left out of a state.

A state is a share-partition whose durable state is the truth, the log, and every write that is
late, of whatever leader, however often it has arrived. It knows nothing of ``explorer``.
"""

from collections.abc import Iterator
from itertools import product

import attrs

from model.errors import ErrorCode, IllegalChoiceError
from model.operations import CompleteWrite, ResetOffset
from model.outcome import Write
from proofs.exploration.moves import moves
from proofs.exploration.normal import Content, content, view
from proofs.exploration.world import NEVER_WRITTEN, ExploredLeader, SmallWorld, initialize
from spec.coordinator import Durable, durable_state, fence, merge
from spec.log import Log
from spec.partition import SharePartition
from spec.step import apply

Late = tuple[Write, int, int]
"""A write, the leader epoch and the state epoch with which it was made."""

Parts = tuple[bytes, object, tuple[Content, ...]]
"""A leader's normal form, what is durable, and the late writes that matter."""


@attrs.frozen
class Direct:
    partition: SharePartition
    log: Log
    late: frozenset[Late] = frozenset()


def first(world: SmallWorld) -> Direct:
    leader, _ = initialize(world, Log(0, 0), NEVER_WRITTEN)
    return Direct(leader.partition, leader.log)


def successors(world: SmallWorld, state: Direct) -> Iterator[Direct]:
    for after in (*_moves(world, state), *_network(world, state), *_failover(world, state)):
        if sum(not _covered(world, after.partition.durable, w) for w in after.late) <= world.late:
            yield after


def abstract(world: SmallWorld, state: Direct) -> Parts:
    """Return what the search keeps of a state."""
    durable = state.partition.durable
    key = view(ExploredLeader(state.partition, state.log), world.names).key
    late = {
        content(w[0])
        for w in state.late
        if w[1:] == (durable.leader_epoch, durable.state_epoch) and not _covered(world, durable, w)
    }
    return key, known_of(durable), tuple(sorted(late))


def known_of(durable: Durable) -> tuple[object, ...]:
    entries = tuple(sorted(durable.entries.items()))
    return durable.start_offset, durable.delivery_complete_count, entries


def _covered(world: SmallWorld, durable: Durable, late: Late) -> bool:
    """Whether a late write can change nothing: it is of an older epoch, or all known."""
    if late[1:] != (durable.leader_epoch, durable.state_epoch):
        return True
    return merge(durable, late[0], world.profile) == durable


def _moves(world: SmallWorld, state: Direct) -> Iterator[Direct]:
    partition, leader = state.partition, ExploredLeader(state.partition, state.log)
    for move in moves(world, leader, view(leader, world.names, symmetry=False)):
        try:
            step = apply(partition, move.operation, move.choice, move.answers)
        except IllegalChoiceError:
            continue
        failed = [w for w in step.outcome.writes if w.status not in _ANSWERED]
        if isinstance(move.operation, CompleteWrite) and move.operation.status is not _FINE:
            failed = [partition.outstanding[move.operation.id].write]
        epochs = (partition.durable.leader_epoch, partition.durable.state_epoch)
        for kept in product((False, True), repeat=len(failed)):
            late = {(_plain(w), *epochs) for w, keep in zip(failed, kept, strict=True) if keep}
            after = step.partition
            if isinstance(move.operation, ResetOffset) and step.outcome.status is not _FINE:
                after = partition
            yield Direct(after, move.log, state.late | late)


def _network(world: SmallWorld, state: Direct) -> Iterator[Direct]:
    durable = state.partition.durable
    epochs = (durable.leader_epoch, durable.state_epoch)
    for waiting in state.partition.outstanding.values():
        yield _arrived(world, state, (waiting.write, *epochs))
    for late in state.late:
        yield _arrived(world, state, late)
        yield attrs.evolve(state, late=state.late - {late})


def _arrived(world: SmallWorld, state: Direct, late: Late) -> Direct:
    durable = state.partition.durable
    if fence(durable, *late[1:], newer_may_pass=False) is _FINE:
        durable = merge(durable, late[0], world.profile)
    return attrs.evolve(state, partition=attrs.evolve(state.partition, durable=durable))


def _failover(world: SmallWorld, state: Direct) -> Iterator[Direct]:
    if not world.failovers:
        return
    before = state.partition.durable
    durable = attrs.evolve(before, leader_epoch=before.leader_epoch + 1)
    now = state.partition.now
    leader, _ = initialize(world, state.log, durable_state(durable), now)
    yield Direct(leader.partition, state.log, state.late)


def _plain(request: Write) -> Write:
    """Return the write without what names it."""
    return attrs.evolve(request, id=0, status=ErrorCode.NONE)


_FINE = ErrorCode.NONE
_ANSWERED = (ErrorCode.NONE, ErrorCode.PENDING)
