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


@attrs.frozen
class LateArrival:
    """A late write arrives."""

    content: Content


@attrs.frozen
class NewLeader:
    """A new leader takes over."""


TAKE_OVER = NewLeader()


@attrs.frozen(eq=False)
class Network:
    """What a state has beside its leader; every network is kept once.

    ``late``: the writes for which nobody waits. ``confirmed``: the offsets of which a write that
    was answered with success says that they are terminal, as long as that matters. ``failed``:
    some write was answered with an error, or lost. The others are what was found to follow:
    ``after`` the edges, by their effect, and ``otherwise``, by where the leader stands.
    """

    durable: DurableForm
    late: tuple[Content, ...] = ()
    confirmed: Offsets = _NONE
    failed: bool = False
    after: "dict[int, tuple[Network, str | None] | None]" = attrs.field(factory=dict, repr=False)
    otherwise: "dict[int, tuple[_Step, ...]]" = attrs.field(factory=dict, repr=False)


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
_Step: TypeAlias = tuple[WorldStep, Leader | None, Network, str | None]
"""A step that is no edge, the new leader if there is one, the network, and what is wrong."""


@attrs.define
class Explorer:
    """A small world with the leaders and the durable states that were found in it."""

    world: SmallWorld
    leaders: LeaderIndex = attrs.Factory(lambda self: LeaderIndex(self.world), takes_self=True)
    coordinator: Coordinator = attrs.Factory(lambda self: Coordinator(self.world), takes_self=True)
    _took_over: dict[tuple[Log, DurableForm], Leader] = attrs.Factory(dict)
    _networks: dict[tuple[object, ...], Network] = attrs.Factory(dict)
    _numbers: dict[tuple[object, ...], int] = attrs.Factory(dict)
    _edges: dict[Leader, tuple[list[tuple[Edge, int]], int]] = attrs.Factory(dict)

    def begin(self) -> WorldState:
        """Return the world in which nothing has happened."""
        leader = self.leaders.take_over(Log(0, 0), NEVER_WRITTEN)
        return WorldState(leader, self._one(Network(self.coordinator.first())))

    def successors(self, state: WorldState) -> Iterator[tuple[WorldStep, WorldState]]:
        """Yield everything that can happen next."""
        leader, network, _ = state
        if leader not in self._edges:
            self._edges[leader] = self._numbered(leader)
        edges, place = self._edges[leader]
        known = network.after
        for edge, effect in edges:
            if effect not in known:
                known[effect] = self._after(network, edge)
            there = known[effect]
            if there is not None:
                yield edge, WorldState(edge.target, *there)
        if place not in network.otherwise:
            network.otherwise[place] = tuple(self._otherwise(network, leader))
        for step, new, after, wrong in network.otherwise[place]:
            yield step, WorldState(new or leader, after, wrong)

    def _numbered(self, leader: Leader) -> tuple[list[tuple[Edge, int]], int]:
        """Return the edges with the number of what each does to a network, and that of the place.

        Few differ in that, so what follows in a network is found out once for all that are alike.
        """

        def number(*parts: object) -> int:
            return self._numbers.setdefault(parts, len(self._numbers))

        edges = []
        for edge in self.leaders.edges(leader):
            seen = edge.kind, edge.target.facts.start, edge.arrived, edge.late, edge.confirmed
            edges.append((edge, number(*seen, edge.failed, edge.wrong)))
        return edges, number(leader.facts.log, leader.facts.start, leader.facts.quiet)

    def _after(self, network: Network, edge: Edge) -> tuple[Network, str | None] | None:
        """Return the network after an edge, and what is wrong; None if too many writes are late."""
        start = edge.target.facts.start
        if edge.wrong is not None:
            return network, edge.wrong
        if edge.kind is MoveKind.RESET:
            return self._one(Network(self.coordinator.reset(network.durable, start))), None
        late = {*network.late, *edge.late}
        if len(late) > self.world.late:
            return None
        confirmed, failed = network.confirmed | edge.confirmed, network.failed or edge.failed
        sent = Network(network.durable, tuple(late), confirmed, failed)
        return self._sent(sent, edge.arrived, start)

    def _otherwise(self, network: Network, leader: Leader) -> Iterator[_Step]:
        durable, log, start = network.durable, leader.facts.log, leader.facts.start
        for what in network.late:
            yield LateArrival(what), None, *self._sent(network, (what,), start)
        if self.world.failovers:
            new = self._took_over.get((log, durable))
            if new is None:
                new = self.leaders.take_over(log, durable_state(durable.durable))
                self._took_over[log, durable] = new
            failed = network.failed or not leader.facts.quiet
            yield TAKE_OVER, new, self._one(Network(durable, (), network.confirmed, failed)), None

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
        left = Network(durable, tuple(sorted(late)), frozenset(kept), network.failed)
        return self._one(left), wrong

    def _one(self, network: Network) -> Network:
        """Return the one of this content that is kept."""
        content = network.durable, network.late, network.confirmed, network.failed
        return self._networks.setdefault(content, network)

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
