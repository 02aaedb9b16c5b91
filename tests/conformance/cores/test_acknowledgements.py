"""How a batch of acknowledgements is malformed, and which records it names."""

import pytest

from conformance.cores.acknowledgements import malformed, named, typed
from model.operations import AcknowledgementBatch
from spec.record import UNDELIVERED
from spec.window import Window, replace


@pytest.mark.parametrize(
    ("batch", "wrong"),
    [
        ((-1, 0, (1,)), "a negative offset"),
        ((3, 2, (1,)), "its range ends before it begins"),
        ((0, 2, ()), "no types"),
        ((0, 2, (1, 1)), "too few or too many types"),
        ((0, 2, (5,)), "a type that does not exist"),
        ((0, 2, (1, 2, 3)), ""),
    ],
)
def test_a_malformed_batch_has_no_type_for_any_offset(
    batch: tuple[int, int, tuple[int, ...]], wrong: str
) -> None:
    given = AcknowledgementBatch(*batch)
    assert (malformed(given) or "") == wrong
    assert list(typed(given)) == ([] if wrong else [(0, 1), (1, 2), (2, 3)])


def test_a_batch_names_the_records_of_the_window_that_are_in_flight() -> None:
    window = replace(Window(2, 6), {2: UNDELIVERED, 4: UNDELIVERED})
    across, past = named(
        window, (AcknowledgementBatch(0, 4, (1,)), AcknowledgementBatch(5, 9, (1,))), "m"
    )
    assert (across.offsets, len(across.records)) == (range(2, 5), 2)
    assert (across.below, across.across, across.past) == (False, True, False)
    assert (past.below, past.across, past.past) == (False, False, True)
    (below,) = named(window, (AcknowledgementBatch(0, 1, (1, 2)),), "m")
    assert (below.below, below.typed_each, below.records) == (True, False, ())


def test_a_request_with_a_malformed_batch_names_nothing() -> None:
    batches = AcknowledgementBatch(0, 0, (1,)), AcknowledgementBatch(1, 1, ())
    assert list(named(Window(0, 2), batches, "m")) == []
