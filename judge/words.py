"""Operations, outcomes and states of a trace in words.

Text of a file stays as it is here; ``printable`` makes it safe to show.
"""

import contextlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import attrs

from model import operations as ops
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operation_table import operation_row
from model.outcome import Outcome, Write
from model.ranges import AcquiredRange, OffsetRange, Ranged, RecordRange, StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState

MAX_RANGES = 12
"""How many ranges a line shows before it says how many more there are."""

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - the text names UTC

MAX_TEXT = 2000
"""How many characters of one text are shown."""


def printable(text: str, limit: int = MAX_TEXT) -> str:
    """Return the text with everything that is not plainly visible escaped, and not too long.

    Control characters, line ends, invisible and direction-changing characters become escapes, so
    that a file can neither move the cursor nor hide its text.
    """
    shown = text if len(text) <= limit else f"{text[:limit]}…"
    if shown.isprintable():
        return shown
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii")
        for c in shown
    )


def clock_text(ms: float, *, real: bool = True) -> str:
    """Return a time as ISO 8601 in UTC, or in ms where the clock is no ``real`` one, since 1970."""
    if real:
        with contextlib.suppress(OverflowError):
            return f"{(_EPOCH + timedelta(milliseconds=ms)).isoformat(timespec='milliseconds')}Z"
    return f"{ms:.0f} ms"


def many(number: int, noun: str, ending: str = "s") -> str:
    """Return a number of things: ``1 line``, ``2,000 lines``."""
    return f"{number:,} {noun}{'' if number == 1 else ending}"


def span(first: int, last: int) -> str:
    """Return ``7`` or ``7–9``."""
    return str(first) if first == last else f"{first}–{last}"


def ranges_text(ranges: Iterable[Ranged]) -> str:
    """Return ranges as ``7–9, 12``; ``nothing`` if there are none."""
    return _some([span(r.first, r.last) for r in ranges]) or "nothing"


def state_text(
    state: RecordState, count: int, owner: str | None = None, *, pending: bool = False
) -> str:
    """Return what is known of a record as ``ACQUIRED(1) c1``."""
    held = f" {owner}" if owner is not None else ""
    return f"{state.name}({count}){held}{' pending' if pending else ''}"


def record_text(record: RecordRange) -> str:
    """Return one range of records as ``7–9 ACQUIRED(1) c1``."""
    known = record.state, record.delivery_count, record.owner
    return f"{span(record.first, record.last)} {state_text(*known, pending=record.pending)}"


def snapshot_text(snapshot: SharePartitionSnapshot, around: int | None = None) -> str:
    """Return a window in one line; of a long one the ranges near the offset ``around``."""
    head = (
        f"start {snapshot.start_offset}, end {snapshot.end_offset}, "
        f"delivery complete count {snapshot.delivery_complete_count}"
    )
    if snapshot.records is None:
        return f"{head}; records not recorded"
    near = _near(snapshot.records, around)
    before = "…, " if len(near) < len(snapshot.records) else ""
    return f"{head}; {before}{_some([record_text(r) for r in near])}".rstrip("; ")


def write_text(write: Write) -> str:
    """Return one write to the share coordinator in one line."""
    batches = _some([batch_text(batch) for batch in write.state_batches]) or "no batches"
    count = write.delivery_complete_count if write.counted else "unknown"
    return (
        f"write {write.id}: start {write.start_offset}, delivery complete count {count}, "
        f"{batches} → {write.status.name}"
    )


def batch_text(batch: StateBatch) -> str:
    """Return one state batch as ``7–9 ACKNOWLEDGED(1)``."""
    return f"{span(batch.first, batch.last)} {state_text(batch.state, batch.delivery_count)}"


def outcome_text(outcome: Outcome) -> str:
    """Return what an operation answered and wrote in one line."""
    return "; ".join([answer_text(outcome), *map(write_text, outcome.writes)])


