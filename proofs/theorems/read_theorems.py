"""Theorems about what a fetch read: what a read may claim of the log, and what is learned."""

from typing import Any
from unittest.mock import patch

import attrs

from model.config import IsolationLevel
from model.guards import Guard
from model.operations import Acquire
from model.states import RecordState
from proofs.theorems.acquire_guard_theorems import first_broken, refused_by
from proofs.theorems.acquire_situation import (
    OneAcquire,
    fetch,
    is_fetched,
    is_in_hole,
    log_of,
    partition_of,
)
from proofs.theorems.controls import becomes, called_with, does_nothing
from proofs.theorems.operation_cases import Place, places
from proofs.theorems.operation_situation import kept, same_record
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Theorem, about, laws
from spec import log as logs
from spec import read
from spec import record as rules
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import SharePartition
from spec.record import Record

_law = laws("KIP-932, at-least-once delivery; KIP-1226, Compacted records")
COMMITTED, UNCOMMITTED = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED


def _larger(*numbers: Term) -> Term:
    largest = numbers[0]
    for number in numbers[1:]:
        largest = either(number > largest, number, largest)
    return largest


def _smaller(value: Term, other: Term) -> Term:
    return either(value <= other, value, other)


def _before(s: OneAcquire, level: IsolationLevel, *, known: bool = True) -> SharePartition:
    before = partition_of(s)
    config = attrs.evolve(before.config, isolation_level=level)
    return attrs.evolve(before, config=config, log=attrs.evolve(log_of(s), known=known))


def _place(s: OneAcquire) -> Term:
    """Return the first offset of which the read can say that the log lacks it."""
    return _larger(s.fetch_offset, s.start, s.log_start)


def _is_part(s: OneAcquire, first: Term, last: Term) -> Term:
    """Whether a log batch is a part of the one that was produced, or apart from it."""
    apart = negate(conjunction(s.made_first <= last, first <= s.made_last))
    inside = conjunction(s.made_first <= first, last <= s.made_last)
    return negate(conjunction(negate(apart), negate(inside)))


def _passes_over_nothing(s: OneAcquire, place: Term, first: Term) -> Term:
    """Whether the log holds no record that was produced from the place to before the batch."""
    low, high = _larger(place, s.made_first), _smaller(first - 1, s.made_last)
    compacted = conjunction(s.hole_first <= low, high <= s.hole_last)
    return negate(conjunction(low <= high, negate(compacted)))


def _is_checked(s: OneAcquire, level: IsolationLevel) -> Term:
    """Whether a read is refused exactly if it shows what the log does not hold, or skips of it."""
    end = s.log_end if level is UNCOMMITTED else _smaller(s.log_end, s.stable)
    place = _place(s)
    after = _larger(place, s.first_last + 1)
    rules_in_order = (
        (conjunction(s.first_last < end, s.last < end), Guard.WITHIN_READABLE_LOG),
        (_is_part(s, s.first, s.first_last), Guard.READ_IS_OF_THE_LOG),
        (_is_part(s, s.second, s.last), Guard.READ_IS_OF_THE_LOG),
        (_passes_over_nothing(s, place, s.first), Guard.NO_RECORD_LOST),
        (_passes_over_nothing(s, after, s.second), Guard.NO_RECORD_LOST),
    )
    refused = refused_by(lambda: read.check_read(_before(s, level), fetch(s)))
    return refused is first_broken(*rules_in_order)


