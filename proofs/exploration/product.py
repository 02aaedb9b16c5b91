"""Breadth-first search over a small world: leader, share coordinator, and the network between.

The three share nothing but messages, so each makes its moves once and the search goes over
numbers: a state is one whole number made of those of its parts. Level by level, all transitions
of all states of the level are looked up at once.
"""

import resource
import time
from collections.abc import Callable

import attrs
import numpy as np
import numpy.typing as npt

from proofs.exploration.durables import Coordinator
from proofs.exploration.end_to_end import PROPERTIES, ExploredProperty, judged_under
from proofs.exploration.facts import DurableFacts, durable_facts
from proofs.exploration.leaders import Leaders
from proofs.exploration.moves import MoveKind
from proofs.exploration.network import DISABLED, Network, NetworkAct
from proofs.exploration.search import Stopped
from proofs.exploration.tables import Column, Ints, Sorted, Table
from proofs.exploration.world import SmallWorld
from spec.log import Log

_CHUNK = 1 << 16
"""How many states are followed at a time, which bounds what is kept meanwhile."""

_BITS = {"leader": 24, "durable": 16, "network": 15, "confirmed": 6, "failed": 1}
_SHIFT = dict(zip(_BITS, np.cumsum([0, *_BITS.values()])[:-1].tolist(), strict=True))

FAILOVER, ARRIVE_LATE = -1, -2
"""Steps that are no edge of a leader; the slot of a late write is taken from the last."""


@attrs.frozen
class State:
    """One state of the world, by the numbers of its parts.

    ``confirmed``: the offsets of which a write that was answered with success says that they are
    terminal, as long as that matters. ``failed``: some write was answered with an error, or lost.
    """

    leader: int
    durable: int
    network: int
    confirmed: int
    failed: int


@attrs.frozen
class ProductFinding:
    """A property that does not hold, and a shortest run that shows it.

    ``steps`` are numbers of edges, or FAILOVER and so on; ``states`` has one more. Of a fault of a
    leader's move, ``move`` is that which is wrong in the last state.
    """

    name: str
    sentence: str
    steps: tuple[int, ...]
    states: tuple[State, ...]
    move: int | None = None


@attrs.frozen
class Explored:
    """The visited states; ``unfinished`` says why some were not visited, None if all were."""

    states: int
    transitions: int
    depth: int
    seconds: float
    waiting: int = 0
    unfinished: str | None = None
    violation: ProductFinding | None = None
    expected: tuple[ProductFinding, ...] = ()


_Small = npt.NDArray[np.int32]


class _FindingError(Exception):
    def __init__(self, finding: ProductFinding) -> None:
        super().__init__(finding.sentence)
        self.finding = finding