def answer_text(outcome: Outcome) -> str:
    """Return what an operation answered, without its writes."""
    parts = [outcome.status.name if outcome.can_acquire else "can acquire nothing"]
    if outcome.acquired:
        parts.append("acquired " + _some([_acquired_text(r) for r in outcome.acquired]))
    if outcome.acquisition is not None:
        parts.append(f"acquisition {outcome.acquisition}")
    if outcome.marked:
        parts.append(f"marks {marked_text(outcome.marked)}")
    parts.extend(f"event {c.seq} answered {c.status.name}" for c in outcome.completed)
    return "; ".join(parts)


def marked_text(answers: Sequence[ErrorCode]) -> str:
    """Return the answers to the batches of a mark in one line."""
    return _some([answer.name for answer in answers])


def durable_text(state: DurableState) -> str:
    """Return what the share coordinator holds in one line."""
    batches = _some([batch_text(batch) for batch in state.state_batches]) or "no batches"
    count = state.delivery_complete_count
    return f"start {state.start_offset}, delivery complete count {count}, {batches}"


def operation_text(operation: ops.Operation) -> str:
    """Return an operation in a few words, as the tables of the KIPs do."""
    values = attrs.asdict(operation, recurse=False)
    texts = {name: _value_text(value) for name, value in values.items()}
    return operation_row(operation).text.format(**texts)


def _value_text(value: object) -> str:
    match value:
        case tuple():
            return _some([_part_text(part) for part in value]) or "nothing"
        case DurableState():
            return durable_text(value)
        case SharePartitionConfig():
            return _config_text(value)
        case ErrorCode():
            return value.name
    return str(value)


_Part = (
    OffsetRange | ops.AcknowledgementBatch | ops.ProgressBatch | ops.LockEnd | ops.OutstandingWrite
)


def _part_text(part: _Part) -> str:
    match part:
        case ops.OutstandingWrite():
            return f"write {part.id}"
        case ops.AcknowledgementBatch():
            return _acknowledgement_text(part)
        case ops.ProgressBatch():
            return _progress_text(part)
    return span(part.first, part.last)


def _progress_text(batch: ops.ProgressBatch) -> str:
    token = f"leader epoch {batch.leader_epoch}, acquisition {batch.acquisition}"
    return f"{span(batch.first, batch.last)} ({token})"


_LIMITS = {
    "delivery_count_limit": "delivery limit {}",
    "partition_max_record_locks": "window limit {}",
    "record_lock_duration_ms": "lock {} ms",
}
"""What a reader needs of every configuration."""


def _config_text(config: SharePartitionConfig) -> str:
    """Return the limits, and every other setting that is not the default."""
    texts = []
    for field in attrs.fields(SharePartitionConfig):
        value = getattr(config, field.name)
        if field.name in _LIMITS or value != field.default:
            words = _LIMITS.get(field.name, f"{field.name} {{}}")
            texts.append(words.format(getattr(value, "value", value)))
    return ", ".join(texts)


def _acknowledgement_text(batch: ops.AcknowledgementBatch) -> str:
    names = ("gap", "accept", "release", "reject", "renew")
    types = [names[t] if 0 <= t < len(names) else str(t) for t in batch.types[:MAX_RANGES]]
    more = ", …" if len(batch.types) > MAX_RANGES else ""
    return f"{span(batch.first, batch.last)} {', '.join(types)}{more}"


def _acquired_text(acquired: AcquiredRange) -> str:
    return f"{span(acquired.first, acquired.last)} ({acquired.delivery_count})"


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - MAX_RANGES
    return ", ".join(texts[:MAX_RANGES]) + (f", and {more} more" if more > 0 else "")


def _near(records: tuple[RecordRange, ...], offset: int | None) -> tuple[RecordRange, ...]:
    if offset is None or len(records) <= MAX_RANGES:
        return records
    index = next((i for i, record in enumerate(records) if record.last >= offset), len(records))
    return records[max(0, index - MAX_RANGES // 2) :]