def _is_checked_of_any_log(s: OneAcquire) -> Term:
    """Whether a read is refused for each batch that it shows otherwise, or record that it skips.

    Two batches were produced that share an offset with what was read, first the one of the
    situation, then the one from ``hole_first`` to ``hole_last``. Before the first and before the
    second log batch the log holds a record at ``taken`` and at ``entered``, if any.
    """
    before, operation = _before(s, UNCOMMITTED), fetch(s)
    batches = ((s.made_first, s.made_last), (s.hole_first, s.hole_last))
    lost = [offset if skipped else None for skipped, offset in _skipped(s)]
    asked: list[tuple[Term, ...]] = []

    def overlapping(log: Log, first: Term, last: Term) -> tuple[tuple[Term, Term], ...]:
        asked.append((log is before.log, first, last))
        return batches

    def first_existing(log: Log, first: Term, last: Term) -> Term:
        asked.append((log is before.log, first, last))
        return lost[len(asked) - 3]

    with (
        patch.object(read, "overlapping", overlapping),
        patch.object(read, "first_existing", first_existing),
    ):
        refused = refused_by(lambda: read.check_read(before, operation))
    parts = ((s.first, s.first_last), (s.second, s.last))
    inside = (conjunction(a <= first, last <= b) for first, last in parts for a, b in batches)
    expected = first_broken(
        (conjunction(s.first_last < s.log_end, s.last < s.log_end), Guard.WITHIN_READABLE_LOG),
        *((each, Guard.READ_IS_OF_THE_LOG) for each in inside),
        *((offset is None, Guard.NO_RECORD_LOST) for offset in lost),
    )
    place = _place(s)
    ranges = (*parts, (place, s.first - 1), (_larger(place, s.first_last + 1), s.second - 1))
    named = (
        conjunction(whole, first == low, last == high)
        for (whole, first, last), (low, high) in zip(asked, ranges, strict=False)
    )
    return conjunction(refused is expected, *named)


def _skipped(s: OneAcquire) -> tuple[tuple[Term, Term], ...]:
    return (s.tracked, s.taken), (s.other_tracked, s.entered)


def _teaches_each_range(s: OneAcquire) -> Term:
    """Whether what is learned are the ranges that the read skips, whatever was known before."""
    before, asked = partition_of(s), []

    def learn_hole(log: Log, first: Term, last: Term) -> Log:
        asked.append((first, last))
        return log

    with (
        patch.object(read, "learn_hole", learn_hole),
        patch.object(logs, "learn_hole", learn_hole),
    ):
        after = read.learn(before, fetch(s)).log
    place = _place(s)
    ranges = (
        (s.start, s.log_start - 1),
        (place, s.first - 1),
        (_larger(place, s.first_last + 1), s.second - 1),
    )
    pairs = zip(asked, ranges, strict=True) if len(asked) == len(ranges) else ()
    same = [conjunction(low == first, high == last) for (low, high), (first, last) in pairs]
    return conjunction(bool(same), after == before.log, *same)


def _is_unchecked(s: OneAcquire) -> Term:
    """Whether a log that nobody describes may end anywhere."""
    before = _before(s, UNCOMMITTED, known=False)
    unknown = attrs.evolve(before, log=attrs.evolve(before.log, batches=()))
    return refused_by(lambda: read.check_read(unknown, fetch(s))) is None


def _learned(s: OneAcquire, *, known: bool = True) -> SharePartition:
    """Return what is known after the read, of a log of which no hole was known."""
    before = _before(s, UNCOMMITTED, known=known)
    whole = attrs.evolve(before, log=attrs.evolve(before.log, holes=()))
    return read.learn(whole, fetch(s))


def _is_skipped(s: OneAcquire, offset: Term) -> Term:
    """Whether the read says that the log lacks the offset."""
    place = _place(s)
    before_first = conjunction(place <= offset, offset < s.first)
    before_second = conjunction(place <= offset, s.first_last < offset, offset < s.second)
    old = conjunction(s.start <= offset, offset < s.log_start)
    return negate(conjunction(negate(before_first), negate(before_second), negate(old)))


def _learns_holes(s: OneAcquire) -> Term:
    known = logs.hole_end(_learned(s).log, s.offset) is not None
    return _is_skipped(s, s.offset) if known else negate(_is_skipped(s, s.offset))


def _adds_a_hole(s: OneAcquire) -> Term:
    """Whether the log then lacks what it lacked before, and the range; of any one offset."""
    after = logs.learn_hole(log_of(s), s.taken, s.taken_last)
    known = logs.hole_end(after, s.offset) is not None
    named = conjunction(s.taken <= s.offset, s.offset <= s.taken_last)
    lacking = conjunction(negate(is_in_hole(s, s.offset)), negate(named))
    return negate(lacking) if known else lacking


def _archives(s: OneAcquire) -> Term:
    before = partition_of(s)
    with (
        patch.object(read, "learn_hole", lambda log, *_range: log),
        patch.object(read, "learn_read", lambda log, *_read: log),
    ):
        after = read.learn(before, fetch(s))
    records = after.window.records
    return conjunction(
        *(same_record(records.get(p.offset), _after(s, p)) for p in places(s)),
        negate(s.elsewhere in records),
        kept(before, after, "window"),
        after.window.start_offset == s.start,
        after.window.end_offset == s.end,
    )


