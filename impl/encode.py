"""Convert the model's values to the numbers and rows that compiled code takes."""

from collections.abc import Iterable

import numpy as np

from impl import layout as at
from impl.acknowledge import AcknowledgedRuns
from impl.acquire import Taken
from impl.expiry import Expiries
from impl.leadership import LeaderSettings, LeaderStart
from impl.policy import MemberFetch
from impl.progress import Mark
from impl.reading import Noticed
from impl.rows import Ints
from model.checks import MAX_INT64, whole
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.operations import Acknowledge, Acquire, EntryPoint, Initialize, MarkInProgress, Produce
from model.outcome import Answer, Choice
from model.ranges import OffsetRange, StateBatch
from model.states import AcknowledgeType, AcquireMode

MODES = {AcquireMode.BATCH_OPTIMIZED: at.BATCH_OPTIMIZED, AcquireMode.RECORD_LIMIT: at.RECORD_LIMIT}
RESETS = {
    AutoOffsetReset.EARLIEST: at.EARLIEST,
    AutoOffsetReset.LATEST: at.LATEST,
    AutoOffsetReset.BY_DURATION: at.BY_DURATION,
}
STATUS_NUMBERS = {status: number for number, status in enumerate(at.STATUSES)}
_UNKNOWN_TYPE = len(AcknowledgeType)


class Members:
    """Numbers for member ids, in the order in which they are first seen."""

    def __init__(self) -> None:
        """Start with no member."""
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        """Return the number of a member, a new one if it was not seen before."""
        number = self._numbers.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number

    def name(self, number: int) -> str | None:
        """Return the member of that number; None for nobody."""
        return None if number == at.NOBODY else self.names[number]


def _array(rows: Iterable[tuple[int, ...]], columns: int) -> Ints:
    return np.array(list(rows), np.int64).reshape(-1, columns)


def range_rows(ranges: Iterable[OffsetRange]) -> Ints:
    """Return ranges as rows (first, last), ascending by their first offset."""
    return _array(sorted((r.first, r.last) for r in ranges), 2)


def _clipped(offset: int) -> int:
    """Return an offset; one that no window can have becomes -1 or the largest number."""
    return max(-1, min(offset, MAX_INT64))


def or_unset(offset: int | None) -> int:
    """Return a chosen offset, clipped so that it is not mistaken for UNSET; UNSET for None."""
    return at.UNSET if offset is None else _clipped(offset)


def fetch_of(operation: Acquire, member: int) -> MemberFetch:
    """Return what compiled code takes for an Acquire."""
    return MemberFetch(
        member,
        MODES[operation.acquire_mode],
        operation.max_fetch_records,
        operation.fetch_offset,
        range_rows(operation.log_batches),
    )


def taken_of(choice: Choice) -> Taken:
    """Return what compiled code takes for the choice in an Acquire."""
    return Taken(
        int(choice.acquired is not None),
        range_rows(choice.acquired or ()),
        int(choice.entered is not None),
        range_rows(choice.entered or ()),
        or_unset(choice.end_offset),
        or_unset(choice.start_offset),
        noticed_of(choice),
    )


def noticed_of(choice: Choice) -> Noticed:
    """Return what compiled code takes for the records that an operation archives as chosen."""
    archived = ((r.first, r.last, r.delivery_count) for r in choice.archived or ())
    rows = _array(((*r[:2], at.ARCHIVED, r[2], at.NOBODY, 0) for r in archived), 6)
    return Noticed(int(choice.archived is not None), rows)


def acknowledgement_of(operation: Acknowledge, member: int) -> AcknowledgedRuns:
    """Return what compiled code takes for an Acknowledge, whose batches may be malformed."""
    batches: list[tuple[int, ...]] = []
    types: list[int] = []
    for batch in operation.batches:
        begin = len(types)
        types += (t if 0 <= t < _UNKNOWN_TYPE else _UNKNOWN_TYPE for t in batch.types)
        batches.append((_clipped(batch.first), _clipped(batch.last), begin, len(types)))
    return AcknowledgedRuns(
        member,
        int(operation.entry is EntryPoint.REQUEST),
        _array(batches, 4),
        np.array(types, np.int64),
    )


