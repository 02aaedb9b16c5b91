"""Rows of a trace, written by hand."""

import copy
from typing import Any

Row = dict[str, Any]


def spans(*pairs: tuple[int, int]) -> list[dict[str, int]]:
    return [{"first": first, "last": last} for first, last in pairs]


def after(start: int, end: int) -> Row:
    return {"start_offset": start, "end_offset": end, "delivery_complete_count": 0, "records": None}


def fetched(*pairs: tuple[int, int]) -> Row:
    return {
        "op": "acquire",
        "member": "m",
        "acquire_mode": "batch_optimized",
        "batch_size": 500,
        "max_fetch_records": 500,
        "fetch_offset": pairs[0][0],
        "log_batches": spans(*pairs),
    }


def story(*events: Row) -> list[Row]:
    """Return the rows of an initialization, with a window of 7 records, and of events."""
    config = {
        "delivery_count_limit": 5,
        "partition_max_record_locks": 7,
        "record_lock_duration_ms": 1000,
        "auto_offset_reset": "latest",
        "isolation_level": "read_uncommitted",
    }
    first = {
        "op": "initialize",
        "config": config,
        "log_start_offset": 0,
        "log_end_offset": 0,
        "persisted": {"start_offset": 0, "delivery_complete_count": 0, "state_batches": []},
    }
    usual = {
        "partition": "g:t:0",
        "time_ms": 0,
        "result": {"status": "NONE"},
        "writes": [],
        "completed": [],
        "after": after(0, 0),
    }
    return [
        {**copy.deepcopy(usual), **copy.deepcopy(event), "seq": seq}
        for seq, event in enumerate((first, *events))
    ]
