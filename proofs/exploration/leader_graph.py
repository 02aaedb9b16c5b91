"""Every move of leaders, computed once for each state.

A leader never looks at the durable state, so what it does next depends on its normal form alone.
Each form is kept by one real run that led to it, of specification and implementation; every move is
made from there, and what it changes is an edge of the graph of leaders.
"""

from collections.abc import Iterator
from itertools import product

import attrs

from model.errors import ErrorCode
from model.operations import CompleteWrite
from model.outcome import Outcome, Write
from model.states import RecordState
from proofs.exploration.facts import Facts, facts_of
from proofs.exploration.moves import Move, MoveKind, moves
from proofs.exploration.network import Action, NetworkAct
from proofs.exploration.normal import View, content, view
from proofs.exploration.side_by_side import make, pack, unpack
from proofs.exploration.world import ExploredLeader, SmallWorld

ARRIVAL = -1
"""In place of a move: a write arrives whose answer is awaited, and is not answered yet."""


@attrs.frozen
class LeaderFault:
    """One sentence on what is wrong with a move, by its number; None: with taking over."""

    move: int | None
    sentence: str


@attrs.frozen
class Edge:
    """A move that changes something, as others see it.

    ``acquired`` and ``confirmed`` are masks of offsets: taken by the fetch; said to be delivered no
    more, by a write answered with success. ``failed``: a write was answered with an error.
    """

    move: int
    kind: MoveKind
    target: bytes
    actions: tuple[Action, ...]
    acquired: int = 0
    confirmed: int = 0
    failed: bool = False


@attrs.define
class Expansion:
    """All moves of a leader, up to one that is wrong.

    ``compared`` counts moves, those which both refuse included. ``discovered``: the states
    not seen before, packed, with what matters of them.
    """

    compared: int = 0
    edges: list[Edge] = attrs.Factory(list)
    discovered: list[tuple[bytes, Facts, bytes]] = attrs.Factory(list)
    fault: LeaderFault | None = None


_NOT_VOID = "it changes something for one who does not hold the record by this delivery"


class Expander:
    """Makes all moves of leaders. Each worker has its own and tells of each state once."""

    def __init__(self, world: SmallWorld) -> None:
        """Start without any state."""
        self.world = world
        self._known: set[bytes] = set()

    def expand(self, packed: bytes) -> Expansion:
        """Make all moves of a packed leader; of edges that look alike to others, keep the first."""
        pair = unpack(packed)
        leader, before = pair.leader, self._view(pair.leader)
        self._known.add(before.key)
        expansion = Expansion()
        edges: dict[tuple[object, ...], Edge] = {}
        for number, move in enumerate(moves(self.world, leader, before)):
            expansion.compared += 1
            result = make(pair, move)
            if result.wrong is not None:
                expansion.fault = LeaderFault(number, result.wrong)
                break
            if result.after is None or result.outcome is None:
                continue
            after = result.after.leader
            seen = self._view(after)
            if move.is_void and seen.key != before.key:
                expansion.fault = LeaderFault(number, _NOT_VOID)
                break
            if seen.key not in self._known:
                self._known.add(seen.key)
                expansion.discovered.append(
                    (seen.key, facts_of(self.world, after), pack(result.after))
                )
            for edge in _edges(move, leader, result.outcome, after):
                whole = attrs.evolve(edge, move=number, target=seen.key)
                if not _is_idle(whole, before.key):
                    edges.setdefault(_seen_by_others(whole), whole)
        expansion.edges = [*edges.values(), *_arrivals(leader, before.key)]
        return expansion

    def _view(self, leader: ExploredLeader) -> View:
        return view(leader, self.world.names, symmetry=self.world.symmetry)


def _seen_by_others(edge: Edge) -> tuple[object, ...]:
    return (edge.kind, edge.target, edge.actions, edge.acquired, edge.confirmed, edge.failed)


def _is_idle(edge: Edge, source: bytes) -> bool:
    return edge.target == source and not edge.actions and edge.kind is MoveKind.OTHER


def _edges(
    move: Move, before: ExploredLeader, outcome: Outcome, after: ExploredLeader
) -> Iterator[Edge]:
    """Yield an edge, still without its ends, for each possible fate of the move's writes."""
    if move.kind is MoveKind.RESET:
        if outcome.status is ErrorCode.NONE:
            reset = (NetworkAct.RESET, after.partition.window.start_offset)
            yield Edge(0, move.kind, b"", (reset,))
        return
    writes = outcome.writes
    if isinstance(move.operation, CompleteWrite):
        answered = before.partition.outstanding[move.operation.id].write
        writes = (attrs.evolve(answered, status=outcome.status),)
    acquired = sum(1 << o for r in outcome.acquired for o in range(r.first, r.last + 1))
    confirmed = sum(_terminal(write) for write in writes if write.status is ErrorCode.NONE)
    fates = [_fates(write) for write in writes if write.status is not ErrorCode.PENDING]
    failed = any(len(fate) > 1 for fate in fates)
    for chosen in product(*fates):
        actions = tuple(action for action in chosen if action is not None)
        yield Edge(0, move.kind, b"", actions, acquired, confirmed, failed)


def _fates(write: Write) -> tuple[Action | None, ...]:
    """Return the possible fates of a write that is answered: lost, or an act of the network."""
    if write.status is ErrorCode.NONE:
        return ((NetworkAct.MERGE, content(write)),)
    return None, (NetworkAct.DELAY, content(write))


def _arrivals(leader: ExploredLeader, key: bytes) -> list[Edge]:
    """Return the arrivals of writes whose answers are awaited: they leave the leader as it is."""
    contents = {content(waiting.write): None for waiting in leader.partition.outstanding.values()}
    return [Edge(ARRIVAL, MoveKind.OTHER, key, ((NetworkAct.MERGE, what),)) for what in contents]


def _terminal(write: Write) -> int:
    """Return the mask of the offsets that, as a write says, are not delivered again."""
    return sum(
        1 << offset
        for batch in write.state_batches
        if batch.state is not RecordState.AVAILABLE
        for offset in range(batch.first, batch.last + 1)
    )
