"""The leaders of a small world, and every move of each.

A leader never looks at the durable state, so what it does next depends on its normal form alone.
Each form is kept once, by a real run of specification and implementation that led to it; its moves
are made from there when they are first asked for, and remembered.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import product

import attrs

from model.errors import ErrorCode
from model.operations import CompleteWrite
from model.outcome import Outcome, Write
from model.snapshot import DurableState
from model.states import RecordState
from proofs.exploration.moves import Move, MoveKind, moves
from proofs.exploration.normal import Content, View, content, view
from proofs.exploration.side_by_side import Pair, first_pair, make
from proofs.exploration.world import ExploredLeader, SmallWorld, present
from spec.log import Log, readable_end
from spec.record import Record, is_acquirable, is_dead_letter, is_terminal

Offsets = frozenset[int]
Found = tuple[RecordState, int]
"""The state and the delivery count that a new leader finds of a record."""

ARRIVAL = -1
"""In place of a move: a write arrives whose answer is awaited, and is not answered yet."""

ANY_FETCH = -1
"""Among the offsets that a fetch takes: that there is any fetch."""

_NOT_VOID = "it changes something for one who does not hold the record by this delivery"


@attrs.frozen
class LeaderFacts:
    """What properties look at of a leader. Each set has the offsets of which something is true.

    ``passed``: they lie before the start offset. ``committed``: what a new leader should find where
    the coordinator has every write; like these, ``present`` has what can be read of the log and is
    of no aborted transaction. ``acknowledged``, ``delivered``: of ACKNOWLEDGED records, and
    the delivery count of those ACQUIRED. ``unfinished``: readable and not terminal; ``awaited``:
    their write is outstanding; ``available``: AVAILABLE again; ``takeable``: the next fetch should
    be able to take them; ``held``: under an acquisition lock; ``archiving``: on their way to the
    dead-letter queue. ``behind``: the leader has yet to notice that the
    log start offset passed its own. ``quiet``: no answer is awaited; ``full``: the window is as
    wide as it may be.
    """

    log: Log
    start: int
    quiet: bool
    full: bool
    behind: bool
    present: Offsets
    passed: Offsets
    committed: dict[int, Found]
    acknowledged: dict[int, Found]
    delivered: dict[int, int]
    unfinished: Offsets
    awaited: Offsets
    available: Offsets
    takeable: Offsets
    held: Offsets
    archiving: Offsets


@attrs.define(eq=False)
class Leader:
    """A leader in normal form. ``wrong`` says what is wrong with how it took over.

    ``pair`` is the run that led to it, until its moves were made.
    """

    key: bytes
    facts: LeaderFacts
    pair: Pair | None
    wrong: str | None = None
    edges: tuple["Edge", ...] = ()


@attrs.frozen(eq=False)
class Edge:
    """A move that changes something, as others see it; ``move`` is its number.

    Of the writes that are not lost, those in ``arrived`` are merged, and those in ``late`` are
    answered with an error and may still arrive. ``confirmed``: the offsets that are delivered no
    more, as a write says that was answered with success. ``failed``: a write was answered with an
    error. ``wrong``: what is wrong with the move, after which nothing follows. ``change``: edges of
    the same number change alike what is outside of the leader.
    """

    move: int
    kind: MoveKind
    source: Leader
    target: Leader
    arrived: tuple[Content, ...] = ()
    late: tuple[Content, ...] = ()
    acquired: Offsets = frozenset()
    confirmed: Offsets = frozenset()
    failed: bool = False
    wrong: str | None = None
    change: int = -1

    @property
    def takes(self) -> Offsets:
        """The offsets that it fetches."""
        return self.acquired | {ANY_FETCH} if self.kind is MoveKind.FETCH else self.acquired


@attrs.define
class LeaderIndex:
    """Every leader found so far, by its normal form; ``compared`` counts moves of both sides.

    ``changes`` has the number of each change that edges make outside of the leader.
    """

    world: SmallWorld
    found: dict[bytes, Leader] = attrs.Factory(dict)
    compared: int = 0
    changes: dict[tuple[object, ...], int] = attrs.Factory(dict)

    def take_over(self, log: Log, persisted: DurableState) -> Leader:
        """Return the leader that initializes from a durable state."""
        pair, wrong = first_pair(self.world, log, persisted)
        leader = self._leader(pair)
        leader.wrong = leader.wrong or wrong
        return leader

    def edges(self, leader: Leader) -> tuple[Edge, ...]:
        """Return the moves of a leader, up to one that is wrong."""
        if leader.pair is not None:
            leader.edges = tuple(self._made(leader, leader.pair))
            leader.pair = None
        return leader.edges

    def _leader(self, pair: Pair) -> Leader:
        key = self._view(pair).key
        if key not in self.found:
            self.found[key] = Leader(key, facts_of(self.world, pair.leader), pair)
        return self.found[key]

    def _view(self, pair: Pair) -> View:
        return view(pair.leader, self.world.names, symmetry=self.world.symmetry)

    def _made(self, leader: Leader, pair: Pair) -> Iterable[Edge]:
        """Make all moves of a leader; of edges that look alike to others, keep the first."""
        edges: dict[tuple[object, ...], Edge] = {}
        before = pair.leader
        for number, move in enumerate(moves(self.world, before, self._view(pair))):
            self.compared += 1
            made = make(pair, move)
            if made is None:
                continue  # Both sides refuse it.
            target = leader if isinstance(made, str) else self._leader(made[0])
            if isinstance(made, str) or (move.is_void and target is not leader):
                wrong = made if isinstance(made, str) else _NOT_VOID
                edges[()] = Edge(number, move.kind, leader, leader, wrong=wrong)
                break
            for edge in _edges(number, move, (leader, target), before, made[1]):
                changes = target is not leader or edge.arrived or edge.late
                if changes or edge.kind is not MoveKind.OTHER:
                    edges.setdefault(_seen_by_others(edge), edge)
        awaited = (content(waiting.write) for waiting in before.partition.outstanding.values())
        arrivals = [
            Edge(ARRIVAL, MoveKind.OTHER, leader, leader, (what,))
            for what in dict.fromkeys(awaited)
        ]
        return [attrs.evolve(e, change=self._change(e)) for e in (*edges.values(), *arrivals)]

    def _change(self, edge: Edge) -> int:
        sent = edge.arrived, edge.late, edge.confirmed, edge.failed
        what = edge.kind is MoveKind.RESET, edge.target.facts.start, *sent, edge.wrong
        return self.changes.setdefault(what, len(self.changes))


def _seen_by_others(edge: Edge) -> tuple[object, ...]:
    shown = edge.kind, edge.target.key, edge.arrived, edge.late
    return (*shown, edge.acquired, edge.confirmed, edge.failed)


def _edges(
    number: int, move: Move, ends: tuple[Leader, Leader], before: ExploredLeader, outcome: Outcome
) -> Iterator[Edge]:
    """Yield an edge for each possible fate of the move's writes."""
    if move.kind is MoveKind.RESET:
        if outcome.status is ErrorCode.NONE:
            yield Edge(number, move.kind, *ends)
        return
    writes = outcome.writes
    if isinstance(move.operation, CompleteWrite):
        answered = before.partition.outstanding[move.operation.id].write
        writes = (attrs.evolve(answered, status=outcome.status),)
    acquired = frozenset(o for r in outcome.acquired for o in range(r.first, r.last + 1))
    fine = [write for write in writes if write.status is ErrorCode.NONE]
    confirmed = frozenset(offset for write in fine for offset in _terminal(write))
    arrived = tuple(content(write) for write in fine)
    answered_badly = [w for w in writes if w.status not in (ErrorCode.NONE, ErrorCode.PENDING)]
    for kept in product((False, True), repeat=len(answered_badly)):
        late = tuple(content(w) for w, keep in zip(answered_badly, kept, strict=True) if keep)
        failed = bool(answered_badly)
        yield Edge(number, move.kind, *ends, arrived, late, acquired, confirmed, failed)


