"""The search over a small world: leader, share coordinator, and the writes between them.

The leader and the share coordinator share nothing but writes, so a state of the world is a leader,
a durable state, and the writes that are late: answered with an error as far as the leader knows,
and perhaps still to arrive. A write whose answer the leader awaits stands in the leader's own
state. A write may arrive at any time while it is awaited or late, or never, so lost answers,
timeouts, retries and reordering are covered. Once the durable state covers a late write it is
forgotten: to merge it again, then or later, changes nothing (checked of each merge). A new leader
fences all late writes.
"""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import attrs

from proofs.exploration.coordinator import Coordinator, DurableForm
from proofs.exploration.leaders import Edge, Leader, LeaderIndex, Offsets
from proofs.exploration.moves import MoveKind
from proofs.exploration.normal import Content
from proofs.exploration.search import Search
from proofs.exploration.world import NEVER_WRITTEN, SmallWorld
from spec.coordinator import durable_state
from spec.log import Log


@attrs.frozen
class LateArrival:
    """A late write arrives."""

    content: Content


@attrs.frozen
class NewLeader:
    """A new leader takes over."""


TAKE_OVER = NewLeader()


@attrs.frozen(cache_hash=True)
class Network:
    """What a state has beside its leader.

    ``late``: the writes for which nobody waits. ``confirmed``: the offsets of which a write that
    was answered with success says that they are terminal, as long as that matters. ``failed``:
    some write was answered with an error, or lost.
    """

    durable: DurableForm
    late: tuple[Content, ...] = ()
    confirmed: Offsets = frozenset()
    failed: bool = False


Changed: TypeAlias = dict[int, tuple[Network, str | None] | None]
"""What a network comes to by edges, by their ``change``, as ``_after`` returns it."""


class WorldState(NamedTuple):
    """One state of the world. ``wrong``: what is wrong with the step that led here."""

    leader: Leader
    network: Network
    wrong: str | None = None

    @property
    def is_still(self) -> bool:
        """Whether no answer is awaited and no write is on its way."""
        return self.leader.facts.quiet and not self.network.late


WorldStep: TypeAlias = Edge | LateArrival | NewLeader
WorldSearch: TypeAlias = Search[WorldState, WorldStep]


@attrs.define
class Explorer:
    """A small world with the leaders and the durable states that were found in it."""

    world: SmallWorld
    leaders: LeaderIndex = attrs.Factory(lambda self: LeaderIndex(self.world), takes_self=True)
    coordinator: Coordinator = attrs.Factory(lambda self: Coordinator(self.world), takes_self=True)
    _took_over: dict[tuple[Log, DurableForm], Leader] = attrs.Factory(dict)
    _changed: dict[Network, Changed] = attrs.Factory(dict)
    _networks: dict[Network, Network] = attrs.Factory(dict)

    def begin(self) -> WorldState:
        """Return the world in which nothing has happened."""
        leader = self.leaders.take_over(Log(0, 0), NEVER_WRITTEN)
        return WorldState(leader, Network(self.coordinator.first()))

    def successors(self, state: WorldState) -> Iterator[tuple[WorldStep, WorldState]]:
        """Yield everything that can happen next."""
        leader, network, _ = state
        # Of many leaders few networks are changed in few ways: each is made once.
        changed = self._changed.setdefault(network, {})
        for edge in self.leaders.edges(leader):
            if edge.change not in changed:
                changed[edge.change] = self._after(network, edge)
            there = changed[edge.change]
            if there is not None:
                yield edge, WorldState(edge.target, *there)
        for what in network.late:
            sent = self._sent(network, (what,), leader.facts.start)
            yield LateArrival(what), WorldState(leader, *sent)
        if self.world.failovers:
            failed = network.failed or not leader.facts.quiet
            new = self._take_over(leader.facts.log, network.durable)
            fenced = Network(network.durable, (), network.confirmed, failed)
            yield TAKE_OVER, WorldState(new, self._kept(fenced))

    def _after(self, network: Network, edge: Edge) -> tuple[Network, str | None] | None:
        """Return the network after an edge, and what is wrong; None if too many writes are late."""
        start = edge.target.facts.start
        if edge.wrong is not None:
            return network, edge.wrong
        if edge.kind is MoveKind.RESET:
            return self._kept(Network(self.coordinator.reset(network.durable, start))), None
        late = {*network.late, *edge.late}
        if len(late) > self.world.late:
            return None
        confirmed, failed = network.confirmed | edge.confirmed, network.failed or edge.failed
        sent = Network(network.durable, tuple(late), confirmed, failed)
        return self._sent(sent, edge.arrived, start)

    def _take_over(self, log: Log, durable: DurableForm) -> Leader:
        """Return the leader that reads the durable state; each is made once."""
        if (log, durable) not in self._took_over:
            new = self.leaders.take_over(log, durable_state(durable.durable))
            self._took_over[log, durable] = new
        return self._took_over[log, durable]

    def _sent(
        self, network: Network, arrived: tuple[Content, ...], start: int
    ) -> tuple[Network, str | None]:
        """Return the network after these writes have arrived, without late ones that are covered.

        ``start``: the leader's start offset.
        """
        durable, wrong = network.durable, None
        for what in arrived:
            durable, wrong_here = self.coordinator.merged(durable, what)
            wrong = wrong or wrong_here
        late = (what for what in network.late if not self.coordinator.covers(durable, what))
        # What the leader passed and the coordinator has is forgotten: neither ever goes back.
        kept = (o for o in network.confirmed if o >= start or o not in durable.terminal)
        sent = Network(durable, tuple(sorted(late)), frozenset(kept), network.failed)
        return self._kept(sent), wrong

    def _kept(self, network: Network) -> Network:
        """Return the first network that is equal: to compare one with itself is quick."""
        return self._networks.setdefault(network, network)
