"""What an operation leaves of any share-partition, and what it writes."""

from collections.abc import Iterable
from typing import Any

import attrs

from model.outcome import Write
from model.ranges import StateBatch
from proofs.theorems.any_partition import ANOTHERS, AnyPartition
from proofs.theorems.lifting import is_term
from proofs.theorems.records import is_complete
from proofs.theorems.symbolic import conjunction, is_between, is_same
from spec.logic import Term, either, negate
from spec.partition import SharePartition
from spec.record import Record


def kept(before: SharePartition, after: SharePartition, *changing: str) -> Term:
    """Whether each field of a share-partition is as before, but those named."""
    names = (field.name for field in attrs.fields(SharePartition) if field.name not in changing)
    pairs = ((getattr(before, name), getattr(after, name)) for name in names)
    return conjunction(*(old is new or (_is_number(old, new) and old == new) for old, new in pairs))


def _is_number(*values: Term) -> bool:
    return all(is_term(value) or isinstance(value, int) for value in values)


def changes_to(  # noqa: PLR0913 - what of a window may change, each by its name
    s: Any,  # noqa: ANN401 - a situation of two offsets
    before: SharePartition,
    after: SharePartition,
    records: Iterable[Record | None],
    *changing: str,
    start: Term = None,
    end: Term = None,
) -> Term:
    """Whether the two offsets hold these records, no other one does, and the rest is as before.

    ``changing`` are the fields that may change besides the window. None: an end stays.
    """
    now = after.window
    return conjunction(
        *map(is_same, map(now.records.get, (s.offset, s.other)), records),
        negate(s.elsewhere in now.records),
        now.start_offset == (s.start if start is None else start),
        now.end_offset == (s.end if end is None else end),
        kept(before, after, "window", *changing),
    )


def others_wait(s: AnyPartition, after: SharePartition) -> bool:
    """Whether the write that was outstanding still is."""
    return after.outstanding.get(s.waiting) is ANOTHERS


def reported(write: Write, offset: Term) -> StateBatch | None:
    """Return the batch of a write that holds the offset."""
    held = (b for b in write.state_batches if is_between(b.first, offset, b.last))
    return next(held, None)


def reports(write: Write, offset: Term, record: Record | None) -> Term:
    """Whether the write reports this record at the offset; None: nothing."""
    batch = reported(write, offset)
    if batch is None or record is None:
        return batch is None and record is None
    return conjunction(batch.state == record.state, batch.delivery_count == record.delivery_count)


def completes(*records: Record) -> Term:
    """Return how many of the records are complete."""
    total: Term = 0
    for record in records:
        total = total + either(is_complete(record), 1, 0)
    return total
