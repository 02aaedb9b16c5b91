"""What the kit asks is made of plain values, so that it can be compared, stored and shrunk."""

from typing import get_args

from conformance.cores import asks


def test_every_ask_is_a_value() -> None:
    kinds = get_args(asks.Ask)
    assert {kind.__name__ for kind in kinds} == set(asks.__all__) - {"Ask"}
    assert asks.Produce(((0, 2),)) == asks.Produce(((0, 2),))
    assert len({asks.MemberLeaves("m1"), asks.MemberLeaves("m1"), asks.MemberLeaves("m2")}) == 2