def _after(s: OneAcquire, place: Place) -> Record | None:
    if not place.tracked:
        return None
    skipped = conjunction(s.fetch_offset <= place.offset, place.offset < s.first)
    available = place.record.state == RecordState.AVAILABLE
    return rules.vanish(place.record) if conjunction(skipped, available) else place.record


def _learns_the_end(s: OneAcquire) -> Term:
    """Whether a read moves the end of a log only where its length is not known."""
    known, unknown = _learned(s), _learned(s, known=False)
    end = _larger(s.log_end, _place(s), s.last + 1)
    moved = end > s.log_end
    return conjunction(
        known.log.end_offset == s.log_end,
        known.log.stable_offset == s.stable,
        unknown.log.end_offset == end,
        unknown.log.stable_offset == either(moved, _larger(s.stable, end), s.stable),
        known.log.batches == log_of(s).batches,
        known.log.start_offset == s.log_start,
    )


def _learns_nothing(s: OneAcquire) -> Term:
    before: Any = partition_of(s)
    nothing = Acquire(s.member, fetch(s).acquire_mode, 1, s.maximum, s.fetch_offset, ())
    refused = refused_by(lambda: read.check_read(before, nothing))
    return refused is None and read.learn(before, nothing) is before


def _is_alone(s: OneAcquire) -> Term:
    """Whether no record is tracked at the second offset; what is learned of one holds of each."""
    return conjunction(is_fetched(s), negate(s.tracked), negate(s.other_tracked))


READS = _law(
    "read_shows_the_log",
    "A read is refused exactly if it goes past what can be read, shows other batches, or skips.",
)
UNSAID = _law("unknown_log_is_not_checked", "Of a log that nobody describes no read is refused.")
HOLES = _law(
    "read_teaches_what_the_log_lacks",
    "Offsets that a read skips, and those below the log start offset, are not in the log.",
)
ARCHIVES = _law(
    "compacted_records_are_archived",
    "A read archives each AVAILABLE record that it skips, and changes nothing else.",
    10,
)
END = _law(
    "read_moves_only_an_unknown_end",
    "A read moves the log's end only where nobody said where it is.",
)
NOTHING = _law("empty_read_teaches_nothing", "A fetch that read nothing teaches nothing.")
UNREAD = Control("check_read allows everything", "spec.read:check_read", becomes(lambda *_of: None))
UNLEARNED = Control("learn learns nothing", "spec.read:learn", does_nothing)

READ_THEOREMS = (
    *(
        Theorem(
            READS, f"check a read ({level.name})", OneAcquire, _is_alone,
            about(_is_checked, level), UNREAD,
        )
        for level in IsolationLevel
    ),
    Theorem(
        UNSAID,
        "check a read of an unknown log",
        OneAcquire,
        _is_alone,
        _is_unchecked,
        Control(
            "readable_end ends every log at its start",
            "spec.read:check_read",
            lambda rule: lambda state, operation: rule(
                attrs.evolve(state, log=attrs.evolve(state.log, known=True)), operation
            ),
        ),
    ),
    Theorem(
        READS,
        "check a read of any log",
        OneAcquire,
        is_fetched,
        _is_checked_of_any_log,
        UNREAD,
    ),
    Theorem(HOLES, "learn", OneAcquire, _is_alone, _learns_holes, UNLEARNED),
    Theorem(
        HOLES,
        "learn whatever was known",
        OneAcquire,
        _is_alone,
        _teaches_each_range,
        UNLEARNED,
    ),
    Theorem(
        HOLES,
        "learn a hole",
        OneAcquire,
        _is_alone,
        _adds_a_hole,
        Control(
            "learn_hole forgets the holes before",
            "spec.log:learn_hole",
            called_with(lambda log, *of: (attrs.evolve(log, holes=()), *of)),
        ),
    ),
    Theorem(ARCHIVES, "learn", OneAcquire, is_fetched, _archives, UNLEARNED),
    Theorem(END, "learn", OneAcquire, _is_alone, _learns_the_end, UNLEARNED),
    Theorem(
        NOTHING,
        "learn without a read",
        OneAcquire,
        is_fetched,
        _learns_nothing,
        Control(
            "learn takes the log for unknown",
            "spec.read:learn",
            becomes(lambda state, _: attrs.evolve(state, log=attrs.evolve(state.log, known=False))),
        ),
    ),
)  # fmt: skip
