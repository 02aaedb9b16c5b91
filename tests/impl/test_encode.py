import pytest

from impl import layout as at
from impl.encode import acknowledgement_of, answers_of, mark_of, or_unset
from model.errors import InvalidValueError
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    EntryPoint,
    MarkInProgress,
    ProgressBatch,
)
from model.outcome import Answer


def test_an_impossible_start_is_not_mistaken_for_none() -> None:
    assert [or_unset(o) for o in (None, -2, -1, 3, 2**80)] == [at.UNSET, -1, -1, 3, 2**63 - 1]


def test_an_acknowledgement_keeps_malformed_values_in_64_bits() -> None:
    batches = (
        AcknowledgementBatch(-7, 2**80, (-1, 0, 4, 5, 2**80)),
        AcknowledgementBatch(3, 2, ()),
    )
    found = acknowledgement_of(Acknowledge("a", batches, EntryPoint.REQUEST), 7)
    assert (found.member, found.is_request) == (7, 1)
    assert found.batches.tolist() == [[-1, 2**63 - 1, 0, 5], [3, 2, 5, 5]]
    assert found.types.tolist() == [5, 0, 4, 5, 5]


def test_a_mark_keeps_malformed_values() -> None:
    found = mark_of(MarkInProgress("a", (ProgressBatch(5, -4, 3, -2),)), 7)
    assert (found.member, found.batches.tolist()) == (7, [[5, -4, 3, -2]])
    assert mark_of(MarkInProgress("a", ()), 0).batches.shape == (0, 4)


def test_an_answer_has_an_id_that_a_write_may_have() -> None:
    with pytest.raises(InvalidValueError, match="id is -1"):
        answers_of((Answer(id=-1),))
