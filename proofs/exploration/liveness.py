"""Liveness: what happens eventually, checked on the graph of all leader states.

A run that goes on for ever stays, from some point on, within a set of states that can all reach
each other. If it is fair, that set shows it: time passes in it; no write is awaited in all of it;
what a fetch can take again and again, a fetch takes in it; no lock is renewed in it; and the
leader does not stay behind the log start offset. So a property "never for ever" holds if among the
states that are bad no such set exists. Sets are found as strongly connected components; where one
lacks a fetch that it allows, the states that allow it are taken out and the rest looked at again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

import attrs
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from proofs.exploration.end_to_end import Mask
from proofs.exploration.leaders import Leaders
from proofs.exploration.moves import MoveKind
from proofs.exploration.tables import Ints

ASSUMPTIONS = {
    "time": "time passes",
    "answers": "every write is answered in the end",
    "fetching": "what can be fetched again and again is fetched in the end",
    "renewals": "locks are renewed only so many times",
    "dead-letters": "every dead letter is finished in the end",
    "notice": "a leader notices in the end that the log start offset moved",
}
"""The fairness assumptions; without any one of them a promise fails, so each is needed."""


@attrs.frozen(eq=False)
class Graph:
    """Leader states and the moves between them, resets aside: one tenure.

    ``edges`` are the numbers of ``Leaders``; ``takes``: what a fetch can take in each state, as
    masks of offsets, with the bit ``fetch`` if there is any fetch.
    """

    source: Ints
    target: Ints
    kind: Ints
    acquired: Ints
    edges: Ints
    takes: Ints
    fetch: int
    facts: dict[str, Ints]

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.takes)


@attrs.frozen
class Lasso:
    """A run that is bad for ever: a cycle of edges, from a leader back to it."""

    leader: int
    round: tuple[int, ...]


def graph_of(leaders: Leaders) -> Graph:
    """Return the graph of all leaders that were expanded."""
    count = leaders.fact("count")
    number = np.arange(len(count))
    source = np.zeros(len(leaders.edge("move")), np.int64)
    for leader, first, edges in zip(number, leaders.fact("first"), count, strict=True):
        source[first : first + edges] = leader
    kept = (leaders.edge("move") >= 0) & (leaders.edge("kind") != MoveKind.RESET)
    kind, fetch = leaders.edge("kind")[kept], 1 << leaders.world.offsets
    acquired = leaders.edge("acquired")[kept] | np.where(kind == MoveKind.FETCH, fetch, 0)
    takes = np.zeros(len(count), np.int64)
    np.bitwise_or.at(takes, source[kept], acquired)
    return Graph(
        source[kept],
        leaders.edge("target")[kept],
        kind,
        acquired,
        np.flatnonzero(kept),
        takes,
        fetch,
        {name: leaders.fact(name).copy() for name in _FACTS},
    )


_FACTS = ("unfinished", "awaited", "takeable", "start", "full", "behind", "archiving")


def available_untakeable(graph: Graph) -> Ints:
    """Return the states where a record is AVAILABLE in the window and no fetch can take it."""
    return np.flatnonzero(graph.facts["takeable"] & ~graph.takes)


def lasso_where(graph: Graph, bad: Mask, without: str = "") -> Lasso | None:
    """Return a fair run that stays in bad states for ever, or None if there is none.

    ``without`` names an assumption that is not made.
    """
    allowed = np.ones(len(graph.kind), np.bool_)
    if without != "renewals":
        allowed &= graph.kind != MoveKind.RENEW
    todo = [np.flatnonzero(bad)]
    while todo:
        nodes = np.zeros(graph.states, np.bool_)
        nodes[todo.pop()] = True
        inside = np.flatnonzero(allowed & nodes[graph.source] & nodes[graph.target])
        for component, within in _components(graph, inside):
            if _is_unfair(graph, component, within, without):
                continue
            starved = _starved(graph, component, within) if without != "fetching" else 0
            if starved:
                todo.append(component[graph.takes[component] & starved == 0])
                continue
            return _lasso(graph, component, within, without)
    return None


def _is_unfair(graph: Graph, component: Ints, within: Ints, without: str) -> bool:
    """Whether no fair run can stay in the component."""
    stuck = int(np.bitwise_and.reduce(graph.facts["awaited"][component]))
    archiving = int(np.bitwise_and.reduce(graph.facts["archiving"][component]))
    return (
        (without != "time" and not (graph.kind[within] == MoveKind.TIME).any())
        or (without != "answers" and stuck != 0)
        or (without != "dead-letters" and archiving != 0)
        or (without != "notice" and bool(graph.facts["behind"][component].all()))
    )


def _starved(graph: Graph, component: Ints, within: Ints) -> int:
    """Return a mask of what could be fetched in the component and never is."""
    able = int(np.bitwise_or.reduce(graph.takes[component]))
    done = int(np.bitwise_or.reduce(graph.acquired[within]))
    return able & ~done


def _components(graph: Graph, edges: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield the strongly connected components that contain some of these edges, and which."""
    _, label = connected_components(_matrix(graph, edges), connection="strong")
    inner = edges[label[graph.source[edges]] == label[graph.target[edges]]]
    of = label[graph.source[inner]]
    for component in np.unique(of):
        yield np.flatnonzero(label == component), inner[of == component]


