"""Fair runs keep the promises; each assumption of fairness is needed for one."""

from functools import cache

import numpy as np
import pytest

from model.profile import DRAFT_RESOLVED
from proofs.exploration.liveness import (
    ASSUMPTIONS,
    PROMISES,
    Graph,
    Promise,
    available_untakeable,
    graph_of,
    lasso_where,
    unkept,
)
from proofs.exploration.moves import MoveKind
from proofs.exploration.product import Product
from proofs.exploration.world import SmallWorld
from tests.proofs.explored import explored

WORLD = SmallWorld(offsets=2, window=1, lock=2, late=0)
TERMINAL, DRAINS = PROMISES


@cache
def _explored() -> tuple[Product, Graph]:
    product, _ = explored(WORLD)
    return product, graph_of(product.leaders)


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES, ids=[p.name for p in PROMISES])
def test_a_fair_run_keeps_the_promise(promise: Promise) -> None:
    assert unkept(_explored()[1], promise) is None


@pytest.mark.slow
@pytest.mark.parametrize("assumption", [name for name in ASSUMPTIONS if name != "dead-letters"])
def test_no_assumption_can_be_left_out(assumption: str) -> None:
    product, graph = _explored()
    lasso = unkept(graph, TERMINAL, assumption)
    assert lasso is not None
    assert lasso.round
    edge = product.leaders.edge
    at = lasso.leader
    for step in lasso.round:
        first = product.leaders.fact("first")[at]
        assert first <= step < first + product.leaders.fact("count")[at]
        at = int(edge("target")[step])
    assert at == lasso.leader
    kinds = {MoveKind(kind) for kind in edge("kind")[list(lasso.round)].tolist()}
    assert (MoveKind.TIME in kinds) == (assumption != "time")
    assert (MoveKind.RENEW in kinds) == (assumption == "renewals")


def test_marks_need_no_end_and_dead_letters_do() -> None:
    """Marks are bounded by themselves, renewals are not: so the promise needs nothing of them."""
    product, _ = explored(
        SmallWorld(profile=DRAFT_RESOLVED, offsets=1, late=0, outstanding=0, dead_letters=True)
    )
    graph = graph_of(product.leaders)
    assert unkept(graph, TERMINAL) is None
    assert unkept(graph, TERMINAL, "dead-letters") is not None


@pytest.mark.slow
def test_a_full_window_may_stay_full_if_locks_are_renewed_for_ever() -> None:
    assert unkept(_explored()[1], DRAINS, "renewals") is not None


@pytest.mark.slow
def test_what_is_available_in_a_full_window_can_be_taken() -> None:
    product, graph = _explored()
    assert len(available_untakeable(graph)) == 0
    free = np.flatnonzero(graph.facts["takeable"] & -(graph.facts["full"] == 1).astype(np.int64))
    assert len(free)
    graph.takes[free[0]] = 0
    assert available_untakeable(graph).tolist() == [free[0]]
    graph.takes[free[0]] = graph_of(product.leaders).takes[free[0]]


FACTS = ("unfinished", "awaited", "takeable", "start", "full", "behind", "archiving")


def _ring(kind: MoveKind, takes: int = 0) -> Graph:
    """Two states that lead to each other, of which the second can fetch offset 0 and leave."""
    none = np.zeros(3, np.int64)
    return Graph(
        source=np.array([0, 1, 1]),
        target=np.array([1, 0, 2]),
        kind=np.array([kind, MoveKind.OTHER, MoveKind.FETCH]),
        acquired=np.array([0, 0, 1]),
        edges=np.arange(3),
        takes=np.array([0, takes, 0]),
        fetch=2,
        facts=dict.fromkeys(FACTS, none),
    )


def test_what_can_be_fetched_again_and_again_is() -> None:
    everywhere = np.ones(3, np.bool_)
    assert lasso_where(_ring(MoveKind.TIME), everywhere) is not None
    assert lasso_where(_ring(MoveKind.TIME, takes=1), everywhere) is None
    assert lasso_where(_ring(MoveKind.TIME, takes=1), everywhere, "fetching") is not None
    assert lasso_where(_ring(MoveKind.OTHER), everywhere) is None
