import attrs

from model.errors import ErrorCode
from model.operations import MemberLeaves
from model.outcome import Answer
from model.states import RecordState
from proofs.theorems.durable_situation import StateWrites, first_write, second_write
from tests.spec.worlds import fetch, run, started


def reached() -> list[StateWrites]:
    partition = run(started(end=2), fetch("a", (0, 1)))
    waiting = run(partition, MemberLeaves("a"), answer=Answer(ErrorCode.PENDING))
    return [s for s in StateWrites.reached(waiting) if s.one_state == s.two_state]


def test_situations_are_those_of_the_writes_that_wait() -> None:
    found = reached()
    assert found
    assert {one.one_state for one in found} == {RecordState.AVAILABLE}
    assert {one.one_count for one in found} == {1}


def test_a_write_carries_what_the_situation_says() -> None:
    situation = attrs.evolve(reached()[0], two_first=1, two_last=1, two_start=0, two_complete=3)
    one, two = first_write(situation), second_write(situation)
    assert (one.start_offset, one.state_batches[0].first) == (
        situation.one_start,
        situation.one_first,
    )
    assert (two.start_offset, two.delivery_complete_count) == (0, 3)
