"""A batch of acknowledgements is malformed, or has a type for each of its offsets."""

import pytest

from conformance.cores.acknowledgements import malformed, typed
from model.operations import AcknowledgementBatch


@pytest.mark.parametrize(
    ("batch", "wrong"),
    [
        ((-1, 0, (1,)), True),
        ((3, 2, (1,)), True),
        ((0, 2, ()), True),
        ((0, 2, (1, 1)), True),
        ((0, 2, (5,)), True),
        ((0, 2, (1, 2, 3)), False),
    ],
)
def test_a_malformed_batch_has_no_type_for_any_offset(
    batch: tuple[int, int, tuple[int, ...]], *, wrong: bool
) -> None:
    given = AcknowledgementBatch(*batch)
    assert malformed(given) is wrong
    assert list(typed(given)) == ([] if wrong else [(0, 1), (1, 2), (2, 3)])
