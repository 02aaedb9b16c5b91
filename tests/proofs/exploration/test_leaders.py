"""Leaders by number, made by one process or by several."""

import numpy as np
import pytest

from proofs.exploration.leaders import Leaders
from proofs.exploration.network import Network
from proofs.exploration.product import Product
from proofs.exploration.world import SmallWorld
from spec.coordinator import Durable
from spec.log import Log
from tests.proofs.explored import TINY, explored


def test_a_leader_has_one_number() -> None:
    leaders = Leaders(SmallWorld(), Network(1))
    log = leaders.logs.number(Log(0, 1))
    first = leaders.take_over(log, Durable())
    assert (first, leaders.take_over(log, Durable())) == (0, 0)
    assert leaders.take_over(log, Durable(1, 0)) == 1
    assert leaders.fact("start").tolist() == [0, 1]


def test_a_leader_is_expanded_once() -> None:
    leaders = Leaders(SmallWorld(), Network(1))
    leaders.take_over(leaders.logs.number(Log(0, 1)), Durable())
    leaders.expand([0])
    edges, compared = len(leaders.edge("move")), leaders.compared
    leaders.expand([0])
    assert (len(leaders.edge("move")), leaders.compared) == (edges, compared)
    assert leaders.fact("count")[0] == edges > 0


@pytest.mark.slow
def test_more_processes_find_the_same() -> None:
    _, alone = explored(SmallWorld(offsets=2, late=0), depth=6)
    network = Network(0)
    with Leaders(SmallWorld(offsets=2, late=0), network, 2) as leaders:
        together = Product(SmallWorld(offsets=2, late=0), leaders, network).explore(most_depth=6)
    assert (together.states, together.transitions) == (alone.states, alone.transitions)
    assert together.violation is None


def test_edges_lead_to_leaders() -> None:
    product, _ = explored(TINY)
    targets = product.leaders.edge("target")
    assert np.unique(targets).tolist() == list(range(len(product.leaders.keys)))
