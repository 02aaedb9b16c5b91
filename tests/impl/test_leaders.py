import pyarrow as pa
import pytest

from impl.encode import leader_of
from impl.leaders import leaders_of
from model.operations import Initialize
from model.trace_arrow import table_from_rows
from model.trace_codec import operation_from_row
from tests.impl.by_hand import Row, story

BATCH = {"first": 3, "last": 5, "state": 2, "delivery_count": 1}
CHANGES: list[Row] = [
    {},
    {"log_start_offset": 2, "log_end_offset": 9, "last_stable_offset": 4},
    {"reset_offset": 3, "time_ms": 8, "timed": True, "log_known": False},
    {"config": {"auto_offset_reset": "by_duration", "isolation_level": "read_committed"}},
    {"config": {"auto_offset_reset": "earliest", "renew_acknowledge_enable": False}},
    {"config": {"dead_letter_queue": True, "in_progress_staleness_threshold_ms": 7}},
    {"config": {"in_progress_max_lock_extension_ms": 8, "in_progress_rebalance_grace_ms": 9}},
    {"persisted": {"start_offset": -1, "delivery_complete_count": None}},
    {"persisted": {"delivery_complete_count": -1, "state_epoch": 5, "leader_epoch": 6}},
    {"persisted": {"state_batches": [{**BATCH, "first": 7, "last": 8}, BATCH]}},
]


def _changed(change: Row) -> Row:
    (row,) = story()
    for name, value in change.items():
        row[name] = {**row[name], **value} if isinstance(value, dict) else value
    return row


def _batch(rows: list[Row]) -> pa.RecordBatch:
    (batch,) = table_from_rows(rows).to_batches()
    return batch


def test_the_columns_of_leaders_are_what_the_model_reads() -> None:
    rows = [_changed(change) for change in CHANGES]
    leaders, places, unreadable = leaders_of(_batch(rows))
    assert (places.tolist(), unreadable.tolist()) == (list(range(len(rows))), [])
    for row, (*values, low, high) in zip(rows, leaders.values.tolist(), strict=True):
        operation = operation_from_row(row)
        assert isinstance(operation, Initialize)
        settings, *single, batches = leader_of(operation)
        assert values == [*settings, *single], row
        assert leaders.batches[low:high].tolist() == batches.tolist(), row


def test_of_altered_settings_nothing_else_is_read() -> None:
    altered = {**_changed({}), "op": "alter_config", "persisted": None, "log_start_offset": None}
    other = {**altered, "op": "produce", "config": None}
    wrong = {**altered, "config": {**altered["config"], "delivery_count_limit": 0}}
    leaders, places, unreadable = leaders_of(_batch([other, altered, wrong]))
    assert (places.tolist(), unreadable.tolist()) == ([1, 2], [2])
    operation = operation_from_row(_changed({}))
    assert isinstance(operation, Initialize)
    assert tuple(leaders.values[0, :10].tolist()) == leader_of(operation).settings


@pytest.mark.parametrize(
    ("change", "valid"),
    [
        ({"log_start_offset": 4, "log_end_offset": 4}, True),
        ({"log_start_offset": 5, "log_end_offset": 4}, False),
        ({"log_end_offset": 4, "last_stable_offset": 4}, True),
        ({"log_end_offset": 4, "last_stable_offset": 5}, False),
    ],
)
def test_a_log_ends_neither_before_its_start_nor_its_stable_offset(
    change: Row, *, valid: bool
) -> None:
    _, _, unreadable = leaders_of(_batch([_changed(change)]))
    assert unreadable.tolist() == ([] if valid else [0])
