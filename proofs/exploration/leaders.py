"""The numbered leaders of a world, and their moves as arrays, computed on demand."""

import multiprocessing
import multiprocessing.pool
import signal
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

from proofs.exploration.facts import Facts, facts_of
from proofs.exploration.intern import Interned
from proofs.exploration.leader_graph import Expander, Expansion, LeaderFault
from proofs.exploration.network import Network
from proofs.exploration.normal import view
from proofs.exploration.side_by_side import first_pair, pack
from proofs.exploration.tables import Column, Ints
from proofs.exploration.world import SmallWorld
from spec.coordinator import Durable, durable_state

if TYPE_CHECKING:
    from spec.log import Log

_CHUNK = 16
"""How many leaders a worker is given at a time."""


class Leaders:
    """All leaders found so far. Those that were expanded have edges ``first`` to ``first + count``.

    ``facts`` are in the order of the numbers. ``faults``: what is wrong, by leader.
    """

    def __init__(self, world: SmallWorld, network: Network, processes: int = 1) -> None:
        """Start without leaders; several processes share the work."""
        self.world, self.network = world, network
        self.keys: Interned[bytes] = Interned()
        self.logs: Interned[Log] = Interned()
        self.facts: list[Facts] = []
        self.faults: dict[int, LeaderFault] = {}
        self.compared = 0
        self._packed: dict[int, bytes] = {}
        self._edges = {name: Column() for name in _EDGE}
        self._rows = {name: Column() for name in ("first", "count", *_FACTS)}
        self._expander = Expander(world)
        self._pool = _pool(world, processes) if processes > 1 else None

    def __enter__(self) -> Self:
        """Start the worker processes."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """End the worker processes."""
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()

    def take_over(self, log: int, durable: Durable) -> int:
        """Return the leader that initializes from a durable state over the log of that number."""
        result = first_pair(self.world, self.logs[log], durable_state(durable))
        assert result.after is not None  # noqa: S101 - nobody refuses to take over
        pair, wrong = result.after, result.wrong
        seen = view(pair.leader, self.world.names, symmetry=self.world.symmetry)
        if seen.key not in self.keys:
            self._learn(seen.key, facts_of(self.world, pair.leader), pack(pair))
        number = self.keys.number(seen.key)
        if wrong is not None:
            self.faults[number] = LeaderFault(None, wrong)
        return number

    def expand(self, numbers: Iterable[int]) -> None:
        """Make all moves of these leaders, unless that was done."""
        todo = [number for number in numbers if number in self._packed]
        for number, expansion in zip(todo, self._expanded(todo), strict=True):
            del self._packed[number]
            self._note(number, expansion)

    def edge(self, name: str) -> Ints:
        """Return a column of the edges."""
        return self._edges[name].values

    def fact(self, name: str) -> Ints:
        """Return a column of the leaders."""
        return self._rows[name].values

    def _expanded(self, numbers: list[int]) -> Iterator[Expansion]:
        packed = [self._packed[number] for number in numbers]
        if self._pool is None or len(packed) < 2 * _CHUNK:
            return map(self._expander.expand, packed)
        return self._pool.imap(_expand, packed, _CHUNK)

    def _learn(self, key: bytes, facts: Facts, packed: bytes) -> None:
        if key in self.keys:
            return
        self._packed[self.keys.number(key)] = packed
        self.facts.append(facts)
        values = _row_of(facts, self.logs.number(facts.log))
        for name, value in zip(_FACTS, values, strict=True):
            self._rows[name].extend([value])
        self._rows["first"].extend([0])
        self._rows["count"].extend([0])

    def _note(self, number: int, expansion: Expansion) -> None:
        self.compared += expansion.compared
        if expansion.fault is not None:
            self.faults[number] = expansion.fault
        for key, facts, packed in expansion.discovered:
            self._learn(key, facts, packed)
        self._rows["first"].values[number] = len(self.edge("move"))
        self._rows["count"].values[number] = len(expansion.edges)
        rows = [
            (
                edge.move,
                int(edge.kind),
                self.keys.number(edge.target),
                self.network.events.number(edge.actions),
                edge.acquired,
                edge.confirmed,
                int(edge.failed),
            )
            for edge in expansion.edges
        ]
        for name, values in zip(_EDGE, zip(*rows, strict=True), strict=False):
            self._edges[name].extend(values)


_EDGE = ("move", "kind", "target", "event", "acquired", "confirmed", "failed")
_FACTS = (
    "log", "start", "quiet", "full", "committed", "committed_mask", "available", "available_mask",
    "acknowledged", "acknowledged_mask", "delivered", "delivered_mask",
    "unfinished", "awaited", "takeable", "held", "archiving", "present", "behind", "log_end",
)  # fmt: skip


def _row_of(facts: Facts, log: int) -> tuple[int, ...]:
    return (
        log,
        facts.start,
        int(facts.quiet),
        int(facts.full),
        *facts.committed,
        *facts.available,
        *facts.acknowledged,
        *facts.delivered,
        facts.unfinished,
        facts.awaited,
        facts.takeable,
        facts.held,
        facts.archiving,
        facts.present,
        int(facts.behind),
        facts.log.end_offset,
    )


_EXPANDERS: list[Expander] = []
"""The one of this worker process."""


def _begin(world: SmallWorld) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends workers.
    _EXPANDERS.append(Expander(world))


def _expand(packed: bytes) -> Expansion:
    return _EXPANDERS[0].expand(packed)


def _pool(world: SmallWorld, processes: int) -> multiprocessing.pool.Pool:
    context = multiprocessing.get_context("forkserver")
    return context.Pool(processes, _begin, (world,))