def _terminal(write: Write) -> Iterator[int]:
    """Yield the offsets that, as a write says, are not delivered again."""
    for batch in write.state_batches:
        if batch.state is not RecordState.AVAILABLE:
            yield from range(batch.first, batch.last + 1)


def facts_of(world: SmallWorld, leader: ExploredLeader) -> LeaderFacts:
    """Return the facts of a leader."""
    window, config = leader.partition.window, leader.partition.config
    start, end = window.start_offset, readable_end(leader.log, config.isolation_level)
    inside = frozenset(offset for offset in present(leader.log) if offset < end)
    kept = inside - frozenset(range(world.aborted))
    ahead = {offset for offset in inside if offset >= start}
    tracked = {offset: window.records[offset] for offset in ahead if offset in window.records}
    pending = frozenset(offset for offset, record in tracked.items() if record.pending)

    def where(rule: Callable[[Record], bool]) -> Offsets:
        return frozenset(offset for offset, record in tracked.items() if rule(record))

    taken = any(offset < world.aborted for offset in window.held)
    behind, available = start < leader.log.start_offset, where(is_acquirable)
    return LeaderFacts(
        leader.log,
        start,
        not leader.partition.outstanding,
        window.end_offset - start >= config.partition_max_record_locks,
        behind,
        kept,
        kept - ahead,
        {offset: _committed(tracked.get(offset)) for offset in (ahead & kept) - pending},
        {
            offset: (record.state, record.delivery_count)
            for offset, record in tracked.items()
            if record.state == RecordState.ACKNOWLEDGED and offset not in pending
        },
        {o: tracked[o].delivery_count for o in window.held if o in tracked},
        frozenset(ahead - where(is_terminal)) | pending,
        pending,
        available,
        frozenset() if behind or taken else available,
        frozenset(window.held),
        where(is_dead_letter),
    )


def _committed(record: Record | None) -> Found:
    """Return what a new leader should find of a record, whose deliveries are not written."""
    if record is None:
        return RecordState.AVAILABLE, 0
    if record.owner is not None:
        return RecordState.AVAILABLE, record.delivery_count - 1
    return record.state, record.delivery_count
