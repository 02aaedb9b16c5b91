"""What a belief says of the records that a member holds."""

from conformance.wire.served import held_by
from tests.conformance.wire.worlds import acknowledge, answer, fetch, judge


def test_the_holder_of_a_record_is_read_from_a_belief() -> None:
    judging = judge(3)
    assert judging.exchange(fetch("a", 0), "a", answer((0, 1, 1))) is None
    assert [offset for _key, offset in held_by(judging.beliefs[0], "a")] == [0, 1]
    assert list(held_by(judging.beliefs[0], "b")) == []
    assert judging.exchange(acknowledge("a", 1, (0, 0, 1)), "a", answer(at=5.0)) is None
    assert [offset for _key, offset in held_by(judging.beliefs[0], "a")] == [1]