class Product:
    """The search. ``levels``: the states of each depth, ascending, with parents and steps."""

    def __init__(
        self,
        world: SmallWorld,
        leaders: Leaders,
        network: Network,
        properties: tuple[ExploredProperty, ...] = PROPERTIES,
    ) -> None:
        """Start from the world in which nothing has happened."""
        self.world, self.leaders, self.network = world, leaders, network
        self.coordinator = Coordinator(world)
        self.properties = judged_under(world.profile, properties)
        self.waited_for = list(self.properties)
        self.expected: list[ProductFinding] = []
        self.transitions = 0
        self.levels: list[tuple[Ints, _Small, _Small]] = []
        self._known = Sorted()
        self._after = Table(self._both)
        self._merged = Table(self._merge)
        self._uncovered = Table(self._forget)
        self._new_leader = Table(self._take_over)
        self._durable = {name: Column() for name in attrs.fields_dict(DurableFacts)}
        self._slots = [
            (ARRIVE_LATE - slot, network.events.number(((NetworkAct.LATE, slot),)))
            for slot in range(world.late)
        ]

    def explore(
        self,
        most_bytes: int = 4 << 30,
        most_depth: int | None = None,
        progress: Callable[[int, int], None] = lambda _states, _depth: None,
    ) -> Explored:
        """Visit every state, until one breaks a property that should hold."""
        began, unfinished, violation = time.perf_counter(), None, None
        try:
            self._begin()
            while len(self.levels[-1][0]) and len(self.levels) - 1 != most_depth:
                self._visit_level(most_bytes, progress)
        except _FindingError as error:
            violation = error.finding
        except MemoryError as error:
            unfinished = str(error)
        except (Stopped, KeyboardInterrupt):
            unfinished = "interrupted"
        levels = [level for level in self.levels if len(level[0])]
        unvisited = len(self.levels[-1][0])
        return Explored(
            sum(len(level[0]) for level in levels),
            self.transitions,
            len(levels) - 1,
            time.perf_counter() - began,
            unvisited,
            unfinished or (f"depth {most_depth}" if unvisited and violation is None else None),
            violation,
            tuple(self.expected),
        )

    def state(self, packed: int) -> State:
        """Return a state by the numbers of its parts."""
        return State(**{n: int(packed) >> _SHIFT[n] & (1 << _BITS[n]) - 1 for n in _BITS})

    def durable_fact(self, name: str) -> Ints:
        """Return a column of the durable states."""
        return self._durable[name].values

    def path(self, depth: int, index: int) -> tuple[tuple[int, ...], tuple[State, ...]]:
        """Return the steps and states of a shortest run to a state, by its place in a level."""
        steps: list[int] = []
        states: list[State] = []
        for level, parents, edges in reversed(self.levels[: depth + 1]):
            states.append(self.state(level[index]))
            steps.append(int(edges[index]))
            index = int(parents[index])
        return tuple(steps[-2::-1]), tuple(states[::-1])

    def path_to(self, leader: int) -> tuple[tuple[int, ...], tuple[State, ...]]:
        """Return the steps and states of a shortest run to a leader that was found."""
        for depth, (level, _, _) in enumerate(self.levels):
            rows = np.flatnonzero(_part(level, "leader") == leader)
            if len(rows):
                return self.path(depth, int(rows[0]))
        raise KeyError(leader)

    def _begin(self) -> None:
        log = self.leaders.logs.number(Log(0, 0))
        leader = self._take_over(log, 0)
        self._learn_durables()
        first = _packed({"leader": np.array([leader])})
        self._add_level([first], [np.array([0])], [np.array([0])])

    def _visit_level(self, most_bytes: int, progress: Callable[[int, int], None]) -> None:
        level = self.levels[-1][0]
        self.leaders.expand(np.unique(_part(level, "leader")).tolist())
        self._check_faults(level)
        discovered: list[Ints] = []
        parents: list[Ints] = []
        steps: list[Ints] = []
        for begin in range(0, len(level), _CHUNK):
            for after, parent, step in self._successors(level[begin : begin + _CHUNK], begin):
                self.transitions += len(after)
                new, where = np.unique(after, return_index=True)
                fresh = ~self._known.has(new)
                discovered.append(new[fresh])
                parents.append(parent[where[fresh]])
                steps.append(step[where[fresh]])
            progress(len(self._known) + sum(map(len, discovered)), len(self.levels))
            _check_memory(most_bytes)
        self._add_level(discovered, parents, steps)

    def _add_level(self, discovered: list[Ints], parents: list[Ints], steps: list[Ints]) -> None:
        new, where = np.unique(np.concatenate(discovered), return_index=True)
        level = (
            new,
            np.concatenate(parents)[where].astype(np.int32),
            np.concatenate(steps)[where].astype(np.int32),
        )
        self.levels.append(level)
        self._known.add(new)
        self._check_properties(new)

    def _successors(self, states: Ints, begin: int) -> list[tuple[Ints, Ints, Ints]]:
        return [*self._moves(states, begin), *self._late(states, begin), *self._fail(states, begin)]

    def _moves(self, states: Ints, begin: int) -> list[tuple[Ints, Ints, Ints]]:
        """Return the moves of leaders: states after, parents, edges."""
        leader = _part(states, "leader")
        count = self.leaders.fact("count")[leader]
        parent = np.repeat(np.arange(len(states)), count)
        offsets = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        edge = np.repeat(self.leaders.fact("first")[leader], count) + offsets
        before = {name: _part(states, name)[parent] for name in _BITS}
        is_reset = self.leaders.edge("kind")[edge] == MoveKind.RESET
        after = {
            **before,
            "leader": self.leaders.edge("target")[edge],
            "confirmed": before["confirmed"] | self.leaders.edge("confirmed")[edge],
            "failed": before["failed"] | self.leaders.edge("failed")[edge],
        }
        after["confirmed"][is_reset] = after["failed"][is_reset] = 0
        return self._sent(after, self.leaders.edge("event")[edge], parent + begin, edge)

    def _late(self, states: Ints, begin: int) -> list[tuple[Ints, Ints, Ints]]:
        """Return the arrivals of late writes."""
        arrivals = []
        waiting = np.flatnonzero(_part(states, "network"))
        for step, event in self._slots:
            after = {name: _part(states[waiting], name) for name in _BITS}
            events = np.full(len(waiting), event)
            steps = np.full(len(waiting), step)
            arrivals += self._sent(after, events, waiting + begin, steps)
        return arrivals

    def _fail(self, states: Ints, begin: int) -> list[tuple[Ints, Ints, Ints]]:
        """Return the failovers; writes on their way come from an older leader and are refused."""
        if not self.world.failovers:
            return []
        parent = np.arange(len(states))
        before = {name: _part(states, name) for name in _BITS}
        log, quiet = (self.leaders.fact(name)[before["leader"]] for name in ("log", "quiet"))
        after = {
            **before,
            "leader": self._new_leader(log, before["durable"]),
            "network": np.zeros_like(parent),
            "failed": before["failed"] | (1 - quiet),
        }
        return [(_packed(after), parent + begin, np.full(len(parent), FAILOVER))]

    def _sent(
        self, after: dict[str, Ints], events: Ints, parent: Ints, step: Ints
    ) -> list[tuple[Ints, Ints, Ints]]:
        """Return the states after events on the network, without those that cannot happen."""
        both = self._after(events, after["network"])
        possible = both != DISABLED
        after = {name: values[possible] for name, values in after.items()}
        both, parent, step = both[possible], parent[possible], step[possible]
        durable, after["durable"] = after["durable"], self._merged(both >> 32, after["durable"])
        self._check_merges(both >> 32, durable, parent, step)
        after["network"] = self._uncovered(both & 0xFFFFFFFF, after["durable"])
        self._learn_durables()
        # What the leader passed and the coordinator has can be forgotten: neither ever goes back.
        terminal = self._durable["terminal"].values[after["durable"]]
        after["confirmed"] &= ~terminal | -(1 << self.leaders.fact("start")[after["leader"]])
        return [(_packed(after), parent, step)]

    def _both(self, event: int, state: int) -> int:
        after, merge = self.network.step(event, state)
        return DISABLED if after == DISABLED else merge << 32 | after

    def _merge(self, merge: int, durable: int) -> int:
        return self.coordinator.apply(self.network.merges[merge], durable)

    def _forget(self, late: int, durable: int) -> int:
        covered = [self.coordinator.covers(durable, what) for what in self.network.states[late]]
        return self.network.without(late, covered)

    def _take_over(self, log: int, durable: int) -> int:
        return self.leaders.take_over(log, self.coordinator.states[durable])

    def _learn_durables(self) -> None:
        for number in range(len(self._durable["start"].values), len(self.coordinator.states)):
            facts = durable_facts(self.world, self.coordinator.states[number])
            for name, value in attrs.asdict(facts).items():
                self._durable[name].extend([value])

    def _check_faults(self, level: Ints) -> None:
        """Raise if a leader of the level makes a move wrongly, or the coordinator a merge."""
        leaders = _part(level, "leader")
        for number, fault in self.leaders.faults.items():
            rows = np.flatnonzero(leaders == number)
            if len(rows):
                path = self.path(len(self.levels) - 1, int(rows[0]))
                raise _FindingError(ProductFinding("step", fault.sentence, *path, fault.move))

    def _check_merges(self, merges: Ints, durable: Ints, parent: Ints, step: Ints) -> None:
        """Raise if one of these merges of the coordinator is wrong."""
        for (actions, state), sentence in self.coordinator.wrong.items():
            rows = np.flatnonzero(
                (merges == self.network.merges.number(actions)) & (durable == state)
            )
            if len(rows):
                steps, states = self.path(len(self.levels) - 1, int(parent[rows[0]]))
                raise _FindingError(
                    ProductFinding(
                        "merge", sentence, (*steps, int(step[rows[0]])), (*states, states[-1])
                    )
                )

    def _check_properties(self, level: Ints) -> None:
        seen = _Level(self, level)
        depth = len(self.levels) - 1
        for prop in tuple(self.waited_for):
            broken = np.flatnonzero(prop.broken(seen))
            if not len(broken):
                continue
            finding = ProductFinding(prop.name, prop.sentence, *self.path(depth, int(broken[0])))
            if not prop.why_not:
                raise _FindingError(finding)
            self.expected.append(finding)
            self.waited_for.remove(prop)


class _Level:
    """The states of a level, as properties see them."""

    def __init__(self, product: Product, states: Ints) -> None:
        self._product, self._states = product, states

    def leader(self, name: str) -> Ints:
        fact: Ints = self._product.leaders.fact(name)[_part(self._states, "leader")]
        return fact

    def durable(self, name: str) -> Ints:
        fact: Ints = self._product.durable_fact(name)[_part(self._states, "durable")]
        return fact

    def part(self, name: str) -> Ints:
        return _part(self._states, name)


def _part(states: Ints, name: str) -> Ints:
    part: Ints = states >> _SHIFT[name] & (1 << _BITS[name]) - 1
    return part


def _packed(parts: dict[str, Ints]) -> Ints:
    whole: Ints = np.zeros(len(parts["leader"]), np.int64)
    for name, values in parts.items():
        if np.max(values, initial=0) >> _BITS[name]:
            raise MemoryError(f"more than {1 << _BITS[name]:,} numbers for: {name}")
        whole = whole | values << _SHIFT[name]
    return whole


def _check_memory(most: int) -> None:
    """Raise MemoryError if this process has taken more memory than it may."""
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if taken > most:
        raise MemoryError(f"more than {most / 2**30:g} GiB of memory")
