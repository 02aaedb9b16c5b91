import attrs
import pytest

from impl import layout
from model.config import SharePartitionConfig
from model.states import RecordState
from model.trace_arrow import SCHEMA

NAMES = {*SCHEMA.names, "operation", "row", *(f.name for f in attrs.fields(SharePartitionConfig))}


@pytest.mark.parametrize("reason", [r for r in layout.VERDICTS if isinstance(r, layout.Invalid)])
def test_a_value_is_refused_under_the_name_that_the_model_has_for_it(
    reason: layout.Invalid,
) -> None:
    assert reason.name.split(".")[0] in NAMES
    assert reason.allowed.startswith(("a", "batches", "offsets", "one more", "the clock"))


def test_the_header_ends_with_a_count_of_each_state() -> None:
    states = len(RecordState)
    assert states == layout.STATES
    assert layout.COUNTS + states == layout.HEADER_SIZE
