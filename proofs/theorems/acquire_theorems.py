"""Theorems about what an acquire may take and how far the window may grow (KIP-932, KIP-1206)."""

from collections.abc import Iterator
from typing import Any

import attrs

from model.config import SharePartitionConfig
from model.errors import IllegalChoiceError
from model.operations import Acquire
from model.profile import KAFKA, KIP, Profile
from model.ranges import OffsetRange
from model.states import AcquireMode, RecordState
from proofs.theorems.controls import also_allows, called_with, keeps
from proofs.theorems.points import Points
from proofs.theorems.situation import (
    any_offset,
    any_record,
    ends_in_the_log,
    flag,
    number,
    situation_at,
)
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Property, Theorem, about, laws
from proofs.theorems.window_theorems import ORDERED
from spec import acquire, read, window
from spec.log import Log
from spec.logic import Term, negate
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record, is_acquirable, is_held, is_terminal
from spec.window import Window

_law = laws("KIP-932, In-flight records")


@attrs.frozen
class OneFetch:
    """A fetch at ``fetch_offset`` that read two log batches, and the record at one offset.

    ``old_end`` is the end offset before the acquire, ``first_new`` the first offset that enters the
    window and ``end`` the end offset after it. ``limit`` is the limit on the window's width.
    """

    start: Term = number()
    old_end: Term = number()
    end: Term = number()
    offset: Term = any_offset()
    record: Record = any_record()
    tracked: Term = flag()
    acquirable: Term = number()
    log_end: Term = number()
    fetch_offset: Term = number()
    first: Term = number()
    first_last: Term = number()
    second: Term = number()
    last: Term = number()
    maximum: Term = number()
    limit: Term = number(1)
    first_new: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[OneFetch]":
        """Yield fetches from where a run came to."""
        start, end = state.window.start_offset, state.window.end_offset
        limit = state.config.partition_max_record_locks
        for first in range(start, end + 1):
            for offset in range(first, first + 4):
                yield situation_at(
                    cls, state, offset, old_end=end, end=max(end, offset + 1), fetch_offset=start,
                    first=first, first_last=first + 1, second=first + 2, last=first + 3,
                    maximum=2, limit=limit, first_new=max(end, first),
                )  # fmt: skip


def _operation(s: OneFetch, mode: AcquireMode) -> Acquire:
    batches = (OffsetRange(s.first, s.first_last), OffsetRange(s.second, s.last))
    return Acquire("member", mode, 1, s.maximum, s.fetch_offset, batches)


def _state(s: OneFetch, end: Term, profile: Profile = KIP) -> SharePartition:
    empty: Any = Points()
    now = Window(s.start, end, empty, empty, 0, s.acquirable)
    if s.tracked:
        now = window.replace(now, {s.offset: s.record})
    config = SharePartitionConfig(partition_max_record_locks=s.limit)
    return SharePartition(profile, config, log=Log(0, s.log_end), window=now, ready=True)


def _is_read(s: OneFetch) -> Term:
    return conjunction(
        s.start <= s.old_end,
        ends_in_the_log(s.start, s.old_end, s.log_end),
        s.fetch_offset <= s.first,
        s.first <= s.first_last,
        s.first_last < s.second,
        s.second <= s.last,
        implies(s.tracked, conjunction(s.start <= s.offset, s.offset < s.old_end)),
    )


def _is_grown(s: OneFetch) -> Term:
    return conjunction(
        _is_read(s), s.old_end <= s.first_new, s.first_new <= s.offset, s.end == s.offset + 1
    )


def _is_refused(rule: Any, *arguments: object) -> bool:  # noqa: ANN401 - any rule
    try:
        rule(*arguments)
    except IllegalChoiceError:
        return True
    return False


