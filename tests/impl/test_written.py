"""Beside ``tests/judge/test_written.py``, which plays every form to the kernel as well."""

import pytest

from impl.kernel import replay_partition
from model.guards import Difference
from model.profile import KIP
from model.trace_arrow import table_from_rows
from model.trace_codec import row_from_event
from tests.judge.test_written import ACKNOWLEDGED_TEN, accepts, wrote


@pytest.mark.parametrize(
    ("batches", "offset"),
    [
        ([[0, 4, 2, 1], [6, 9, 2, 1]], 5),
        ([[0, 4, 2, 1], [5, 5, 4, 1], [6, 9, 2, 1]], 5),
        ([ACKNOWLEDGED_TEN, [12, 13, 2, 1]], 12),
        ([ACKNOWLEDGED_TEN, [30, 30, 2, 1]], 30),
    ],
)
def test_the_first_offset_of_which_a_write_is_not_true_is_told(
    batches: list[list[int]], offset: int
) -> None:
    rows = [row_from_event(event) for event in accepts(wrote(0, 10, *batches)).events]
    divergence = replay_partition(table_from_rows(rows), KIP).divergence
    assert divergence is not None
    assert (divergence.kind, divergence.offset) == (Difference.WRITTEN_STATE, offset)
