"""The search over a small world: leader, share coordinator, and the writes between them.

The leader and the share coordinator share nothing but writes, so a state of the world is a leader,
a durable state, and the writes that are late: answered with an error as far as the leader knows,
and perhaps still to arrive. A write whose answer the leader awaits stands in the leader's own
state. A write may arrive at any time while it is awaited or late, or never, so lost answers,
timeouts, retries and reordering are covered. Once the durable state covers a late write it is
forgotten: to merge it again, then or later, changes nothing (checked of each merge). A new leader
fences all late writes.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import attrs

from proofs.exploration.coordinator import Coordinator, DurableForm
from proofs.exploration.leaders import Edge, Leader, LeaderIndex, Offsets
from proofs.exploration.moves import MoveKind
from proofs.exploration.normal import Content
from proofs.exploration.search import Search, search
from proofs.exploration.world import NEVER_WRITTEN, SmallWorld
from spec.coordinator import durable_state
from spec.log import Log

_NONE: Offsets = frozenset()


class WorldState(NamedTuple):
    """One state of the world.

    ``confirmed``: the offsets of which a write that was answered with success says that they are
    terminal, as long as that matters. ``failed``: some write was answered with an error, or lost.
    ``wrong``: what is wrong with the step that led here.
    """

    leader: Leader
    durable: DurableForm
    late: tuple[Content, ...] = ()
    confirmed: Offsets = _NONE
    failed: bool = False
    wrong: str | None = None

    @property
    def is_still(self) -> bool:
        """Whether no answer is awaited and no write is on its way."""
        return self.leader.facts.quiet and not self.late


@attrs.frozen
class LateArrival:
    """A late write arrives."""

    content: Content


@attrs.frozen
class NewLeader:
    """A new leader takes over."""


TAKE_OVER = NewLeader()

WorldStep: TypeAlias = Edge | LateArrival | NewLeader
WorldSearch: TypeAlias = Search[WorldState, WorldStep]


@attrs.define
class Explorer:
    """A small world with the leaders and the durable states that were found in it."""

    world: SmallWorld
    leaders: LeaderIndex = attrs.Factory(lambda self: LeaderIndex(self.world), takes_self=True)
    coordinator: Coordinator = attrs.Factory(lambda self: Coordinator(self.world), takes_self=True)
    _took_over: dict[tuple[Log, DurableForm], Leader] = attrs.Factory(dict)

    def begin(self) -> WorldState:
        """Return the world in which nothing has happened."""
        leader = self.leaders.take_over(Log(0, 0), NEVER_WRITTEN)
        return WorldState(leader, self.coordinator.first())

    def successors(self, state: WorldState) -> Iterator[tuple[WorldStep, WorldState]]:
        """Yield everything that can happen next."""
        leader, durable, late, confirmed, failed, _ = state
        for edge in self.leaders.edges(leader):
            if edge.wrong is not None:
                yield edge, state._replace(wrong=edge.wrong)
            elif edge.kind is MoveKind.RESET:
                reset = self.coordinator.reset(durable, edge.target.facts.start)
                yield edge, WorldState(edge.target, reset)
            else:
                after = state._replace(
                    leader=edge.target,
                    confirmed=confirmed | edge.confirmed,
                    failed=failed or edge.failed,
                )
                left = {*late, *edge.late}
                if len(left) <= self.world.late:
                    yield edge, self._sent(after, left, edge.arrived)
        for what in late:
            yield LateArrival(what), self._sent(state, set(late), (what,))
        if self.world.failovers:
            failed = failed or not leader.facts.quiet
            new = self._new_leader(leader.facts.log, durable)
            yield TAKE_OVER, WorldState(new, durable, (), confirmed, failed)

    def _new_leader(self, log: Log, durable: DurableForm) -> Leader:
        new = self._took_over.get((log, durable))
        if new is None:
            new = self.leaders.take_over(log, durable_state(durable.durable))
            self._took_over[log, durable] = new
        return new

    def _sent(
        self, state: WorldState, late: set[Content], arrived: tuple[Content, ...]
    ) -> WorldState:
        """Return the state after these writes have arrived, without late ones that are covered."""
        durable, wrong = state.durable, None
        for what in arrived:
            durable, wrong_here = self.coordinator.merged(durable, what)
            wrong = wrong or wrong_here
        if late:
            late = {what for what in late if not self.coordinator.covers(durable, what)}
        confirmed = state.confirmed
        if confirmed:
            # What the leader passed and the coordinator has is forgotten: neither ever goes back.
            start = state.leader.facts.start
            kept = (o for o in confirmed if o >= start or o not in durable.terminal)
            confirmed = frozenset(kept)
        return WorldState(
            state.leader, durable, tuple(sorted(late)), confirmed, state.failed, wrong
        )

    def explore(
        self,
        check: Callable[[WorldState], str | None],
        most_depth: int | None = None,
        most_bytes: int | None = None,
        progress: Callable[[int, int], None] = lambda _states, _depth: None,
    ) -> WorldSearch:
        """Visit every state, until ``check`` gives a reason to stop."""
        return search(
            [self.begin()],
            self.successors,
            check,
            most_states=2**62,
            progress=progress,
            most_depth=most_depth,
            most_bytes=most_bytes,
        )