def _matrix(graph: Graph, edges: Ints) -> csr_array:
    """Return the edges as a sparse matrix with a row and a column for each state."""
    ones = np.ones(len(edges), np.bool_)
    ends = (graph.source[edges], graph.target[edges])
    return csr_array((ones, ends), shape=(graph.states, graph.states))


def _lasso(graph: Graph, component: Ints, within: Ints, without: str) -> Lasso:
    """Return a cycle through the component that fairness allows."""
    first = int(component[0])
    wanted: list[set[int]] = []
    if without != "time":
        wanted.append(set(within[graph.kind[within] == MoveKind.TIME].tolist()))
    for bit in range(graph.fetch.bit_length()):
        taking = set(within[graph.acquired[within] >> bit & 1 == 1].tolist())
        if taking and without != "fetching":
            wanted.append(taking)
    state, path = first, []
    for edges in wanted:
        ends = {int(graph.source[edge]): edge for edge in edges}
        leg = _shortest_path(graph, within, state, ends)
        state = int(graph.target[leg[-1]]) if leg else state
        path += [*leg, ends[state]]
        state = int(graph.target[ends[state]])
    if state != first or not path:
        back = [edge for edge in within.tolist() if graph.source[edge] == state]
        step = [] if state != first else back[:1]
        state = int(graph.target[step[0]]) if step else state
        path += [*step, *_shortest_path(graph, within, state, {first})]
    return Lasso(first, tuple(graph.edges[path].tolist()))


def _shortest_path(graph: Graph, edges: Ints, begin: int, ends: Collection[int]) -> list[int]:
    """Return a shortest path along these edges, of one component, to one of the ends."""
    order, before = breadth_first_order(_matrix(graph, edges), begin)
    pairs = zip(graph.source[edges].tolist(), graph.target[edges].tolist(), strict=True)
    edge_of = dict(zip(pairs, edges.tolist(), strict=True))
    node = next(state for state in order.tolist() if state in ends)
    path: list[int] = []
    while node != begin:
        path.append(edge_of[int(before[node]), node])
        node = int(before[node])
    return path[::-1]


@attrs.frozen
class Promise:
    """A sentence about the end of every fair run, by the states in which none may stay for ever.

    ``bad`` gives sets of states; a run that stays in one of them breaks the promise.
    """

    name: str
    sentence: str
    number: int
    bad: Callable[[Graph], Iterable[Mask]]


def _bit(graph: Graph, fact: str, offset: int) -> Mask:
    mask: Mask = graph.facts[fact] >> offset & 1 == 1
    return mask


def _offsets(graph: Graph) -> range:
    return range(graph.fetch.bit_length() - 1)


PROMISES = (
    Promise(
        "available_is_terminal_in_the_end",
        "Every record of the log is ACKNOWLEDGED or ARCHIVED in the end.",
        14,
        lambda graph: (_bit(graph, "unfinished", offset) for offset in _offsets(graph)),
    ),
    Promise(
        "full_window_drains",
        "A window that is full does not stay full from the same start offset for ever.",
        13,
        lambda graph: (
            (graph.facts["full"] == 1)
            & (graph.facts["start"] == start)
            & _bit(graph, "unfinished", start)
            for start in _offsets(graph)
        ),
    ),
)


def unkept(graph: Graph, promise: Promise, without: str = "") -> Lasso | None:
    """Return a fair run that breaks the promise; None if there is none."""
    lassos = (lasso_where(graph, bad, without) for bad in promise.bad(graph))
    return next((lasso for lasso in lassos if lasso is not None), None)