def mark_of(operation: MarkInProgress, member: int) -> Mark:
    """Return what compiled code takes for a MarkInProgress, whose batches may be malformed."""
    rows = ((b.first, b.last, b.leader_epoch, b.acquisition) for b in operation.batches)
    return Mark(member, _array(rows, 4))


def batch_rows(batches: Iterable[StateBatch]) -> Ints:
    """Return state batches as rows (first, last, state, delivery count)."""
    return _array(((b.first, b.last, b.state, b.delivery_count) for b in batches), 4)


def answers_of(answers: tuple[Answer, ...]) -> Ints:
    """Return the answers to writes as rows of the columns of ``impl.layout``.

    What was seen of the writes is in the rows of ``written_of``.
    """
    ends = np.cumsum([0, *(len(a.written.state_batches) if a.written else 0 for a in answers)])
    return _array(
        (
            (
                at.NOBODY if a.id is None else whole("id", a.id, 0),
                STATUS_NUMBERS[a.status],
                at.NO_CALL if a.made_after is None else whole("made_after", a.made_after, 0),
                at.UNSAID if a.written is None else a.written.start_offset,
                a.written.delivery_complete_count if a.written and a.written.counted else at.UNSAID,
                *bounds,
                a.keeps_back,
            )
            for a, *bounds in zip(answers, ends[:-1], ends[1:], strict=True)
        ),
        at.ANSWER_COLUMNS,
    )


def written_of(answers: tuple[Answer, ...]) -> Ints:
    """Return the state batches of the writes that were seen, one after another."""
    return batch_rows(b for a in answers if a.written for b in a.written.state_batches)


def expiries_of(choice: Choice) -> Expiries:
    """Return what compiled code takes for the choice in an AdvanceTime."""
    groups = choice.expired or ()
    rows = [range_rows(group.locks) for group in groups]
    ends = np.cumsum([0, *(len(r) for r in rows)], dtype=np.int64)
    return Expiries(
        int(choice.expired is not None),
        np.array([or_unset(group.start_offset) for group in groups], np.int64),
        np.ascontiguousarray(np.stack((ends[:-1], ends[1:]), axis=1)),
        np.concatenate([np.zeros((0, 2), np.int64), *rows]),
    )


def settings_of(config: SharePartitionConfig) -> LeaderSettings:
    """Return what compiled code takes for a configuration."""
    return LeaderSettings(
        config.delivery_count_limit,
        config.partition_max_record_locks,
        config.record_lock_duration_ms,
        int(config.renew_acknowledge_enable),
        int(config.dead_letter_queue),
        config.in_progress_staleness_threshold_ms,
        config.in_progress_max_lock_extension_ms,
        config.in_progress_rebalance_grace_ms,
        int(config.isolation_level is IsolationLevel.READ_COMMITTED),
        RESETS[config.auto_offset_reset],
    )


def stable_of(operation: Initialize | Produce) -> int:
    """Return the last stable offset: the log's end where no transaction is open."""
    stable = operation.last_stable_offset
    return operation.log_end_offset if stable is None else stable


def leader_of(operation: Initialize) -> LeaderStart:
    """Return what compiled code takes for an Initialize."""
    persisted, reset = operation.persisted, operation.reset_offset
    return LeaderStart(
        settings_of(operation.config),
        operation.log_start_offset,
        operation.log_end_offset,
        stable_of(operation),
        int(operation.log_known),
        -1 if reset is None else reset,
        operation.time_ms,
        persisted.start_offset,
        persisted.delivery_complete_count if operation.count_known else at.UNSET,
        persisted.state_epoch,
        persisted.leader_epoch,
        int(operation.timed),
        batch_rows(persisted.state_batches),
    )
