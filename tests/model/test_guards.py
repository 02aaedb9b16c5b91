import pytest

from model.guards import Difference, Guard

BOTH = pytest.mark.parametrize("kind", [Guard, Difference])


@BOTH
def test_each_member_has_a_sentence_of_its_own(kind: type[Guard] | type[Difference]) -> None:
    assert len(kind.__members__) == len(list(kind))
    for member in kind:
        assert len(member.value.split()) >= 4
        assert not member.value.endswith(".")


def test_there_is_a_difference_for_each_thing_that_a_trace_records() -> None:
    assert {d.name for d in Difference} == {
        "STATUS",
        "ACQUIRED",
        "ACQUISITION",
        "MARKED",
        "WRITTEN_STATE",
        "WRITTEN_START_OFFSET",
        "WRITTEN_DELIVERY_COMPLETE_COUNT",
        "COMPLETED",
        "PERSISTED",
        "START_OFFSET",
        "END_OFFSET",
        "DELIVERY_COMPLETE_COUNT",
        "RECORDS",
    }
