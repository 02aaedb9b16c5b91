"""Liveness: what happens eventually, checked on the graph of all leader states.

A run that goes on for ever stays, from some point on, within a set of states that can all reach
each other. If it is fair, that set shows it: time passes in it; no write is awaited in all of it;
what a fetch can take again and again, a fetch takes in it; no lock is renewed in it; and the
leader does not stay behind the log start offset. So a property "never for ever" holds if among the
states that are bad no such set exists. Sets are found as strongly connected components; where one
lacks a fetch that it allows, the states that allow it are taken out and the rest looked at again.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator

import attrs
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from proofs.exploration.leaders import ARRIVAL, Edge, Leader, LeaderFacts, LeaderIndex, Offsets
from proofs.exploration.moves import MoveKind
from proofs.exploration.search import search

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
    """Leaders and the moves between them, resets aside: one tenure.

    ``takes``: what a fetch can take in each state.
    """

    edges: tuple[Edge, ...]
    takes: dict[Leader, Offsets]


@attrs.frozen
class Lasso:
    """A run that is bad for ever: a cycle of moves, from a leader back to it."""

    leader: Leader
    round: tuple[Edge, ...]


@attrs.frozen
class LivenessPromise:
    """A sentence about the end of every fair run, by the states in which none may stay for ever.

    ``bad``: whether a state of these facts is one of those, for a record of the log. A run that
    stays in one such set breaks the promise.
    """

    name: str
    sentence: str
    number: int
    bad: Callable[[LeaderFacts, int], bool]


PROMISES = (
    LivenessPromise(
        "available_is_terminal_in_the_end",
        "Every record of the log is ACKNOWLEDGED or ARCHIVED in the end.",
        14,
        lambda facts, offset: offset in facts.unfinished,
    ),
    LivenessPromise(
        "full_window_drains",
        "A window that is full does not stay full from the same start offset for ever.",
        13,
        lambda facts, start: facts.full and facts.start == start and start in facts.unfinished,
    ),
)


def graph_of(leaders: LeaderIndex) -> Graph:
    """Return the graph of all leaders that were found."""
    takes: dict[Leader, Offsets] = dict.fromkeys(leaders.found.values(), frozenset())
    edges = tuple(
        edge
        for leader in leaders.found.values()
        for edge in leaders.edges(leader)
        if edge.move != ARRIVAL and edge.kind is not MoveKind.RESET
    )
    for edge in edges:
        takes[edge.source] |= edge.takes
    return Graph(edges, takes)


def available_untakeable(graph: Graph) -> list[Leader]:
    """Return the leaders where a record is AVAILABLE in the window and no fetch can take it."""
    return [leader for leader, takes in graph.takes.items() if not leader.facts.takeable <= takes]


def unkept(graph: Graph, promise: LivenessPromise, without: str = "") -> Lasso | None:
    """Return a fair run that breaks the promise; None if there is none.

    ``without`` names an assumption that is not made.
    """
    offsets = {offset for leader in graph.takes for offset in leader.facts.unfinished}
    for offset in sorted(offsets):
        bad = {leader for leader in graph.takes if promise.bad(leader.facts, offset)}
        if lasso := lasso_where(graph, bad, without):
            return lasso
    return None


def lasso_where(graph: Graph, bad: set[Leader], without: str = "") -> Lasso | None:
    """Return a fair run that stays in bad states for ever, or None if there is none."""
    todo = [bad]
    while todo:
        nodes = todo.pop()
        inside = [
            edge
            for edge in graph.edges
            if edge.source in nodes
            and edge.target in nodes
            and (without == "renewals" or edge.kind is not MoveKind.RENEW)
        ]
        for within in _components(inside):
            component = {edge.source for edge in within}
            if _is_unfair(component, within, without):
                continue
            able = frozenset[int]().union(*(graph.takes[leader] for leader in component))
            starved = able.difference(*(edge.takes for edge in within))
            if starved and without != "fetching":
                todo.append({node for node in component if starved.isdisjoint(graph.takes[node])})
                continue
            return _lasso(within, without)
    return None


def _is_unfair(component: set[Leader], within: list[Edge], without: str) -> bool:
    """Whether no fair run can stay in the component."""
    stuck = frozenset.intersection(*(leader.facts.awaited for leader in component))
    archiving = frozenset.intersection(*(leader.facts.archiving for leader in component))
    return (
        (without != "time" and all(edge.kind is not MoveKind.TIME for edge in within))
        or (without != "answers" and bool(stuck))
        or (without != "dead-letters" and bool(archiving))
        or (without != "notice" and all(leader.facts.behind for leader in component))
    )


def _components(steps: list[Edge]) -> Iterator[list[Edge]]:
    """Yield the strongly connected components that contain some of these steps, by their steps."""
    numbers: dict[Leader, int] = {}
    ends = [
        [numbers.setdefault(end, len(numbers)) for end in (edge.source, edge.target)]
        for edge in steps
    ]
    if not ends:
        return
    source, target = np.array(ends).T
    matrix = csr_array((np.ones(len(ends)), (source, target)), shape=(len(numbers),) * 2)
    _, label = connected_components(matrix, connection="strong")
    inner: defaultdict[int, list[Edge]] = defaultdict(list)
    for edge, begin, end in zip(steps, label[source], label[target], strict=True):
        if begin == end:
            inner[int(begin)].append(edge)
    yield from inner.values()


def _lasso(within: list[Edge], without: str) -> Lasso:
    """Return a cycle through the component that fairness allows."""
    first = within[0].source
    wanted = [] if without == "time" else [[s for s in within if s.kind is MoveKind.TIME]]
    if without != "fetching":
        taken = sorted(frozenset[int]().union(*(edge.takes for edge in within)))
        wanted += [[edge for edge in within if offset in edge.takes] for offset in taken]
    leader, round_ = first, list[Edge]()
    for steps in wanted:
        way = _shortest_path(within, leader, {edge.source for edge in steps})
        leader = way[-1].target if way else leader
        edge = next(edge for edge in steps if edge.source is leader)
        round_ += [*way, edge]
        leader = edge.target
    if not round_:
        round_, leader = [within[0]], within[0].target
    back = _shortest_path(within, leader, {first})
    return Lasso(first, (*round_, *back))


def _shortest_path(steps: Iterable[Edge], begin: Leader, ends: Collection[Leader]) -> list[Edge]:
    """Return a shortest path along these steps, of one component, to one of the ends."""
    after: defaultdict[Leader, list[tuple[Edge, Leader]]] = defaultdict(list)
    for edge in steps:
        after[edge.source].append((edge, edge.target))
    arrived = search([begin], after.__getitem__, lambda one: "there" if one in ends else None)
    return list(arrived.violation.labels) if arrived.violation is not None else []