TAKES = _law(
    "only_available_records_are_acquired",
    "An acquire takes only records that were read, are AVAILABLE and await no write.",
    10,
)
WIDTH = Property(
    "window_stays_within_its_limit",
    "The window grows to its limit and, where profile and mode allow it, by the batch that crosses "
    "it.",
    "KIP-932, group.share.partition.max.record.locks; KIP-1206",
    (12,),
)
SKIPS = _law(
    "acquire_is_skipped_only_when_full",
    "A fetch is told that there is nothing to acquire only if the window is full and none is free.",
)
VANISHES = Property(
    "compaction_takes_nothing_that_is_held",
    "A record that is held stays as it is when the log no longer has it.",
    "KIP-1226, Compacted records",
    (10,),
)
ONE_BY_ONE = Property(
    "batches_equal_their_offsets",
    "Changing the records of a batch is changing them one by one, in any order.",
    "KIP-932, ShareAcknowledge",
    (32,),
)


def _taken(s: OneFetch) -> Term:
    operation = _operation(s, AcquireMode.RECORD_LIMIT)
    state = _state(s, s.old_end)
    if _is_refused(acquire.check_taken, state, operation, [s.offset]):
        return True
    if _is_refused(acquire.check_maximum, state, operation, [s.offset]):
        return True
    record = s.record if s.tracked else UNDELIVERED
    return conjunction(
        is_acquirable(record),
        s.start <= s.offset,
        s.first <= s.offset,
        s.offset <= s.last,
        s.maximum >= 1,
    )


def _size(s: OneFetch) -> Term:
    """Return the size of the log batch that holds the last offset of the window."""
    if s.offset >= s.second:
        return s.last - s.second + 1
    return s.first_last - s.first + 1


def _within(s: OneFetch, mode: AcquireMode, profile: Profile) -> Term:
    grown = _state(attrs.evolve(s, tracked=False), s.end, profile)
    operation = _operation(s, mode)
    if _is_refused(acquire.check_width, grown, operation, s.old_end, s.first_new, [s.offset]):
        return True
    width = s.end - s.start
    if profile is KAFKA:
        width = width - (s.first_new - max(s.old_end, s.start))
    whole = mode is AcquireMode.BATCH_OPTIMIZED and profile.window_may_overshoot
    extra = _size(s) - 1 if whole else 0
    return width <= s.limit + extra


def _width_theorems() -> Iterator[Theorem]:
    for profile in (KIP, KAFKA):
        for mode in AcquireMode:
            yield Theorem(
                WIDTH,
                f"acquire by {mode} ({profile.name})",
                OneFetch,
                _is_grown,
                about(_within, mode, profile),
                Control(
                    "check_width allows one offset more",
                    "spec.acquire:check_width",
                    called_with(lambda state, *rest: (_wider(state), *rest)),
                ),
            )


def _wider(state: SharePartition) -> SharePartition:
    limit = state.config.partition_max_record_locks + 1
    return attrs.evolve(state, config=SharePartitionConfig(partition_max_record_locks=limit))


def _learned(s: OneFetch) -> SharePartition:
    return read.learn(_state(s, s.old_end), _operation(s, AcquireMode.BATCH_OPTIMIZED))


def _ends_in_the_log(s: OneFetch) -> Term:
    operation = _operation(s, AcquireMode.BATCH_OPTIMIZED)
    if _is_refused(read.check_read, _state(s, s.old_end), operation):
        return True
    learned = _learned(s)
    grown = window.extend(learned.window, s.offset + 1)
    return conjunction(
        grown.start_offset <= grown.end_offset, grown.end_offset <= learned.log.end_offset
    )


def _is_kept(s: OneFetch) -> Term:
    after = _learned(s).window.records.get(s.offset)
    return after is not None and conjunction(after.state == s.record.state, is_held(after))


def _is_skipped_rightly(s: OneFetch) -> Term:
    state = _state(s, s.old_end)
    if _is_refused(acquire.check_full, state):
        return True
    free = conjunction(s.tracked, is_acquirable(s.record))
    return conjunction(s.old_end - s.start >= s.limit, negate(free))


