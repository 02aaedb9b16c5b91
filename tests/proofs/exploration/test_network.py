"""What is late, and what the coordinator is given to merge."""

import pytest

from proofs.exploration.network import DISABLED, Action, Network, NetworkAct
from proofs.exploration.normal import Content

ONE: Content = (0, 1, ((0, 0, 2, 1),))
OTHER: Content = (0, 0, ((1, 1, 0, 1),))


def _step(late: tuple[Content, ...], *actions: Action) -> tuple[object, object]:
    network = Network(1)
    event, state = network.events.number(actions), network.states.number(late)
    after, merged = network.step(event, state)
    return (None if after == DISABLED else network.states[after]), network.merges[merged]


@pytest.mark.parametrize(
    ("late", "actions", "after", "merged"),
    [
        ((), ((NetworkAct.MERGE, ONE),), (), ((NetworkAct.MERGE, ONE),)),
        ((), ((NetworkAct.DELAY, ONE),), (ONE,), ()),
        ((ONE,), ((NetworkAct.DELAY, ONE),), (ONE,), ()),
        ((ONE,), ((NetworkAct.DELAY, OTHER),), None, ()),
        ((ONE,), ((NetworkAct.LATE, 0),), (ONE,), ((NetworkAct.MERGE, ONE),)),
        ((), ((NetworkAct.LATE, 0),), None, ()),
        ((ONE,), ((NetworkAct.RESET, 3),), (), ((NetworkAct.RESET, 3),)),
        (
            (),
            ((NetworkAct.MERGE, ONE), (NetworkAct.DELAY, OTHER)),
            (OTHER,),
            ((NetworkAct.MERGE, ONE),),
        ),
    ],
)
def test_writes_on_their_way(
    late: tuple[Content, ...],
    actions: tuple[Action, ...],
    after: object,
    merged: object,
) -> None:
    assert _step(late, *actions) == (after, merged)


def test_what_is_covered_is_forgotten() -> None:
    network = Network(2)
    both = network.states.number((OTHER, ONE))
    assert network.states[network.without(both, [True, False])] == (ONE,)
