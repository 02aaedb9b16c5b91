"""Fair runs keep the promises; each assumption of fairness is needed for one."""

from functools import cache

import attrs
import pytest

from model.profile import DRAFT_RESOLVED
from proofs.exploration.leaders import Edge, Leader
from proofs.exploration.liveness import (
    ASSUMPTIONS,
    PROMISES,
    Graph,
    Lasso,
    LivenessPromise,
    available_untakeable,
    graph_of,
    lasso_where,
    unkept,
)
from proofs.exploration.moves import MoveKind
from proofs.exploration.world import SmallWorld
from tests.proofs.exploration.test_end_to_end import FACTS
from tests.proofs.explored import explored

WORLD = SmallWorld(offsets=2, window=1, lock=2, late=0)
TERMINAL, DRAINS = PROMISES


@cache
def _graph(world: SmallWorld = WORLD) -> Graph:
    return graph_of(explored(world)[0].leaders)


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES, ids=[p.name for p in PROMISES])
def test_a_fair_run_keeps_the_promise(promise: LivenessPromise) -> None:
    assert unkept(_graph(), promise) is None


@pytest.mark.slow
@pytest.mark.parametrize("assumption", [name for name in ASSUMPTIONS if name != "dead-letters"])
def test_no_assumption_can_be_left_out(assumption: str) -> None:
    lasso = unkept(_graph(), TERMINAL, assumption)
    assert lasso is not None
    assert lasso.round
    at = lasso.leader
    for edge in lasso.round:
        assert edge in at.edges
        at = edge.target
    assert at is lasso.leader
    kinds = {edge.kind for edge in lasso.round}
    assert (MoveKind.TIME in kinds) == (assumption != "time")
    assert (MoveKind.RENEW in kinds) == (assumption == "renewals")


def test_marks_need_no_end_and_dead_letters_do() -> None:
    """Marks are bounded by themselves, renewals are not: so the promise needs nothing of them."""
    graph = _graph(SmallWorld(DRAFT_RESOLVED, offsets=1, late=0, outstanding=0, dead_letters=True))
    assert unkept(graph, TERMINAL) is None
    assert unkept(graph, TERMINAL, "dead-letters") is not None


@pytest.mark.slow
def test_a_full_window_may_stay_full_if_locks_are_renewed_for_ever() -> None:
    assert unkept(_graph(), DRAINS, "renewals") is not None


@pytest.mark.slow
def test_what_is_available_in_a_full_window_can_be_taken() -> None:
    graph = _graph()
    assert available_untakeable(graph) == []
    free = next(one for one in graph.takes if one.facts.takeable and one.facts.full)
    untaken = attrs.evolve(graph, takes={**graph.takes, free: frozenset()})
    assert available_untakeable(untaken) == [free]


def _ring(kind: MoveKind, *, takes: bool = False) -> Graph:
    """Two states that lead to each other, of which the second can fetch offset 0 and leave."""
    leaders = [Leader(bytes([number]), FACTS, None) for number in range(3)]
    ends = [(0, 1, kind, set()), (1, 0, MoveKind.OTHER, set()), (1, 2, MoveKind.FETCH, {0})]
    edges = [
        Edge(0, of, leaders[source], leaders[target], acquired=frozenset(taken))
        for source, target, of, taken in ends
    ]
    nothing, able = frozenset[int](), frozenset({0} if takes else ())
    return Graph(tuple(edges), {**dict.fromkeys(leaders, nothing), leaders[1]: able})


def _lasso(graph: Graph, without: str = "") -> Lasso | None:
    return lasso_where(graph, set(graph.takes), without)


def test_what_can_be_fetched_again_and_again_is() -> None:
    assert _lasso(_ring(MoveKind.TIME)) is not None
    assert _lasso(_ring(MoveKind.TIME, takes=True)) is None
    assert _lasso(_ring(MoveKind.TIME, takes=True), "fetching") is not None
    assert _lasso(_ring(MoveKind.OTHER)) is None