_FETCH_THEOREMS = (
    Theorem(
        TAKES,
        "acquire",
        OneFetch,
        _is_read,
        _taken,
        Control(
            "is_acquirable lets ACQUIRED records through",
            "spec.record:is_acquirable",
            also_allows(lambda record: record.state == RecordState.ACQUIRED),
        ),
    ),
    Theorem(
        ORDERED,
        "acquire",
        OneFetch,
        lambda s: conjunction(
            _is_read(s), s.start <= s.offset, s.first <= s.offset, s.offset <= s.last
        ),
        _ends_in_the_log,
        Control(
            "readable_end lies one offset beyond the log",
            "spec.log:readable_end",
            lambda rule: lambda log, level: rule(log, level) + 1,
        ),
    ),
    Theorem(
        SKIPS,
        "check that it is full",
        OneFetch,
        _is_read,
        _is_skipped_rightly,
        Control(
            "replace does not count available records", "spec.window:replace", keeps("acquirable")
        ),
    ),
    Theorem(
        VANISHES,
        "acquire",
        OneFetch,
        lambda s: conjunction(_is_read(s), s.tracked, is_held(s.record)),
        _is_kept,
        Control(
            "can_vanish lets held records through", "spec.record:can_vanish", also_allows(is_held)
        ),
    ),
)


@attrs.frozen
class TwoRecords:
    """A window, and two of its offsets with their records before and after."""

    start: Term = number()
    end: Term = number()
    offset: Term = any_offset()
    record: Record = any_record()
    after: Record = any_record()
    other: Term = any_offset()
    other_record: Record = any_record()
    other_after: Record = any_record()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[TwoRecords]":
        """Yield pairs of records in a share-partition that a run reached."""
        now = state.window
        for offset in now.records:
            for other, record in now.records.items():
                yield situation_at(cls, state, offset, other=other, other_record=record)


def _pair(s: TwoRecords) -> Window:
    empty: Any = Points()
    single = window.replace(Window(s.start, s.end, empty, empty), {s.offset: s.record})
    return window.replace(single, {s.other: s.other_record})


def _equal(s: TwoRecords, first: Window, second: Window) -> Term:
    return conjunction(
        first.complete == second.complete,
        first.acquirable == second.acquirable,
        *(_is_same(first.records[o], second.records[o]) for o in (s.offset, s.other)),
        *((o in first.held) == (o in second.held) for o in (s.offset, s.other)),
    )


def _is_same(record: Record, other: Record) -> Term:
    names = [field.name for field in attrs.fields(Record)]
    return conjunction(*(getattr(record, n) == getattr(other, n) for n in names))


def _one_by_one(s: TwoRecords) -> Term:
    together = window.replace(_pair(s), {s.offset: s.after, s.other: s.other_after})
    singly = window.replace(window.replace(_pair(s), {s.offset: s.after}), {s.other: s.other_after})
    backwards = window.replace(
        window.replace(_pair(s), {s.other: s.other_after}), {s.offset: s.after}
    )
    return conjunction(_equal(s, together, singly), _equal(s, together, backwards))


def _pair_theorems() -> Iterator[Theorem]:
    yield Theorem(
        ONE_BY_ONE,
        "any change",
        TwoRecords,
        lambda s: conjunction(s.offset != s.other, s.start <= s.offset, s.offset < s.end),
        _one_by_one,
        Control(
            "replace counts one batch once, however many records it completes",
            "spec.window:replace",
            lambda rule: (
                lambda before, changes: attrs.evolve(
                    rule(before, changes),
                    complete=before.complete + (1 if _completes(changes) else 0),
                )
            ),
        ),
    )


def _completes(changes: dict[int, Record]) -> bool:
    return any(is_terminal(after) for after in changes.values())


ACQUIRE_THEOREMS = (*_FETCH_THEOREMS, *_width_theorems(), *_pair_theorems())
