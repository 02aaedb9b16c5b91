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


def told(
    *records: tuple[int, int, str, int, str | None], start: int = 0, end: int, complete: int = 0
) -> Row:
    """Return the state after an event: records (first, last, state, delivery count, member)."""
    names = ("first", "last", "state", "delivery_count", "member")
    rows = [{**dict(zip(names, row, strict=True)), "pending": False} for row in records]
    return {**after(start, end), "delivery_complete_count": complete, "records": rows}


def acquired(*parts: tuple[int, int, int]) -> Row:
    """Return the answer of a fetch that gave ranges (first, last, delivery count)."""
    rows = [{"first": f, "last": last, "delivery_count": count} for f, last, count in parts]
    return {"status": "NONE", "acquired": rows, "count": sum(p[1] - p[0] + 1 for p in parts)}


def produced(*batches: tuple[int, int]) -> Row:
    return {"op": "produce", "log_batches": spans(*batches), "log_end_offset": batches[-1][1] + 1}


def acknowledged(status: str, *batches: tuple[int, int, int]) -> Row:
    rows = [{"first": first, "last": last, "types": [type_]} for first, last, type_ in batches]
    return {"op": "acknowledge", "member": "m", "batches": rows, "result": {"status": status}}


def configured(rows: list[Row], **config: object) -> list[Row]:
    """Return the rows of a story whose leader has these settings."""
    return [{**rows[0], "config": {**rows[0]["config"], **config}}, *rows[1:]]


def wrote(
    status: str, start: int, complete: int, *batches: tuple[int, int, int, int], id_: int = 0
) -> list[Row]:
    """Return one write, with batches of (first, last, state, delivery count)."""
    names = ("first", "last", "state", "delivery_count")
    rows = [dict(zip(names, batch, strict=True)) for batch in batches]
    numbers = {"start_offset": start, "delivery_complete_count": complete}
    return [{"id": id_, **numbers, "state_batches": rows, "status": status}]


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
