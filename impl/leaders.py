"""What leaders of recorded events read, and altered settings, as arrays for compiled code."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from impl import layout as at
from impl.encode import RESETS
from impl.events import MISSING
from impl.flatten import fields_of, integers, lists_of, numbered, rows_of
from impl.replay import Leaders
from impl.rows import Ints
from impl.validity import are_state_batches
from model.config import IsolationLevel, SharePartitionConfig

_DEFAULTS = SharePartitionConfig()
_MAX_OFFSET = at.MAX - 1
_NAMES = {"isolation_level": tuple(IsolationLevel), "auto_offset_reset": tuple(RESETS)}
"""Of texts the values that are allowed, in the order of their numbers."""


def _setting(name: str, low: int, high: int = at.MAX) -> tuple[str, int, int, int]:
    return name, low, high, int(getattr(_DEFAULTS, name))


_SINGLES = (
    ("delivery_count_limit", 1, at.MAX, MISSING),
    ("partition_max_record_locks", 1, at.MAX, MISSING),
    ("record_lock_duration_ms", 0, at.MAX, MISSING),
    _setting("renew_acknowledge_enable", 0, 1),
    _setting("dead_letter_queue", 0, 1),
    _setting("in_progress_staleness_threshold_ms", 0),
    _setting("in_progress_max_lock_extension_ms", 0),
    _setting("in_progress_rebalance_grace_ms", 0),
    ("isolation_level", 0, 1, MISSING),
    ("auto_offset_reset", 0, 2, MISSING),
    ("log_start_offset", 0, _MAX_OFFSET, MISSING),
    ("log_end_offset", 0, _MAX_OFFSET, MISSING),
    ("last_stable_offset", 0, _MAX_OFFSET, at.MAX),
    ("log_known", 0, 1, 1),
    ("reset_offset", 0, _MAX_OFFSET, at.NOWHERE),
    ("time_ms", 0, at.MAX, MISSING),
    ("start_offset", -1, _MAX_OFFSET, MISSING),
    ("delivery_complete_count", -1, _MAX_OFFSET, at.UNSET),
    ("state_epoch", 0, at.MAX, 0),
    ("leader_epoch", 0, at.MAX, 0),
    ("timed", 0, 1, 0),
)
"""The single values of ``LeaderStart``: the lowest, the highest, and what null stands for, if it
may be null."""
_LOW, _HIGH, _NULL = np.array([bounds for _, *bounds in _SINGLES], np.int64).T[:, :, np.newaxis]
_SETTINGS, _LOG_START, _LOG_END, _STABLE = 10, 10, 11, 12


def leaders_of(batch: pa.RecordBatch) -> tuple[Leaders, Ints, Ints]:
    """Return the leaders of a batch, their rows, and the rows of those that cannot be read.

    Of an altered configuration only the settings are read.
    """
    named = pc.is_in(batch.column("op"), value_set=pa.array(["initialize", "alter_config"]))
    places = pc.indices_nonzero(named)
    rows = fields_of(batch.to_struct_array().take(places))
    persisted = fields_of(rows["persisted"])
    columns = {**rows, **fields_of(rows["config"]), **persisted}
    given = np.stack([_numbers(columns[name], name) for name, *_ in _SINGLES])
    fit = np.where(given == MISSING, _NULL != MISSING, (given >= _LOW) & (given <= _HIGH))
    values = np.where(given == MISSING, _NULL, given)
    fit[_LOG_END] &= values[_LOG_START] <= values[_LOG_END]
    fit[_STABLE] &= given[_STABLE] <= values[_LOG_END]
    values[_STABLE] = np.minimum(values[_STABLE], values[_LOG_END])
    batches = lists_of(persisted["state_batches"])
    read = rows_of([integers(each, MISSING) for each in fields_of(batches.items).values()])
    listed = (batches.bounds[:, 0] >= 0) & are_state_batches(read, batches.bounds.T)
    altered = numbered(columns["op"], ["alter_config"]) == 0
    fit[_SETTINGS:] |= altered
    leaders = Leaders(np.hstack([values.T, batches.bounds]), read)
    own = places.to_numpy().astype(np.int64)
    return leaders, own, own[~(fit.all(axis=0) & (listed | altered))]


def _numbers(column: pa.Array, name: str) -> Ints:
    return numbered(column, _NAMES[name]) if name in _NAMES else integers(column, MISSING)
